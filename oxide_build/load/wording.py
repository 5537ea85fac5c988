"""Words of messages: suggestions, lists and what TOML calls a value."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from oxide_build.model.label import shown

# `difflib` takes quadratic time in the length of the words.
_WORD_LIMIT = 120


def nearest(word: str, known: Iterable[str], *, count: int = 1) -> list[str]:
    """The up to `count` members of `known` that look most like `word`; [] where none does."""
    if len(word) > _WORD_LIMIT:
        return []
    candidates = sorted({other for other in known if len(other) <= _WORD_LIMIT})
    # Spelling out a wrong case or separator is the commonest mistake and scores low in difflib.
    plain = [other for other in candidates if _plain(other) == _plain(word)]
    close = difflib.get_close_matches(word, candidates, n=count, cutoff=0.6)
    return list(dict.fromkeys([*plain, *close]))[:count]


def did_you_mean(word: str, known: Iterable[str], *, count: int = 1) -> str | None:
    """A hint that names the nearest of `known`, or None."""
    found = nearest(word, known, count=count)
    return f"did you mean {joined([shown(other) for other in found], 'or')}?" if found else None


def suggestion(word: str, known: Sequence[str], *, what: str) -> str:
    """A hint: the nearest of `known` and all of them; `what` names them in the plural."""
    close = did_you_mean(word, known)
    everything = f"the known {what} are {listed(known)}" if known else f"there are no {what}"
    return everything if close is None else f"{close} {everything[0].upper()}{everything[1:]}"


def listed(words: Sequence[str], *, limit: int = 30) -> str:
    """`a`, `b` and `c`, quoted; cut after `limit`."""
    quoted = [shown(word) for word in words[:limit]]
    if len(words) > limit:
        quoted.append(f"{len(words) - limit} more")
    return joined(quoted, "and")


def joined(words: Sequence[str], conjunction: str) -> str:
    """a, b `conjunction` c."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {conjunction} {words[-1]}"


def type_of(value: object) -> str:
    """What TOML calls the type of a value that tomli returned, with its article."""
    if isinstance(value, bool):
        return "a boolean"
    for kind, name in ((str, "a string"), (int, "an integer"), (float, "a float")):
        if isinstance(value, kind):
            return name
    if isinstance(value, list):
        tables = value and all(isinstance(item, dict) for item in value)
        return "a list of tables" if tables else "a list"
    return "a table" if isinstance(value, dict) else "a date or time"


def _plain(word: str) -> str:
    return word.casefold().replace("-", "_").rstrip("s")
