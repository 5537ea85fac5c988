"""`oxide watch`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import click

from oxide_build.cli.messages import say
from oxide_build.cli.options import graph_options

_HELP = """Build, then build again whenever a file of the workspace changes. Ctrl-C ends it.

Takes the options of `build` that decide what is built. Mistakes in a BUILD.toml or in a source are
shown, and watching goes on; so it does when oxide.toml, a rule file or the lock changes.

\b
Examples:
  oxide watch //kernels/...
  oxide watch //kernels:saxpy --arch sm_90 --clear
"""

# Folders whose files no target reads, and what editors leave for a moment.
_FOLDERS = {"oxide-out", "target", "node_modules", "__pycache__"}
_ENDINGS = ("~", ".swp", ".swx", ".tmp", ".part")
_VIM_PROBE = "4913"

_INTERRUPTED = 130


@click.command("watch", help=_HELP)
@click.argument("patterns", nargs=-1)
@graph_options
@click.option("--clear", is_flag=True, help="Clear the terminal before each build.")
def command(
    patterns: tuple[str, ...],
    archs: tuple[str, ...],
    configs: tuple[str, ...],
    rust: str | None,
    cuda: str | None,
    offline: bool,
    clear: bool,
) -> int:
    import watchfiles

    from oxide_build.entry import run
    from oxide_build.load.workspace_file import find_workspace

    root = find_workspace(Path.cwd())
    argv = ["build"]
    argv += [word for arch in archs for word in ("--arch", arch)]
    argv += [word for name in configs for word in ("--config", name)]
    argv += ["--rust", rust] if rust else []
    argv += ["--cuda", cuda] if cuda else []
    argv += ["--offline"] if offline else []
    argv += ["--", *(patterns or ("...",))]

    def relevant(_: object, path: str) -> bool:
        return concerns(os.path.relpath(path, root))

    try:
        # It begins to watch before the first build, so that no change is missed meanwhile; what
        # changes during a build leads to one more afterwards.
        changes = watchfiles.watch(
            root, watch_filter=relevant, yield_on_timeout=True, rust_timeout=100, debounce=200
        )
        next(changes)
        while run(argv) != _INTERRUPTED:
            say("watching; Ctrl-C ends it")
            found = next(filter(None, changes), None)
            if found is None:
                break
            if clear:
                click.clear()
            say(f"changed: {_shown(os.path.relpath(path, root) for _, path in found)}")
    except KeyboardInterrupt:
        pass
    return 0


def concerns(path: str) -> bool:
    """Whether a change of the file at `path`, relative to the workspace, may change a build."""
    *folders, name = path.split("/")
    if any(folder in _FOLDERS or folder.startswith(".") for folder in folders):
        return False
    return not (name.startswith(".") or name.endswith(_ENDINGS) or name == _VIM_PROBE)


def _shown(paths: Iterable[str]) -> str:
    names = sorted(set(paths))
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more
