"""`oxide verify-reproducible`."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from oxide_build.cli.messages import say

if TYPE_CHECKING:
    from oxide_build.analysis.actions import ActionGraph
    from oxide_build.cli.session import Session
    from oxide_build.execution.reproduce import Attempt

_HELP = """Build targets twice, from different folders and from nothing, and compare every byte.

The files that the targets need are copied to two places of different depth; caches are empty, and
temporary folder, locale, time zone, umask and number of jobs differ. Every action is compared, not
only what lands in oxide-out. Exit code 4 if something differs.

\b
Examples:
  oxide verify-reproducible //kernels/...
  oxide verify-reproducible //kernels:saxpy --arch sm_90 --json
"""


@click.command("verify-reproducible", help=_HELP)
@click.argument("patterns", nargs=-1, required=True)
@click.option("--arch", "archs", multiple=True, metavar="ARCH", help="Build for this arch.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(patterns: tuple[str, ...], archs: tuple[str, ...], as_json: bool) -> int:
    from oxide_build.cli.options import split
    from oxide_build.cli.progress import FetchProgress, action_name
    from oxide_build.cli.request import Request
    from oxide_build.cli.session import open_session
    from oxide_build.errors import ActionFailed
    from oxide_build.execution.reproduce import Mismatch, compare

    request = Request(patterns=patterns, archs=split(archs))
    session = open_session(Path.cwd(), request, FetchProgress())
    graph = session.analyse()
    began = time.strftime("%Y-%m-%d")
    with tempfile.TemporaryDirectory(prefix="oxide-twice-") as name:
        # Two depths and two lengths: offsets, sort orders and hash seeds see them.
        one = _attempt(session, graph, Path(name, "a"), 0)
        two = _attempt(session, graph, Path(name, "another", "and-deeper", "place"), 1)
        found = list(compare(graph, one, two, began))
    wrong = [each for each in found if isinstance(each, Mismatch)]
    if as_json:
        rows = [
            {
                "label": str(each.action.label),
                "stage": each.action.stage,
                "arch": each.action.arch,
                **{k: v for k, v in asdict(each).items() if k != "action"},
            }
            for each in wrong
        ]
        record = {"schema": 1, "ok": not wrong, "actions": len(found), "differences": rows}
        click.echo(json.dumps(record, indent=2))
        return ActionFailed.exit_code if wrong else 0
    for each in wrong:
        words = {
            "bytes": "gave other bytes the second time",
            "key": "has another key in another folder: a bug in oxide_build or in its rule",
            "follows": "reads what differed already",
            "missing": "was not built both times",
        }
        click.echo(f"{action_name(each.action)}: {words[each.kind]} ({each.output})")
        for line in each.detail:
            click.echo(f"    {line}")
    causes = sum(each.kind != "follows" for each in wrong)
    say(
        f"{len(found)} actions, {len(wrong)} differ, {causes} of them by themselves"
        if wrong
        else f"{len(found)} actions gave the same bytes twice"
    )
    return ActionFailed.exit_code if wrong else 0


def _attempt(session: Session, graph: ActionGraph, base: Path, number: int) -> Attempt:
    """Copy what the targets need below `base`, and build it there."""
    from oxide_build.cli.prepared import workspace_id
    from oxide_build.errors import ActionFailed
    from oxide_build.execution.reproduce import Attempt
    from oxide_build.host.process import ProcessGroup

    root, cache, temporary = base / "workspace", base / "cache", base / "tmp"
    for folder in (root, temporary):
        folder.mkdir(parents=True)
    for path in _needed(session, graph):
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(session.files.root / path, target)
    home = os.environ.get("HOME", "/")
    environ = {
        **os.environ,
        "OXIDE_CACHE": str(cache),
        "OXIDE_STORE": str(session.folders.store),
        "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", f"{home}/.rustup"),
        "TMPDIR": str(temporary),
        "TZ": ("UTC", "Asia/Tokyo")[number],
        "LC_ALL": ("C", "C.UTF-8")[number],
        "PYTHONHASHSEED": str(number + 1),
    }
    environ.pop("OXIDE_SHARED_CACHE", None)
    archs = [word for arch in session.request.archs for word in ("--arch", arch)]
    jobs = str((1, os.cpu_count() or 2)[number])
    argv = [sys.executable, "-m", "oxide_build", "build", "-q", "-k", "-j", jobs, *archs, "--"]
    relative = Path.cwd().resolve().relative_to(session.files.root)
    (root / relative).mkdir(parents=True, exist_ok=True)
    say(f"building in {root}")
    umask = ("022", "077")[number]
    done = ProcessGroup().run(
        [
            "/bin/sh",
            "-c",
            f'umask {umask}; exec "$@"',
            "sh",
            *argv,
            *session.request.patterns,
        ],
        cwd=root / relative,
        env=environ,
    )
    if not done.ok:
        click.echo(done.stderr.decode("utf-8", "replace"), err=True, nl=False)
        raise ActionFailed("it does not build, so there is nothing to compare")
    return Attempt(root, cache, workspace_id(root.resolve()))


def _needed(session: Session, graph: ActionGraph) -> list[str]:
    """Files of the workspace that loading read, and sources of actions."""
    read = {path for path, (state, _) in session.files.seen.items() if _is_file(state)}
    sources = {
        path for action in graph.actions for path in action.inputs if path not in graph.producer
    }
    return sorted(read | sources)


def _is_file(state: os.stat_result) -> bool:
    return (state.st_mode & 0o170000) == 0o100000
