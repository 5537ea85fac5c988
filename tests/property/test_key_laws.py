"""Different walks have different keys, whatever the words are."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from oxide_build.store.keys import DigestSink

# Words that would collide if a length prefix or a separator were missing.
WORDS = st.sampled_from(
    [
        "",
        "a",
        "arg",
        "argument",
        "input.path",
        "-I",
        "1:a",
        "2:aa",
        "0:",
        ":",
        "\0",
        "aa",
        "1:",
        "é",
    ]
)
WALKS = st.lists(st.tuples(WORDS, WORDS), max_size=6)


def digest(walk: list[tuple[str, str]]) -> str:
    sink = DigestSink()
    for tag, value in walk:
        sink.put(tag, value)
    return sink.hexdigest()


@given(WALKS, WALKS)
def test_keys_are_equal_only_for_equal_walks(
    one: list[tuple[str, str]], two: list[tuple[str, str]]
) -> None:
    assert (digest(one) == digest(two)) == (one == two)


@given(WALKS)
def test_moving_a_boundary_changes_the_key(walk: list[tuple[str, str]]) -> None:
    for index, (tag, value) in enumerate(walk):
        if value:
            moved = [*walk]
            moved[index] = (tag + value[0], value[1:])
            assert digest(moved) != digest(walk)
