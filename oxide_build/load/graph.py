"""The target graph: everything that some patterns need, checked and in order."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from oxide_build.load.build_file import LoadedTarget
from oxide_build.load.files import WorkspaceFiles, parents
from oxide_build.load.order import order
from oxide_build.load.packages import Packages
from oxide_build.load.problems import Problems
from oxide_build.load.references import check_reference
from oxide_build.load.requested import expand
from oxide_build.model.label import Label, Pattern
from oxide_build.model.target import Location, RuleSchema, Target
from oxide_build.model.workspace import Workspace

# A cycle of 100,000 targets is shown by its ends.
_SHOWN_STEPS = 12


@dataclass(frozen=True, slots=True)
class TargetGraph:
    """`targets` has `requested` and all that they depend on, dependencies first.

    `packages` has the names of all targets of every package that was loaded.
    """

    targets: Mapping[Label, Target]
    requested: tuple[Label, ...]
    packages: Mapping[str, Collection[str]] = field(default_factory=dict)


def load_graph(
    files: WorkspaceFiles,
    workspace: Workspace,
    schemas: Mapping[str, RuleSchema],
    patterns: Sequence[Pattern],
) -> TargetGraph:
    """Load the packages of `patterns` and, transitively, those of what their targets depend on.

    Raises `DefinitionError` with everything that is wrong in the packages loaded, else
    `UsageError` for a pattern that matches nothing. The result and the errors are the same in
    every run, whatever order the disk lists its files in.
    """
    problems = Problems()
    packages = Packages(files, workspace, schemas, problems)
    requested, mistake = expand(patterns, files, packages)
    loaded = _reach(requested, packages, problems)
    _check_outputs(packages, problems)
    labels, cycles = order(
        requested,
        lambda label: [dep for dep in loaded[label].target.deps if dep in loaded],
    )
    for cycle in cycles:
        _report_cycle(cycle, loaded, problems)
    problems.raise_any()
    if mistake is not None:
        raise mistake
    return TargetGraph(
        {label: loaded[label].target for label in labels},
        tuple(requested),
        {package.path: package.targets.keys() for package in packages.loaded()},
    )


def dependents(graph: TargetGraph) -> dict[Label, tuple[Label, ...]]:
    """For each target of the graph those of its targets that name it, in the graph's order."""
    found: dict[Label, list[Label]] = {label: [] for label in graph.targets}
    for label, target in graph.targets.items():
        for dep in target.deps:
            found[dep].append(label)
    return {label: tuple(users) for label, users in found.items()}


def _reach(
    requested: Sequence[Label], packages: Packages, problems: Problems
) -> dict[Label, LoadedTarget]:
    """The targets that `requested` reach; references that lead nowhere are noted."""
    found: dict[Label, LoadedTarget] = {}
    waiting = list(reversed(requested))
    while waiting:
        label = waiting.pop()
        package = packages.load(label.package)
        if label in found or package is None:
            continue
        loaded = found[label] = package.targets[label.name]
        for reference in loaded.references:
            if check_reference(loaded.target, reference, packages, problems):
                waiting.append(reference.label)
    return found


def _check_outputs(packages: Packages, problems: Problems) -> None:
    """No file is made by two targets, and none is where another makes a folder."""
    makers: dict[str, tuple[Target, Location]] = {}
    for package in packages.loaded():
        for loaded in package.targets.values():
            for path, place in loaded.outputs:
                first, at = makers.setdefault(path, (loaded.target, place))
                if first is not loaded.target:
                    problems.add(
                        place,
                        f"`{loaded.target.label}` makes `{path}`, which `{first.label}` makes too",
                        hint=f"the other one is at {at}; give one of the files another name",
                    )
    for path, (target, place) in makers.items():
        for folder in parents(path):
            if folder in makers:
                other, at = makers[folder]
                problems.add(
                    place,
                    f"`{target.label}` makes `{path}`, but `{other.label}` makes a file `{folder}`",
                    hint=f"the other one is at {at}; give one of the files another name",
                )


def _report_cycle(
    cycle: Sequence[Label], loaded: Mapping[Label, LoadedTarget], problems: Problems
) -> None:
    start = min(range(len(cycle)), key=lambda position: cycle[position])
    turned = [*cycle[start:], *cycle[:start]]
    steps = [f"`{turned[0]}`"]
    places: list[Location] = []
    for user, dep in zip(turned, [*turned[1:], turned[0]], strict=True):
        references = loaded[user].references
        reference = next(item for item in references if item.label == dep)
        places.append(reference.place)
        steps.append(f"-> `{dep}`  ({reference.place}, `{reference.attr}`)")
    if len(steps) > _SHOWN_STEPS:
        half = _SHOWN_STEPS // 2
        skipped = f"-> … {len(steps) - 2 * half:,} more …"
        steps = [*steps[:half], skipped, *steps[-half:]]
    problems.add(
        places[0],
        f"`{turned[0]}` depends on itself\n    " + "\n    ".join(steps),
        hint="remove one of these dependencies, or move what both sides need into a third target",
    )
