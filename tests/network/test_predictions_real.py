"""What the facts predict, asked of real assemblers, fetched by the tool itself."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

import pytest

from oxide_build.cli.toolchains import load_facts
from oxide_build.host.process import ProcessGroup
from oxide_build.model.arch import Arch
from oxide_build.model.ptx import PtxVersion
from oxide_build.provision.providers import provide, standard_providers
from oxide_build.provision.reporter import SilentReporter
from oxide_build.resolution.assembling import refused
from oxide_build.resolution.versions import CudaSpec

pytestmark = [pytest.mark.network, pytest.mark.toolchain]

FACTS = load_facts()
SAMPLES = 60


@pytest.fixture(scope="module")
def ptxas(store: Path):  # type: ignore[no-untyped-def]
    """The ptxas of a CUDA release."""

    def fetch(cuda: str) -> Path:
        providers = standard_providers(
            ["pypi"], store_root=store, environ=os.environ, processes=ProcessGroup(), facts=FACTS
        )
        spec = CudaSpec.parse(cuda)
        found = provide("cuda", spec, providers, offline=False, reporter=SilentReporter())
        tree = found.trees["ptxas"]
        return Path(tree.root, found.tools["ptxas"].removeprefix(f"{tree.mount}/"))

    return fetch


def assemble(tool: Path, folder: Path, version: PtxVersion, target: Arch, arch: Arch) -> str:
    """What ptxas says against it; "" where it takes it."""
    source = folder / "k.ptx"
    source.write_text(
        f".version {version}\n.target {target}\n.address_size 64\n"
        ".visible .entry k()\n{\n\tret;\n}\n"
    )
    done = subprocess.run(
        [tool, f"-arch={arch}", source, "-o", folder / "k.cubin"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    # CUDA 12.0 says the right thing and then dies of a signal.
    return "" if done.returncode == 0 else done.stderr or f"signal {-done.returncode}"


@pytest.mark.parametrize("cuda", ["11.8", "12.0", "12.3", "12.8", "12.9", "13.0", "13.3", "13.5"])
def test_predictions_agree_with_the_assembler(ptxas, tmp_path: Path, cuda: str) -> None:  # type: ignore[no-untyped-def]
    tool = ptxas(cuda)
    kit = FACTS.cuda.toolkits[cuda]
    ceiling = PtxVersion.parse(kit.max_ptx)
    draw = random.Random(cuda)
    archs = [Arch.parse(name) for name in kit.archs]
    # Not sm_35: older toolkits take it from lower versions than anybody has tabulated.
    targets = [Arch.parse(name) for name in FACTS.arch.min_ptx if name != "sm_35"]
    versions = [each.version for each in FACTS.drivers.ptx]
    wrong, taken = [], 0
    for _ in range(SAMPLES):
        # Half of the samples are near what should be taken, the others anywhere.
        arch = draw.choice(archs)
        fitting = [each for each in targets if each.runs_on(arch)]
        target = draw.choice(draw.choice([fitting or targets, targets]))
        minimum = FACTS.arch.minimum(target)
        near = [v for v in versions if minimum is not None and minimum <= v <= ceiling]
        version = draw.choice(draw.choice([near, versions]) or versions)
        expected = refused(FACTS, cuda, version, target, arch)
        said = assemble(tool, tmp_path, version, target, arch)
        taken += not said
        if (expected is None) != (said == ""):
            wrong.append(f"{version} {target} for {arch}: expected {expected}, ptxas said {said}")
    assert wrong == []
    assert 0 < taken < SAMPLES


def test_the_weekend_case_is_what_the_real_assembler_says(ptxas, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    tool = ptxas("12.3")
    assert assemble(tool, tmp_path, PtxVersion(8, 0), Arch(90, "a"), Arch(90, "a")) == ""
    said = assemble(tool, tmp_path, PtxVersion(8, 6), Arch(100), Arch(100))
    assert "Value 'sm_100' is not defined for option 'gpu-name'" in said
    said = assemble(tool, tmp_path, PtxVersion(8, 6), Arch(90), Arch(90))
    assert "Unsupported .version 8.6; current version is '8.3'" in said
