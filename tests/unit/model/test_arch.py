"""Spellings of archs, and what runs where."""

from __future__ import annotations

import pytest

from oxide_build.errors import UsageError
from oxide_build.model.arch import Arch, ArchRequest


@pytest.mark.parametrize(
    ("text", "arch", "cubin", "ptx"),
    [
        ("sm_90", Arch(90), True, True),
        ("90a", Arch(90, "a"), True, True),
        ("compute_75", Arch(75), True, True),
        ("80-real", Arch(80), True, False),
        ("sm_90-virtual", Arch(90), False, True),
        ("sm_100f", Arch(100, "f"), True, True),
        ("120a-real", Arch(120, "a"), True, False),
    ],
)
def test_spellings_that_people_know_are_read(text: str, arch: Arch, cubin: bool, ptx: bool) -> None:
    assert ArchRequest.parse(text) == ArchRequest(arch, cubin=cubin, ptx=ptx)


@pytest.mark.parametrize(
    "text",
    ["", "sm90", "sm_", "sm_9", "sm_1000", "sm_090", "sm_90b", "sm_90af", "SM_90", "sm_90 ",
     "sm_90\n", "90-fake", "sm_٩٠", "sm_90f", "9.0", "sm_90-real-virtual", "x" * 1000],
)  # fmt: skip
def test_other_spellings_are_refused_in_a_short_message(text: str) -> None:
    with pytest.raises(UsageError) as raised:
        ArchRequest.parse(text)
    assert len(raised.value.message) < 120
    assert raised.value.message.isprintable()
    assert raised.value.hint


@pytest.mark.parametrize(
    ("code", "device", "runs"),
    [
        ("sm_90", "sm_90", True),
        ("sm_90", "sm_90a", True),
        ("sm_90", "sm_120", True),
        ("sm_90", "sm_89", False),
        ("sm_90a", "sm_90a", True),
        ("sm_90a", "sm_100", False),
        ("sm_100f", "sm_103", True),
        ("sm_103f", "sm_100", False),
        ("sm_100f", "sm_110", False),
        ("sm_100f", "sm_120", False),
        ("sm_120f", "sm_121a", True),
        ("sm_101f", "sm_110", True),
    ],
)
def test_code_runs_where_its_suffix_says(code: str, device: str, runs: bool) -> None:
    assert Arch.parse(code).runs_on(Arch.parse(device)) is runs


def test_an_arch_is_spelled_as_ptxas_spells_it() -> None:
    for text in ("sm_75", "sm_90a", "sm_100f"):
        assert str(Arch.parse(text)) == text


def test_archs_are_sorted_by_number() -> None:
    texts = ["sm_100", "sm_90a", "sm_75", "sm_90"]
    assert sorted(map(Arch.parse, texts)) == [Arch(75), Arch(90), Arch(90, "a"), Arch(100)]


def test_code_for_the_family_arch_runs_on_all_members() -> None:
    for number in (100, 103, 107, 101, 110, 120, 121):
        family = Arch(number).family_arch
        assert family is not None
        assert family.runs_on(Arch(number))
    assert Arch(90).family_arch is None
