"""The definition lines of statics in their address spaces."""

from __future__ import annotations

from collections.abc import Sequence

from oxide_build.devicecode.ir_module import Item
from oxide_build.devicecode.ir_variable import GlobalVariable
from oxide_build.devicecode.statics import CONSTANT_SECTION, Request

# Words that shared memory, internal to the module, keeps in front of `global`.
_KEPT_WORDS = frozenset({"dso_local", "unnamed_addr", "local_unnamed_addr"})


def placed_definitions(requests: Sequence[Request]) -> dict[Item, str]:
    """What takes the place of each item, in the order of `requests`.

    The first dynamic static stands for all of them, with the strictest alignment.
    """
    dynamic = [request for request in requests if request.is_dynamic]
    definitions = {}
    for request in requests:
        if request.section == CONSTANT_SECTION:
            definitions[request.item] = _constant_definition(request.variable)
        elif not request.is_dynamic:
            definitions[request.item] = _shared_definition(request.variable)
        elif request is dynamic[0]:
            align = max(other.variable.align_bytes or 1 for other in dynamic)
            definitions[request.item] = _dynamic_definition(request.variable, align)
        else:
            first = dynamic[0].variable.spelling
            definitions[request.item] = f"; {request.variable.spelling} is {first}"
    return definitions


def _shared_definition(variable: GlobalVariable) -> str:
    words = ["internal", *(word for word in variable.prefix if word in _KEPT_WORDS)]
    head = f"{variable.spelling} = {' '.join(words)} addrspace(3) global"
    # A comdat group is about symbols that several objects define; an internal one has no rivals.
    return _with_clauses(f"{head} {variable.type_text} undef", variable, drop=("comdat",))


def _dynamic_definition(variable: GlobalVariable, align_bytes: int) -> str:
    head = f"{variable.spelling} = external addrspace(3) global [0 x i8], align {align_bytes}"
    return _with_clauses(head, variable, drop=("comdat", "align"))


def _constant_definition(variable: GlobalVariable) -> str:
    """The host may fill an exported static before a launch, so LLVM must not trust its value."""
    words = [w for w in variable.prefix if w != "externally_initialized" and w[:4] != "addr"]
    words.append("addrspace(4)")
    if not variable.is_local:
        words.append("externally_initialized")
    head = f"{variable.spelling} = {' '.join(words)} {variable.keyword} {variable.type_text}"
    value = "" if variable.initializer is None else f" {variable.initializer}"
    return _with_clauses(head + value, variable, drop=())


def _with_clauses(head: str, variable: GlobalVariable, drop: tuple[str, ...]) -> str:
    dropped = ("section", *drop)
    kept = [c for c in variable.clauses if not c.startswith(dropped)]
    return ", ".join([head, *kept]) + (f" {variable.attributes}" if variable.attributes else "")
