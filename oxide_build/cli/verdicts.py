"""What the resolver decided, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oxide_build.resolution.case import Exclusion
    from oxide_build.resolution.resolver import Choice, Refusal, Resolution


def as_record(resolution: Resolution) -> dict[str, Any]:
    """A resolution for programs; `schema` changes when a field changes its meaning."""
    return {
        "schema": 1,
        "ok": resolution.ok,
        "archs": [verdict_record(verdict) for verdict in resolution.verdicts],
    }


def verdict_record(verdict: Choice | Refusal) -> dict[str, Any]:
    """One arch of `as_record`."""
    from oxide_build.resolution.resolver import Choice

    arch = str(verdict.request.arch)
    if isinstance(verdict, Choice):
        return {
            "arch": arch,
            "ok": True,
            "rust": verdict.rust.spec,
            "llvm": verdict.rust.llvm,
            "cuda": verdict.cuda.version,
            "ptx": str(verdict.ptx),
            "warnings": list(verdict.warnings),
        }
    return {
        "arch": arch,
        "ok": False,
        "reason": verdict.main,
        "changes": list(verdict.changes),
        "candidates": excluded_records(verdict.excluded),
    }


def excluded_records(
    excluded: Iterable[tuple[str, tuple[Exclusion, ...]]],
) -> list[dict[str, Any]]:
    """As `excluded_lines`, for programs."""
    return [
        {
            "name": name,
            "excluded_by": [
                {
                    "subject": each.subject,
                    "predicate": each.predicate,
                    "reason": each.sentence,
                    "how": each.evidence.how,
                    "source": each.evidence.source,
                }
                for each in found
            ],
        }
        for name, found in excluded
    ]


def verdict_lines(verdict: Choice | Refusal, *, explain: bool) -> list[str]:
    """For a terminal: yes or no with the reason, the fix, and with `explain` every candidate."""
    from oxide_build.resolution.resolver import Choice

    arch = f"{verdict.request.arch!s:8}"
    if isinstance(verdict, Choice):
        rust, cuda = verdict.rust, verdict.cuda
        text = (
            f"{arch} yes: {rust.name} (LLVM {rust.llvm}) writes PTX {verdict.ptx}, "
            f"{cuda.name} takes up to {cuda.max_ptx}"
        )
        return [text, *(f"         but: {warning}" for warning in verdict.warnings)]
    lines = [f"{arch} no: {verdict.main}", f"         fix: {', or '.join(verdict.changes)}"]
    if explain:
        lines += excluded_lines(verdict.excluded)
    return lines


def excluded_lines(excluded: Iterable[tuple[str, tuple[Exclusion, ...]]]) -> list[str]:
    """Candidates with the first fact that excludes each; `excluded_records` has all of them."""
    lines = []
    for name, found in excluded:
        sentence = found[0].sentence
        text = sentence if name in sentence else f"{name}: {sentence}"
        source = "" if found[0].predicate == "partner-found" else f" [{found[0].evidence}]"
        lines.append(f"         - {text}{source}")
    return lines
