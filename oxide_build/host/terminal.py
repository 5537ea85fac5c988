"""Text for terminals."""

from __future__ import annotations

import re

_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_COLOURS = {"red": 31, "yellow": 33, "cyan": 36}


def styled(text: str, colour: str, *, bold: bool = False) -> str:
    """`text` in a colour."""
    return f"\x1b[{_COLOURS[colour]}m" + ("\x1b[1m" if bold else "") + f"{text}\x1b[0m"


def without_colour(text: str) -> str:
    """`text` without terminal colours."""
    return _ANSI.sub("", text)
