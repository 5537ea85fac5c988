"""`oxide toolchain lock` and `oxide toolchain update`."""

from __future__ import annotations

from pathlib import Path

import click

from oxide_build.cli.messages import say

_LOCK_HELP = """Write oxide.lock: the toolchains that oxide.toml means on this kind of host.

An entry that is there and not stale is kept. Entries of other hosts stay: run it once on each kind
of host. With --check nothing is written, and the exit code is 6 if something would be.
"""

_UPDATE_HELP = """Choose the toolchains anew and write oxide.lock, whatever it says now."""


@click.command("lock", help=_LOCK_HELP)
@click.option("--check", is_flag=True, help="Write nothing; fail if the lock is missing or stale.")
@click.option("--offline", is_flag=True, help="Fetch nothing; name what is missing instead.")
def lock_command(check: bool, offline: bool) -> int:
    return _lock(keep=True, check=check, offline=offline)


@click.command("update", help=_UPDATE_HELP)
@click.option("--offline", is_flag=True, help="Fetch nothing; name what is missing instead.")
def update_command(offline: bool) -> int:
    return _lock(keep=False, check=False, offline=offline)


def _lock(*, keep: bool, check: bool, offline: bool) -> int:
    from oxide_build.cli.progress import FetchProgress
    from oxide_build.cli.request import Request
    from oxide_build.cli.session import open_session
    from oxide_build.cli.toolchain_source import host
    from oxide_build.cli.toolchains import read_lock
    from oxide_build.errors import OxideError, ToolchainError
    from oxide_build.host.files import write_atomic
    from oxide_build.load.files import WorkspaceFiles
    from oxide_build.load.workspace_file import find_workspace, load_workspace
    from oxide_build.resolution.lock import LOCK_FILE, Lock, changes

    root = find_workspace(Path.cwd())
    wanted = load_workspace(root).toolchain
    before = read_lock(WorkspaceFiles(root)) or Lock()
    fresh = before.fresh({"rust": wanted.rust, "cuda": wanted.cuda}, host())
    if check:
        for kind in ("rust", "cuda"):
            if not any((e.kind, e.host) == (kind, host()) for e in fresh.toolchains):
                stale = any((e.kind, e.host) == (kind, host()) for e in before.toolchains)
                raise ToolchainError(
                    f"`{LOCK_FILE}` is {'stale' if stale else 'missing'} for {kind} on {host()}",
                    hint="run `oxide toolchain lock`",
                )
        say("nothing changed")
        return 0
    fetching = FetchProgress()
    start = fresh.only(host()) if keep else Lock()
    request = Request(patterns=("//...",), offline=offline, lock=start)
    session = open_session(root, request, fetching)
    for label in session.graph.requested:
        target = session.graph.targets[label]
        if not session.rules.schemas[target.rule].per_arch:
            continue
        try:
            session.own_archs(target)
        except OxideError as error:
            # One target that cannot be built is no reason to leave the others unlocked.
            say(f"not locked for: {error.message}")
    fetching.close()
    entries = session.toolchains.lock_entries()
    after = before.with_entries(entries)
    if after != before:
        write_atomic(root / LOCK_FILE, after.text().encode())
    for line in changes(before, after) or ["nothing changed"]:
        say(line)
    return 0
