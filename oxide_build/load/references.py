"""Whether a label in an attribute leads to a target that may be there."""

from __future__ import annotations

from oxide_build.load.attributes import Reference
from oxide_build.load.packages import Packages
from oxide_build.load.problems import Problems
from oxide_build.load.spellings import PRIVATE, sees
from oxide_build.load.wording import joined
from oxide_build.model.target import Target


def check_reference(
    user: Target, reference: Reference, packages: Packages, problems: Problems
) -> bool:
    """Whether `reference` of `user` leads to a target; what is wrong with it goes to `problems`."""
    label = reference.label
    attribute = f"`{reference.attr}` of `{user.label}`"
    missing = packages.why_missing(label.package)
    if missing is not None:
        problems.add(
            reference.place,
            f"{attribute} names `{label}`, but there is no package `//{label.package}`: {missing}",
            hint=packages.similar(label.package, label.name),
        )
        return False
    package = packages.load(label.package)
    if package is None:
        # The file has an error of its own, which is the one to correct.
        return False
    loaded = package.targets.get(label.name)
    if loaded is None and not package.complete:
        return False
    if loaded is None:
        problems.add(
            reference.place,
            f"{attribute} names `{label}`, but there is no such target",
            hint=packages.why_no_target(label),
        )
        return False
    target = loaded.target
    if reference.rules and target.rule not in reference.rules:
        kinds = joined([f"`{rule}`" for rule in reference.rules], "or")
        problems.add(
            reference.place,
            f"{attribute} takes {kinds}, but `{label}` is a `{target.rule}`",
            hint=f"it is defined at {target.location}",
        )
    if not sees(user.label.package, label, target.visibility):
        problems.add(
            reference.place,
            f"{attribute} names `{label}`, which is not visible from `//{user.label.package}`",
            hint=_how_to_see(user, target),
        )
    return True


def _how_to_see(user: Target, target: Target) -> str:
    line = target.attr_lines.get("visibility")
    place = f"{target.location.path}:{line}" if line else str(target.location)
    if PRIVATE in target.visibility:
        seen_by = "it is private to its package"
    else:
        seen_by = f"it is visible to {joined([f'`{who}`' for who in target.visibility], 'and')}"
    return f"{seen_by} ({place}); add `//{user.label.package}:__pkg__` to its `visibility`"
