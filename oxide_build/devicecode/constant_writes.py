"""Writes to constant memory, found before LLVM sees them.

A store to address space 4 has no meaning, so LLVM drops it without a word and the kernel computes
with the old value. What is looked for is a store whose address is the static itself, a constant
expression on it, or a chain of `getelementptr` from it; a pointer that went through memory or a
call is not followed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

from oxide_build.devicecode.ir_module import IrModule, Item
from oxide_build.devicecode.llvm_tokens import (
    GLOBAL,
    LOCAL,
    PUNCT,
    SPACE,
    Token,
    is_trivia,
    split_at_commas,
)
from oxide_build.devicecode.names import demangle
from oxide_build.errors import ActionFailed

# Which comma-separated operand of an instruction is the address written to.
_WRITES = {"store": 1, "atomicrmw": 0, "cmpxchg": 0}
_MEMORY_INTRINSICS = ("llvm.memcpy.", "llvm.memmove.", "llvm.memset.")


def check_constants_unwritten(module: IrModule, names: AbstractSet[str], label: str) -> None:
    """Raise `ActionFailed` naming the first static of `names` that a function writes to."""
    if not names:
        return
    for item in module.of_kind("define"):
        tokens = module.tokens_of(item)
        if not any(token.kind == GLOBAL and token.name in names for token in tokens):
            continue
        written = _first_written(tokens, names)
        if written is not None:
            raise _refusal(item, written, label)


def _refusal(item: Item, written: str, label: str) -> ActionFailed:
    return ActionFailed(
        f"`{label}`: the function `{demangle(item.name)}` writes to the static "
        f"`{demangle(written)}` in section `.constant`, which a kernel can only read",
        hint="the host writes constant memory before a launch; "
        "for memory that kernels write, leave out the `#[link_section]`",
    )


def _first_written(tokens: Sequence[Token], names: AbstractSet[str]) -> str | None:
    """The name of the first static of `names` that the function `tokens` writes to."""
    derived: dict[str, str] = {}
    for line in _lines(tokens):
        operation, operands, result = _split(line)
        if operation in _WRITES and len(operands) > _WRITES[operation]:
            base = _base(operands[_WRITES[operation]], names, derived)
            if base is not None:
                return base
        elif operation == "getelementptr" and len(operands) > 1 and result is not None:
            base = _base(operands[1], names, derived)
            if base is not None:
                derived[result.name] = base
        elif operation == "call":
            base = _base(_memory_destination(line), names, derived)
            if base is not None:
                return base
    return None


def _lines(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """llvm-dis writes one instruction a line."""
    line: list[Token] = []
    for token in tokens:
        if token.kind == SPACE and "\n" in token.text:
            yield line
            line = []
        elif not is_trivia(token):
            line.append(token)
    yield line


def _split(line: list[Token]) -> tuple[str, list[list[Token]], Token | None]:
    """Operation, operands and result of an instruction."""
    result: Token | None = None
    if len(line) > 2 and line[0].kind == LOCAL and line[1].text == "=":
        result, line = line[0], line[2:]
    while line and line[0].text in ("tail", "musttail", "notail"):
        line = line[1:]
    if not line:
        return "", [], None
    return line[0].text, split_at_commas(line[1:]), result


def _memory_destination(line: list[Token]) -> list[Token]:
    """The first argument of a call to one of LLVM's memory intrinsics, else nothing."""
    for at, token in enumerate(line):
        if token.kind == GLOBAL and token.name.startswith(_MEMORY_INTRINSICS):
            return split_at_commas(line[at + 2 :])[0]
    return []


def _base(operand: Sequence[Token], names: AbstractSet[str], derived: dict[str, str]) -> str | None:
    """The static an address operand is based on, when it is one of `names`."""
    constants = [token for token in operand if token.kind == GLOBAL]
    if constants:
        return constants[0].name if constants[0].name in names else None
    if any(token.kind == PUNCT for token in operand):
        return None
    locals_ = [token for token in operand if token.kind == LOCAL]
    return derived.get(locals_[-1].name) if locals_ else None
