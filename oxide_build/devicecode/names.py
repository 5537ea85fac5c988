"""Symbol names: what PTX accepts, and what the programmer wrote before mangling."""

from __future__ import annotations

import re

_PTX_IDENTIFIER = re.compile(r"[a-zA-Z][a-zA-Z0-9_$]*|[_$%][a-zA-Z0-9_$]+")
_LEGACY = re.compile(r"_ZN(?P<path>.+)17h[0-9a-f]{16}E(?:[.$].*)?", re.DOTALL)
# Every v0 name leads to a crate root: `C`, a disambiguator, a counted identifier.
_V0_SHAPE = re.compile(r"_R[0-9]*[CNMXYIB]?\w*?C(?:s[0-9a-zA-Z]*_)?[0-9]")
_LEGACY_ESCAPES = {
    "$SP$": "@",
    "$BP$": "*",
    "$RF$": "&",
    "$LT$": "<",
    "$GT$": ">",
    "$LP$": "(",
    "$RP$": ")",
    "$C$": ",",
    "..": "::",
}
_MAX_DEPTH = 64


def is_ptx_identifier(name: str) -> bool:
    """True when ptxas takes `name` as a symbol (PTX ISA, section "Identifiers")."""
    return _PTX_IDENTIFIER.fullmatch(name) is not None


def is_mangled(name: str) -> bool:
    """True for a name rustc made up, which no host program can be expected to ask for."""
    return _V0_SHAPE.match(name) is not None or _LEGACY.fullmatch(name) is not None


def demangle(symbol: str) -> str:
    """The Rust path of a mangled symbol (`_RNvCs1_2k12SA` is `k1::SA`), or `symbol` itself.

    Total: generic instances, impl blocks, punycode and damaged names come back as they are. This
    is for messages; it is not a complete demangler. Source: RFC 2603 (v0 mangling).
    """
    try:
        path = _Legacy(symbol).path() if symbol.startswith("_ZN") else _V0(symbol).path()
    except _GivenUp:
        return symbol
    return path or symbol


class _GivenUp(Exception):
    """The symbol holds something this demangler does not read."""


class _Legacy:
    """Itanium-like names of rustc's legacy mangling: `_ZN`, counted parts, a hash, `E`."""

    def __init__(self, symbol: str) -> None:
        found = _LEGACY.fullmatch(symbol)
        if found is None:
            raise _GivenUp
        self.rest = found["path"]

    def path(self) -> str:
        parts: list[str] = []
        while self.rest:
            count = re.match(r"[1-9][0-9]{0,4}", self.rest)
            if count is None or len(self.rest) < count.end() + int(count[0]):
                raise _GivenUp
            end = count.end() + int(count[0])
            parts.append(self.rest[count.end() : end])
            self.rest = self.rest[end:]
        text = "::".join(part.removeprefix("_") if "$" in part else part for part in parts)
        for escape, plain in _LEGACY_ESCAPES.items():
            text = text.replace(escape, plain)
        return text


class _V0:
    """A cursor over a v0 name; only plain paths are read."""

    def __init__(self, symbol: str) -> None:
        if not symbol.startswith("_R"):
            raise _GivenUp
        self.text = symbol[2:]
        self.at = 0

    def path(self) -> str:
        parts = self._path(0)
        rest = self.text[self.at :]
        # What may follow is the crate that instantiated the item, or a suffix LLVM appended.
        if rest and rest[0] not in "C.$":
            raise _GivenUp
        return "::".join(parts)

    def _path(self, depth: int) -> list[str]:
        if depth > _MAX_DEPTH:
            raise _GivenUp
        tag = self._take(1)
        if tag == "C":
            return [self._identifier()[1]]
        if tag == "N":
            return self._nested(depth)
        if tag == "B":
            return self._back_reference(depth)
        raise _GivenUp

    def _nested(self, depth: int) -> list[str]:
        namespace = self._take(1)
        parent = self._path(depth + 1)
        disambiguator, name = self._identifier()
        if namespace.isupper():
            kind = {"C": "closure", "S": "shim"}.get(namespace, namespace)
            return [*parent, f"{{{kind}{':' if name else ''}{name}#{disambiguator}}}"]
        return [*parent, name] if name else parent

    def _back_reference(self, depth: int) -> list[str]:
        start = self.at - 1
        target = self._base62()
        if target >= start:
            raise _GivenUp
        resume, self.at = self.at, target
        parts = self._path(depth + 1)
        self.at = resume
        return parts

    def _identifier(self) -> tuple[int, str]:
        disambiguator = 0
        if self.text.startswith("s", self.at):
            self.at += 1
            disambiguator = self._base62() + 1
        length = re.compile(r"0|[1-9][0-9]{0,4}").match(self.text, self.at)
        if length is None:
            raise _GivenUp
        self.at = length.end()
        if self.text.startswith("_", self.at):
            self.at += 1
        return disambiguator, self._take(int(length[0]))

    def _base62(self) -> int:
        digits = re.compile(r"([0-9a-zA-Z]{0,20})_").match(self.text, self.at)
        if digits is None:
            raise _GivenUp
        self.at = digits.end()
        value = 0
        for digit in digits[1]:
            alphabet = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
            value = value * 62 + alphabet.index(digit)
        return value + 1 if digits[1] else 0

    def _take(self, count: int) -> str:
        taken = self.text[self.at : self.at + count]
        if len(taken) != count:
            raise _GivenUp
        self.at += count
        return taken
