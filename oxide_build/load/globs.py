"""Patterns of source files: `*.rs`, `src/**/*.rs`.

`*` and `?` stand for characters of one name, `**` alone between slashes for any number of folders.
Hidden files, hidden folders and the files that describe the build are never matched.
"""

from __future__ import annotations

import fnmatch
import re
from dataclasses import dataclass

from oxide_build.errors import UsageError
from oxide_build.model.label import shown

_WILD = re.compile(r"[*?]")


@dataclass(frozen=True, slots=True)
class Glob:
    """A pattern, relative to a package. A part is None for `**`."""

    text: str
    parts: tuple[re.Pattern[str] | None, ...]

    @classmethod
    def parse(cls, text: str) -> Glob:
        """Read a pattern whose parts are names; raises `UsageError`."""
        parts: list[re.Pattern[str] | None] = []
        for part in text.split("/"):
            if part == "**":
                # Twice in a row is the same as once, and slower.
                if not parts or parts[-1] is not None:
                    parts.append(None)
            elif "**" in part:
                raise UsageError(
                    f"{shown(text)} is not a glob: `**` stands alone between slashes",
                    hint="write `src/**/*.rs` for the files in all folders below `src`",
                )
            else:
                # fnmatch's own translation does not backtrack; its `[…]` is not ours.
                parts.append(re.compile(fnmatch.translate(part.replace("[", "[[]"))))
        if parts[-1] is None:
            parts.append(re.compile(".*", re.DOTALL))
        return cls(text, tuple(parts))


def is_glob(text: str) -> bool:
    """Whether a source is a pattern and not the name of a file."""
    return _WILD.search(text) is not None
