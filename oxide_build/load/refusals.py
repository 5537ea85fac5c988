"""Values that a rule refuses, however they are spelled."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

# `-C opt-level=3` as one element, and `-C` alone, whose value is the next element.
_ONE = re.compile(r"(-[A-Za-z])\s+(.*)\Z", re.DOTALL)
_ALONE = re.compile(r"-[A-Za-z]\Z")


def refused(values: Sequence[str], refuse: Mapping[str, str]) -> Iterator[tuple[int, str, str]]:
    """The refused elements: position, what it was taken for, the reason.

    `refuse` maps values, or prefixes that end in `*`, to reasons. A one-letter flag and its value
    may be one element or two: `-Ctarget-cpu=x`, `-C target-cpu=x` and `-C`, `target-cpu=x` are
    the same, and `_` in a flag's name is the same as `-`, as rustc has it. The longest match of
    all spellings gives the reason.
    """
    if not refuse:
        return
    skip = -1
    for position, value in enumerate(values):
        if position == skip:
            continue
        spelled = [value]
        if found := _ONE.match(value):
            spelled.append(found[1] + found[2])
        if _ALONE.match(value) and position + 1 < len(values):
            following = values[position + 1]
            spelled += [f"{value}{following}", f"{value} {following}"]
        best = max((_match(text, refuse) for text in spelled), key=lambda match: match[0])
        if best[0] >= 0:
            _, text, reason = best
            yield position, text, reason
            # The value of a refused flag is not a flag.
            skip = position + 1 if text not in spelled[:1] and _ALONE.match(value) else -1


def _match(text: str, refuse: Mapping[str, str]) -> tuple[int, str, str]:
    """How long a pattern matches `text`, or -1; `text`; the reason."""
    name, equals, rest = text.partition("=")
    best = (-1, text, "")
    for spelling in dict.fromkeys((text, name.replace("_", "-") + equals + rest)):
        if spelling in refuse:
            return len(spelling), text, refuse[spelling]
        for pattern, reason in refuse.items():
            prefix = pattern[:-1]
            if pattern.endswith("*") and spelling.startswith(prefix) and len(prefix) > best[0]:
                best = (len(prefix), text, reason)
    return best
