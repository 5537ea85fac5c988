"""Every fact says how it was established and by what."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import tomli

from oxide_build.cli.toolchains import load_facts
from oxide_build.content import content_root
from oxide_build.errors import DefinitionError, UsageError
from oxide_build.model.arch import Arch
from oxide_build.model.ptx import PtxVersion
from oxide_build.resolution.facts import Facts

HOWS = {"measured", "documentation", "third party", "inferred", "calendar"}
FACTS = load_facts()


def hows(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if "how" in value:
            yield value["how"]
        for item in value.values():
            yield from hows(item)
    elif isinstance(value, list):
        for item in value:
            yield from hows(item)


@pytest.mark.parametrize("file", sorted(p.name for p in content_root("toolchains").glob("*.toml")))
def test_each_file_has_its_evidence(file: str) -> None:
    data = tomli.loads((content_root("toolchains") / file).read_text())
    found = list(hows(data))
    assert found
    assert set(found) <= HOWS
    if file not in ("rust.toml",):
        assert data["how"] in HOWS
        assert data["source"]


def test_a_damaged_file_is_named() -> None:
    files = {p.name: p.read_bytes() for p in content_root("toolchains").glob("*.toml")}
    with pytest.raises(DefinitionError, match=r"toolchains/llvm.toml: .*not a PTX version"):
        Facts.from_toml({**files, "llvm.toml": files["llvm.toml"].replace(b'"9.3"', b'"new"')})
    with pytest.raises(DefinitionError, match=r"toolchains/gpus.toml is missing"):
        Facts.from_toml({k: v for k, v in files.items() if k != "gpus.toml"})


@pytest.mark.parametrize(
    ("text", "cuda", "ptx"),
    [
        ("535", "12.2", "8.2"),
        ("535.54.03", "12.2", "8.2"),
        ("R580", "13.0", "9.0"),
        ("550", "12.4", "8.4"),
        ("560", "12.5", "8.5"),
        ("999", "13.4", "9.4"),
    ],
)
def test_a_driver_takes_the_ptx_of_its_cuda(text: str, cuda: str, ptx: str) -> None:
    driver = FACTS.drivers.of(text)
    assert (driver.cuda, str(driver.max_ptx)) == (cuda, ptx)


@pytest.mark.parametrize("text", ["", "12", "5355", "535.x", "abc", "535.1.2.3"])
def test_what_is_no_driver_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        FACTS.drivers.of(text)


@pytest.mark.parametrize(
    ("name", "arch"),
    [
        ("H200", "sm_90"),
        ("nvidia h100", "sm_90"),
        ("NVIDIA GeForce RTX 4090", "sm_89"),
        ("rtx 5080 Ti", "sm_120"),
        ("L40S", "sm_89"),
        ("9.0", "sm_90"),
        ("12.1", "sm_121"),
        ("sm_100", "sm_100"),
    ],
)
def test_gpus_are_found_as_people_write_them(name: str, arch: str) -> None:
    assert str(FACTS.gpus.find(name)) == arch


def test_an_unknown_gpu_suggests_others() -> None:
    with pytest.raises(UsageError) as caught:
        FACTS.gpus.find("H20O")
    assert "H200" in str(caught.value)


def test_llvm_knows_archs_since_a_release() -> None:
    assert FACTS.llvm.first_with("sm_100") == 20
    assert FACTS.llvm.first_with("sm_107") is None
    found = FACTS.llvm.of(22)
    assert found is not None
    assert found.max_ptx == PtxVersion(9, 0)


def test_what_llc_writes_is_at_least_what_nvidia_documents() -> None:
    assert str(FACTS.arch.emitted(Arch(70))) == "6.0"
    assert str(FACTS.arch.emitted(Arch(75))) == "6.3"
    assert str(FACTS.arch.emitted(Arch(90, "a"))) == "8.0"
    assert FACTS.arch.emitted(Arch(77)) is None
