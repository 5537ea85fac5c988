"""`oxide build`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from oxide_build.cli.messages import say
from oxide_build.cli.options import graph_options, split

if TYPE_CHECKING:
    from oxide_build.cli.prepared import Prepared
    from oxide_build.cli.ready import Ready
    from oxide_build.execution.report import BuildReport, BuildReporter

_MARK = "SECONDS"

_HELP = """Build targets and put their outputs into oxide-out.

PATTERNS are labels (//kernels:saxpy, :saxpy), packages (//kernels:all, //kernels/...), everything
(//...) or the same behind a minus to leave out (-//kernels/old/...). Without any: ... below here.

\b
Examples:
  oxide build //kernels/...
  oxide build //kernels:saxpy --arch sm_90a,sm_100
  oxide build //... -- -//experiments/...
  oxide build //... --rust nightly-2026-04-03 --cuda 13.0 --keep-going
"""


@click.command(
    "build",
    help=_HELP,
    context_settings={"ignore_unknown_options": False},
)
@click.argument("patterns", nargs=-1)
@graph_options
@click.option(
    "-j", "--jobs", type=click.IntRange(1, 1024), help="Actions at a time (default: cores)."
)
@click.option("-k", "--keep-going", is_flag=True, help="Build what does not need what failed.")
@click.option(
    "--profile", type=click.Path(dir_okay=False), help="Write a Chrome trace to this file."
)
@click.option("--dry-run", is_flag=True, help="Show what would run and why; run nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print what was built as JSON.")
@click.option("-q", "--quiet", is_flag=True, help="Show only failures and warnings.")
def command(
    patterns: tuple[str, ...],
    archs: tuple[str, ...],
    configs: tuple[str, ...],
    rust: str | None,
    cuda: str | None,
    offline: bool,
    jobs: int | None,
    keep_going: bool,
    profile: str | None,
    dry_run: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    from oxide_build.cli.request import Request

    # The whole command line: `oxide -C FOLDER build` is another request.
    argv, start = list(click.get_current_context().find_root().obj), Path.cwd()
    request = Request(
        patterns=patterns or ("...",),
        archs=split(archs),
        configs=split(configs),
        rust=rust,
        cuda=cuda,
        offline=offline,
        jobs=jobs or 0,
        keep_going=keep_going,
    )
    if dry_run:
        from oxide_build.cli.dry_run import show

        return show(start, request, as_json=as_json)
    from oxide_build.cli.ready import get_ready

    ready = get_ready(argv, start, request)
    return _build(ready, argv, start, profile=profile, as_json=as_json, quiet=quiet)


def _build(
    ready: Ready, argv: list[str], start: Path, *, profile: str | None, as_json: bool, quiet: bool
) -> int:
    """Build, and say what came of it."""
    from oxide_build.cli.bookkeeping import keep_cache_small
    from oxide_build.cli.progress import BuildProgress, StatusLine, size
    from oxide_build.cli.snapshots import take_snapshot
    from oxide_build.cli.summary import as_record, summary, trace
    from oxide_build.execution.build import check

    prepared, line = ready.prepared, StatusLine()
    try:
        report = _logged(prepared, BuildProgress(line, quiet=quiet))
    finally:
        line.clear()
    if profile is not None:
        Path(profile).write_text(json.dumps(trace(report)), encoding="utf-8")
    if as_json:
        click.echo(json.dumps(as_record(report, prepared.toolchains), indent=2))
    if not quiet:
        for text in summary(report):
            say(text)
    collected = keep_cache_small(prepared)
    if collected is not None and not quiet:
        freed = size(collected.freed_bytes)
        say(f"the cache was too large: {freed} removed, {size(collected.left_bytes)} left")
    check(report)
    defined = ready.definitions()
    if defined is not None:
        out, err = _said(report.again(), prepared, as_json=as_json, quiet=quiet)
        take_snapshot(argv, start, prepared, defined, out, err)
    return 0


def _logged(prepared: Prepared, reporter: BuildReporter) -> BuildReport:
    """Build with the log that is always kept."""
    from oxide_build.cli.bookkeeping import event_log
    from oxide_build.errors import OxideError
    from oxide_build.execution.build import build

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


def _said(
    report: BuildReport, prepared: Prepared, *, as_json: bool, quiet: bool
) -> tuple[str, str]:
    """What this command prints of `report`, with a mark in the place of its seconds."""
    from oxide_build.cli.progress import outcome_lines
    from oxide_build.cli.summary import as_record, summary
    from oxide_build.snapshot.snapshot import SECONDS

    lines = [line for outcome in report.outcomes for line in outcome_lines(outcome)]
    if not quiet:
        lines += summary(report, seconds=SECONDS)
    out = ""
    if as_json:
        record = {**as_record(report, prepared.toolchains), "wall_s": _MARK}
        out = json.dumps(record, indent=2).replace(f'"{_MARK}"', SECONDS) + "\n"
    return out, "".join(f"{line}\n" for line in lines)
