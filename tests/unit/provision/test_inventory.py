"""What is installed, side by side, with what each lacks."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from oxide_build.cli.inventory_checks import (
    environment,
    kernel_driver,
    library_version,
    rust,
    toolkit,
)
from oxide_build.provision.asker import Asker
from oxide_build.provision.cuda_inventory import installed_toolkits, site_folders
from oxide_build.provision.rust_inventory import InstalledRust, installed_rusts
from oxide_build.provision.wheel_conflicts import conflicts, nvidia_wheels
from tests.unit.provision.fakes import FACTS, Home, make_ptxas, make_rust, script


@pytest.fixture
def home(tmp_path: Path) -> Home:
    found = Home(tmp_path / "machine")
    found.isolate()
    return found


def asker_in(home: Home, **environ: str) -> Asker:
    return replace(home.asker, environ=environ)


def installed(home: Home) -> dict[str, InstalledRust]:
    return {each.name: each for each in installed_rusts(home.store, home.asker, FACTS)}


def test_each_rustup_toolchain_says_what_it_lacks(home: Home) -> None:
    toolchains = home.root / "home/.rustup/toolchains"
    make_rust(toolchains / "whole", "1.96.0")
    make_rust(toolchains / "bare", "1.95.0", parts=())
    make_rust(toolchains / "no-tools", "1.97.0", parts=("rust-src",))
    (toolchains / "whole/lib/rustlib/components").write_text("rustc-x86\nrustc-dev-x86_64\n")
    found = installed(home)
    assert found["whole"].lacks == ()
    assert found["whole"].backends
    assert found["bare"].lacks == ("rust-src", "llvm-tools")
    assert not found["bare"].backends
    finding = rust(found["bare"])
    assert finding.status == "note"
    assert finding.fix == "rustup component add rust-src llvm-tools --toolchain bare"
    assert rust(found["no-tools"]).fix == "rustup component add llvm-tools --toolchain no-tools"
    assert rust(found["whole"]).status == "ok"
    assert "rustc 1.96.0" in rust(found["whole"]).text


def test_one_that_does_not_run_is_named_and_the_others_go_on(home: Home) -> None:
    toolchains = home.root / "home/.rustup/toolchains"
    make_rust(toolchains / "good", "1.96.0")
    make_rust(toolchains / "bad", "1.95.0")
    script(toolchains / "bad/bin/rustc", "#!/bin/sh\nexit 3\n")
    found = installed(home)
    assert found["bad"].failure
    assert rust(found["bad"]).status == "note"
    assert not found["good"].failure


def test_tools_that_are_too_old_are_said_to_be() -> None:
    old = InstalledRust(
        name="n", owner="system", root="/r", version="1.96.0", llvm="22.1.2", tools_llvm="19.1.7",
        lacks=(), backends=False, std=False,
    )  # fmt: skip
    finding = rust(old)
    assert finding.status == "note"
    assert "tools of LLVM 19.1.7; its LLVM tools do not read what its rustc writes" in finding.text


def kit(root: Path, version: str = "13.0.88", ptx: str = "9.0") -> Path:
    return make_ptxas(root / "bin/ptxas", version, ptx).parent.parent


def test_toolkits_stand_side_by_side(home: Home, tmp_path: Path) -> None:
    usual = tmp_path / "usual"
    one, two = kit(usual / "cuda-12.8", "12.8.93", "8.7"), kit(usual / "cuda-13.0")
    script(two / "bin/nvcc", "#!/bin/sh\n")
    (usual / "cuda").symlink_to(two)
    asker = asker_in(home, PATH=f"{one / 'bin'}:/usr/bin:/bin", CUDA_HOME=str(two))
    found = {each.root: each for each in installed_toolkits(home.store, asker, usual)}
    assert found[str(one)].named == ("PATH", str(one))
    assert found[str(two)].named == ("CUDA_HOME", str(usual / "cuda"), str(two))
    assert "nvcc" in found[str(one)].lacks
    assert "nvcc" not in found[str(two)].lacks
    text = toolkit(found[str(one)], FACTS).text
    assert text.startswith("ptxas 12.8.93: PTX up to 8.7 (asked), sm_90 to sm_100a")
    (says,) = environment(asker.environ, list(found.values()))
    assert says.text == f"CUDA_HOME is `{two}`, but PATH leads to `{one}`"


def test_a_ceiling_that_the_facts_have_otherwise_is_noted(home: Home, tmp_path: Path) -> None:
    kit(tmp_path / "cuda", "13.0.88", "9.7")
    asker = asker_in(home, PATH="/nowhere")
    (found,) = installed_toolkits(home.store, asker, tmp_path)
    finding = toolkit(found, FACTS)
    assert (finding.status, "; the facts say 9.0" in finding.text) == ("note", True)


def test_variables_that_lead_nowhere_are_named(home: Home, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    environ = {"PATH": "/nowhere", "CUDA_HOME": str(tmp_path / "gone")}
    environ["CUDA_PATH"] = str(tmp_path / "empty")
    asker = asker_in(home, **environ)
    kits = list(installed_toolkits(home.store, asker, tmp_path / "usual"))
    said = [each.text for each in environment(environ, kits)]
    assert said == [
        f"CUDA_HOME is `{tmp_path / 'gone'}`, which is no folder",
        f"CUDA_PATH is `{tmp_path / 'empty'}`, which has no ptxas that runs",
    ]


def wheel(folder: Path, name: str, version: str) -> None:
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")


@pytest.mark.parametrize(
    ("wheels", "says"),
    [
        ({"nvidia-cuda-nvcc": "13.0.88", "nvidia-nvvm": "13.0.88"}, None),
        ({"nvidia-cuda-nvcc-cu12": "12.8.93", "numpy": "2.0"}, None),
        (
            {"nvidia-cuda-nvcc-cu11": "11.8.89", "nvidia-cuda-nvcc-cu12": "12.8.93"},
            "write the same files",
        ),
        (
            {"nvidia-cuda-nvcc-cu12": "12.8.93", "nvidia-cuda-nvcc": "13.0.88"},
            "nvidia-cuda-nvcc 13.0.88 and nvidia-cuda-nvcc-cu12 12.8.93 are both installed",
        ),
        (
            {"nvidia-cuda-nvcc": "13.0.88", "nvidia-nvvm": "13.3.73"},
            "nvidia-cuda-nvcc is 13.0.88, but nvidia-nvvm is 13.3.73",
        ),
        (
            {"nvidia-cuda-nvcc-cu12": "12.4.131", "nvidia_cuda_nvrtc.cu12": "12.8.93"},
            "but nvidia-cuda-nvrtc-cu12 is 12.8.93",
        ),
    ],
)
def test_wheels_that_do_not_go_together(
    tmp_path: Path, wheels: dict[str, str], says: str | None
) -> None:
    for name, version in wheels.items():
        wheel(tmp_path, name, version)
    found = list(conflicts(nvidia_wheels(tmp_path)))
    assert len(found) == (says is not None)
    if says is not None:
        assert says in found[0][0]
        assert "pip" in found[0][1]


def test_the_site_packages_of_an_activated_environment_count(tmp_path: Path) -> None:
    folder = tmp_path / "env/lib/python3.12/site-packages"
    folder.mkdir(parents=True)
    assert folder in site_folders({"VIRTUAL_ENV": str(tmp_path / "env")})


def test_two_halves_of_a_driver_must_be_of_one_version(tmp_path: Path) -> None:
    (tmp_path / "libcuda.so.580.159.04").write_text("")
    (tmp_path / "libcuda.so.1").symlink_to("libcuda.so.580.159.04")
    assert library_version(["/nowhere", str(tmp_path)]) == "580.159.04"
    assert library_version(["/nowhere"]) == ""
    kernel = tmp_path / "version"
    head = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  "
    kernel.write_text(f"{head}580.159.04  Release Build\n")
    assert list(kernel_driver("580.159.04", kernel)) == []
    (finding,) = kernel_driver("570.26", kernel)
    assert "the kernel has driver 580.159.04, and libcuda is of 570.26 (error 803)" in finding.text
    assert list(kernel_driver("570.26", tmp_path / "none")) == []
    assert os.path.exists(kernel)
