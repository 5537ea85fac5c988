"""`oxide toolchain bisect`."""

from __future__ import annotations

import datetime
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from oxide_build.cli.messages import say
from oxide_build.cli.options import split

if TYPE_CHECKING:
    from oxide_build.cli.request import Request
    from oxide_build.resolution.bisect import Verdict

_HELP = """Find the first nightly between two dates with which LABEL loses a property.

The property is that it builds and assembles for its archs, or with --max-registers also that no
entry needs more registers than that. Nights without a nightly or its components are skipped.
Each nightly takes about 900 MB in the store; `oxide toolchain gc` removes them again.

\b
Examples:
  oxide toolchain bisect //kernels:gemm --good 2026-04-03 --bad 2026-10-29 --arch sm_90
  oxide toolchain bisect //kernels:gemm --good 2026-07-15 --bad 2026-10-29 --max-registers 128
"""

_DATE = click.DateTime(["%Y-%m-%d"])


@dataclass(frozen=True, slots=True)
class _Property:
    """What a night must keep: it builds, with at most so many registers in the entry or in all."""

    max_registers: int | None
    entry: str | None


@click.command("bisect", help=_HELP)
@click.argument("label")
@click.option("--good", type=_DATE, required=True, help="A date on which it has the property.")
@click.option("--bad", type=_DATE, required=True, help="A later date on which it does not.")
@click.option("--arch", "archs", multiple=True, metavar="ARCH", help="Archs to build for.")
@click.option("--cuda", metavar="SPEC", help="Require this CUDA, whatever oxide.toml says.")
@click.option("--max-registers", type=int, help="No entry may need more registers.")
@click.option("--entry", help="Count the registers of this entry only.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def command(
    label: str,
    good: datetime.datetime,
    bad: datetime.datetime,
    archs: tuple[str, ...],
    cuda: str | None,
    max_registers: int | None,
    entry: str | None,
    as_json: bool,
) -> int:
    from oxide_build.cli.request import Request
    from oxide_build.resolution.bisect import Verdict, bisect, nights

    dates = nights(good.date(), bad.date())
    if len(dates) < 2:
        raise click.UsageError("`--bad` must be a later date than `--good`")
    request = Request(patterns=(label,), archs=split(archs), cuda=cuda)
    wanted = _Property(max_registers, entry)

    def probe(night: datetime.date) -> Verdict:
        verdict, why = _try(replace(request, rust=f"nightly-{night}"), wanted)
        say(f"nightly-{night}: {verdict.value}{f' ({why})' if why else ''}")
        return verdict

    for night, expected in ((dates[0], Verdict.GOOD), (dates[-1], Verdict.BAD)):
        if (verdict := probe(night)) is not expected:
            option = "--good" if expected is Verdict.GOOD else "--bad"
            raise click.UsageError(
                f"`{option} {night}` is {verdict.value}, so there is nothing to look for\n\n"
                "hint: choose another date"
            )
    found = bisect(dates, probe)
    record = {
        "last_good": f"nightly-{found.last_good}",
        "first_bad": f"nightly-{found.first_bad}",
        "skipped": [f"nightly-{night}" for night in found.skipped],
    }
    if as_json:
        click.echo(json.dumps(record, indent=2))
        return 0
    click.echo(f"last good: {record['last_good']}\nfirst bad: {record['first_bad']}")
    if found.skipped:
        click.echo(f"between them, could not be tried: {', '.join(record['skipped'])}")
    return 0


def _try(request: Request, wanted: _Property) -> tuple[Verdict, str]:
    """How one nightly does, and why where it does not."""
    from oxide_build.cli.progress import BuildProgress, FetchProgress, StatusLine
    from oxide_build.cli.session import open_session
    from oxide_build.errors import ToolchainError
    from oxide_build.execution.build import build
    from oxide_build.resolution.bisect import Verdict

    fetching = FetchProgress()
    try:
        session = open_session(Path.cwd(), request, fetching)
        prepared = session.prepare()
        with prepared.build_tools() as tools:
            report = build(prepared.graph, tools, BuildProgress(StatusLine(), quiet=True))
    except ToolchainError as error:
        return Verdict.SKIPPED, error.message.splitlines()[-1].strip()
    finally:
        fetching.close()
    if report.failures:
        first = report.failures[0]
        return Verdict.BAD, f"{first.action.stage}: {first.failure}"
    root = Path(session.workspace.root)
    for paths in report.outputs.values():
        for path in paths:
            if path.endswith(".json") and (why := _over(root / path, wanted)):
                return Verdict.BAD, why
    return Verdict.GOOD, ""


def _over(record: Path, wanted: _Property) -> str:
    """Which entry of an assembly record needs too many registers, "" where none does."""
    if wanted.max_registers is None:
        return ""
    found = json.loads(record.read_text(encoding="utf-8"))
    for entry in found["entries"]:
        if wanted.entry in (None, entry["name"]) and entry["registers"] > wanted.max_registers:
            return f"{entry['name']} needs {entry['registers']} registers on {found['arch']}"
    return ""
