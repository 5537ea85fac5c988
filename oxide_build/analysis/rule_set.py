"""All rules of a workspace: the built-in ones and its own, with their schemas."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from oxide_build.analysis.starlark_rules import BUILTIN, RuleFile, RuleFiles
from oxide_build.errors import DefinitionError
from oxide_build.model.target import ATTR_KINDS, AttrSpec, RuleSchema

# What an attribute's constructor in the prelude may be given, and the types it must have.
_OPTIONS: Mapping[str, tuple[type, ...]] = {
    "kind": (str,),
    "doc": (str,),
    "default": (str, bool, int, list, dict),
    "mandatory": (bool,),
    "configurable": (bool,),
    "values": (list,),
    "refuse": (dict,),
    "rules": (list,),
    "extensions": (list,),
    "scan": (list,),
}
_RESERVED = frozenset({"name", "visibility", "archs"})


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule and the file that implements it; `lockfile` is the attribute that names one."""

    schema: RuleSchema
    toolchains: tuple[str, ...]
    lockfile: str | None
    file: RuleFile


@dataclass(frozen=True, slots=True)
class RuleSet:
    """Rules by name, and for each toolchain kind the file that prepares it."""

    rules: Mapping[str, Rule]
    toolchains: Mapping[str, RuleFile]

    @property
    def schemas(self) -> dict[str, RuleSchema]:
        return {name: rule.schema for name, rule in self.rules.items()}

    @classmethod
    def load(
        cls, builtin: Sequence[str], own: Sequence[str], read: Callable[[str], str]
    ) -> RuleSet:
        """Evaluate the rule files `builtin` (names in `rules/`) and `own` (`//…` of a workspace).

        A rule's name must be new. Raises `DefinitionError`.
        """
        files = RuleFiles(read)
        rules: dict[str, Rule] = {}
        toolchains: dict[str, RuleFile] = {}
        for module_id in [*(BUILTIN + name for name in builtin), *own]:
            file = files.load(module_id)
            for name, raw in file.call("schemas").items():
                if name in rules:
                    first = rules[name].file.module_id
                    raise DefinitionError(f"{module_id}: rule `{name}` exists already, in {first}")
                schema = _schema(module_id, name, raw)
                rules[name] = Rule(schema, tuple(raw["toolchains"]), raw["lockfile"], file)
            for kind in file.call("toolchains"):
                toolchains[kind] = file
        for name, rule in rules.items():
            for kind in rule.toolchains:
                if kind not in toolchains:
                    raise DefinitionError(
                        f"{rule.file.module_id}: rule `{name}` asks for the toolchain `{kind}`, "
                        f"but there are only {', '.join(sorted(toolchains)) or 'none'}"
                    )
        return cls(rules, toolchains)


def _schema(module_id: str, name: str, raw: Mapping[str, Any]) -> RuleSchema:
    if not name.isidentifier():
        raise DefinitionError(f"{module_id}: `{name}` cannot be a rule's name")
    attrs = {
        key: _attr(f"{module_id}: attribute `{key}` of rule `{name}`", key, value)
        for key, value in raw["attrs"].items()
    }
    lockfile = raw["lockfile"]
    if lockfile is not None and (lockfile not in attrs or attrs[lockfile].kind != "source"):
        raise DefinitionError(
            f"{module_id}: `lockfile` of rule `{name}` must name an attribute of kind `source`"
        )
    return RuleSchema(name=name, doc=raw["doc"], attrs=attrs, per_arch=bool(raw["per_arch"]))


def _attr(place: str, key: str, raw: Mapping[str, Any]) -> AttrSpec:
    if key in _RESERVED:
        raise DefinitionError(f"{place}: every rule has `{key}` already")
    for option, value in raw.items():
        if option not in _OPTIONS:
            raise DefinitionError(
                f"{place}: unknown option `{option}`", hint=f"there are {', '.join(_OPTIONS)}"
            )
        if not isinstance(value, _OPTIONS[option]):
            raise DefinitionError(f"{place}: `{option}` has the wrong type")
    if raw["kind"] not in ATTR_KINDS:
        raise DefinitionError(f"{place}: unknown kind `{raw['kind']}`")
    default = raw.get("default")
    return AttrSpec(
        name=key,
        kind=raw["kind"],
        doc=raw["doc"],
        default=tuple(default) if isinstance(default, list) else default,
        mandatory=raw.get("mandatory", False),
        configurable=raw.get("configurable", True),
        values=tuple(raw.get("values", ())),
        refuse=dict(raw.get("refuse", {})),
        rules=tuple(raw.get("rules", ())),
        extensions=tuple(raw.get("extensions", ())),
        scan=tuple(raw.get("scan", ())),
    )
