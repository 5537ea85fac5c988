"""Spellings of `archs` and what they expand to."""

from __future__ import annotations

import pytest

from oxide_build.errors import DefinitionError, UsageError
from oxide_build.model.arch import Arch, ArchRequest
from oxide_build.resolution.archs import expand_archs

KNOWN = [Arch.parse(f"sm_{name}") for name in ("75", "80", "86", "90", "90a", "100", "103", "120f")]


def never() -> Arch:
    raise AssertionError("nobody wrote `native`")


def expand(*spellings: str) -> list[str]:
    return [str(each.arch) for each in expand_archs(spellings, KNOWN, never)]


def test_archs_are_sorted_and_each_once() -> None:
    assert expand("sm_100", "80", "compute_80", "90a", "sm_90") == [
        "sm_80", "sm_90", "sm_90a", "sm_100",
    ]  # fmt: skip


def test_all_major_is_the_first_of_each_generation() -> None:
    assert expand("all-major") == ["sm_75", "sm_80", "sm_90", "sm_100"]


def test_forms_of_one_arch_are_joined() -> None:
    (both,) = expand_archs(["80-real", "80-virtual"], KNOWN, never)
    assert both == ArchRequest(Arch(80))
    (real,) = expand_archs(["80-real"], KNOWN, never)
    assert (real.cubin, real.ptx) == (True, False)


def test_native_is_asked_for() -> None:
    assert expand_archs(["native"], KNOWN, lambda: Arch(90))[0].arch == Arch(90)


def test_no_arch_is_an_error_with_a_way_out() -> None:
    with pytest.raises(DefinitionError) as caught:
        expand_archs([], KNOWN, never)
    assert "--arch sm_90" in str(caught.value)


def test_a_wrong_spelling_is_refused() -> None:
    with pytest.raises(UsageError, match="`sm90` is not a GPU architecture"):
        expand("sm90")
