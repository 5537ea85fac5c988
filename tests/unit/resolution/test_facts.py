"""The facts in `toolchains/`, and what is said when they are damaged."""

from __future__ import annotations

import datetime
import itertools

import pytest

from oxide_build.content import content_root
from oxide_build.errors import DefinitionError
from oxide_build.model.arch import Arch
from oxide_build.resolution.facts import Facts

FILES = {path.name: path.read_bytes() for path in content_root("toolchains").glob("*.toml")}
FACTS = Facts.from_toml(FILES)


def day(text: str) -> datetime.date:
    return datetime.date.fromisoformat(text)


def test_nights_belong_to_releases() -> None:
    release = FACTS.rust.release_of_night(day("2026-04-03"))
    assert release is not None
    assert (release.version, release.llvm) == ("1.96", 22)
    assert FACTS.rust.release_of_night(day("2019-01-01")) is None


def test_calendar_has_no_gaps() -> None:
    nights = [release.nightlies for release in FACTS.rust.releases]
    for (_, last), (first, _) in itertools.pairwise(nights):
        assert first == last + datetime.timedelta(days=1)


@pytest.mark.parametrize(
    ("version", "llvm"), [("1.85.0", 19), ("1.96.0-nightly", 22), ("1.99.1", 23)]
)
def test_releases_have_an_llvm(version: str, llvm: int) -> None:
    release = FACTS.rust.release(version)
    assert release is not None
    assert release.llvm == llvm


def test_target_cpu_became_a_modifier_in_the_middle_of_a_release() -> None:
    modifier = FACTS.rust.target_cpu_is_modifier
    assert not modifier.holds("1.98.0")
    assert not modifier.holds("1.99.0-nightly", day("2026-07-15"))
    assert modifier.holds("1.100.0-nightly", day("2026-08-28"))
    assert modifier.holds("1.99.1")


def test_core_is_of_2021_up_to_1_85() -> None:
    assert FACTS.rust.core_edition("1.85.0") == "2021"
    assert FACTS.rust.core_edition("1.87.0-nightly", day("2025-03-02")) == "2021"
    assert FACTS.rust.core_edition("1.89.0") == "2024"
    assert FACTS.rust.core_edition("1.89.0-nightly", day("2025-06-23")) == "2024"


def test_thread_indices_were_i32_up_to_1_94() -> None:
    assert FACTS.rust.thread_index_is_i32("1.94.0")
    assert FACTS.rust.thread_index_is_i32("1.94.0-nightly", day("2025-12-15"))
    assert not FACTS.rust.thread_index_is_i32("1.95.0")
    assert not FACTS.rust.thread_index_is_i32("1.96.0-nightly", day("2026-04-03"))


def test_nearest_complete_nights_are_named() -> None:
    nights = FACTS.rust.nearest_complete(day("2026-08-28"))
    assert [str(night) for night in nights] == ["2026-08-29", "2026-07-15"]


def test_preferred_toolkit_is_13_0() -> None:
    assert FACTS.cuda.preferred_patches[0] == "13.0.88"
    assert FACTS.rust.preferred[0] == "1.96.0"


@pytest.mark.parametrize(
    ("version", "wheel"),
    [
        ("11.8.89", "nvidia-cuda-nvcc-cu11"),
        ("12.9", "nvidia-cuda-nvcc-cu12"),
        ("13.0.88", "nvidia-cuda-nvcc"),
        ("14.2", "nvidia-cuda-nvcc"),
    ],
)
def test_wheels_are_named_by_version(version: str, wheel: str) -> None:
    assert FACTS.cuda.wheel(version) == wheel


def test_families_are_those_of_the_model() -> None:
    for members in FACTS.arch.families.values():
        assert len({Arch.parse(name).family for name in members}) == 1


def test_every_arch_of_a_toolkit_has_a_ptx_minimum_that_the_toolkit_can_read() -> None:
    for toolkit in FACTS.cuda.toolkits.values():
        for arch in toolkit.archs:
            if (toolkit.cuda, arch) == ("13.0", "sm_88"):
                continue
            minimum = [int(n) for n in FACTS.arch.min_ptx[arch].split(".")]
            assert minimum <= [int(n) for n in toolkit.max_ptx.split(".")], (toolkit.cuda, arch)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("cuda.toml", b"x = 1", "toolchains/cuda.toml: the key 'toolkit' is missing"),
        ("arch.toml", b"= 1", "toolchains/arch.toml: "),
        ("rust.toml", b"\xff", "toolchains/rust.toml: "),
    ],
)
def test_damaged_facts_are_named(name: str, data: bytes, message: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        Facts.from_toml({**FILES, name: data})
    assert caught.value.message.startswith(message)


def test_missing_facts_are_named() -> None:
    with pytest.raises(DefinitionError, match=r"toolchains/arch\.toml is missing"):
        Facts.from_toml({k: v for k, v in FILES.items() if k != "arch.toml"})
