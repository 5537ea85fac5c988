"""Sizes of LLVM types under the layout of nvptx64, as far as a static's type needs them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from oxide_build.devicecode.llvm_tokens import Token, significant, split_at_commas, tokenize

_FLOATS = {"half": 2, "bfloat": 2, "float": 4, "double": 8}
_POINTER_BYTES = 8


class Layout(NamedTuple):
    """What a value takes in memory."""

    size_bytes: int
    align_bytes: int


def layout_of(type_text: str) -> Layout | None:
    """Size and ABI alignment of a type, or None for one that names others (`%T`, `target(...)`)."""
    return _layout(significant(tokenize(type_text)))


def _layout(tokens: Sequence[Token]) -> Layout | None:
    texts = [token.text for token in tokens]
    if texts[:2] == ["<", "{"] and texts[-2:] == ["}", ">"]:
        return _struct(tokens[2:-2], packed=True)
    if texts[:1] == ["{"] and texts[-1:] == ["}"]:
        return _struct(tokens[1:-1], packed=False)
    if texts[:1] in (["["], ["<"]) and len(texts) >= 5 and texts[2] == "x" and texts[1].isdigit():
        return _repeated(int(texts[1]), _layout(tokens[3:-1]), vector=texts[0] == "<")
    return _scalar(texts)


def _scalar(texts: Sequence[str]) -> Layout | None:
    if texts[:1] == ["ptr"] and len(texts) in (1, 5):
        return Layout(_POINTER_BYTES, _POINTER_BYTES)
    if len(texts) != 1:
        return None
    if texts[0] in _FLOATS:
        return Layout(_FLOATS[texts[0]], _FLOATS[texts[0]])
    if texts[0][0] == "i" and texts[0][1:].isdigit():
        size = -(-int(texts[0][1:]) // 8)
        align = min(16, 1 << (size - 1).bit_length()) if size else 1
        return Layout(_round_up(size, align), align)
    return None


def _struct(tokens: Sequence[Token], *, packed: bool) -> Layout | None:
    end, align = 0, 1
    for field in split_at_commas(tokens) if tokens else ():
        layout = _layout(field)
        if layout is None:
            return None
        if not packed:
            end = _round_up(end, layout.align_bytes)
            align = max(align, layout.align_bytes)
        end += layout.size_bytes
    return Layout(_round_up(end, align), align)


def _repeated(count: int, element: Layout | None, *, vector: bool) -> Layout | None:
    if element is None:
        return None
    size = count * element.size_bytes
    if not vector:
        return Layout(size, element.align_bytes)
    align = 1 << max(0, size - 1).bit_length()
    return Layout(_round_up(size, align), align)


def _round_up(size: int, align: int) -> int:
    return -(-size // align) * align
