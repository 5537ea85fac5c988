"""Address spaces for statics: the step between linking device code and optimising it.

A static in section `.shared` becomes a variable of address space 3, one in `.constant` of address
space 4, and every use goes through an `addrspacecast`, which LLVM then folds into `ld.shared`,
`st.shared` and `ld.const`. It must run before any LLVM pass: GlobalOpt may fold or localise an
ordinary internal static, which memory shared by a block must not be.

All zero-length `.shared` statics are the one dynamic shared memory of a launch, as in CUDA. They
are merged into the first of them, because LLVM takes two variables to be two memories: it was seen
to forward a store over a store through the other name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from oxide_build.devicecode.constant_writes import check_constants_unwritten
from oxide_build.devicecode.definitions import placed_definitions
from oxide_build.devicecode.ir_module import IrModule, Item, parse_module
from oxide_build.devicecode.llvm_tokens import (
    GLOBAL,
    PUNCT,
    SPACE,
    STRING,
    WORD,
    Token,
    decode_string,
    encode_name,
    join,
    significant,
    tokenize,
)
from oxide_build.devicecode.names import demangle, is_ptx_identifier
from oxide_build.devicecode.statics import (
    CONSTANT_SECTION,
    SHARED_SECTION,
    Request,
    find_requests,
)
from oxide_build.errors import ActionFailed

_SPACES = {SHARED_SECTION: 3, CONSTANT_SECTION: 4}
_USED_LISTS = frozenset({"llvm.used", "llvm.compiler.used"})
_TARGET_ATTRIBUTES = frozenset({"target-cpu", "target-features", "tune-cpu"})


@dataclass(frozen=True, kw_only=True, slots=True)
class PlacedStatic:
    """A static that now has an address space.

    `size_bytes` is None where the type names others; it is 0 for dynamic shared memory. `uses`
    counts the casts put in. `exported` says that the host can find it by `name`. An exported static
    that is not `mutable` may be read by the host but not filled: rustc has folded its value into
    the code already.
    """

    name: str
    path: str
    size_bytes: int | None
    align_bytes: int
    exported: bool
    mutable: bool
    uses: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Placed:
    """A module's text after placement, and what was placed, in the order of the text."""

    text: str
    shared: tuple[PlacedStatic, ...] = ()
    constant: tuple[PlacedStatic, ...] = ()
    dynamic_shared: tuple[PlacedStatic, ...] = ()


def place_address_spaces(ir: str, label: str) -> Placed:
    """Put the `.shared` and `.constant` statics of a linked module where they ask to be.

    Placing twice is the same as placing once. Raises `ActionFailed`, naming `label`, for a static
    that cannot be placed and for a use that no address space allows.
    """
    module = parse_module(ir)
    requests = find_requests(module, label)
    if not requests:
        return Placed(text=ir)
    by_name = {request.variable.name: request for request in requests}
    _check_initialisers(module, by_name, label)
    constants = {n for n, request in by_name.items() if request.section == CONSTANT_SECTION}
    check_constants_unwritten(module, constants, label)

    dynamic = [request for request in requests if request.is_dynamic]
    spellings = _spellings(requests, dynamic, label)
    definitions = placed_definitions(requests)
    text, uses = _rewrite(module, by_name, spellings, definitions)
    _check_placed(text, spellings, label)
    return Placed(
        text=text,
        shared=_placed(requests, uses, SHARED_SECTION, dynamic=False),
        constant=_placed(requests, uses, CONSTANT_SECTION, dynamic=False),
        dynamic_shared=_placed(requests, uses, SHARED_SECTION, dynamic=True),
    )


def strip_target_attributes(ir: str) -> str:
    """Remove `"target-cpu"`, `"target-features"` and `"tune-cpu"` from the attribute groups.

    LLVM's NVPTX backend selects instructions by a function's `target-cpu`, whatever `-mcpu` says.
    """
    module = parse_module(ir)
    dropped: set[int] = set()
    for item in module.of_kind("attributes"):
        for at in range(item.start, item.stop):
            token = module.tokens[at]
            if token.kind != STRING or module.tokens[at - 1].text == "=":
                continue
            if decode_string(token.text) in _TARGET_ATTRIBUTES:
                dropped.update(_attribute_span(module.tokens, at))
    return join([token for at, token in enumerate(module.tokens) if at not in dropped])


