"""`oxide log`."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import click

_HELP = """Show what the last builds of this workspace did.

What ran, the slowest first, what failed and with which words, and how many results were hits.

Every build is logged, except those that find nothing changed at all. The last 50 are kept.

\b
Examples:
  oxide log
  oxide log --list
  oxide log --last 3 --json
"""

_SHOWN = 20


@click.command("log", help=_HELP)
@click.option(
    "--last", type=click.IntRange(1), default=1, show_default=True, help="How many builds."
)
@click.option("--list", "listed", is_flag=True, help="One line for each build that is kept.")
@click.option("--failed", is_flag=True, help="Only what failed, with what the tools said.")
@click.option("--json", "as_json", is_flag=True, help="Print the events, a line of JSON each.")
def command(last: int, listed: bool, failed: bool, as_json: bool) -> int:
    from oxide_build.cli.folders import Folders
    from oxide_build.cli.prepared import workspace_id
    from oxide_build.execution.event_log import read_logs
    from oxide_build.load.workspace_file import find_workspace

    root = find_workspace(Path.cwd())
    logs = read_logs(Folders.find().cache, workspace_id(root))
    shown = list(logs) if listed else list(islice(logs, last))
    if not shown:
        click.echo("no build of this workspace was logged")
    for events in shown:
        if as_json:
            for event in events:
                click.echo(json.dumps(event))
        elif listed:
            click.echo(_line(events))
        else:
            click.echo("\n".join(_lines(events, failed=failed)))
    return 0


def _line(events: Sequence[Mapping[str, Any]]) -> str:
    head = events[0]
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(head["time_s"]))
    end = events[-1] if events[-1]["event"] == "end" else None
    if end is None:
        return f"{when}  did not end: killed, or still running  {' '.join(head['patterns'])}"
    counts = end["counts"]
    told = ", ".join(
        f"{counts[source]} {word}"
        for source, word in (("ran", "ran"), ("hit", "hits"), ("failed", "failed"))
        if counts.get(source)
    )
    return f"{when}  {end['ending']:6} {end['wall_s']:7.2f} s  {told}  {' '.join(head['patterns'])}"


def _lines(events: Sequence[Mapping[str, Any]], *, failed: bool) -> Iterator[str]:
    yield _line(events)
    for event in events:
        if event["event"] == "failed":
            yield f"  failed: {_name(event)}: {event['failure']}"
            if event["message"]:
                yield "\n".join(f"    {line}" for line in event["message"].splitlines())
    if failed:
        return
    ran = sorted(
        (event for event in events if event["event"] == "ran"), key=lambda each: -each["wall_s"]
    )
    for event in ran[:_SHOWN]:
        yield f"  {event['wall_s']:8.3f} s  {_name(event)}"
    if len(ran) > _SHOWN:
        rest = sum(event["wall_s"] for event in ran[_SHOWN:])
        yield f"  {rest:8.3f} s  {len(ran) - _SHOWN} others"
    hits = events[-1].get("hits") or {}
    if hits:
        yield "  hits: " + ", ".join(f"{stage} {count}" for stage, count in sorted(hits.items()))


def _name(event: Mapping[str, Any]) -> str:
    arch = f" {event['arch']}" if event["arch"] else ""
    return f"{event['label']} {event['stage']}{arch}"
