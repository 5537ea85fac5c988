"""Last uses: one file for a set of keys, a bounded number of them, none lost."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from oxide_build.store.uses import Uses, forget_uses, last_uses, used_since

DAY_S = 86_400.0


def key(number: int) -> str:
    return f"{number:064x}"


def raw(number: int) -> bytes:
    return bytes.fromhex(key(number))


def sets(cache: Path) -> list[Path]:
    return sorted((cache / "uses-v1").iterdir())


def age(path: Path, days: float) -> None:
    then = time.time() - days * DAY_S
    os.utime(path, (then, then))


def test_the_same_set_again_is_one_file_that_is_touched(tmp_path: Path) -> None:
    uses = Uses(tmp_path, "w")
    uses.end([key(1), key(2), key(1)])
    (file,) = sets(tmp_path)
    age(file, 3)
    uses.end([key(2), key(1)])
    assert sets(tmp_path) == [file]
    assert set(last_uses(tmp_path, time.time())) == {raw(1), raw(2)}
    assert time.time() - last_uses(tmp_path, time.time())[raw(1)] < 60


def test_a_build_that_begins_pins_what_the_last_one_of_its_workspace_used(tmp_path: Path) -> None:
    Uses(tmp_path, "w").end([key(1)])
    age(sets(tmp_path)[0], 9)
    Uses(tmp_path, "w").end([key(2)])
    Uses(tmp_path, "other").end([key(3)])
    for file in sets(tmp_path):
        age(file, 5 if raw(1) not in file.read_bytes() else 9)
    Uses(tmp_path, "w").begin()
    assert used_since(tmp_path, time.time() - 60) == {raw(2)}


def test_the_newest_use_counts_and_none_is_in_the_future(tmp_path: Path) -> None:
    uses = Uses(tmp_path, "w")
    uses.end([key(1)])
    uses.end([key(1), key(2)])
    one, both = sorted(sets(tmp_path), key=lambda path: path.stat().st_size)
    age(one, 4)
    age(both, -400)
    now = time.time()
    assert last_uses(tmp_path, now) == {raw(1): now, raw(2): now}


def test_many_sets_become_few_and_no_use_looks_older(tmp_path: Path) -> None:
    uses = Uses(tmp_path, "w")
    truth: dict[bytes, float] = {}
    for number in range(200):
        keys = [number, number // 2, 1000]
        uses.end(key(each) for each in keys)
        newest = max(sets(tmp_path), key=lambda path: path.stat().st_mtime_ns)
        # Five a day.
        used_s = time.time() - (200 - number) / 5 * DAY_S
        os.utime(newest, (used_s, used_s))
        truth.update((raw(each), used_s) for each in keys)
    found = last_uses(tmp_path, time.time())
    assert set(found) == set(truth)
    for each, used_s in truth.items():
        assert used_s - 0.01 <= found[each] < used_s + DAY_S
    assert len(sets(tmp_path)) <= 41 + 8 + 8


@pytest.mark.parametrize("data", [b"", b"x" * 31, b"x" * 64])
def test_a_damaged_set_is_forgotten(tmp_path: Path, data: bytes) -> None:
    Uses(tmp_path, "w").end([key(1)])
    Uses(tmp_path, "w").end([key(2)])
    damaged = next(path for path in sets(tmp_path) if path.read_bytes() == raw(1))
    damaged.write_bytes(data)
    assert set(last_uses(tmp_path, time.time())) == {raw(2)}
    forget_uses(tmp_path, 0)
    assert len(sets(tmp_path)) == 1


def test_old_sets_are_forgotten(tmp_path: Path) -> None:
    Uses(tmp_path, "w").end([key(1)])
    age(sets(tmp_path)[0], 31)
    Uses(tmp_path, "w").end([key(2)])
    forget_uses(tmp_path, time.time() - 30 * DAY_S)
    assert set(last_uses(tmp_path, time.time())) == {raw(2)}


def test_a_folder_that_cannot_be_written_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "uses-v1").write_text("a file")
    Uses(tmp_path, "w").begin()
    Uses(tmp_path, "w").end([key(1)])
    assert last_uses(tmp_path, time.time()) == {}
