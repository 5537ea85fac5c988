"""The `pypi` provider, with a python whose pip copies a wheel."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from oxide_build.errors import ToolchainError
from oxide_build.provision.provider import Found, Missing
from oxide_build.provision.pypi import PypiProvider
from oxide_build.provision.reporter import SilentReporter
from oxide_build.provision.tool_store import RECORD
from oxide_build.resolution.versions import CudaSpec
from tests.unit.provision.fakes import FACTS, PTXAS, Home, RecordingReporter, script
from tests.unit.provision.test_wheel import make_wheel

PYTHON = """#!/bin/sh
echo "$*" > {log}
for last; do :; done
while [ "$1" != --dest ]; do shift; done
cp {wheel} "$2"
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def provider(home: Home) -> PypiProvider:
    return PypiProvider(home.store, home.asker, FACTS.cuda, python=str(home.bin / "python"))


def with_pip(home: Home, version: str = "13.0.88", folder: str = "cu13") -> Path:
    ptxas = PTXAS.format(
        version=version, minor=version.rpartition(".")[0], ptx="9.0", status=255
    ).encode()
    wheel = make_wheel(home.root / f"nvcc-{version}.whl", {f"nvidia/{folder}/bin/ptxas": ptxas})
    script(home.bin / "python", PYTHON.format(log=home.root / "log", wheel=wheel))
    return home.root / "log"


def test_a_wheel_becomes_a_toolchain(home: Home) -> None:
    with_pip(home)
    reporter = RecordingReporter()
    toolchain = provider(home).fetch(CudaSpec.parse(">=12.8,<14"), reporter)
    assert (toolchain.kind, toolchain.version, toolchain.provider) == ("cuda", "13.0.88", "pypi")
    assert toolchain.facts == {"release": "13.0", "max_ptx": "9.0"}
    assert toolchain.archs == ("sm_90", "sm_90a", "sm_100a")
    assert toolchain.tools == {"ptxas": "toolchain/cuda/bin/ptxas"}
    assert (Path(toolchain.trees["ptxas"].root) / "bin/ptxas").is_file()
    wheel = home.root / "nvcc-13.0.88.whl"
    sha256 = hashlib.sha256(wheel.read_bytes()).hexdigest()
    assert reporter.said[-1] == (
        "done",
        "nvidia-cuda-nvcc==13.0.88 (pypi)",
        wheel.stat().st_size,
        sha256,
    )
    (install,) = (home.root / "store/installs").iterdir()
    assert json.loads((install / RECORD).read_text())["files"] == [
        {
            "name": wheel.name,
            "sha256": sha256,
            "size_bytes": wheel.stat().st_size,
            "source": "nvidia-cuda-nvcc==13.0.88",
        }
    ]
    found = provider(home).find(CudaSpec.parse("13.0"))
    assert isinstance(found, Found)
    assert found.toolchain == toolchain


@pytest.mark.parametrize(
    ("spec", "requirement"),
    [
        ("13.0", "nvidia-cuda-nvcc==13.0.88"),
        ("13.0.48", "nvidia-cuda-nvcc==13.0.48"),
        ("12.9", "nvidia-cuda-nvcc-cu12==12.9.86"),
        ("11.8", "nvidia-cuda-nvcc-cu11==11.8.89"),
        ("13.9", "nvidia-cuda-nvcc==13.9.*"),
        (">=12.8,<13", "nvidia-cuda-nvcc-cu12==12.9.86"),
        (">=13.7", "nvidia-cuda-nvcc>=13.7"),
    ],
)
def test_the_index_is_asked_for_the_right_distribution(
    home: Home, spec: str, requirement: str
) -> None:
    missing = provider(home).find(CudaSpec.parse(spec))
    assert isinstance(missing, Missing)
    assert missing.command == f"{home.bin / 'python'} -m pip install --no-deps '{requirement}'"


def test_pip_runs_with_the_users_configuration(home: Home) -> None:
    log = with_pip(home)
    provider(home).fetch(CudaSpec.parse("13.0"), SilentReporter())
    arguments = log.read_text()
    assert arguments.startswith("-m pip download --no-deps --only-binary :all:")
    for option in ("--index-url", "--isolated", "--no-cache-dir", "http"):
        assert option not in arguments


@pytest.mark.parametrize(
    ("said", "message", "hint"),
    [
        ("ERROR: No matching distribution found", "No matching distribution", "pip download"),
        ("/usr/bin/python3: No module named pip", "has no pip", "ensurepip"),
    ],
)
def test_failures_of_pip_are_explained(home: Home, said: str, message: str, hint: str) -> None:
    script(home.bin / "python", f"#!/bin/sh\necho '{said}' >&2\nexit 1\n")
    with pytest.raises(ToolchainError, match=message) as caught:
        provider(home).fetch(CudaSpec.parse("13.0"), SilentReporter())
    assert caught.value.hint is not None
    assert hint in caught.value.hint


def test_another_version_than_asked_for_is_not_passed_on(home: Home) -> None:
    with_pip(home, "12.9.86")
    with pytest.raises(ToolchainError, match=r"is 12\.9\.86"):
        provider(home).fetch(CudaSpec.parse("13.0"), SilentReporter())
