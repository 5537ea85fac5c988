"""The statics of a module that ask for a GPU address space by their link section.

`#[link_section = ".shared"]` asks for a block's shared memory, `".constant"` for constant memory.
rustc keeps the section name and LLVM ignores it, so whatever is not placed by us becomes slow and,
for shared memory, racy global memory. Hence nothing that looks like a request goes unanswered:
what cannot be placed is an error.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass

from oxide_build.devicecode.ir_module import IrModule, Item, parse_function
from oxide_build.devicecode.ir_types import Layout, layout_of
from oxide_build.devicecode.ir_variable import GlobalVariable, parse_variable
from oxide_build.devicecode.llvm_tokens import WORD, significant, tokenize
from oxide_build.devicecode.names import demangle, is_ptx_identifier
from oxide_build.errors import ActionFailed

SHARED_SECTION = ".shared"
CONSTANT_SECTION = ".constant"
CONSTANT_BYTES = 64 * 1024
"""Constant memory a module may declare (CUDA Programming Guide, table of technical limits)."""

_UNWRITTEN = frozenset({"undef", "poison"})
_UNINIT_HINT = (
    "shared memory holds garbage when a kernel starts; declare the static as `MaybeUninit` "
    "(`MaybeUninit::uninit()`) and let the threads of the block write it before they read it"
)


@dataclass(frozen=True, slots=True)
class Request:
    """A global variable in a section that this package places."""

    item: Item
    variable: GlobalVariable
    layout: Layout | None

    @property
    def section(self) -> str:
        return self.variable.section or ""

    @property
    def is_dynamic(self) -> bool:
        """True for a zero-length `.shared` static: memory whose size the launch decides."""
        return self.section == SHARED_SECTION and self.layout is not None and not self.layout[0]

    @property
    def described(self) -> str:
        return f"the static `{demangle(self.variable.name)}` in section `{self.section}`"

    def refuse(self, label: str, why: str, hint: str | None = None) -> ActionFailed:
        return ActionFailed(f"`{label}`: {self.described} {why}", hint=hint)


def find_requests(module: IrModule, label: str) -> tuple[Request, ...]:
    """Every static to place, in the order of the text, after checking that each can be placed."""
    for item in module.items:
        if item.kind in ("define", "declare"):
            _check_function(module, item, label)
    requests = []
    for item in module.of_kind("variable"):
        tokens = module.tokens_of(item)
        if not any(token.kind == WORD and token.text == "section" for token in tokens):
            continue
        variable = parse_variable(tokens)
        section = variable.section or ""
        if section in (SHARED_SECTION, CONSTANT_SECTION):
            requests.append(Request(item, variable, layout_of(variable.type_text)))
        elif (meant := meant_section(section)) is not None:
            raise ActionFailed(
                f"`{label}`: the static `{demangle(variable.name)}` is in section `{section}`, "
                "which means nothing on a GPU",
                hint=f'did you mean `#[link_section = "{meant}"]`?',
            )
    for request in requests:
        _check(request, label)
    _check_constant_total(requests, label)
    return tuple(requests)


def meant_section(section: str) -> str | None:
    """The section that a misspelled one stands for (`.share`, `__shared__`, `.const`), or None."""
    word = section.strip("._").lower()
    for known in (SHARED_SECTION, CONSTANT_SECTION):
        if word.startswith(known[1:]):
            return known
    close = difflib.get_close_matches(word, ["shared", "constant"], n=1, cutoff=0.75)
    return f".{close[0]}" if close else None


def _check_function(module: IrModule, item: Item, label: str) -> None:
    section = parse_function(module.tokens_of(item)).section
    if section is None:
        return
    if section in (SHARED_SECTION, CONSTANT_SECTION) or meant_section(section) is not None:
        raise ActionFailed(
            f"`{label}`: the function `{demangle(item.name)}` is in section `{section}`, "
            "but only statics can live in shared or constant memory",
            hint="remove its `#[link_section]`",
        )


def _check(request: Request, label: str) -> None:
    variable = request.variable
    if variable.is_thread_local:
        raise request.refuse(label, "is thread-local, and a GPU has no such statics")
    if variable.address_space not in ("", "0"):
        raise request.refuse(label, f"already lives in address space {variable.address_space}")
    if request.section == SHARED_SECTION:
        _check_shared(request, label)
    elif request.layout is not None and request.layout.size_bytes == 0:
        raise request.refuse(label, "has no bytes, and constant memory cannot be sized at launch")
    elif not variable.is_local and not is_ptx_identifier(variable.name):
        raise request.refuse(
            label,
            f"is exported as `{variable.name}`, and ptxas refuses that name",
            "use letters, digits, `_` and `$`, and no digit in front",
        )


def _check_shared(request: Request, label: str) -> None:
    variable = request.variable
    if request.is_dynamic:
        return
    if variable.initializer is None:
        raise request.refuse(label, "is declared and never defined")
    if variable.keyword == "constant":
        raise request.refuse(
            label,
            "is immutable, so nothing could ever write to it",
            "make it `static mut`, or wrap its type in an `UnsafeCell`",
        )
    if not _is_unwritten(variable.initializer, variable.type_text):
        raise request.refuse(
            label, "has an initial value, and shared memory cannot be initialised", _UNINIT_HINT
        )


def _is_unwritten(initializer: str, type_text: str) -> bool:
    """True when every leaf of the initialiser is undef.

    Zeroes count as a value: the hardware would not write them, and the program relies on them.
    """
    if initializer in _UNWRITTEN:
        return True
    # `<{ i8 undef, ptr poison }>` less its values is its type, `<{ i8, ptr }>`.
    texts = [token.text for token in significant(tokenize(initializer))]
    types = [token.text for token in significant(tokenize(type_text))]
    return (
        any(t in _UNWRITTEN for t in texts) and [t for t in texts if t not in _UNWRITTEN] == types
    )


def _check_constant_total(requests: list[Request], label: str) -> None:
    """Raise when the sizes that are known already exceed constant memory."""
    constants = [r for r in requests if r.section == CONSTANT_SECTION and r.layout is not None]
    total = 0
    for request, size_bytes in _sizes(constants):
        align = request.variable.align_bytes or 1
        total = -(-total // align) * align + size_bytes
    if total > CONSTANT_BYTES:
        largest = max(_sizes(constants), key=lambda sized: sized[1])[0]
        raise ActionFailed(
            f"`{label}`: its `{CONSTANT_SECTION}` statics take {total} bytes, "
            f"but constant memory has {CONSTANT_BYTES}",
            hint=f"the largest is `{demangle(largest.variable.name)}`; without "
            "`#[link_section]` it lives in global memory, where the read-only cache serves it",
        )


def _sizes(requests: list[Request]) -> Iterator[tuple[Request, int]]:
    return ((r, r.layout.size_bytes) for r in requests if r.layout is not None)
