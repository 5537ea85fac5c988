"""A snapshot says what was put into it, or nothing at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oxide_build.snapshot.snapshot import MAGIC, State, Texts, decode, encode, unchanged

NUMBER = st.integers(0, (1 << 63) - 1)
NAME = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), min_size=1)
STATES = st.dictionaries(NAME, st.tuples(NUMBER, NUMBER, NUMBER, NUMBER), max_size=5)
TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=20)


@given(TEXT, NUMBER, st.tuples(TEXT, TEXT, TEXT), STATES)
def test_decode_undoes_encode(
    request: str, taken_ns: int, texts: Texts, states: dict[str, State]
) -> None:
    data = encode(request, taken_ns, texts, states.items())
    assert data is not None
    found = decode(data, request)
    assert found is not None
    assert found[:2] == (taken_ns, texts)
    assert [os.fsdecode(path) for path in found[2]] == list(states)
    assert list(found[3]) == [number for state in states.values() for number in state]
    assert decode(data, request + "x") is None


SMALL = encode("r", 1, ("o", "p", "s"), [("a", (1, 2, 3, 4)), ("b/c", (5, 6, 7, 8))])


@pytest.mark.parametrize("at", range(len(SMALL or b"")))
def test_no_flipped_bit_and_no_missing_end_goes_unseen(at: int) -> None:
    assert SMALL is not None
    flipped = bytearray(SMALL)
    flipped[at] ^= 1 << (at % 8)
    assert decode(bytes(flipped), "r") is None
    assert decode(SMALL[:at], "r") is None


@given(st.binary(max_size=200))
def test_anything_else_is_nothing(data: bytes) -> None:
    assert decode(data, "r") is None
    assert decode(MAGIC + data, "r") is None


@pytest.mark.parametrize("state", [(-1, 0, 0, 0), (0, 0, 0, 1 << 63)])
def test_what_has_no_place_is_not_kept(state: State) -> None:
    assert encode("r", 1, ("", "", ""), [("a", state)]) is None


def test_a_stat_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "a"
    file.write_text("one")
    now = file.stat()
    state = [now.st_mtime_ns, now.st_ctime_ns, now.st_size, now.st_ino]
    assert unchanged([b"a"], state)
    for place in range(4):
        other = list(state)
        other[place] += 1
        assert not unchanged([b"a"], other)
    assert not unchanged([b"a", b"b"], state * 2)
    assert not unchanged([b"a"], state[:3])
    file.unlink()
    assert not unchanged([b"a"], state)
