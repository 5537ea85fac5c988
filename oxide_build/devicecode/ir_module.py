"""A module of LLVM IR as a list of top-level items over its tokens.

Only what the passes of this package ask for is parsed: where each item starts and stops and the
header of a function (global variables: `ir_variable`). Everything else stays tokens.
Source: https://llvm.org/docs/LangRef.html, section "Module Structure".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from oxide_build.devicecode.ir_variable import LINKAGES
from oxide_build.devicecode.llvm_tokens import (
    GLOBAL,
    METADATA,
    PUNCT,
    SPACE,
    STRING,
    WORD,
    Token,
    decode_string,
    is_trivia,
    significant,
    tokenize,
)
from oxide_build.errors import ActionFailed

_ITEM_WORDS = frozenset({"define", "declare", "attributes"})
_VARIABLE_WORDS = {
    "global": "variable",
    "constant": "variable",
    "alias": "alias",
    "ifunc": "ifunc",
}


@dataclass(frozen=True, slots=True)
class Item:
    """One top-level item, tokens `start` to `stop` of its module.

    `kind` is `variable`, `alias`, `ifunc`, `define`, `declare`, `attributes`, `metadata` or
    `other`; `name` is that of the variable, alias or function, decoded, else empty.
    """

    kind: str
    name: str
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class IrModule:
    """A module's tokens and the items they form; white space and comments lie between items."""

    tokens: tuple[Token, ...]
    items: tuple[Item, ...]

    def of_kind(self, kind: str) -> Iterator[Item]:
        return (item for item in self.items if item.kind == kind)

    def tokens_of(self, item: Item) -> Sequence[Token]:
        return self.tokens[item.start : item.stop]


@dataclass(frozen=True, kw_only=True, slots=True)
class FunctionHeader:
    """What stands before a function's body."""

    name: str
    is_definition: bool
    linkage: str
    is_kernel: bool
    section: str | None


def parse_module(text: str) -> IrModule:
    """Split a module into items, O(len(text)). Raises `ActionFailed` when brackets do not match."""
    tokens = tuple(tokenize(text))
    items: list[Item] = []
    start: int | None = None
    depth = 0
    for index, token in enumerate(tokens):
        if token.kind == SPACE:
            if start is not None and depth == 0 and "\n" in token.text:
                items.append(_item(tokens, start, index))
                start = None
            continue
        if start is None and not is_trivia(token):
            start = index
        if token.kind == PUNCT:
            depth += (token.text in "([{") - (token.text in ")]}")
            if depth < 0:
                raise ActionFailed(f"LLVM IR: a `{token.text}` closes nothing")
    if depth:
        raise ActionFailed("LLVM IR: the text ends inside brackets: is it cut off?")
    if start is not None:
        items.append(_item(tokens, start, len(tokens)))
    return IrModule(tokens, tuple(items))


def parse_function(tokens: Sequence[Token]) -> FunctionHeader:
    """Read the header out of the tokens of a `define` or `declare` item."""
    at = next(i for i, token in enumerate(tokens) if token.kind == GLOBAL)
    before = [token.text for token in significant(tokens[:at])]
    section: str | None = None
    after = significant(tokens[at:])
    for index, token in enumerate(after):
        if token.text == "{" and token.kind == PUNCT:
            break
        if token.text == "section" and after[index + 1].kind == STRING:
            section = decode_string(after[index + 1].text)
    return FunctionHeader(
        name=tokens[at].name,
        is_definition=before[0] == "define",
        linkage=next((word for word in before if word in LINKAGES), ""),
        is_kernel="ptx_kernel" in before,
        section=section,
    )


def _item(tokens: Sequence[Token], start: int, stop: int) -> Item:
    first = tokens[start]
    if first.kind == METADATA:
        return Item("metadata", "", start, stop)
    if first.kind == WORD and first.text in _ITEM_WORDS:
        named = (t.name for t in tokens[start:stop] if t.kind == GLOBAL)
        name = "" if first.text == "attributes" else next(named, "")
        kind = first.text if name or first.text == "attributes" else "other"
        return Item(kind, name, start, stop)
    if first.kind == GLOBAL:
        words = (t.text for t in tokens[start:stop] if t.kind == WORD)
        kind = next((_VARIABLE_WORDS[word] for word in words if word in _VARIABLE_WORDS), "other")
        return Item(kind, first.name, start, stop)
    return Item("other", "", start, stop)
