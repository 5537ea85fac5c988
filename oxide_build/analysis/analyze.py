"""Configured targets to actions: calls each rule once for each configuration."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from oxide_build.analysis.actions import ActionGraph, GraphBuilder, Output, RuleResult, read_result
from oxide_build.analysis.configure import Configuration
from oxide_build.analysis.rule_set import Rule, RuleSet
from oxide_build.analysis.starlark_rules import RuleFailure, plain
from oxide_build.errors import DefinitionError
from oxide_build.model.action import OUTPUT_ROOT
from oxide_build.model.arch import ArchRequest
from oxide_build.model.label import Label
from oxide_build.model.target import AttrSpec, AttrValue
from oxide_build.model.toolchain import Toolchain

# The toolchain of a kind for an arch, or for what builds for no arch.
ToolchainFor = Callable[[str, ArchRequest | None], Toolchain]
# Which of some words occur in a source file.
Scan = Callable[[str, tuple[str, ...]], tuple[str, ...]]

# What a lock file takes from outside the workspace; None for nothing.
CratesFor = Callable[[str], Toolchain | None]

# Toolchain actions belong to no target; this is how reports call them.
_TOOLCHAIN_PACKAGE = "toolchain"


def toolchain_id(toolchain: Toolchain) -> str:
    """A short name of a toolchain's identity: its files and what it is asked to be."""
    trees = sorted((name, str(tree.digest)) for name, tree in toolchain.trees.items())
    text = repr((toolchain.kind, toolchain.version, trees))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def analyze(
    configurations: Sequence[Configuration],
    requested: Sequence[Label],
    rules: RuleSet,
    toolchain_for: ToolchainFor,
    scan: Scan,
    crates_for: CratesFor,
) -> ActionGraph:
    """The action graph of `requested`; `configurations` come dependencies first.

    Raises `DefinitionError` with the target's place for what a rule refuses, and what
    `toolchain_for` and `crates_for` raise.
    """
    return _Analysis(rules, toolchain_for, scan, crates_for).run(configurations, requested)


def _ptx_feature(request: ArchRequest) -> str:
    return "" if request.min_ptx is None else request.min_ptx.feature


