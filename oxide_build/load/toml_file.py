"""One TOML file: its values, and the line of each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import tomli

from oxide_build.errors import DefinitionError
from oxide_build.load.limits import SIZE_LIMIT_BYTES, check_size
from oxide_build.load.toml_lines import TomlLines, deepest_line, scan_lines
from oxide_build.model.label import shown
from oxide_build.model.target import Location

# tomli allows 400 levels; older ones, as many as Python's own stack.
_DEEP = 100
_PLACE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)\Z")


@dataclass(frozen=True, slots=True)
class TomlFile:
    """A parsed file; `path` is relative to the workspace."""

    path: str
    values: Mapping[str, Any]
    lines: TomlLines

    def place(self, *path: str | int) -> Location:
        """Where `path` is written, or the nearest thing around it."""
        return Location(self.path, self.lines.line(*path))


def parse_toml(path: str, data: bytes) -> TomlFile:
    """Read `data`, the content of `path`. Raises `DefinitionError` with the line."""
    check_size(path, len(data), SIZE_LIMIT_BYTES)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        place = Location(path, data.count(b"\n", 0, error.start) + 1)
        raise DefinitionError(
            f"{place}: the file is not UTF-8: byte 0x{data[error.start]:02x} is not text",
            hint="TOML files are UTF-8; save it in that encoding",
        ) from None
    try:
        values = tomli.loads(text)
    except RecursionError:
        place = Location(path, deepest_line(text, _DEEP))
        raise DefinitionError(
            f"{place}: the file is nested too deeply to be read",
            hint="no attribute needs more than a list in a table",
        ) from None
    except ValueError as error:
        raise _syntax_error(path, text, error) from None
    return TomlFile(path, values, scan_lines(text))


def _syntax_error(path: str, text: str, error: ValueError) -> DefinitionError:
    message = str(error)
    found = _PLACE.search(message)
    line = 0
    if found is not None:
        message = message[: found.start()]
        line = int(found[1]) if found[1] else text.count("\n", 0, len(text.rstrip())) + 1
    elif not isinstance(error, tomli.TOMLDecodeError):
        # Python's own limit on the digits of an integer.
        message = "an integer has too many digits"
    place = Location(path, line)
    hint = None
    written = text.split("\n")[line - 1].strip() if line else ""
    if "overwrite a value" in message or "twice" in message:
        message = "this key or table is already there"
        hint = "a key may be given once in a table; a second target needs its own `[[rule]]` header"
    elif "\0" in text:
        message = "the file holds a NUL character"
        hint = "is it a text file?"
    elif message == "Invalid value":
        hint = 'strings are written in quotes: `name = "gemm"`; booleans are `true` and `false`'
    elif message == "Illegal character '\\n'":
        message = "the string is not closed on its line"
    elif "mutate immutable namespace" in message:
        message = "this table is already given as a value"
    message = shown(message)[1:-1] if not message.isprintable() else message
    message = message[0].lower() + message[1:]
    return DefinitionError(
        f"{place}: the file is not valid TOML: {message}"
        + (f"\n    {shown(written)[1:-1]}" if written else ""),
        hint=hint,
    )
