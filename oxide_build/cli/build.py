"""`oxide build`."""

from __future__ import annotations

from pathlib import Path

import click

from oxide_build.cli.options import graph_options, split

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
    from oxide_build.cli.running import Showing, run_build

    showing = Showing(quiet=quiet, as_json=as_json, profile=profile)
    return run_build(get_ready(argv, start, request, showing), argv, start, showing)
