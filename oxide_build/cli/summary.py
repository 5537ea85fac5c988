"""A finished build in words, as JSON and as a trace."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from oxide_build.cli.prepared import UsedToolchain
from oxide_build.cli.progress import action_name
from oxide_build.execution.report import BuildReport
from oxide_build.model.action import OUTPUT_ROOT

# How many targets are listed one by one.
_LISTED = 12


def summary(report: BuildReport, *, seconds: str | None = None) -> Iterator[str]:
    """Lines for people: what was built, where it lies, what ran; `seconds` in place of its own."""
    if report.removed:
        yield (
            f"removed {len(report.removed)} outputs that nothing makes any more, "
            f"such as {report.removed[0]}"
        )
    shown = 0
    for label, paths in report.outputs.items():
        if not paths or label not in report.complete:
            continue
        shown += 1
        if shown > _LISTED:
            continue
        yield f"{label.short}  {_forms(label.name, paths)}"
    if shown > _LISTED:
        yield f"… and {shown - _LISTED} more targets"
    yield counts(report, seconds or f"{report.wall_s:.2f}")


def counts(report: BuildReport, seconds: str) -> str:
    """`15 actions: 3 ran, 12 hits; 4 outputs written, 11 unchanged (0.42 s)`."""
    parts = [f"{report.count('ran')} ran", f"{report.count('hit')} hits"]
    for source in ("failed", "skipped"):
        if report.count(source):
            parts.append(f"{report.count(source)} {source}")
    return (
        f"{len(report.outcomes)} actions: {', '.join(parts)}; "
        f"{report.written} outputs written, {report.unchanged} unchanged ({seconds} s)"
    )


def as_record(report: BuildReport, toolchains: Sequence[UsedToolchain]) -> dict[str, Any]:
    """The build for programs; `schema` changes when a field changes its meaning."""
    return {
        "schema": 1,
        "targets": {
            str(label): {
                "complete": label in report.complete,
                "outputs": list(paths),
                **dict(report.notes.get(label, {})),
            }
            for label, paths in report.outputs.items()
        },
        "actions": {
            "total": len(report.outcomes),
            **{key: report.count(key) for key in ("ran", "hit", "failed", "skipped")},
        },
        "ran": [
            {
                "label": str(outcome.action.label),
                "stage": outcome.action.stage,
                "arch": outcome.action.arch,
                "wall_s": round(outcome.wall_s, 4),
            }
            for outcome in report.outcomes
            if outcome.source == "ran"
        ],
        "failed": [
            {
                "label": str(outcome.action.label),
                "stage": outcome.action.stage,
                "arch": outcome.action.arch,
                "failure": outcome.failure,
                "hint": outcome.hint,
            }
            for outcome in report.failures
        ],
        "outputs": {"written": report.written, "unchanged": report.unchanged},
        "toolchains": [
            {"kind": each.kind, "version": each.version, "provider": each.provider}
            for each in toolchains
        ],
        "wall_s": round(report.wall_s, 4),
    }


def trace(report: BuildReport) -> list[dict[str, Any]]:
    """Events in Chrome's trace format (chrome://tracing, ui.perfetto.dev); times in µs."""
    lanes: list[float] = []
    events = []
    for outcome in sorted(report.outcomes, key=lambda each: each.start_s):
        if outcome.source == "skipped":
            continue
        lane = next((i for i, end in enumerate(lanes) if end <= outcome.start_s), len(lanes))
        if lane == len(lanes):
            lanes.append(0.0)
        lanes[lane] = outcome.start_s + outcome.wall_s
        action = outcome.action
        events.append(
            {
                "name": action_name(action),
                "cat": f"{action.stage},{outcome.source}",
                "ph": "X",
                "ts": round(outcome.start_s * 1e6),
                "dur": round(outcome.wall_s * 1e6),
                "pid": 1,
                "tid": lane + 1,
                "args": {
                    "label": str(action.label),
                    "stage": action.stage,
                    "arch": action.arch,
                    "source": outcome.source,
                    **dict(report.notes.get(action.label, {})),
                },
            }
        )
    return events


def _forms(name: str, paths: Sequence[str]) -> str:
    """`oxide-out/kernels/saxpy.{sm_80,sm_90}.{ptx,cubin,json}`, or the paths themselves."""
    folder = paths[0].rpartition("/")[0]
    archs: dict[str, None] = {}
    kinds: dict[str, None] = {}
    for path in paths:
        rest = path.removeprefix(f"{folder}/{name}.")
        arch, dot, kind = rest.rpartition(".")
        if rest == path or not dot or not arch.startswith("sm_"):
            return ", ".join(paths[:4]) + (f" and {len(paths) - 4} more" if len(paths) > 4 else "")
        archs[arch] = None
        kinds[kind] = None
    return f"{folder or OUTPUT_ROOT}/{name}.{_braces(archs)}.{_braces(kinds)}"


def _braces(names: dict[str, None]) -> str:
    return next(iter(names)) if len(names) == 1 else "{" + ",".join(names) + "}"
