"""What a PTX file says about itself: version, target, entries, constants, shared memory.

Source: PTX ISA, sections "Directives" and "State Spaces, Types, and Variables".
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from oxide_build.devicecode.ptx_declarations import (
    SPACES,
    PtxParam,
    describe,
    integer,
    split_at_commas,
    split_declarators,
)
from oxide_build.errors import ActionFailed

_TOKEN = re.compile(
    r"""
      (?P<skipped> [ \t\r\n\f\v\0]+ | //[^\n]* | /\*.*?\*/ )
    | (?P<string> "[^"\n]*" )
    | (?P<broken> /\* | " )
    | (?P<number> 0[xX][0-9a-fA-F]+U? | 0[fFdD][0-9a-fA-F]+ | [0-9]+(?:\.[0-9]+)?U? )
    | (?P<directive> \.[a-zA-Z_][a-zA-Z0-9_$]* )
    | (?P<word> [a-zA-Z_$%][a-zA-Z0-9_$]* )
    | (?P<punct> . )
    """,
    re.VERBOSE | re.DOTALL,
)
_LINKING = frozenset({".visible", ".extern", ".weak", ".common"})


@dataclass(frozen=True, kw_only=True, slots=True)
class PtxVariable:
    """A module-scope variable; `size_bytes` is 0 for one whose size the launch decides."""

    name: str
    space: str
    type: str
    size_bytes: int
    align_bytes: int
    visible: bool
    extern: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class PtxEntry:
    """A kernel.

    `directives` are its performance directives in order, `("maxntid", (256, 1, 1))`.
    `dynamic_shared` says that it, or a function it mentions, mentions `.extern .shared` memory.
    """

    name: str
    params: tuple[PtxParam, ...]
    directives: tuple[tuple[str, tuple[int, ...]], ...]
    dynamic_shared: bool
    visible: bool

    @property
    def max_threads(self) -> int | None:
        """Threads a block may have by `.reqntid` or `.maxntid`, None where neither is given."""
        given = dict(self.directives)
        threads = given.get("reqntid") or given.get("maxntid")
        return None if threads is None else math.prod(threads)


@dataclass(frozen=True, kw_only=True, slots=True)
class PtxModule:
    """A PTX file. `target` is the architecture, `options` what follows it (`debug`)."""

    version: str
    target: str
    options: tuple[str, ...]
    address_size: int
    entries: tuple[PtxEntry, ...]
    variables: tuple[PtxVariable, ...]

    @property
    def constants(self) -> tuple[PtxVariable, ...]:
        """The constant variables that the host can find by name."""
        return tuple(v for v in self.variables if v.space == "const" and v.visible)

    @property
    def extern_shared(self) -> tuple[PtxVariable, ...]:
        return tuple(v for v in self.variables if v.space == "shared" and v.extern)


def read_ptx(text: str) -> PtxModule:
    """Read a PTX file, O(len(text)). Raises `ActionFailed` where it is no PTX or is cut off."""
    return _Reader(list(_tokens(text))).module()


def _tokens(text: str) -> Iterator[str]:
    for match in _TOKEN.finditer(text):
        if match.lastgroup == "broken":
            line = text.count("\n", 0, match.start()) + 1
            raise ActionFailed(f"PTX, line {line}: a string or comment starts here and never ends")
        if match.lastgroup != "skipped":
            yield match.group()


class _Reader:
    """A cursor over the tokens of one file."""

    def __init__(self, tokens: Sequence[str]) -> None:
        self.tokens = tokens
        self.at = 0
        self.header: dict[str, tuple[str, ...]] = {}
        self.entries: list[PtxEntry] = []
        self.variables: list[PtxVariable] = []
        self.mentions: dict[str, frozenset[str]] = {}

    def module(self) -> PtxModule:
        linking: set[str] = set()
        while self.at < len(self.tokens):
            word = self._next()
            if word in _LINKING:
                linking.add(word)
                continue
            if word in (".version", ".target", ".address_size"):
                self._header(word)
            elif word in (".entry", ".func"):
                self._function(word, visible=".visible" in linking or ".weak" in linking)
            elif word in SPACES:
                self._variable(word, linking)
            elif word == "{":
                self._body()
            linking = set()
        return self._checked()

    def _checked(self) -> PtxModule:
        for directive in (".version", ".target"):
            if directive not in self.header:
                raise ActionFailed(
                    f"PTX: there is no `{directive}` directive",
                    hint="is the file empty, cut off, or not PTX at all?",
                )
        target, *options = self.header[".target"]
        return PtxModule(
            version=self.header[".version"][0],
            target=target,
            options=tuple(options),
            address_size=integer(self.header.get(".address_size", ("32",))[0]),
            entries=tuple(self._resolved(entry) for entry in self.entries),
            variables=tuple(self.variables),
        )

    def _resolved(self, entry: PtxEntry) -> PtxEntry:
        """`entry` with what it reaches through other functions taken into account."""
        dynamic = {v.name for v in self.variables if v.space == "shared" and v.extern}
        reached, pending = {entry.name}, [entry.name]
        while pending:
            mentioned = self.mentions.get(pending.pop(), frozenset())
            if mentioned & dynamic:
                return replace(entry, dynamic_shared=True)
            fresh = {name for name in mentioned if name in self.mentions} - reached
            reached |= fresh
            pending += fresh
        return entry

    def _header(self, directive: str) -> None:
        values = [self._next()]
        while self._peek() == ",":
            self._next()
            values.append(self._next())
        if directive == ".version" and not re.fullmatch(r"[0-9]+\.[0-9]+", values[0]):
            raise ActionFailed(f"PTX: `.version {values[0]}` is no version")
        self.header[directive] = tuple(values)

    def _function(self, kind: str, *, visible: bool) -> None:
        if self._peek() == "(":
            self._bracketed("(", ")")
        name = self._next()
        params = self._bracketed("(", ")") if self._peek() == "(" else []
        directives = self._directives()
        if self._peek() == "{":
            self._next()
            self.mentions[name] = self._body()
        elif self._peek() == ";":
            return
        if kind == ".entry":
            entry = PtxEntry(
                name=name,
                params=tuple(_param(name, part) for part in split_at_commas(params)),
                directives=directives,
                dynamic_shared=False,
                visible=visible,
            )
            self.entries.append(entry)

    def _directives(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        found: list[tuple[str, tuple[int, ...]]] = []
        while (word := self._peek()) not in ("{", ";", ""):
            self._next()
            if word.startswith("."):
                found.append((word[1:], ()))
            elif word[0].isdigit() and found:
                found[-1] = (found[-1][0], (*found[-1][1], integer(word)))
        return tuple(found)

    def _body(self) -> frozenset[str]:
        """The words in the braces that were just opened; the cursor goes behind them."""
        words = set()
        depth = 1
        while depth:
            word = self._next()
            depth += (word == "{") - (word == "}")
            words.add(word)
        return frozenset(words)

    def _variable(self, space: str, linking: set[str]) -> None:
        statement: list[str] = []
        while (word := self._next()) not in (";", "="):
            statement.append(word)
        while word != ";":
            word = self._next()
        for part in split_declarators(statement):
            described = describe(part)
            if described is None:
                return
            self.variables.append(
                PtxVariable(
                    name=described.name,
                    space=space[1:],
                    type=described.type,
                    size_bytes=described.size_bytes,
                    align_bytes=described.align_bytes,
                    visible=".visible" in linking or ".weak" in linking,
                    extern=".extern" in linking,
                )
            )

    def _bracketed(self, opening: str, closing: str) -> list[str]:
        """The tokens between a bracket and its partner, without both."""
        self._next()
        inner: list[str] = []
        depth = 1
        while True:
            word = self._next()
            depth += (word == opening) - (word == closing)
            if not depth:
                return inner
            inner.append(word)

    def _peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def _next(self) -> str:
        if self.at >= len(self.tokens):
            raise ActionFailed("PTX: the text ends in the middle of a directive: is it cut off?")
        self.at += 1
        return self.tokens[self.at - 1]


def _param(entry: str, words: Sequence[str]) -> PtxParam:
    described = describe(words)
    if described is None:
        raise ActionFailed(
            f"PTX: the entry `{entry}` has a parameter that is not understood: `{' '.join(words)}`"
        )
    return described