class _Analysis:
    def __init__(
        self, rules: RuleSet, toolchain_for: ToolchainFor, scan: Scan, crates_for: CratesFor
    ) -> None:
        self._rules = rules
        self._toolchain_for = toolchain_for
        self._scan = scan
        self._crates_for = crates_for
        self._graph = GraphBuilder()
        self._prepared: dict[str, Mapping[str, Any]] = {}
        # By object, which `_seen` keeps alive: hashing its trees for each target and arch adds up.
        self._ids: dict[int, str] = {}
        self._seen: list[Toolchain] = []
        self._results: dict[tuple[Label, str], RuleResult] = {}

    def run(
        self, configurations: Sequence[Configuration], requested: Sequence[Label]
    ) -> ActionGraph:
        outputs: dict[Label, list[Output]] = {label: [] for label in requested}
        files: dict[Label, list[str]] = {label: [] for label in requested}
        notes: dict[Label, dict[str, str]] = {label: {} for label in requested}
        for configuration in configurations:
            label = configuration.target.label
            result = self._analyse(configuration)
            self._results[label, configuration.config] = result
            self._graph.add(result.actions, str(configuration.target.location))
            if label in outputs:
                outputs[label].extend(result.outputs)
                files[label].extend(result.files)
                notes[label].update(result.notes)
        self._graph.check_inputs()
        return ActionGraph(
            actions=tuple(self._graph.actions),
            producer=self._graph.producer,
            outputs={label: tuple(dict.fromkeys(found)) for label, found in outputs.items()},
            files={label: tuple(dict.fromkeys(found)) for label, found in files.items()},
            notes=notes,
        )

    def _analyse(self, configuration: Configuration) -> RuleResult:
        target = configuration.target
        rule = self._rules.rules[target.rule]
        place = str(target.location)
        context = self._context(configuration, rule)
        try:
            raw = rule.file.call_rule("analyze", target.rule, context)
        except RuleFailure as failure:
            if failure.deliberate:
                raise DefinitionError(f"{place}: {failure.message}") from None
            raise DefinitionError(
                f"{place}: the rule `{target.rule}` broke on `{target.label}`\n{failure.trace}",
                hint=f"the mistake is in `{rule.file.module_id}`, not in the target",
            ) from None
        return read_result(raw, label=target.label, place=f"{place}: rule `{target.rule}`")

    def _context(self, configuration: Configuration, rule: Rule) -> dict[str, object]:
        target = configuration.target
        specs = rule.schema.attrs
        attrs: dict[str, object] = {}
        scanned: dict[str, list[str]] = {}
        labels: list[str] = []
        for key, spec in specs.items():
            value = configuration.attrs[key]
            if spec.kind in ("label", "label_list"):
                labels.append(key)
                attrs[key] = self._providers(value, configuration)
            elif spec.kind in ("source", "source_list"):
                paths = self._sources(value, configuration)
                attrs[key] = paths if spec.kind == "source_list" else next(iter(paths), "")
                if spec.scan:
                    scanned[key] = self._scan_all(paths, spec)
            else:
                attrs[key] = plain(value)
        return {
            "label": str(target.label),
            "package": target.label.package,
            "name": target.label.name,
            "attrs": attrs,
            "labels": [key for key in labels if attrs[key] is not None],
            "archs": [
                {
                    "name": str(arch),
                    "number": arch.number,
                    "suffix": arch.suffix,
                    "ptx": configuration.requests[arch].ptx,
                    "cubin": configuration.requests[arch].cubin,
                    "ptx_feature": _ptx_feature(configuration.requests[arch]),
                }
                for arch in configuration.archs
                if arch is not None
            ],
            "config": configuration.config,
            "scanned": scanned,
            "crates": self._crates(attrs[rule.lockfile]) if rule.lockfile else None,
            "toolchains": {
                kind: {
                    "" if arch is None else str(arch): self._toolchain(
                        kind, None if arch is None else configuration.requests[arch]
                    )
                    for arch in configuration.archs
                }
                for kind in rule.toolchains
            },
        }

    def _providers(self, value: AttrValue, configuration: Configuration) -> object:
        if value is None:
            return None
        if isinstance(value, Label):
            return self._provider(value, configuration)
        if not isinstance(value, tuple):
            raise TypeError(f"a label attribute holds {value!r}")
        return [self._provider(item, configuration) for item in value if isinstance(item, Label)]

    def _provider(self, label: Label, configuration: Configuration) -> dict[str, object]:
        names = configuration.deps[label]
        if len(names) > 1:
            target = configuration.target
            raise DefinitionError(
                f"{target.location}: `{label}` differs between its archs, so `{target.label}`, "
                "which has none, cannot use its providers",
                hint="name it in an attribute for sources, or drop its `select` on the arch",
            )
        result = self._results[label, names[0]]
        return {"label": str(label), "files": list(result.files), **result.providers}

    def _sources(self, value: AttrValue, configuration: Configuration) -> list[str]:
        paths: list[str] = []
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, Label):
                for name in configuration.deps[item]:
                    paths.extend(self._results[item, name].files)
            elif isinstance(item, str):
                paths.append(item)
        return list(dict.fromkeys(paths))

    def _scan_all(self, paths: Sequence[str], spec: AttrSpec) -> list[str]:
        found: dict[str, None] = {}
        for path in paths:
            words = spec.scan
            if not path.startswith(OUTPUT_ROOT + "/"):
                words = self._scan(path, spec.scan)
            elif (content := self._graph.literal_content(path)) is not None:
                words = tuple(word for word in spec.scan if word in content)
            # Nobody has seen any other file that is yet to be made: it may hold all the words.
            found.update(dict.fromkeys(words))
        return list(found)

    def _crates(self, lock: object) -> Mapping[str, Any] | None:
        found = self._crates_for(str(lock))
        return None if found is None else self._provided(found)

    def _toolchain(self, kind: str, request: ArchRequest | None) -> Mapping[str, Any]:
        return self._provided(self._toolchain_for(kind, request))

    def _provided(self, toolchain: Toolchain) -> Mapping[str, Any]:
        """What the implementation of the toolchain's kind tells rules; its actions come once."""
        kind = toolchain.kind
        name = self._ids.get(id(toolchain))
        if name is None:
            name = self._ids[id(toolchain)] = toolchain_id(toolchain)
            self._seen.append(toolchain)
        if name not in self._prepared:
            file = self._rules.toolchains[kind]
            place = f"{file.module_id}: toolchain `{kind}`"
            context = {
                "kind": kind,
                "id": name,
                "version": toolchain.version,
                "tools": dict(toolchain.tools),
                "facts": plain(toolchain.facts),
                "env": dict(toolchain.env),
            }
            try:
                raw = file.call_rule("prepare", kind, context)
            except RuleFailure as failure:
                raise DefinitionError(f"{place}: {failure.trace}") from None
            label = Label(_TOOLCHAIN_PACKAGE, f"{kind}-{toolchain.version}")
            result = read_result(raw, label=label, place=place)
            self._graph.add(result.actions, place)
            self._prepared[name] = result.providers
        return self._prepared[name]
