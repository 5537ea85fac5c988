"""Rule schemas, targets as written and the values that attributes may have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from oxide_build.model.label import Label

# What a plain attribute holds after loading. Files are workspace-relative paths (str); labels are
# `Label`. A `source_list` mixes both: its globs have been expanded.
Scalar = str | int | bool | Label
AttrValue = Scalar | tuple[Scalar, ...] | Mapping[str, str] | None

ATTR_KINDS = (
    "string",
    "bool",
    "int",
    "string_list",
    "string_map",
    "label",
    "label_list",
    "source",
    "source_list",
    "output_list",
)


@dataclass(frozen=True, slots=True)
class Location:
    """A line of a file in the workspace; `line` counts from 1, 0 means the whole file."""

    path: str
    line: int = 0

    def __str__(self) -> str:
        return f"{self.path}:{self.line}" if self.line else self.path


@dataclass(frozen=True, slots=True, kw_only=True)
class AttrSpec:
    """One attribute of a rule.

    `values` limits strings to a set; `refuse` maps a value, or a value's prefix when it ends in
    `*`, to the reason why it is refused and what to use instead. `rules` limits what a label may
    name. `extensions` limits source files (".rs"). `scan` are words whose presence in the files of
    the attribute a rule wants to know.
    """

    name: str
    kind: str
    doc: str
    default: AttrValue = None
    mandatory: bool = False
    configurable: bool = True
    values: tuple[str, ...] = ()
    refuse: Mapping[str, str] = field(default_factory=dict)
    rules: tuple[str, ...] = ()
    extensions: tuple[str, ...] = ()
    scan: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSchema:
    """What a table `[[name]]` may hold. `per_arch` rules build for a list of archs."""

    name: str
    doc: str
    attrs: Mapping[str, AttrSpec]
    per_arch: bool = False


@dataclass(frozen=True, slots=True)
class Select:
    """A value that depends on the arch or on a config.

    `branches` keep the order of the file; "default" is the condition that always holds and is
    taken last. See `load/select.py` for how one is chosen.
    """

    branches: tuple[tuple[str, AttrValue], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One table of a `BUILD.toml` after validation.

    `attrs` holds every attribute of the schema, defaults filled in. `deps` are the labels of all
    attributes and branches, in order of first mention. `archs` are the spellings that apply to
    this target (its own, its package's or the workspace's), unexpanded.
    """

    label: Label
    rule: str
    location: Location
    attrs: Mapping[str, AttrValue | Select]
    attr_lines: Mapping[str, int] = field(compare=False)
    deps: tuple[Label, ...]
    archs: tuple[str, ...]
    visibility: tuple[str, ...]
