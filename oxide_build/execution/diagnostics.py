"""From what a tool said to what to do about it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from oxide_build.host.terminal import without_colour
from oxide_build.model.action import Action

if TYPE_CHECKING:
    from oxide_build.resolution.messages import MessageFacts

_UNREADABLE = re.compile(r"couldn't read `([^`]+)`")
_NO_MODULE = re.compile(r"file not found for module `([^`]+)`")


def hint_for(
    action: Action, output: str, exists: Callable[[str], bool], messages: MessageFacts
) -> str | None:
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
    known = messages.explain(text)
    return None if known is None else f"{known[0]}: {known[1]}"
