"""rustc's dep-info: which files a compilation read."""

from __future__ import annotations

import os
import re
from collections.abc import Set

# Make escapes a space in a path; a `:` ends the target.
_SPLIT = re.compile(r"(?<!\\)\s+")


def files_read(text: str) -> tuple[str, ...]:
    """The files of a dep-info as rustc wrote it, in order of mention."""
    paths: dict[str, None] = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        _, colon, rest = line.partition(": ")
        if colon:
            for path in _SPLIT.split(rest.strip()):
                if path:
                    paths[path.replace("\\ ", " ")] = None
    return tuple(paths)


def undeclared_reads(text: str, declared: Set[str], folder: str) -> tuple[str, ...]:
    """Files of a dep-info that are not `declared`; relative paths are meant from `folder`.

    The toolchain's own files are no inputs; they lie below `toolchain/`.
    """
    found: dict[str, None] = {}
    for path in files_read(text):
        plain = os.path.normpath(path)
        if os.path.isabs(plain):
            plain = os.path.relpath(plain, folder) if plain.startswith(folder + "/") else plain
        if plain not in declared and not plain.startswith("toolchain/"):
            found[plain] = None
    return tuple(found)
