"""A lock read back is the lock that was written, whatever its values are."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oxide_build.errors import DefinitionError
from oxide_build.resolution.lock import Lock, LockedToolchain, changes

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
    archs=st.lists(st.sampled_from(["sm_70", "sm_90a"]), max_size=2, unique=True).map(tuple),
    trees=st.dictionaries(WORDS, WORDS, max_size=3),
    packages=st.dictionaries(WORDS, WORDS, max_size=3),
)


@given(st.lists(ENTRIES, max_size=4, unique_by=lambda each: (each.kind, each.host)))
def test_parse_undoes_text(entries: list[LockedToolchain]) -> None:
    lock = Lock().with_entries(entries)
    text = lock.text()
    assert Lock.parse(text.encode()) == lock
    assert Lock.parse(text.encode()).text() == text
    for entry in entries:
        for arch in entry.archs or (None,):
            assert lock.find(entry.kind, entry.host, arch) == entry


USUAL = LockedToolchain(
    kind="cuda", host="h", requirement=">=12", provider="p", spec="13", version="13", trees={}
)
OLD = replace(USUAL, spec="12", version="12", archs=("sm_70",))


def test_an_arch_has_its_own_entry_or_the_usual_one() -> None:
    lock = Lock().with_entries([OLD, USUAL])
    assert lock.find("cuda", "h", "sm_70") == OLD
    assert lock.find("cuda", "h", "sm_90") == USUAL
    assert lock.find("cuda", "h", None) == USUAL
    assert changes(Lock(), lock) == [
        "cuda (h): nothing -> 13 (p)",
        "cuda (h) for sm_70: nothing -> 12 (p)",
    ]
    fewer = lock.with_entries([USUAL])
    assert changes(lock, fewer) == ["cuda (h) for sm_70: 12 -> nothing"]
    with pytest.raises(DefinitionError, match="two toolchains of one kind"):
        Lock.parse(Lock(toolchains=(USUAL, OLD, replace(OLD, spec="11"))).text().encode())


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
