"""Requirements: what is read, what is refused, what matches."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oxide_build.errors import DefinitionError
from oxide_build.resolution.versions import CudaSpec, RustSpec, channel_of, numbers, parse_spec

NIGHT = datetime.date(2026, 4, 3)


@pytest.mark.parametrize(
    "text",
    ["1.96", "1.96.0", "nightly-2026-04-03", "nightly", "beta", "stable", ">=1.95,<2", "~=1.95"],
)
def test_rust_requirements_round_trip(text: str) -> None:
    spec = RustSpec.parse(text)
    assert str(spec) == text
    assert RustSpec.parse(str(spec)) == spec


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1",
        "2.0",
        "1.96.0-nightly",
        "nightly-2026-13-03",
        "nightly-2026-4-3",
        "stable-2026-04-03",
        "latest",
        ">=nightly",
        ">=1.95,",
        ">=1.*",
        "~=1",
        "===1.96",
        "1.96; rm -rf /",
        "1.9٣",
        "9" * 100_000,
    ],
)
def test_what_names_no_rustc_is_refused_with_a_way_out(text: str) -> None:
    with pytest.raises(DefinitionError, match="names no rustc") as caught:
        RustSpec.parse(text)
    assert caught.value.hint is not None
    assert "nightly-2026-04-03" in caught.value.hint
    assert len(caught.value.message) < 200


@pytest.mark.parametrize("text", ["", "13", "cuda-13", ">=12.8,<14,", "13.0.88.1", "v13.0"])
def test_what_names_no_toolkit_is_refused(text: str) -> None:
    with pytest.raises(DefinitionError, match="names no CUDA toolkit"):
        CudaSpec.parse(text)


def test_spaces_in_a_range_do_not_matter() -> None:
    assert CudaSpec.parse(" >= 12.8, < 14 ") == CudaSpec.parse(">=12.8,<14")


def test_two_numbers_match_every_patch() -> None:
    spec = RustSpec.parse("1.99")
    assert spec.matches("1.99.1")
    assert not spec.matches("1.100.0")
    assert not spec.matches("1.9.9")


def test_a_range_means_stable_releases() -> None:
    spec = RustSpec.parse(">=1.95,<2")
    assert spec.matches("1.96.0")
    assert not spec.matches("1.96.0-nightly", date=NIGHT)
    assert not spec.matches("1.97.0-beta.3")
    assert not spec.matches("1.94.1")


def test_minor_numbers_are_numbers() -> None:
    assert RustSpec.parse(">=1.99").matches("1.100.0")
    assert not RustSpec.parse(">=1.99").matches("1.100.0-nightly")


def test_a_night_matches_its_date_only() -> None:
    spec = RustSpec.parse("nightly-2026-04-03")
    assert spec.matches("1.96.0-nightly", date=NIGHT)
    assert not spec.matches("1.96.0-nightly", date=NIGHT + datetime.timedelta(days=1))
    assert not spec.matches("1.96.0-nightly")
    assert not spec.matches("1.96.0", date=NIGHT)


def test_any_nightly_matches_nightly() -> None:
    assert RustSpec.parse("nightly").matches("1.96.0-nightly")
    assert RustSpec.parse("beta").matches("1.97.0-beta.3")
    assert not RustSpec.parse("stable").matches("1.96.0-nightly")
    assert RustSpec.parse("stable").matches("1.63.0")


def test_channels_are_read_from_the_release() -> None:
    named = [channel_of(v) for v in ("1.96.0", "1.96.0-nightly", "1.97.0-beta.3", "1.96.0-dev")]
    assert named == ["stable", "nightly", "beta", "nightly"]


def test_cuda_versions_match_by_minor_patch_and_range() -> None:
    assert CudaSpec.parse("13.0").matches("13.0.88")
    assert not CudaSpec.parse("13.0.48").matches("13.0.88")
    assert CudaSpec.parse(">=12.8,<14").matches("13.5.37")
    assert not CudaSpec.parse(">=12.8,<14").matches("12.6.85")


def test_the_first_preferred_that_matches_is_best() -> None:
    assert CudaSpec.parse("<13").best(["13.0.88", "12.9.86", "12.8.93"]) == "12.9.86"
    assert CudaSpec.parse(">99").best(["13.0.88"]) is None


def test_kinds_choose_the_reader() -> None:
    assert parse_spec("rust", "1.96").kind == "rust"
    assert parse_spec("cuda", "13.0").kind == "cuda"


@given(st.text(alphabet="0123456789.,<>=!~ -nightlybea*", max_size=20))
def test_reading_is_total_and_normalising_is_idempotent(text: str) -> None:
    try:
        spec = RustSpec.parse(text)
    except DefinitionError:
        return
    assert RustSpec.parse(str(spec)) == spec
    spec.matches("1.96.0")


@given(st.lists(st.integers(0, 999), min_size=1, max_size=4), st.sampled_from(["", "-nightly"]))
def test_numbers_are_the_leading_ones(parts: list[int], suffix: str) -> None:
    assert numbers(".".join(map(str, parts)) + suffix) == tuple(parts)
