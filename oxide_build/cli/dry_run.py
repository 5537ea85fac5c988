"""`oxide build --dry-run`: what would run and why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from oxide_build.cli.progress import FetchProgress, action_name
from oxide_build.cli.request import Request
from oxide_build.cli.session import open_session
from oxide_build.cli.why import reason_record
from oxide_build.execution.prospect import Prospect, prospects, why_now

_WORDS = {"hit": "in the cache", "run": "would run", "open": "may run"}


def show(start: Path, request: Request, *, as_json: bool) -> int:
    """Print each action that is not in the cache with the first reason, and the counts."""
    session = open_session(start, request, FetchProgress())
    prepared = session.prepare()
    graph = prepared.graph
    with prepared.build_tools() as tools:
        found = prospects(graph, tools)
        reasons = {
            index: why_now(index, found, graph, tools)
            for index, prospect in found.items()
            if prospect.state != "hit"
        }
    counts = {state: sum(p.state == state for p in found.values()) for state in _WORDS}
    if as_json:
        actions: list[dict[str, Any]] = []
        for index, prospect in found.items():
            own = reason_record(reasons[index]) if index in reasons else _plain(prospect)
            actions.append({**own, "state": prospect.state, "key": prospect.key or None})
        record = {"schema": 1, "counts": counts, "actions": actions}
        click.echo(json.dumps(record, indent=2))
        return 0
    for index, reason in reasons.items():
        why = reason.sentences[0] if reason.sentences else "an input may change"
        state = _WORDS[found[index].state]
        click.echo(f"{state}: {action_name(reason.action)} ({why})")
    click.echo(
        f"{len(found)} actions: {counts['run']} would run, {counts['open']} may run, "
        f"{counts['hit']} in the cache"
    )
    return 0


def _plain(prospect: Prospect) -> dict[str, Any]:
    action = prospect.action
    return {"label": str(action.label), "stage": action.stage, "arch": action.arch}
