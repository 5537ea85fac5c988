"""How errors and tools' output look on a terminal."""

from __future__ import annotations

import os
import sys

from oxide_build.errors import DefinitionErrors, OxideError
from oxide_build.host.terminal import styled, without_colour


def colours() -> bool:
    """Whether standard error takes colours. `NO_COLOR` and `FORCE_COLOR` decide for themselves."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or sys.stderr.isatty()


def say(text: str) -> None:
    """A line for people, on standard error."""
    # Not click's `echo`: importing click takes a quarter of a build that has only hits.
    sys.stderr.write(f"{text if colours() else without_colour(text)}\n")
    sys.stderr.flush()


def show_error(error: OxideError) -> None:
    """An error with its way out; several errors one after the other."""
    if isinstance(error, DefinitionErrors):
        for index, each in enumerate(error.errors):
            if index:
                say("")
            show_error(each)
        return
    say(f"{styled('error:', 'red', bold=True)} {error.message}")
    if error.hint:
        say(f"\n{styled('hint:', 'cyan', bold=True)} {error.hint}")
