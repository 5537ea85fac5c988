"""Which archs each target is built for, and which of them have the same inputs.

A target that does not depend on the arch, itself or through what it uses, is analysed once for
all archs: that is what lets one front-end run serve them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from oxide_build.errors import DefinitionError, UsageError
from oxide_build.load.graph import TargetGraph
from oxide_build.load.select import resolve
from oxide_build.model.arch import Arch, ArchRequest
from oxide_build.model.label import Label
from oxide_build.model.target import AttrValue, RuleSchema, Select, Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """A target with `select` resolved, for the archs that all see the same values.

    `archs` is (None,) where nobody asked for an arch. `config` is "" unless a value or a
    dependency depends on the arch or on a config; then it names the values, not the archs, so
    that asking for one arch more changes no existing configuration. `deps` are the configurations
    of the labels that occur in `attrs`: one each, or all of them where a target that builds for
    archs of its own is used by one without an arch.
    """

    target: Target
    archs: tuple[Arch | None, ...]
    requests: Mapping[Arch, ArchRequest]
    attrs: Mapping[str, AttrValue]
    config: str
    deps: Mapping[Label, tuple[str, ...]]


def configure(
    graph: TargetGraph,
    schemas: Mapping[str, RuleSchema],
    own_archs: Callable[[Target], tuple[ArchRequest, ...]],
    configs: frozenset[str],
) -> list[Configuration]:
    """Configurations of all targets that are needed, dependencies before dependents.

    `own_archs` gives the archs of a target whose rule builds for a list of its own; it may raise
    `OxideError`. O(targets x archs). Raises `DefinitionError` where a `select` has no branch.
    """
    wanted: dict[Label, dict[Arch | None, ArchRequest | None]] = {}
    resolved: dict[tuple[Label, Arch | None], dict[str, AttrValue]] = {}

    def demand(label: Label, arch: Arch | None) -> None:
        target = graph.targets[label]
        archs = wanted.setdefault(label, {})
        if arch is None and schemas[target.rule].per_arch:
            archs.update({request.arch: request for request in own_archs(target)})
        else:
            archs.setdefault(arch, None)

    for label in graph.requested:
        demand(label, None)
    for label in reversed(list(graph.targets)):
        for arch in wanted.get(label, ()):
            attrs = _resolve_attrs(graph.targets[label], arch, configs)
            resolved[label, arch] = attrs
            for dep in _labels(attrs.values()):
                demand(dep, arch)
    return list(_groups(graph, wanted, resolved))


def _groups(
    graph: TargetGraph,
    wanted: Mapping[Label, Mapping[Arch | None, ArchRequest | None]],
    resolved: Mapping[tuple[Label, Arch | None], dict[str, AttrValue]],
) -> Iterator[Configuration]:
    names: dict[tuple[Label, Arch | None], str] = {}
    for label, target in graph.targets.items():
        groups: dict[str, list[Arch | None]] = {}
        deps_of: dict[str, dict[Label, tuple[str, ...]]] = {}
        for arch in wanted.get(label, ()):
            attrs = resolved[label, arch]
            # A target with archs of its own has no configuration for None, but one or several for
            # those; whoever uses it without an arch uses all of them.
            deps = {
                dep: tuple(
                    dict.fromkeys(
                        names[dep, each]
                        for each in ((arch,) if (dep, arch) in names else wanted[dep])
                    )
                )
                for dep in _labels(attrs.values())
            }
            name = _config_name(target, arch, attrs, deps)
            names[label, arch] = name
            groups.setdefault(name, []).append(arch)
            deps_of[name] = deps
        for name, archs in groups.items():
            requests = wanted[label]
            yield Configuration(
                target=target,
                archs=tuple(sorted(archs, key=lambda arch: (arch is not None, arch))),
                requests={a: requests[a] or ArchRequest(a) for a in archs if a is not None},
                attrs=resolved[label, archs[0]],
                config=name,
                deps=deps_of[name],
            )


def _config_name(
    target: Target,
    arch: Arch | None,
    attrs: Mapping[str, AttrValue],
    deps: Mapping[Label, tuple[str, ...]],
) -> str:
    selected = {key: attrs[key] for key, value in target.attrs.items() if isinstance(value, Select)}
    # Without an arch there is one configuration, whatever those of its dependencies are.
    varied = arch is not None and any(name for names in deps.values() for name in names)
    if not selected and not varied:
        return ""
    text = repr((sorted(selected.items(), key=lambda item: item[0]), sorted(deps.items())))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _resolve_attrs(
    target: Target, arch: Arch | None, configs: frozenset[str]
) -> dict[str, AttrValue]:
    attrs: dict[str, AttrValue] = {}
    for key, value in target.attrs.items():
        try:
            attrs[key] = resolve(value, arch, configs)
        except (DefinitionError, UsageError) as error:
            place = f"{target.location.path}:{target.attr_lines.get(key, target.location.line)}"
            raise DefinitionError(
                f"{place}: `{key}` of `{target.label}`: {error.message}", hint=error.hint
            ) from None
    return attrs


def _labels(values: Iterable[AttrValue]) -> Iterator[Label]:
    seen: set[Label] = set()
    for value in values:
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, Label) and item not in seen:
                seen.add(item)
                yield item
