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
    from oxide_build.cli.folders import Folders
    from oxide_build.cli.progress import FetchProgress
    from oxide_build.cli.toolchains import Toolchains, host, read_lock
    from oxide_build.errors import ToolchainError
    from oxide_build.host.files import write_atomic
    from oxide_build.host.process import ProcessGroup
    from oxide_build.load.files import WorkspaceFiles
    from oxide_build.load.workspace_file import find_workspace, load_workspace
    from oxide_build.resolution.lock import LOCK_FILE, Lock, changes, locked

    root = find_workspace(Path.cwd())
    workspace = load_workspace(root)
    before = read_lock(WorkspaceFiles(root)) or Lock()
    fetching = FetchProgress()
    toolchains = Toolchains(
        workspace.toolchain,
        Folders.find().store,
        ProcessGroup(),
        offline=offline,
        reporter=fetching,
    )
    after = before
    wanted = {"rust": workspace.toolchain.rust, "cuda": workspace.toolchain.cuda}
    for kind, requirement in wanted.items():
        entry = next((e for e in before.toolchains if (e.kind, e.host) == (kind, host())), None)
        if keep and entry is not None and entry.requirement == requirement:
            continue
        if check:
            what = "is stale" if entry else "is missing"
            raise ToolchainError(
                f"`{LOCK_FILE}` {what} for {kind} on {host()}", hint="run `oxide toolchain lock`"
            )
        found = toolchains.for_arch(kind, None)
        after = after.with_entry(locked(found, requirement=requirement, host=host()))
    fetching.close()
    if after != before:
        write_atomic(root / LOCK_FILE, after.text().encode())
    for line in changes(before, after) or ["nothing changed"]:
        say(line)
    return 0
