"""Defaults of attributes, as attributes hold them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from oxide_build.model.label import Label
from oxide_build.model.target import AttrSpec, AttrValue, RuleSchema


def with_defaults(schemas: Mapping[str, RuleSchema]) -> dict[str, RuleSchema]:
    """The schemas with labels read, and with empty lists and maps where there is no default."""
    return {
        name: replace(
            schema, attrs={key: _with_default(spec) for key, spec in schema.attrs.items()}
        )
        for name, schema in schemas.items()
    }


def _with_default(spec: AttrSpec) -> AttrSpec:
    default: AttrValue = spec.default
    if default is None and spec.kind.endswith("_list"):
        default = ()
    elif default is None and spec.kind == "string_map":
        default = {}
    elif isinstance(default, tuple):
        default = tuple(_scalar(spec, item) for item in default)
    else:
        default = _scalar(spec, default)
    return spec if default is spec.default else replace(spec, default=default)


def _scalar(spec: AttrSpec, value: Any) -> Any:
    names = spec.kind.startswith(("label", "source"))
    if names and isinstance(value, str) and value.startswith("//"):
        return Label.parse(value, package="")
    return value
