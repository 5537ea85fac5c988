"""What the resolver decided, for people and for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oxide_build.resolution.resolver import Choice, Refusal, Resolution


def as_record(resolution: Resolution) -> dict[str, Any]:
    """A resolution for programs; `schema` changes when a field changes its meaning."""
    return {
        "schema": 1,
        "ok": resolution.ok,
        "archs": [_record(verdict) for verdict in resolution.verdicts],
    }


def _record(verdict: Choice | Refusal) -> dict[str, Any]:
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
        "candidates": [
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
            for name, found in verdict.excluded
        ],
    }


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
        # Candidates that the same facts exclude are named together.
        groups: dict[tuple[str, ...], list[str]] = {}
        for name, found in verdict.excluded:
            reasons = tuple(f"{each.sentence} [{each.evidence}]" for each in found)
            groups.setdefault(reasons, []).append(name)
        for reasons, names in groups.items():
            lines += [f"         {name}" for name in names]
            lines += [f"           - {reason}" for reason in reasons]
    return lines
