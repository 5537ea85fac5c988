"""The lines of a TOML document's tables, keys and list elements, which tomli does not tell.

The scanner relies on tomli having accepted the text: it looks for the structure only and does not
check it. Linear in the length of the text, without recursion.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import tomli

# A place in a document: keys, and an index after the name of an array of tables.
Path = tuple[str | int, ...]

_GAP = re.compile(r"(?:[ \t\r\n]++|#[^\n]*+)*+")
_KEY = re.compile(
    r"""[ \t]*+(?:([A-Za-z0-9_-]++)|("(?:[^"\\\n]|\\.)*+")|'([^'\n]*+)')[ \t]*+(\.?)"""
)
_TOKEN = re.compile(
    r'''"""[^"\\]*+(?:(?:\\.|""?(?!"))[^"\\]*+)*+"{3,5}'''
    r"""|\'\'\'[^']*+(?:''?(?!')[^']*+)*+'{3,5}"""
    r"""|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+'"""
    r"""|[\[\]{},=]"""
    r"""|[^\s"'\#\[\]{},=]++""",
    re.DOTALL,
)
# Most statements: a bare key and a value on one line. Twice as fast as token by token.
_SIMPLE = re.compile(
    r"""([A-Za-z0-9_-]++)[ \t]*+=[ \t]*+
    (?: "[^"\\\n]*+" | '[^'\n]*+' | [A-Za-z0-9_.+-]++
      | \[ (?: [ \t,] | "[^"\\\n]*+" )*+ \] )
    [ \t]*+(?:\r?\n|\Z)""",
    re.VERBOSE,
)
_OPENERS = "[{"
_CLOSERS = "]}"


@dataclass(frozen=True, slots=True)
class TomlLines:
    """Line numbers, from 1, by path. `("rust_kernel", 0, "srcs")` is a key of the first table.

    `elements` has the lines of the elements of lists that span several lines.
    """

    keys: dict[Path, int] = field(default_factory=dict)
    elements: dict[Path, list[int]] = field(default_factory=dict)

    def line(self, *path: str | int) -> int:
        """The line of `path`, or of the nearest thing around it; 0 for the document."""
        for end in range(len(path), 0, -1):
            line = self.keys.get(path[:end])
            if line is not None:
                return line
            lines, index = self.elements.get(path[: end - 1]), path[end - 1]
            if lines is not None and isinstance(index, int) and index < len(lines):
                return lines[index]
        return 0


def scan_lines(text: str) -> TomlLines:
    """Find the lines in a valid TOML document; `text` has `\\n` or `\\r\\n` line ends."""
    return _Scanner(text).scan()


def deepest_line(text: str, depth: int) -> int:
    """The line on which brackets are first nested deeper than `depth`, or 0.

    Unlike `scan_lines` it takes any text.
    """
    level = 0
    for found in _TOKEN.finditer(text):
        word = found[0]
        if word in _OPENERS:
            level += 1
            if level > depth:
                return text.count("\n", 0, found.start()) + 1
        elif word in _CLOSERS:
            level = max(level - 1, 0)
    return 0


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._pos = 0
        self._line = 1
        self._counts: dict[Path, int] = {}
        self._found = TomlLines()

    def scan(self) -> TomlLines:
        table: Path = ()
        while self._skip_gap():
            line = self._line
            if self._text[self._pos] == "[":
                array = self._text.startswith("[[", self._pos)
                self._pos += 2 if array else 1
                table = self._header(self._key(), array)
                self._note(table, line)
                self._pos = self._text.index("]", self._pos) + (2 if array else 1)
            elif found := _SIMPLE.match(self._text, self._pos):
                self._found.keys[(*table, found[1])] = line
                self._pos = found.end()
                self._line += 1
            else:
                path = (*table, *self._key())
                self._note(path, line)
                self._pos = self._text.index("=", self._pos) + 1
                self._value(path)
        return self._found

    def _note(self, path: Path, line: int) -> None:
        for end in range(1, len(path) + 1):
            self._found.keys.setdefault(path[:end], line)

    def _header(self, names: Path, array: bool) -> Path:
        """The path of a header's table: an index goes behind each array of tables on the way."""
        path: Path = ()
        for position, name in enumerate(names):
            path = (*path, name)
            if array and position == len(names) - 1:
                self._counts[path] = self._counts.get(path, 0) + 1
                self._found.keys.setdefault(path, self._line)
            if path in self._counts:
                path = (*path, self._counts[path] - 1)
        return path

    def _skip_gap(self) -> bool:
        """Move to the next token; False at the end."""
        found = _GAP.match(self._text, self._pos)
        end = found.end() if found else self._pos
        self._line += self._text.count("\n", self._pos, end)
        self._pos = end
        return end < len(self._text)

    def _key(self) -> Path:
        parts: list[str] = []
        while found := _KEY.match(self._text, self._pos):
            self._pos = found.end()
            bare, quoted, literal, dot = found.groups()
            if quoted is not None:
                bare = quoted[1:-1] if "\\" not in quoted else tomli.loads(f"k={quoted}")["k"]
            parts.append(bare if bare is not None else literal)
            if not dot:
                break
        return tuple(parts)

    def _value(self, path: Path) -> None:
        """Move behind a value; note the elements of a list and the keys of an inline table."""
        opened: list[str] = []
        started = self._line
        lines: list[int] = []
        fresh = True
        while self._skip_gap():
            found = _TOKEN.match(self._text, self._pos)
            if found is None:
                break
            word = found[0]
            if word in _CLOSERS:
                opened.pop()
            elif fresh and len(opened) == 1 and opened[0] == "[":
                lines.append(self._line)
            elif fresh and len(opened) == 1 and word not in ",=":
                inner, line = (*path, *self._key()), self._line
                self._note(inner, line)
                fresh = False
                continue
            fresh = word in _OPENERS or word == ","
            if word in _OPENERS:
                opened.append(word)
            self._line += word.count("\n")
            self._pos = found.end()
            if not opened:
                break
        # A date may have a space before its time.
        end = self._text.find("\n", self._pos)
        self._pos = len(self._text) if end < 0 else end
        if self._line != started and lines:
            self._found.elements[path] = lines
