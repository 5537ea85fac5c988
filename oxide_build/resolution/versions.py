"""Which compiler and which CUDA toolkit are asked for: `>=1.95`, `nightly-2026-04-03`, `13.0`."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, ClassVar

from oxide_build.errors import DefinitionError
from oxide_build.model.label import shown

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet

_NUMBERS = re.compile(r"(\d{1,4})\.(\d{1,4})(?:\.(\d{1,6}))?\Z", re.ASCII)
_CHANNEL = re.compile(r"(nightly|beta|stable)(?:-(\d{4}-\d{2}-\d{2}))?\Z", re.ASCII)
_CLAUSE = re.compile(r"(?:>=|<=|==|!=|~=|<|>)\s*\d{1,6}(?:\.\d{1,6}){0,2}(?:\.\*)?\Z", re.ASCII)

_RUST_HINT = (
    "write a release (`1.96` or `1.96.0`), a range of stable releases (`>=1.95,<2`), a channel "
    "(`stable`, `beta`, `nightly`) or one night (`nightly-2026-04-03`)"
)
_CUDA_HINT = "write a version (`13.0` or `13.0.88`) or a range (`>=12.8,<14`)"


# A resolution reads the same few hundred versions tens of thousands of times.
@lru_cache(maxsize=4096)
def numbers(version: str) -> tuple[int, ...]:
    """The leading numbers of a version: (1, 96, 0) of `1.96.0-nightly`; () when there are none."""
    found = re.match(r"\d+(?:\.\d+)*", version, re.ASCII)
    return tuple(int(part) for part in found[0].split(".")) if found else ()


@dataclass(frozen=True)
class _Range:
    """A version with all or some of its numbers, or PEP 440 clauses joined by commas."""

    text: str

    @cached_property
    def _clauses(self) -> SpecifierSet:
        # Imported late: it costs 13 ms, and most requirements are read without it.
        from packaging.specifiers import SpecifierSet

        return SpecifierSet(self.text)

    @property
    def exact(self) -> tuple[int, ...]:
        """The numbers of a plain version, () for clauses."""
        return numbers(self.text)

    def __contains__(self, version: str) -> bool:
        if self.exact:
            return numbers(version)[: len(self.exact)] == self.exact
        return version in self._clauses

    @classmethod
    def parse(cls, text: str) -> _Range | None:
        """None when `text` is neither form."""
        if _NUMBERS.match(text):
            return cls(text)
        clauses = [part.strip() for part in text.split(",")]
        if not all(_CLAUSE.match(part) for part in clauses):
            return None
        if any(part.startswith(("<", ">")) and part.endswith("*") for part in clauses):
            return None
        if any(part.startswith("~=") and ("*" in part or "." not in part) for part in clauses):
            return None
        return cls(",".join("".join(part.split()) for part in clauses))


@dataclass(frozen=True)
class RustSpec:
    """What is asked of rustc.

    channel   "stable", "beta" or "nightly"
    date      the archive date of a beta or nightly; None is any
    range     which stable releases; None is any

    `text` is the normalised spelling and the whole identity.
    """

    kind: ClassVar[str] = "rust"

    text: str
    channel: str = field(compare=False)
    date: datetime.date | None = field(default=None, compare=False)
    range: _Range | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return self.text

    def matches(
        self, version: str, *, channel: str | None = None, date: datetime.date | None = None
    ) -> bool:
        """Whether a rustc of `version` ("1.96.0", "1.96.0-nightly") is what is asked for.

        `channel` is read from `version` if it is not given. `date` is the archive date of a
        nightly or beta; one without a known date matches only a spec without a date. A range
        means stable releases: no nightly is in one, whatever its number.
        """
        if (channel or channel_of(version)) != self.channel:
            return False
        if self.channel == "stable":
            return self.range is None or version in self.range
        return self.date is None or date == self.date

    def best(self, preferred: Iterable[str]) -> str | None:
        """The first of `preferred` (stable versions) that matches."""
        return next((version for version in preferred if self.matches(version)), None)

    @classmethod
    def parse(cls, text: str) -> RustSpec:
        """Read a requirement; raises `DefinitionError`, which the caller gives a place."""
        plain = text.strip()
        named = _CHANNEL.match(plain)
        if named is not None and (named[2] is None or named[1] != "stable"):
            return cls(plain, named[1], _date(named[2], text) if named[2] else None)
        versions = _Range.parse(plain)
        if versions is None or (versions.exact and versions.exact[0] != 1):
            raise DefinitionError(f"{shown(text)} names no rustc", hint=_RUST_HINT)
        return cls(versions.text, "stable", range=versions)


@dataclass(frozen=True)
class CudaSpec:
    """What is asked of the CUDA toolkit. `text` is the normalised spelling and the identity."""

    kind: ClassVar[str] = "cuda"

    text: str
    range: _Range = field(compare=False)

    def __str__(self) -> str:
        return self.text

    def matches(self, version: str) -> bool:
        """Whether a toolkit (ptxas) of `version`, like "13.0.88", is what is asked for."""
        return version in self.range

    def best(self, preferred: Iterable[str]) -> str | None:
        """The first of `preferred` that matches."""
        return next((version for version in preferred if self.matches(version)), None)

    @classmethod
    def parse(cls, text: str) -> CudaSpec:
        """Read a requirement; raises `DefinitionError`, which the caller gives a place."""
        versions = _Range.parse(text.strip())
        if versions is None:
            raise DefinitionError(f"{shown(text)} names no CUDA toolkit", hint=_CUDA_HINT)
        return cls(versions.text, versions)


Spec = RustSpec | CudaSpec


def parse_spec(kind: str, text: str) -> Spec:
    """`RustSpec` or `CudaSpec` of `text`, by the kind of toolchain."""
    return RustSpec.parse(text) if kind == RustSpec.kind else CudaSpec.parse(text)


def channel_of(version: str) -> str:
    """ "stable", "beta" or "nightly" from what rustc calls its release; "dev" is a nightly."""
    _, _, suffix = version.partition("-")
    if not suffix:
        return "stable"
    return "beta" if suffix.startswith("beta") else "nightly"


def _date(text: str, whole: str) -> datetime.date:
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise DefinitionError(
            f"{shown(whole)} names no rustc: `{text}` is not a date", hint=_RUST_HINT
        ) from None
