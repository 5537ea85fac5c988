"""`oxide toolchain facts`, against real tools."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
import tomli

from oxide_build.cli.toolchains import Toolchains, load_facts
from oxide_build.content import content_root
from oxide_build.host.process import ProcessGroup
from oxide_build.model.digest import Digest
from oxide_build.model.toolchain import Toolchain, ToolTree
from oxide_build.model.workspace import ToolchainRequirements
from oxide_build.provision.asker import Asker
from oxide_build.provision.assembler_check import check_assembling, questions
from oxide_build.provision.file_state import Notebook
from oxide_build.provision.reporter import SilentReporter
from oxide_build.resolution.fact_check import check_cuda, check_rust
from tests.conftest import Space

FACTS = load_facts()


def tool(kind: str, version: str, archs: tuple[str, ...], **facts: str | int) -> Toolchain:
    tree = ToolTree(name="t", mount="toolchain/t", digest=Digest("0" * 64, 0), root="/")
    return Toolchain(
        kind=kind, version=version, spec=version, provider="test", trees={"t": tree}, tools={},
        archs=archs, facts=facts,
    )  # fmt: skip


def test_a_contradicted_fact_is_named_with_its_place() -> None:
    kit = FACTS.cuda.toolkits["13.0"]
    wrong = tool("cuda", "13.0.99", (*kit.archs[:-1], "sm_130"), release="13.0", max_ptx="9.1")
    assert [str(each) for each in check_cuda(wrong, FACTS)] == [
        "toolchains/cuda.toml: max_ptx of 13.0 is 9.0, but the tool says 9.1",
        "toolchains/cuda.toml: archs of 13.0 is with sm_121f, but the tool says without",
        "toolchains/cuda.toml: archs of 13.0 is without sm_130, but the tool says with",
    ]


def test_what_nobody_described_is_said() -> None:
    new = tool("cuda", "14.0.1", ("sm_90",), release="14.0", max_ptx="10.0")
    assert [each.fact for each in check_cuda(new, FACTS)] == ["not described"]
    rustc = tool("rust", "1.140.0", ("sm_90",), llvm_major=40)
    assert [each.file for each in check_rust(rustc, FACTS)] == ["rust.toml", "llvm.toml"]


@pytest.mark.network
@pytest.mark.toolchain
@pytest.mark.parametrize("rust", ["1.95", "1.96.0", "nightly-2026-04-03", "nightly-2026-10-29"])
def test_the_facts_agree_with_the_tools_that_the_tests_use(ws: Space, rust: str) -> None:
    ran = ws.oxide("toolchain", "facts", "--check", "--rust", rust, "--cuda", "13.0")
    assert ran.exit_code == 0, ran.stdout + ran.stderr
    assert "all facts agree" in ran.stderr


@pytest.mark.network
@pytest.mark.toolchain
def test_a_described_assembler_is_the_row_that_the_facts_have(ws: Space, store: Path) -> None:
    assert ws.oxide("toolchain", "facts", "--check", "--cuda", "13.0").exit_code == 0
    (ptxas,) = store.glob("installs/cuda-pypi-13.0.88/tree/**/bin/ptxas")
    ran = ws.oxide("toolchain", "facts", "--probe", str(ptxas))
    (row,) = tomli.loads(ran.stdout)["toolkit"]
    rows = tomli.loads((content_root("toolchains") / "cuda.toml").read_text())["toolkit"]
    (known,) = [each for each in rows if each["cuda"] == "13.0"]
    assert {**row, "archs": set(row["archs"])} == {**known, "archs": set(known["archs"])}


@pytest.mark.network
@pytest.mark.toolchain
def test_a_described_llc_is_the_row_that_the_facts_have(ws: Space, store: Path) -> None:
    assert ws.oxide("toolchain", "facts", "--check", "--rust", "1.96.0").exit_code == 0
    (llc,) = store.glob("installs/rust-rustup-1.96.0-*/tree/lib/rustlib/*/bin/llc")
    (row,) = tomli.loads(ws.oxide("toolchain", "facts", "--probe", str(llc)).stdout)["llvm"]
    rows = tomli.loads((content_root("toolchains") / "llvm.toml").read_text())["llvm"]
    (known,) = [each for each in rows if each["major"] == 22]
    assert set(row.pop("cpus")) == set(known["cpus"])
    assert row == {key: known[key] for key in ("major", "max_ptx", "below_minimum")}


@pytest.mark.network
@pytest.mark.toolchain
def test_a_described_rustc_says_what_is_to_be_looked_up(ws: Space, store: Path) -> None:
    assert ws.oxide("toolchain", "facts", "--check", "--rust", "1.96.0").exit_code == 0
    (rustc,) = store.glob("installs/rust-rustup-1.96.0-*/tree/bin/rustc")
    ran = ws.oxide("toolchain", "facts", "--probe", str(rustc))
    assert tomli.loads(ran.stdout)["release"] == [{"version": "1.96", "llvm": 22}]
    assert "# to be looked up: the date of the stable release" in ran.stdout


def test_what_is_no_tool_is_refused(ws: Space) -> None:
    ran = ws.oxide("toolchain", "facts", "--probe", "/bin/ls")
    assert ran.exit_code == 2
    assert "`/bin/ls` is none of ptxas, rustc and llc" in ran.stderr


@pytest.mark.network
@pytest.mark.toolchain
def test_a_wrong_minimum_or_suffix_rule_is_found(store: Path) -> None:
    toolchains = Toolchains(
        ToolchainRequirements(cuda="13.0"), store, ProcessGroup(), offline=False,
        reporter=SilentReporter(),
    )  # fmt: skip
    found = toolchains.preferred("cuda")
    asker = Asker(environ=os.environ, processes=ProcessGroup(), notebook=Notebook(store / "state"))
    assert list(check_assembling(found, FACTS, asker)) == []
    assert len(questions(FACTS, "13.0")) > 80
    minimum = {**FACTS.arch.min_ptx, "sm_90": "7.7", "sm_100a": "9.0"}
    wrong = replace(FACTS, arch=replace(FACTS.arch, min_ptx=minimum))
    said = [str(each) for each in check_assembling(found, wrong, asker)]
    assert any("PTX 7.7 with .target sm_90 for -arch=sm_90 is taken, but the" in s for s in said)
    assert any("PTX 8.8 with .target sm_100a for -arch=sm_100a is refused (" in s for s in said)
