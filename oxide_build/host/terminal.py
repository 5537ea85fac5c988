"""Text for terminals."""

from __future__ import annotations

import re

_ANSI = re.compile(r"\x1b\[[0-9;]*m")


def without_colour(text: str) -> str:
    """`text` without terminal colours."""
    return _ANSI.sub("", text)
