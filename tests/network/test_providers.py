"""The providers for real: each fetches into the tests' store, and what it fetched runs.

The store is kept between runs (`OXIDE_TEST_STORE`, else the user's cache folder), so that a
second run fetches nothing.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from oxide_build.content import content_root
from oxide_build.host.process import Completed, ProcessGroup
from oxide_build.model.toolchain import Toolchain
from oxide_build.provision.providers import provide, standard_providers
from oxide_build.provision.reporter import SilentReporter
from oxide_build.provision.rust_toolchain import LLVM_TOOLS
from oxide_build.provision.tool_store import RECORD
from oxide_build.resolution.facts import Facts
from oxide_build.resolution.versions import numbers, parse_spec

pytestmark = pytest.mark.network

FACTS = Facts.from_toml(
    {path.name: path.read_bytes() for path in content_root("toolchains").glob("*.toml")}
)
KERNEL_IR = """target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr addrspace(1) %p) {
  store i32 7, ptr addrspace(1) %p
  ret void
}
"""


class NoProcesses(ProcessGroup):
    def run(self, argv, **rest) -> Completed:  # type: ignore[no-untyped-def]
        raise AssertionError(f"started {argv}")


def get(
    kind: str,
    spec: str,
    provider: str,
    store: Path,
    *,
    environ: Mapping[str, str] = os.environ,
    processes: ProcessGroup | None = None,
    offline: bool = False,
) -> Toolchain:
    providers = standard_providers(
        [provider],
        store_root=store,
        environ=environ,
        processes=processes or ProcessGroup(),
        facts=FACTS,
    )
    wanted = parse_spec(kind, spec)
    return provide(kind, wanted, providers, offline=offline, reporter=SilentReporter())


def action_folder(toolchain: Toolchain, tmp_path: Path) -> Path:
    """A folder as an action sees it: the trees' roots at their mounts."""
    for tree in toolchain.trees.values():
        mount = tmp_path / tree.mount
        mount.parent.mkdir(parents=True, exist_ok=True)
        if not mount.exists():
            mount.symlink_to(tree.root)
    return tmp_path


def run(toolchain: Toolchain, folder: Path, tool: str, *arguments: str) -> Completed:
    """Run a tool with nothing but what the toolchain says it needs."""
    env = {"PATH": "/nowhere", **dict(toolchain.env)}
    if toolchain.facts.get("bootstrap"):
        env["RUSTC_BOOTSTRAP"] = "1"
    done = ProcessGroup().run([toolchain.tools[tool], *arguments], cwd=folder, env=env)
    assert done.ok, done.stderr.decode()
    return done


def prove_rust(toolchain: Toolchain, tmp_path: Path) -> None:
    """rustc reads core within its tree; LLVM's tools make PTX."""
    folder = action_folder(toolchain, tmp_path)
    release = str(toolchain.facts["release"])
    assert run(toolchain, folder, "rustc", "--version").text.startswith(f"rustc {release} ")
    for tool in LLVM_TOOLS:
        assert f"LLVM version {toolchain.facts['llvm_tools']}" in run(
            toolchain, folder, tool, "--version"
        ).text.replace("\n", " ")
    run(
        toolchain,
        folder,
        "rustc",
        *("--edition", str(toolchain.facts["core_edition"]), "--crate-name", "core"),
        *("--crate-type", "rlib", "--target", "nvptx64-nvidia-cuda", "--cap-lints", "allow"),
        *("-C", "panic=abort", "--emit=dep-info,metadata", "--out-dir", "."),
        str(toolchain.facts["core_root"]),
    )
    read = {
        os.path.normpath(path)
        for path in re.findall(r"^(\S+):$", (folder / "core.d").read_text(), re.MULTILINE)
    }
    library = Path(str(toolchain.facts["core_root"])).parents[2]
    shown = ("core/src", "stdarch/crates/core_arch/src", "portable-simd/crates/core_simd/src")
    outside = [p for p in read if not p.startswith(tuple(f"{library / s}/" for s in shown))]
    assert len(read) > 200
    assert outside == []
    (folder / "k.ll").write_text(KERNEL_IR)
    run(toolchain, folder, "llvm-as", "k.ll", "-o", "k.bc")
    run(toolchain, folder, "llvm-link", "k.bc", "-o", "l.bc")
    run(toolchain, folder, "opt", "-passes=default<O3>", "l.bc", "-o", "o.bc")
    run(toolchain, folder, "llc", "-O3", "-mcpu=sm_90", "o.bc", "-o", "k.ptx")
    assert ".target sm_90" in (folder / "k.ptx").read_text()


