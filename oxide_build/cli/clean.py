"""`oxide clean`."""

from __future__ import annotations

from pathlib import Path

import click

from oxide_build.cli.messages import say

_HELP = """Remove what builds left in this workspace.

Only `oxide-out` goes. The cache and the toolchains are shared with other workspaces and stay, so
that the next build restores everything without running a compiler.
"""


@click.command("clean", help=_HELP)
def command() -> None:
    from oxide_build.cli.session import clean_outputs

    removed = clean_outputs(Path.cwd())
    say("removed oxide-out" if removed else "there is no oxide-out")
