"""Running a build that is ready, and saying what came of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from oxide_build.cli.bookkeeping import event_log, keep_cache_small
from oxide_build.cli.messages import say
from oxide_build.cli.prepared import Prepared
from oxide_build.cli.progress import BuildProgress, StatusLine, outcome_lines
from oxide_build.cli.snapshots import take_snapshot
from oxide_build.cli.summary import as_record, summary, trace
from oxide_build.errors import OxideError
from oxide_build.execution.build import build, check
from oxide_build.execution.report import BuildReport, BuildReporter
from oxide_build.snapshot.snapshot import SECONDS, State

_MARK = "SECONDS"


@dataclass(frozen=True, slots=True)
class Ready:
    """A build that can run. `definitions` gives, after it ran well, the states of all that defines
    it, None where they say nothing; it keeps a plan for the next build if there was none."""

    prepared: Prepared
    definitions: Callable[[], dict[str, State] | None]


@dataclass(frozen=True, slots=True)
class Showing:
    """How much of a build is shown, and in what form; `profile` is a file for a trace."""

    quiet: bool = False
    as_json: bool = False
    profile: str | None = None


def run_build(ready: Ready, argv: list[str], start: Path, showing: Showing) -> int:
    """Build, say what came of it, and keep what spares the next build of `argv` its work."""
    prepared, line = ready.prepared, StatusLine()
    try:
        report = _logged(prepared, BuildProgress(line, quiet=showing.quiet))
    finally:
        line.clear()
    if showing.profile is not None:
        Path(showing.profile).write_text(json.dumps(trace(report)), encoding="utf-8")
    if showing.as_json:
        sys.stdout.write(json.dumps(as_record(report, prepared.toolchains), indent=2) + "\n")
        sys.stdout.flush()
    if not showing.quiet:
        for text in summary(report):
            say(text)
    for text in keep_cache_small(prepared):
        if not showing.quiet or text.startswith("warning"):
            say(text)
    check(report)
    defined = ready.definitions()
    if defined is not None:
        out, err = _said(report.again(), prepared, showing)
        take_snapshot(argv, start, prepared, defined, out, err)
    return 0


def _logged(prepared: Prepared, reporter: BuildReporter) -> BuildReport:
    """Build with the log that is always kept."""
    log = event_log(prepared, reporter)
    ending = "interrupted"
    try:
        with prepared.build_tools() as tools:
            report = build(prepared.graph, tools, log)
        ending = "failed" if report.failures else "ok"
        return report
    except OxideError:
        ending = "error"
        raise
    finally:
        log.end(ending)


def _said(report: BuildReport, prepared: Prepared, showing: Showing) -> tuple[str, str]:
    """What this command prints of `report`, with a mark in the place of its seconds."""
    lines = [line for outcome in report.outcomes for line in outcome_lines(outcome)]
    if not showing.quiet:
        lines += summary(report, seconds=SECONDS)
    out = ""
    if showing.as_json:
        record = {**as_record(report, prepared.toolchains), "wall_s": _MARK}
        out = json.dumps(record, indent=2).replace(f'"{_MARK}"', SECONDS) + "\n"
    return out, "".join(f"{line}\n" for line in lines)
