"""Wherever the change lies and whichever nights are missing, the bisection brackets it."""

from __future__ import annotations

import datetime
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oxide_build.resolution.bisect import Verdict, bisect, nights

START = datetime.date(2026, 4, 3)


@given(st.integers(1, 200), st.data())
def test_the_change_lies_between_the_two_nights(days: int, data: st.DataObject) -> None:
    dates = nights(START, START + datetime.timedelta(days=days))
    change = data.draw(st.integers(1, days))
    inner = st.integers(1, max(1, days - 1))
    missing = {dates[i] for i in data.draw(st.sets(inner, max_size=20)) if 0 < i < days}
    tried: list[datetime.date] = []

    def probe(night: datetime.date) -> Verdict:
        assert night not in tried
        tried.append(night)
        if night in missing:
            return Verdict.SKIPPED
        return Verdict.BAD if night >= dates[change] else Verdict.GOOD

    found = bisect(dates, probe)
    assert found.last_good < dates[change] <= found.first_bad
    assert set(found.skipped) <= missing
    between = (found.first_bad - found.last_good).days - 1
    assert len(found.skipped) == between
    assert len(tried) <= math.ceil(math.log2(days + 1)) + len(missing & set(tried)) + 1


def test_without_missing_nights_the_answer_is_exact_in_few_steps() -> None:
    dates = nights(datetime.date(2026, 1, 1), datetime.date(2026, 12, 31))
    steps = 0

    def probe(night: datetime.date) -> Verdict:
        nonlocal steps
        steps += 1
        return Verdict.BAD if night >= datetime.date(2026, 8, 6) else Verdict.GOOD

    found = bisect(dates, probe)
    assert (found.last_good.isoformat(), found.first_bad.isoformat()) == (
        "2026-08-05",
        "2026-08-06",
    )
    assert found.skipped == ()
    assert steps <= 9


def test_one_night_alone_is_no_range() -> None:
    with pytest.raises(ValueError, match="needs a good and a bad night"):
        bisect([START], lambda night: Verdict.GOOD)
    assert nights(START, START - datetime.timedelta(days=1)) == ()
