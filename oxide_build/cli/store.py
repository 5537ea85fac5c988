"""`oxide toolchain list`, `install` and `gc`."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import click

from oxide_build.cli.messages import say

_LIST_HELP = """Show the toolchains in the tool's own store: version, provider, size, last use."""

_INSTALL_HELP = """Fetch a toolchain into the tool's own store, unless one that fits is here.

\b
Examples:
  oxide toolchain install rust nightly-2026-04-03
  oxide toolchain install cuda 12.3
  oxide toolchain install rust ">=1.95" --provider apt

\b
In a workspace, the archives that its oxide.toml names are among what is offered.
"""

_GC_HELP = """Remove toolchains from the tool's own store that nobody has used for a while.

What oxide.lock of the workspace here names stays. What the machine has elsewhere is never touched.
"""


@click.command("list", help=_LIST_HELP)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_command(as_json: bool) -> int:
    from oxide_build.cli.folders import Folders
    from oxide_build.cli.progress import size
    from oxide_build.provision.store_use import StoreUse
    from oxide_build.provision.tool_store import ToolStore

    entries = StoreUse(ToolStore(Folders.find().store)).entries()
    if as_json:
        rows = [
            {
                "kind": entry.install.record.kind,
                "version": entry.install.record.version,
                "spec": entry.install.record.spec,
                "provider": entry.install.record.provider,
                "size_bytes": entry.size_bytes,
                "idle_days": round(entry.idle_days, 2),
                "files": [
                    {"name": file.name, "sha256": file.sha256}
                    for file in entry.install.record.files
                ],
            }
            for entry in entries
        ]
        click.echo(json.dumps({"schema": 1, "toolchains": rows}, indent=2))
        return 0
    for entry in entries:
        record = entry.install.record
        click.echo(
            f"{record.kind:5} {record.spec:22} {record.provider:8} {size(entry.size_bytes):>9}  "
            f"used {entry.idle_days:.0f} days ago"
        )
    total = sum(entry.size_bytes for entry in entries)
    say(f"{len(entries)} toolchains, {size(total)}")
    return 0


@click.command("install", help=_INSTALL_HELP)
@click.argument("kind", type=click.Choice(["rust", "cuda"]))
@click.argument("spec")
@click.option("--provider", help="Take it from this provider only.")
def install_command(kind: str, spec: str, provider: str | None) -> int:
    from dataclasses import replace

    from oxide_build.cli.folders import Folders
    from oxide_build.cli.progress import FetchProgress
    from oxide_build.cli.toolchains import Toolchains
    from oxide_build.errors import UsageError
    from oxide_build.host.process import ProcessGroup
    from oxide_build.load.workspace_file import find_workspace, load_workspace
    from oxide_build.model.workspace import ToolchainRequirements

    wanted = ToolchainRequirements()
    # What is asked for is said on the command line; what the archives are, only a workspace says.
    with suppress(UsageError):
        here = load_workspace(find_workspace(Path.cwd())).toolchain
        wanted = replace(wanted, archives=here.archives)
    wanted = replace(wanted, rust=spec) if kind == "rust" else replace(wanted, cuda=spec)
    if provider is not None:
        wanted = replace(wanted, providers=(provider,))
    fetching = FetchProgress()
    try:
        found = Toolchains(
            wanted,
            Folders.find().store,
            ProcessGroup(),
            offline=False,
            reporter=fetching,
        ).preferred(kind)
    finally:
        fetching.close()
    say(f"{kind} {found.version} ({found.provider}: {found.origin})")
    return 0


@click.command("gc", help=_GC_HELP)
@click.option(
    "--keep-days",
    type=click.FloatRange(min=0),
    default=30,
    show_default=True,
    help="Keep what was used within so many days.",
)
@click.option("--dry-run", is_flag=True, help="Remove nothing; say what would go.")
def gc_command(keep_days: float, dry_run: bool) -> int:
    from oxide_build.cli.folders import Folders
    from oxide_build.cli.progress import size
    from oxide_build.cli.toolchains import read_lock
    from oxide_build.errors import UsageError
    from oxide_build.load.files import WorkspaceFiles
    from oxide_build.load.workspace_file import find_workspace
    from oxide_build.provision.store_use import StoreUse
    from oxide_build.provision.tool_store import ToolStore

    keep: set[tuple[str, str, str]] = set()
    try:
        lock = read_lock(WorkspaceFiles(find_workspace(Path.cwd())))
    except UsageError:
        lock = None
    if lock is not None:
        keep = {(each.kind, each.provider, each.spec) for each in lock.toolchains}
    use = StoreUse(ToolStore(Folders.find().store))
    freed = count = 0
    for entry in use.remove_idle(keep_days=keep_days, keep=keep, dry_run=dry_run):
        freed += entry.size_bytes
        count += 1
        record = entry.install.record
        click.echo(f"{record.kind} {record.spec} ({record.provider}), {size(entry.size_bytes)}")
    say(f"{'would remove' if dry_run else 'removed'} {count} toolchains, {size(freed)}")
    return 0
