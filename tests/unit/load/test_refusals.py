"""A refused flag is refused however it is spelled."""

from __future__ import annotations

import pytest

from oxide_build.load.refusals import refused

REFUSE = {
    "-Ctarget-cpu*": "cpu",
    "-C*": "any codegen option",
    "-O": "opt",
    "--emit*": "emit",
    "-Zcodegen-backend*": "backend",
    "-L*": "search",
}


def reasons(*flags: str) -> list[tuple[int, str]]:
    return [(position, reason) for position, _, reason in refused(flags, REFUSE)]


@pytest.mark.parametrize(
    "flags",
    [
        ["-Ctarget-cpu=sm_80"],
        ["-C", "target-cpu=sm_80"],
        ["-C target-cpu=sm_80"],
        ["-C  target-cpu=sm_80"],
        ["-Ctarget_cpu=sm_80"],
        ["-C", "target_cpu=sm_80"],
    ],
)
def test_one_letter_flags_and_their_values_may_be_apart(flags: list[str]) -> None:
    assert reasons(*flags) == [(0, "cpu")]


def test_exact_values_are_not_prefixes() -> None:
    assert reasons("-O") == [(0, "opt")]
    assert reasons("-Oz", "--O") == []


def test_the_longest_prefix_gives_the_reason() -> None:
    assert reasons("-Cllvm-args=x") == [(0, "any codegen option")]


def test_every_element_is_looked_at() -> None:
    assert reasons("-Aunused", "-L", "x", "--emit=asm", "-Z", "codegen-backend=y") == [
        (1, "search"),
        (3, "emit"),
        (4, "backend"),
    ]


def test_the_value_of_a_harmless_flag_is_still_looked_at() -> None:
    # `-A` takes a value, but this checker knows no flags: it errs on the side of refusing.
    assert reasons("-A", "-O") == [(1, "opt")]


def test_nothing_is_refused_where_nothing_is_to_be() -> None:
    assert list(refused(["-O", "-C", "x"], {})) == []


def test_underscores_in_values_are_left_alone() -> None:
    assert list(refused(["--cfg=a_b"], {"--cfg=a-b": "no"})) == []
