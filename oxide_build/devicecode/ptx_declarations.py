"""One declaration of PTX: a parameter, or a variable of some state space.

Source: PTX ISA, section "State Spaces, Types, and Variables".
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from oxide_build.errors import ActionFailed

_TYPE = re.compile(r"\.(?:[busf](?P<bits>8|16|32|64|128)|bf16|b?f16x2|(?:tex|surf|sampler)ref)")
_NAMED_TYPES = {".bf16": 2, ".f16x2": 4, ".bf16x2": 4}
_REFERENCE_BYTES = 8
SPACES = frozenset({".const", ".shared", ".global", ".local"})


@dataclass(frozen=True, kw_only=True, slots=True)
class PtxParam:
    """A parameter of an entry.

    `pointer_space` is `global`, `shared`, `const`, `local` or `generic` for a parameter that is
    marked as a pointer (`.ptr`), else None.
    """

    name: str
    type: str
    size_bytes: int
    align_bytes: int
    pointer_space: str | None = None


def describe(words: Sequence[str]) -> PtxParam | None:
    """Read `.param .align 8 .b8 name[16]`, or a variable of any other space."""
    types = [word for word in words if _TYPE.fullmatch(word)]
    at = _name_index(words)
    if not types or at == len(words):
        return None
    scalar = _type_bytes(types[0])
    elements = scalar * (2 if ".v2" in words else 4 if ".v4" in words else 1)
    space: str | None = None
    align = elements
    before = list(words[:at])
    if ".ptr" in before:
        pointer = before[before.index(".ptr") + 1 :]
        space = pointer[0][1:] if pointer and pointer[0] in SPACES else "generic"
        before = before[: before.index(".ptr")]
    if ".align" in before[:-1]:
        align = integer(before[before.index(".align") + 1])
    return PtxParam(
        name=words[at],
        type=types[0],
        size_bytes=elements * _element_count(words[at + 1 :]),
        align_bytes=align,
        pointer_space=space,
    )


def _name_index(words: Sequence[str]) -> int:
    named = (index for index, word in enumerate(words) if re.match(r"[a-zA-Z_$%]", word))
    return next(named, len(words))


def _element_count(dimensions: Sequence[str]) -> int:
    """The product of `[2][3]`; 0 for `[]`, 1 for none."""
    if not dimensions:
        return 1
    counts = [integer(word) for word in dimensions if word not in "[]"]
    return math.prod(counts) if len(counts) == list(dimensions).count("[") else 0


def _type_bytes(type_name: str) -> int:
    found = _TYPE.fullmatch(type_name)
    if found is not None and found["bits"]:
        return int(found["bits"]) // 8
    return _NAMED_TYPES.get(type_name, _REFERENCE_BYTES)


def split_declarators(words: Sequence[str]) -> list[list[str]]:
    """`.b8 a[4], b[4]` declares two variables of one type: `.b8 a[4]` and `.b8 b[4]`."""
    first, *others = split_at_commas(words) or [[]]
    shared = first[: _name_index(first)]
    return [first, *([*shared, *other] for other in others)]


def split_at_commas(words: Sequence[str]) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for word in words:
        if word == ",":
            parts.append([])
        else:
            parts[-1].append(word)
    return [part for part in parts if part]


def integer(text: str) -> int:
    try:
        return int(text.rstrip("U"), 0)
    except ValueError:
        raise ActionFailed(f"PTX: `{text}` stands where a whole number is expected") from None
