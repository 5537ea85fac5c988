"""The `system` provider: PATH, CUDA_HOME and the usual folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from oxide_build.provision.provider import Found, Missing
from oxide_build.provision.system import SystemProvider
from oxide_build.resolution.versions import CudaSpec, RustSpec
from tests.unit.provision.fakes import FACTS, Home, make_llvm, make_ptxas, make_rust, script


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    home.isolate()
    return home


def provider(home: Home) -> SystemProvider:
    return SystemProvider(home.asker, FACTS, root=home.root)


def find_rust(home: Home, text: str = "1.96") -> Found | Missing:
    return provider(home).find(RustSpec.parse(text))


def test_rustc_and_llvm_of_the_same_major_are_one_toolchain(home: Home) -> None:
    root = make_rust(home.root / "opt/rust", parts=("rust-src",))
    (home.bin / "rustc").symlink_to(root / "bin/rustc")
    make_llvm(home.root / "usr/lib/llvm-22/bin", "22.1.8")
    found = find_rust(home)
    assert isinstance(found, Found)
    toolchain = found.toolchain
    assert toolchain.trees["rustc"].root == str(root)
    assert toolchain.trees["llvm"].root == str(home.root / "usr")
    assert toolchain.trees["llvm"].mount == "toolchain/llvm"
    assert toolchain.tools["llc"] == "toolchain/llvm/lib/llvm-22/bin/llc"
    assert (toolchain.facts["llvm"], toolchain.facts["llvm_tools"]) == ("22.1.2", "22.1.8")


def test_llvm_in_the_sysroot_is_taken_first(home: Home) -> None:
    root = make_rust(home.root / "opt/rust")
    (home.bin / "rustc").symlink_to(root / "bin/rustc")
    make_llvm(home.root / "usr/lib/llvm-22/bin", "22.1.8")
    found = find_rust(home)
    assert isinstance(found, Found)
    assert found.toolchain.trees["llvm"].mount == "toolchain/rust"


def test_llvm_of_another_major_is_refused(home: Home) -> None:
    root = make_rust(home.root / "opt/rust", parts=("rust-src",))
    (home.bin / "rustc").symlink_to(root / "bin/rustc")
    make_llvm(home.bin, "14.0.6")
    missing = find_rust(home)
    assert isinstance(missing, Missing)
    assert "writes bitcode of LLVM 22.1.2" in missing.reason
    assert "has LLVM 14.0.6" in missing.reason


@pytest.mark.parametrize("parts", [("rust-src",), ("llvm-tools",)])
def test_what_is_missing_is_named(home: Home, parts: tuple[str, ...]) -> None:
    root = make_rust(home.root / "opt/rust", parts=parts)
    (home.bin / "rustc").symlink_to(root / "bin/rustc")
    missing = find_rust(home)
    assert isinstance(missing, Missing)
    assert "lacks" in missing.reason


@pytest.mark.parametrize("folder", ["bin", "home/.cargo/bin"])
def test_rustups_proxies_are_left_to_rustup(home: Home, folder: str) -> None:
    rustup = script(home.root / folder / "rustup", "#!/bin/sh\nexit 1\n")
    (home.bin / "rustc").symlink_to(rustup)
    missing = find_rust(home)
    assert isinstance(missing, Missing)
    assert "other than rustup's" in missing.reason
    assert home.processes.ran == []


def find_cuda(home: Home, text: str) -> Found | Missing:
    return provider(home).find(CudaSpec.parse(text))


@pytest.mark.parametrize("place", ["path", "home", "usual"])
def test_ptxas_is_found_in_every_place(home: Home, place: str) -> None:
    root = home.root / {"path": "x", "home": "y", "usual": "usr/local/cuda-13.0"}[place]
    make_ptxas(root / "bin/ptxas")
    if place == "path":
        (home.bin / "ptxas").symlink_to(root / "bin/ptxas")
    elif place == "home":
        home.environ["CUDA_HOME"] = str(root)
    found = find_cuda(home, "13.0")
    assert isinstance(found, Found)
    assert found.toolchain.trees["ptxas"].root == str(root)
    assert found.toolchain.provider == "system"


def test_the_preferred_toolkit_is_chosen(home: Home) -> None:
    for version in ("12.9.86", "13.0.88", "13.4.92"):
        make_ptxas(home.root / f"usr/local/cuda-{version[:4]}/bin/ptxas", version)
    found = find_cuda(home, ">=12.8")
    assert isinstance(found, Found)
    assert found.toolchain.version == "13.0.88"


def test_a_ptxas_that_crashes_after_its_answer_is_one(home: Home) -> None:
    make_ptxas(home.root / "usr/local/cuda/bin/ptxas", "12.0.140", "8.0", status=139)
    found = find_cuda(home, "12.0")
    assert isinstance(found, Found)
    assert found.toolchain.facts["max_ptx"] == "8.0"


def test_what_is_not_ptxas_is_said(home: Home) -> None:
    script(home.root / "usr/local/cuda/bin/ptxas", "#!/bin/sh\necho hello\n")
    missing = find_cuda(home, "13.0")
    assert isinstance(missing, Missing)
    assert "does not answer as ptxas does" in missing.reason


def test_nothing_installed_is_said(home: Home) -> None:
    missing = find_cuda(home, "13.0")
    assert isinstance(missing, Missing)
    assert "no `ptxas` on PATH" in missing.reason
