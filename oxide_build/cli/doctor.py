"""`oxide doctor`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from oxide_build.cli.options import graph_options, split

if TYPE_CHECKING:
    from oxide_build.cli.findings import Finding
    from oxide_build.cli.request import Request

_HELP = """Look at the machine and the workspace, and say what is missing and how to have it.

Every compiler and CUDA toolkit on the machine is listed with what it lacks and what it can do, as
it says itself; then what the workspace would use, and each target for each arch.

Fetches nothing. Exit code 0 unless something that the workspace needs is missing; a GPU is not
needed to build. Outside a workspace it looks at the machine alone.

\b
Examples:
  oxide doctor
  oxide doctor //kernels/... --arch sm_90a --json
"""


@click.command("doctor", help=_HELP)
@click.argument("patterns", nargs=-1)
@graph_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    patterns: tuple[str, ...],
    archs: tuple[str, ...],
    configs: tuple[str, ...],
    rust: str | None,
    cuda: str | None,
    offline: bool,
    as_json: bool,
) -> int:
    from oxide_build.cli import inventory_checks, machine_checks
    from oxide_build.cli.findings import as_record, lines, worst
    from oxide_build.cli.folders import Folders
    from oxide_build.cli.request import Request
    from oxide_build.cli.toolchains import load_facts
    from oxide_build.device.gpus import inspect_driver
    from oxide_build.errors import ToolchainError

    folders = Folders.find()
    facts = load_facts()
    findings = [
        *machine_checks.own(),
        *machine_checks.folders(folders),
        *machine_checks.private_folder(folders),
        *machine_checks.driver(inspect_driver(), facts),
        *inventory_checks.driver_versions(os.environ),
        *inventory_checks.inventory(folders.store, facts),
    ]
    request = Request(
        patterns=patterns or ("//...",),
        archs=split(archs),
        configs=split(configs),
        rust=rust,
        cuda=cuda,
        offline=True,
    )
    findings += _workspace(request)
    if as_json:
        click.echo(json.dumps(as_record(findings), indent=2))
    else:
        click.echo("\n".join(lines(findings)))
    return ToolchainError.exit_code if worst(findings) else 0


def _workspace(request: Request) -> Iterator[Finding]:
    """What the workspace around here would use, and its targets if that is all there."""
    from oxide_build.cli.findings import Finding, worst
    from oxide_build.cli.progress import FetchProgress
    from oxide_build.cli.session import open_session
    from oxide_build.cli.toolchain_checks import targets, toolchains
    from oxide_build.errors import OxideError
    from oxide_build.load.workspace_file import find_workspace

    try:
        find_workspace(Path.cwd())
    except OxideError:
        yield Finding(section="workspace", status="note", text="there is no workspace here")
        return
    try:
        session = open_session(Path.cwd(), request, FetchProgress())
    except OxideError as error:
        yield Finding(
            section="workspace", status="missing", text=error.message, fix=error.hint or ""
        )
        return
    found = list(toolchains(session))
    yield from found
    if not worst(found):
        yield from targets(session)
