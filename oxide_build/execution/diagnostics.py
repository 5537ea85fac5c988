"""From what a tool said to what to do about it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable

from oxide_build.model.action import Action

_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_UNREADABLE = re.compile(r"couldn't read `([^`]+)`")
_NO_MODULE = re.compile(r"file not found for module `([^`]+)`")
_UNRESOLVED = re.compile(r"Unresolved extern function '([^']+)'")
_NO_CRATE = re.compile(r"error\[E0463\]: can't find crate for `(std|alloc)`")


def without_colour(text: str) -> str:
    """`text` without terminal colours."""
    return _ANSI.sub("", text)


def hint_for(action: Action, output: str, exists: Callable[[str], bool]) -> str | None:
    """What to do about a failed action, where its output tells.

    `exists` says whether the workspace has a file at a relative path.
    """
    text = without_colour(output)
    if found := _UNREADABLE.search(text):
        path = os.path.normpath(found[1])
        attribute = "srcs" if path.endswith(".rs") else "compile_data"
        if exists(path):
            return (
                f"`{path}` is there, but `{action.label}` does not declare it: "
                f"add it to `{attribute}`"
            )
        return f"there is no `{path}` in the workspace"
    if found := _NO_MODULE.search(text):
        return f"is the file of module `{found[1]}` in `srcs` of `{action.label}`?"
    if found := _UNRESOLVED.search(text):
        return (
            f"nothing defines the device function `{found[1]}`: is a library missing from `deps`?"
        )
    if found := _NO_CRATE.search(text):
        return f"device code has no `{found[1]}`: begin the crate with `#![no_std]`"
    return None