def record_of(toolchain: Toolchain) -> dict[str, object]:
    root = Path(next(iter(toolchain.trees.values())).root)
    install = next(p for p in root.parents if (p / RECORD).is_file())
    record: dict[str, object] = json.loads((install / RECORD).read_text())
    assert record["files"]
    for file in record["files"]:  # type: ignore[attr-defined]
        assert re.fullmatch(r"[0-9a-f]{64}", file["sha256"])
    return record


def assert_warm(kind: str, spec: str, provider: str, store: Path, before: Toolchain) -> None:
    """Asked again, the same is known without a process."""
    assert get(kind, spec, provider, store, processes=NoProcesses(), offline=True) == before


def needs(program: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"`{program}` is not on this machine")


@pytest.mark.parametrize(
    "spec", ["1.89.0", "1.92.0", "1.96.0", "nightly-2026-04-03", "nightly-2026-10-29"]
)
def test_rustup_installs_what_was_asked_for(spec: str, store: Path, tmp_path: Path) -> None:
    needs("rustup")
    toolchain = get("rust", spec, "rustup", store)
    assert toolchain.spec == spec
    prove_rust(toolchain, tmp_path)
    assert_warm("rust", spec, "rustup", store, toolchain)


def test_a_night_without_llvm_tools_borrows_them(store: Path, tmp_path: Path) -> None:
    needs("rustup")
    toolchain = get("rust", "nightly-2026-08-28", "rustup", store)
    assert toolchain.spec == "nightly-2026-08-28"
    # Whichever was here first; all of LLVM 23 or newer.
    assert toolchain.facts["llvm_tools_from"] in toolchain.origin
    assert numbers(str(toolchain.facts["llvm_tools"]))[0] >= 23
    assert toolchain.trees["llvm"].root != toolchain.trees["rustc"].root
    prove_rust(toolchain, tmp_path)
    assert_warm("rust", "nightly-2026-08-28", "rustup", store, toolchain)


def test_rustup_leaves_the_users_home_as_it_is(tmp_path: Path) -> None:
    """In a store of its own, so that rustup really runs."""
    needs("rustup")
    user = tmp_path / "user"
    user.mkdir()
    settings = 'version = "12"\nprofile = "default"\n\n[overrides]\n'
    (user / "settings.toml").write_text(settings)
    environ = {**os.environ, "RUSTUP_HOME": str(user)}
    toolchain = get("rust", "1.96.0", "rustup", tmp_path / "store", environ=environ)
    assert record_of(toolchain)["version"] == "1.96.0"
    assert [path.name for path in user.iterdir()] == ["settings.toml"]
    assert (user / "settings.toml").read_text() == settings


def test_apt_unpacks_a_compiler_that_runs(store: Path, tmp_path: Path) -> None:
    needs("apt-get")
    toolchain = get("rust", ">=1.95", "apt", store)
    prove_rust(toolchain, tmp_path)
    record_of(toolchain)
    assert_warm("rust", ">=1.95", "apt", store, toolchain)


def test_apt_needs_no_library_of_the_machine_but_libc(store: Path, tmp_path: Path) -> None:
    needs("apt-get")
    needs("ldd")
    toolchain = get("rust", ">=1.95", "apt", store)
    folder = action_folder(toolchain, tmp_path)
    for tool in ("rustc", *LLVM_TOOLS):
        done = ProcessGroup().run(
            ["/usr/bin/ldd", toolchain.tools[tool]],
            cwd=folder,
            env={"PATH": "/usr/bin:/bin", **dict(toolchain.env)},
        )
        foreign = [line.strip() for line in done.text.splitlines() if "=> /" in line]
        names = {line.partition(".so")[0] for line in foreign}
        assert names <= {"libc", "libm", "libdl", "libpthread", "librt"}, (tool, foreign)


@pytest.mark.parametrize(("spec", "version"), [("13.0", "13.0.88"), ("12.9", "12.9.86")])
def test_pypi_unpacks_a_ptxas_that_assembles(
    spec: str, version: str, store: Path, tmp_path: Path
) -> None:
    toolchain = get("cuda", spec, "pypi", store)
    folder = action_folder(toolchain, tmp_path)
    assert f"V{version}" in run(toolchain, folder, "ptxas", "--version").text
    facts = FACTS.cuda.toolkit(version)
    assert facts is not None
    assert toolchain.facts["max_ptx"] == facts.max_ptx
    assert toolchain.archs == facts.archs
    (folder / "k.ptx").write_text(
        ".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n"
    )
    run(toolchain, folder, "ptxas", "-arch=sm_90", "k.ptx", "-o", "k.cubin")
    assert (folder / "k.cubin").read_bytes().startswith(b"\x7fELF")
    assert record_of(toolchain)["version"] == version
    assert_warm("cuda", spec, "pypi", store, toolchain)
