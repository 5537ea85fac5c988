"""`oxide version`."""

from __future__ import annotations

import json
import platform
from importlib import metadata

import click

from oxide_build import __version__

_SHOWN = ("click", "starlark-pyo3", "diskcache", "tomli", "cuda-python")


@click.command("version", help="Show the version of oxide_build and of what it runs on.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(as_json: bool) -> None:
    versions = {
        "oxide_build": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
    }
    for name in _SHOWN:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = "not installed"
    if as_json:
        click.echo(json.dumps(versions, indent=2))
        return
    for name, version in versions.items():
        click.echo(f"{name:14} {version}")
