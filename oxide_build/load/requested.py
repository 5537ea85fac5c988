"""From target patterns to labels."""

from __future__ import annotations

from collections.abc import Sequence

from oxide_build.errors import UsageError
from oxide_build.load.files import WorkspaceFiles
from oxide_build.load.packages import Packages
from oxide_build.model.label import Label, Pattern, shown


def expand(
    patterns: Sequence[Pattern], files: WorkspaceFiles, packages: Packages
) -> tuple[list[Label], UsageError | None]:
    """The labels that `patterns` name, and the first mistake in them.

    Labels are in order of the patterns, then of the packages' paths, then of the files; each once.
    A negative pattern takes away what earlier ones gave and may match nothing. Packages that are
    taken away as a whole are not even read, so that a broken one can be left out.
    """
    found: dict[Label, None] = {}
    mistakes: list[UsageError] = []
    for position, pattern in enumerate(patterns):
        if pattern.negative:
            found = {label: None for label in found if not pattern.matches(label)}
            continue
        try:
            paths = _packages(pattern, files, packages)
            later = [other for other in patterns[position + 1 :] if other.negative]
            kept = [path for path in paths if not any(_removes(o, path) for o in later)]
            labels = [label for path in kept for label in _targets(pattern, path, packages)]
            if not labels and len(kept) == len(paths) and _readable(kept, packages):
                raise UsageError(
                    f"the pattern {shown(str(pattern))} matches no target",
                    hint="its packages define none",
                )
            found.update(dict.fromkeys(labels))
        except UsageError as error:
            mistakes.append(error)
    if not any(not pattern.negative for pattern in patterns):
        hint = "name what to build first: `//... -//a/...`"
        mistakes.append(UsageError("no target pattern adds targets", hint=hint))
    return list(found), mistakes[0] if mistakes else None


def _packages(pattern: Pattern, files: WorkspaceFiles, packages: Packages) -> list[str]:
    why = packages.why_missing(pattern.package)
    if pattern.recursive:
        found = files.packages_below(pattern.package)
        if found:
            return found
        reason = why if why is not None and "BUILD.toml" not in why else "no package lies there"
        raise UsageError(
            f"the pattern {shown(str(pattern))} matches no target: {reason}",
            hint=packages.similar(pattern.package, None),
        )
    if why is None:
        return [pattern.package]
    name = pattern.name or "all"
    raise UsageError(
        f"{shown(str(pattern))}: there is no package `//{pattern.package}`: {why}",
        hint=packages.similar(pattern.package, name),
    )


def _targets(pattern: Pattern, path: str, packages: Packages) -> list[Label]:
    package = packages.load(path)
    if package is None:
        return []
    if pattern.name is None:
        return [Label(path, name) for name in package.targets]
    label = Label(path, pattern.name)
    if pattern.name not in package.targets:
        raise UsageError(f"there is no target `{label}`", hint=packages.why_no_target(label))
    return [label]


def _removes(pattern: Pattern, package: str) -> bool:
    return pattern.name is None and pattern.matches_package(package)


def _readable(paths: Sequence[str], packages: Packages) -> bool:
    return all(packages.load(path) is not None for path in paths)
