"""Conditions of `select`: `sm_90a`, `>=sm_80`, `family:sm_100`, the name of a config, `default`."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from oxide_build.errors import UsageError
from oxide_build.load.wording import nearest
from oxide_build.model.arch import Arch
from oxide_build.model.label import shown

DEFAULT = "default"
CONFIG_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*\Z")

_FORM = re.compile(r"(>=|<|family:|)[ ]?(sm_[0-9]+[af]?)\Z")
# What people write for `sm_90a`.
_LOOSE = re.compile(r"(?i:sm|compute|)[-_ ]?([0-9]{2,3}[af]?)\Z")

# The kinds of condition, the more specific first.
_CONFIG, _EXACT, _FAMILY, _BOUND, _DEFAULT = range(5)


@dataclass(frozen=True, slots=True)
class Condition:
    """One key of a `select`.

    `form` is "config", "default", "only" (`sm_90a`), "family" (`sm_100f`, `family:sm_100`),
    "from" (`sm_90`, `>=sm_90`) or "below" (`<sm_90`); `arch` is what the last four are about.
    """

    text: str
    form: str
    arch: Arch | None = None

    def holds(self, arch: Arch | None, configs: Collection[str]) -> bool:
        """Whether it holds when building for `arch` with `configs` on."""
        if self.form == "default":
            return True
        if self.arch is None:
            return self.text in configs
        if arch is None:
            return False
        if self.form == "below":
            return arch.number < self.arch.number
        return self.arch.runs_on(arch)

    @property
    def rank(self) -> tuple[int, str, int]:
        """Kind, direction and how wide it is. See `load/select.py` for what wins."""
        if self.arch is None:
            return (_DEFAULT if self.form == "default" else _CONFIG, self.text, 0)
        if self.form == "only":
            return (_EXACT, str(self.arch), 0)
        if self.form == "family":
            return (_FAMILY, str(self.arch.family), -self.arch.number)
        return (_BOUND, self.form, self.arch.number * (1 if self.form == "below" else -1))

    @classmethod
    def parse(cls, text: str) -> Condition:
        """Read a condition; any other word is taken for the name of a config.

        Raises `UsageError` for what is neither.
        """
        if text == DEFAULT:
            return cls(text, "default")
        found = _FORM.match(text)
        if found is None:
            if CONFIG_NAME.match(text) and not text.startswith("sm_"):
                return cls(text, "config")
            raise _not_a_condition(text)
        operator, arch = found[1], Arch.parse(found[2])
        if operator == "":
            forms = {"a": "only", "f": "family", "": "from"}
            return cls(text, forms[arch.suffix], arch)
        if arch.suffix:
            raise UsageError(
                f"{shown(text)} is not a condition: `{operator}` takes a number without `a` or `f`",
                hint=f"write `{operator}sm_{arch.number}`",
            )
        if operator == "family:":
            if arch.family_arch is None:
                raise UsageError(
                    f"{shown(text)} is not a condition: `{arch}` belongs to no family",
                    hint="families begin with sm_100",
                )
            return cls(text, "family", arch.family_arch)
        return cls(text, "from" if operator == ">=" else "below", arch)


def check_conditions(texts: Collection[str], configs: Collection[str]) -> None:
    """Raise `UsageError` for a wrong condition, an unknown config or two that say the same."""
    ranks: dict[tuple[int, str, int], str] = {}
    for text in texts:
        condition = Condition.parse(text)
        if condition.form == "config" and text not in configs:
            raise _not_a_condition(text, configs)
        other = ranks.setdefault(condition.rank, text)
        if other is not text:
            raise UsageError(
                f"the conditions {shown(other)} and {shown(text)} always hold together",
                hint="keep one of them",
            )


def _not_a_condition(text: str, configs: Collection[str] = ()) -> UsageError:
    loose = _LOOSE.match(text)
    close = [f"sm_{loose[1]}"] if loose else nearest(text, [*configs, DEFAULT])
    begin = f"did you mean `{close[0]}`? Otherwise write" if close else "write"
    return UsageError(
        f"{shown(text)} is not a condition",
        hint=f"{begin} `sm_90` (it and above), `sm_90a`, `sm_100f`, `>=sm_80`, `<sm_90`, "
        "`family:sm_100`, the name of a `[config.NAME]` of oxide.toml, or `default`",
    )
