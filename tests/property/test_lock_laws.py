"""A lock read back is the lock that was written, whatever its values are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oxide_build.errors import DefinitionError
from oxide_build.resolution.lock import Lock, LockedToolchain

# Printable words that would break careless quoting.
WORDS = st.sampled_from(
    [
        "rust",
        "cuda",
        ">=1.95",
        'a"b',
        "a\\b",
        "\\n",
        "'",
        "[x]",
        "# no",
        "é",
        "x86_64-linux",
        "=",
        "",
    ]
)
ENTRIES = st.builds(
    LockedToolchain,
    kind=WORDS,
    host=WORDS,
    requirement=WORDS,
    provider=WORDS,
    spec=WORDS,
    version=WORDS,
    trees=st.dictionaries(WORDS, WORDS, max_size=3),
)


@given(st.lists(ENTRIES, max_size=4))
def test_parse_undoes_text(entries: list[LockedToolchain]) -> None:
    lock = Lock()
    for entry in entries:
        lock = lock.with_entry(entry)
    text = lock.text()
    assert Lock.parse(text.encode()) == lock
    assert Lock.parse(text.encode()).text() == text
    for entry in entries:
        found = lock.find(entry.kind, entry.host)
        assert found is not None
        assert (found.kind, found.host) == (entry.kind, entry.host)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"version = 2\n",
        b"version = 1\ntoolchain = 3\n",
        b"version = 1\n[[toolchain]]\nkind = 'rust'\n",
        b"\xff",
        b"version = 1\n[[toolchain",
        b"[" * 100_000,
    ],
)
def test_a_damaged_lock_is_refused_with_a_way_out(data: bytes) -> None:
    with pytest.raises(DefinitionError) as caught:
        Lock.parse(data)
    assert "oxide.lock cannot be read" in str(caught.value)
    assert "oxide toolchain lock" in str(caught.value)
