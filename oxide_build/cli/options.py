"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

_OPTIONS = (
    click.option("--arch", "archs", multiple=True, metavar="ARCH",
                 help="Build for this arch, not the targets' own; repeat or separate by commas."),
    click.option("--config", "configs", multiple=True, metavar="NAME",
                 help="Switch on a config of oxide.toml; repeatable."),
    click.option("--rust", metavar="SPEC", help="Require this rustc, whatever oxide.toml says."),
    click.option("--cuda", metavar="SPEC", help="Require this CUDA, whatever oxide.toml says."),
    click.option("--offline", is_flag=True, help="Fetch nothing; name what is missing instead."),
)  # fmt: skip


def graph_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that decide what a target graph becomes."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def split(values: tuple[str, ...]) -> tuple[str, ...]:
    """`("sm_80,sm_90", "100")` -> `("sm_80", "sm_90", "100")`."""
    return tuple(part.strip() for value in values for part in value.split(",") if part.strip())
