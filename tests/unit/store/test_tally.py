"""The size of a cache is known without a walk, and collecting is due when it should be."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from oxide_build.store.tally import Size, Tally

NOW = 1_000_000.0
DAY_S = 86_400


def measured(root: Path, total: int, over: bool = False) -> Tally:
    tally = Tally(root)
    tally.measured(Size(total, NOW, over))
    return tally


def test_additions_are_summed(tmp_path: Path) -> None:
    tally = measured(tmp_path, 100)
    tally.add(20)
    tally.add(3)
    assert tally.read() == Size(123, NOW, over=False)


def test_builds_that_end_together_lose_nothing(tmp_path: Path) -> None:
    tally = measured(tmp_path, 0)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(tally.add, [7] * 1000))
    assert tally.read() == Size(7000, NOW, over=False)


def test_the_file_stays_short(tmp_path: Path) -> None:
    tally = measured(tmp_path, 0)
    for _ in range(9000):
        tally.add(4_000_000_000)
    assert tally.read() == Size(36_000_000_000_000, NOW, over=False)
    assert (tmp_path / "size-v1").stat().st_size < 70_000


@pytest.mark.parametrize("text", ["", "x", "1 2", "1 2 0\nx\n", "300002"])
def test_what_says_nothing_makes_the_next_build_measure(tmp_path: Path, text: str) -> None:
    (tmp_path / "size-v1").write_text(text)
    assert Tally(tmp_path).read() is None
    assert Tally(tmp_path).due(1 << 40, NOW)


def test_an_empty_cache_need_not_be_measured(tmp_path: Path) -> None:
    Tally(tmp_path).begin()
    size = Tally(tmp_path).read()
    assert size is not None
    assert size.total_bytes == 0
    (tmp_path / "size-v1").unlink()
    (tmp_path / "blobs-v1").mkdir()
    Tally(tmp_path).begin()
    assert Tally(tmp_path).read() is None


@pytest.mark.parametrize(
    ("total", "over", "later_s", "due"),
    [
        (100, False, 0, False),
        (101, False, 0, True),
        (100, False, DAY_S + 1, True),
        (100, False, -DAY_S, True),
        (101, True, 60, False),
        (101, True, 601, True),
        (100, True, 601, False),
    ],
)
def test_when_collecting_is_due(
    tmp_path: Path, total: int, over: bool, later_s: float, due: bool
) -> None:
    assert measured(tmp_path, total, over).due(100, NOW + later_s) is due