def _attribute_span(tokens: Sequence[Token], at: int) -> range:
    """The tokens of `"key"="value"` and the white space in front."""
    start = at - 1 if tokens[at - 1].kind == SPACE else at
    has_value = tokens[at + 1].text == "=" and tokens[at + 2].kind == STRING
    return range(start, at + 3 if has_value else at + 1)


def _spellings(
    requests: Sequence[Request], dynamic: Sequence[Request], label: str
) -> dict[str, str]:
    """How each placed static is written from now on, by its old name."""
    spellings = {r.variable.name: "@" + encode_name(r.variable.name) for r in requests}
    if dynamic:
        first = dynamic[0].variable.name
        if not is_ptx_identifier(first):
            raise dynamic[0].refuse(
                label,
                "is dynamic shared memory, which PTX refers to by name, and ptxas refuses this one",
                "use letters, digits, `_` and `$`, and no digit in front",
            )
        spellings |= {request.variable.name: spellings[first] for request in dynamic}
    return spellings


def _rewrite(
    module: IrModule,
    requests: Mapping[str, Request],
    spellings: Mapping[str, str],
    definitions: Mapping[Item, str],
) -> tuple[str, dict[str, int]]:
    """The new text, and how often each static is used in it."""
    uses = dict.fromkeys(requests, 0)

    def rewritten(tokens: Sequence[Token]) -> list[str]:
        texts = []
        for token in tokens:
            if token.kind == GLOBAL and (name := token.name) in requests:
                uses[name] += 1
                space = _SPACES[requests[name].section]
                texts.append(f"addrspacecast (ptr addrspace({space}) {spellings[name]} to ptr)")
            else:
                texts.append(token.text)
        return texts

    pieces: list[str] = []
    done = 0
    for item, definition in definitions.items():
        pieces += rewritten(module.tokens[done : item.start])
        # The initialiser of a constant may use another constant.
        name, *rest = tokenize(definition)
        pieces += [name.text, *rewritten(rest)]
        done = item.stop
    pieces += rewritten(module.tokens[done:])
    return "".join(pieces), uses


def _placed(
    requests: Sequence[Request], uses: Mapping[str, int], section: str, *, dynamic: bool
) -> tuple[PlacedStatic, ...]:
    return tuple(
        PlacedStatic(
            name=request.variable.name,
            path=demangle(request.variable.name),
            size_bytes=None if request.layout is None else request.layout.size_bytes,
            align_bytes=request.variable.align_bytes or 1,
            exported=section == CONSTANT_SECTION and not request.variable.is_local,
            mutable=request.variable.keyword == "global",
            uses=uses[request.variable.name],
        )
        for request in requests
        if request.section == section and request.is_dynamic is dynamic
    )


def _check_initialisers(module: IrModule, requests: Mapping[str, Request], label: str) -> None:
    """Refuse shared memory in initialisers, and any placed static behind an alias.

    The generic address of a constant is known when a module is loaded (PTX `generic(x)`); shared
    memory has an address only while a block runs.
    """
    for item in module.items:
        if item.kind not in ("variable", "alias", "ifunc") or item.name in _USED_LISTS:
            continue
        for token in module.tokens_of(item)[1:]:
            request = requests.get(token.name) if token.kind == GLOBAL else None
            if request is None:
                continue
            if item.kind == "variable" and request.section == CONSTANT_SECTION:
                continue
            what = "static" if item.kind == "variable" else item.kind
            raise request.refuse(
                label,
                f"is used by the {what} `{demangle(item.name)}`, "
                "but its address is not known before a kernel runs",
                "take the address inside the kernel",
            )


def _check_placed(text: str, spellings: Mapping[str, str], label: str) -> None:
    """Read the result again: a missed static would be silent, wrong and slow global memory."""
    tokens = significant(tokenize(text))
    names = {Token(GLOBAL, spelling).name for spelling in spellings.values()}
    for at, token in enumerate(tokens):
        before = tokens[max(0, at - 4) : at]
        if token.kind == STRING and before and before[-1] == (WORD, "section"):
            if decode_string(token.text) in _SPACES:
                raise ActionFailed(f"`{label}`: internal check: a static is left in {token.text}")
        elif token.kind == GLOBAL and token.name in names:
            is_definition = at + 1 < len(tokens) and tokens[at + 1] == (PUNCT, "=")
            is_cast = [t.text for t in before[:2]] == ["addrspace", "("]
            if not is_definition and not is_cast:
                raise ActionFailed(
                    f"`{label}`: internal check: a use of `{demangle(token.name)}` was not placed"
                )
