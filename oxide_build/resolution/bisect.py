"""Finding the first nightly that lacks a property, where some nights cannot be tried."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

Night = datetime.date


class Verdict(Enum):
    """What trying one night gave. SKIPPED: there is no such nightly, or it cannot be had."""

    GOOD = "good"
    BAD = "bad"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bisection:
    """Between `last_good` and `first_bad` lie only `skipped` nights."""

    last_good: Night
    first_bad: Night
    skipped: tuple[Night, ...]


def nights(first: Night, last: Night) -> tuple[Night, ...]:
    """Every day from `first` to `last`, both included; empty where `last` is the earlier."""
    days = (last - first).days
    return tuple(first + datetime.timedelta(days=day) for day in range(days + 1))


def bisect(dates: Sequence[Night], probe: Callable[[Night], Verdict]) -> Bisection:
    """The first bad of `dates`, which ascend; the first is known good and the last known bad.

    Assumes one change from good to bad. Tries O(log n) nights, and more only where nights are
    skipped: then the nearest untried one to the middle. Each night is tried once.
    """
    if len(dates) < 2:
        raise ValueError("bisecting needs a good and a bad night")
    low, high = 0, len(dates) - 1
    skipped: set[int] = set()
    while (middle := _nearest(low, high, skipped)) is not None:
        verdict = probe(dates[middle])
        if verdict is Verdict.SKIPPED:
            skipped.add(middle)
        elif verdict is Verdict.GOOD:
            low = middle
        else:
            high = middle
    return Bisection(
        last_good=dates[low],
        first_bad=dates[high],
        skipped=tuple(dates[index] for index in range(low + 1, high)),
    )


def _nearest(low: int, high: int, skipped: set[int]) -> int | None:
    """The untried index strictly between `low` and `high` that is nearest to the middle."""
    middle = (low + high) // 2
    for distance in range(high - low):
        for index in (middle - distance, middle + distance):
            if low < index < high and index not in skipped:
                return index
    return None
