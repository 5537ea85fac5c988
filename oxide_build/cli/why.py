"""`oxide why`."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from oxide_build.cli.options import graph_options, split

if TYPE_CHECKING:
    from oxide_build.execution.prospect import Reason

_HELP = """Say why a target would be built now, or why it was built the last time.

For each action of the target the first line is the first ingredient of its key that differs: a
source, an argument, a tool, an environment variable. Where an input was made by another action,
that one's reasons stand below. Nothing is run.

\b
Examples:
  oxide why //kernels:saxpy
  oxide why //kernels:saxpy --arch sm_90 --json
"""


@click.command("why", help=_HELP)
@click.argument("label")
@graph_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    label: str,
    archs: tuple[str, ...],
    configs: tuple[str, ...],
    rust: str | None,
    cuda: str | None,
    offline: bool,
    as_json: bool,
) -> int:
    from oxide_build.cli.progress import FetchProgress, action_name
    from oxide_build.cli.request import Request
    from oxide_build.cli.session import open_session
    from oxide_build.execution.prospect import lines, prospects, why_now, why_then

    request = Request(
        patterns=(label,),
        archs=split(archs),
        configs=split(configs),
        rust=rust,
        cuda=cuda,
        offline=offline,
    )
    session = open_session(Path.cwd(), request, FetchProgress())
    prepared = session.prepare()
    graph = prepared.graph
    records: list[dict[str, Any]] = []
    with prepared.build_tools() as tools:
        found = prospects(graph, tools)
        for index, prospect in found.items():
            action = prospect.action
            if action.label not in session.graph.requested:
                continue
            past = tools.history.past(action.outputs[0])
            # What is in the cache and was the last build's is up to date.
            same = prospect.state == "hit" and past is not None and past.key == prospect.key
            explain = why_then if same else why_now
            reason = explain(index, found, graph, tools)
            head = {"hit": "is in the cache", "run": "would run", "open": "may run"}
            state = "up to date" if same else head[prospect.state]
            since = past.since_s if past is not None else None
            records.append(_record(reason, state, since))
            if not as_json:
                ago = f", built {_ago(since)}" if same and since is not None else ""
                click.echo(f"{action_name(action)}: {state}{ago}")
                for line in lines(reason, indent=2):
                    click.echo(line)
    if as_json:
        click.echo(json.dumps({"schema": 1, "actions": records}, indent=2))
    elif not records:
        click.echo(f"{label} has no actions of its own")
    return 0


def _record(reason: Reason, state: str, since_s: float | None) -> dict[str, Any]:
    return {**reason_record(reason), "state": state, "since_s": since_s}


def reason_record(reason: Reason) -> dict[str, Any]:
    """A reason for programs, with its causes below it."""
    return {
        "label": str(reason.action.label),
        "stage": reason.action.stage,
        "arch": reason.action.arch,
        "reasons": list(reason.sentences),
        "because": [reason_record(each) for each in reason.because],
    }


def _ago(since_s: float) -> str:
    seconds = max(0, int(time.time() - since_s))
    for unit, size in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= size:
            count = seconds // size
            return f"{count} {unit}{'s' if count > 1 else ''} ago"
    return f"{seconds} s ago"
