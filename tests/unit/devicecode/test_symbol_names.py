"""Mangled names and PTX identifiers."""

from __future__ import annotations

import pytest

from oxide_build.devicecode.names import demangle, is_mangled, is_ptx_identifier


@pytest.mark.parametrize(
    ("symbol", "path"),
    [
        ("_RNvCs5dNGyLhUvc1_2k12SA", "k1::SA"),
        ("_RNvNtNtCsjYlAz7NZ3Sw_4core3fmt3num13DECIMAL_PAIRS", "core::fmt::num::DECIMAL_PAIRS"),
        ("_RNvNvCs1_1k4kern4TILE", "k::kern::TILE"),
        ("_RNvNCNvCs1_1k4kern0s_4TILE.llvm.7", "k::kern::{closure#0}::TILE"),
        ("_RNvC3abc4_1abc", "abc::1abc"),
        ("_ZN2k14TILE17h0123456789abcdefE", "k1::TILE"),
        ("_ZN4core3ops12$LT$impl$GT$1f17h0123456789abcdefE", "core::ops::<impl>::f"),
    ],
)
def test_paths(symbol: str, path: str) -> None:
    assert demangle(symbol) == path
    assert is_mangled(symbol)


def test_back_references_point_backwards() -> None:
    assert demangle("_RNvB3_1x") == "_RNvB3_1x"
    assert demangle("_RNvNtCs1_1k1mB_1x") == "_RNvNtCs1_1k1mB_1x"


@pytest.mark.parametrize(
    "symbol",
    ["", "COEF", "_R", "_RNv", "_RNvCs", "_RINvC1k1fE", "_ZN", "_RNvC9k1x", "_RNG", "_ZNE"],
)
def test_what_cannot_be_read_stays(symbol: str) -> None:
    assert demangle(symbol) == symbol


def test_a_name_that_only_starts_like_a_mangled_one_is_the_users() -> None:
    assert not is_mangled("_RNG")
    assert not is_mangled("COEF")


@pytest.mark.parametrize("name", ["a", "_a", "$a", "%a", "a1$_", "_RNvCs5dNGyLhUvc1_2k12SA"])
def test_ptx_identifiers(name: str) -> None:
    assert is_ptx_identifier(name)


@pytest.mark.parametrize("name", ["", "_", "1a", "a.b", 'a"', "a b", "é", "a\n"])
def test_no_ptx_identifiers(name: str) -> None:
    assert not is_ptx_identifier(name)
