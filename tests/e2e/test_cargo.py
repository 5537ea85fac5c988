"""`cargo_kernel`: Cargo packages with what kernels use, fetched once, then offline."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from oxide_build.execution import steps
from oxide_build.model.action import Action
from tests.conftest import Ran, Space

pytestmark = [pytest.mark.network, pytest.mark.toolchain]

BUILD = """\
[[cargo_kernel]]
name = "kern"
srcs = ["**/Cargo.toml", "**/*.rs"]
cargo_lock = "Cargo.lock"
archs = ["sm_80", "sm_90"]
"""
MANIFEST = """\
[package]
name = "my-kernels"
version = "0.1.0"
edition = "2021"

[lib]
crate-type = ["cdylib"]

[profile.release]
lto = "fat"
debug = true

[dependencies]
"""
CRATES = """\
libm = "0.2"
half = { version = "2", default-features = false }
bitflags = "2"
glam = { version = "0.29", default-features = false, features = ["libm"] }
paste = "1"
"""
BUILD_SCRIPT = """\
fn main() {
    let out = std::env::var("OUT_DIR").unwrap();
    // The std of this machine, and what cargo says of the target.
    assert_eq!(std::env::var("CARGO_CFG_TARGET_FEATURE").unwrap_or_default(), "");
    std::fs::write(format!("{out}/made.rs"), "pub const SCALE: f32 = 7.5;").unwrap();
}
"""
SOURCE = """\
#![no_std]
#![feature(abi_ptx, stdarch_nvptx)]
use core::arch::nvptx::{_block_dim_x, _block_idx_x, _syncthreads, _thread_idx_x};
use core::mem::MaybeUninit;

mod made {
    include!(concat!(env!("OUT_DIR"), "/made.rs"));
}

bitflags::bitflags! {
    pub struct Mode: u32 { const SINE = 1; }
}

paste::paste! {
    fn [<sca led>](x: f32) -> f32 { x * made::SCALE }
}

#[repr(C, align(16))]
struct Tile(MaybeUninit<[f32; 256]>);
#[link_section = ".shared"]
static mut TILE: Tile = Tile(MaybeUninit::uninit());

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn waves(n: u32, x: *mut f32, mode: u32) {
    let t = _thread_idx_x() as usize;
    let i = _block_idx_x() as usize * _block_dim_x() as usize + t;
    if i >= n as usize { return; }
    let tile = (&raw mut TILE).cast::<f32>();
    *tile.add(t) = glam::Vec3::splat(*x.add(i)).length();
    _syncthreads();
    let mut y = *tile.add(t ^ 1);
    if Mode::from_bits_truncate(mode).contains(Mode::SINE) { y = libm::sinf(y); }
    *x.add(i) = scaled(half::f16::from_f32(y).to_f32());
}
""".replace("sca led", "scaled")


def kern(space: Space, crates: str = CRATES, source: str = SOURCE, folder: str = "kern") -> None:
    space.write(f"{folder}/BUILD.toml", BUILD)
    space.write(f"{folder}/Cargo.toml", MANIFEST + crates)
    space.write(f"{folder}/build.rs", BUILD_SCRIPT)
    space.write(f"{folder}/src/lib.rs", source)


def cargo(space: Space) -> Path:
    """The cargo of the tests' own toolchain."""
    (found,) = space.store.glob("installs/rust-rustup-1.96.0-*/tree/bin/cargo")
    return found


def lock(space: Space, folder: str = "kern") -> None:
    subprocess.run(
        [cargo(space), "generate-lockfile", "--quiet"], cwd=space.root / folder, check=True
    )


SMALL = """\
#![no_std]
#![feature(abi_ptx)]
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn small(x: *mut f32) { unsafe { *x = 1.5 } }
"""


@pytest.fixture
def small(rust_ws: Space) -> Space:
    """A package without crates from outside."""
    shutil.rmtree(rust_ws.root / "k")
    kern(rust_ws, crates="", source=SMALL)
    lock(rust_ws)
    return rust_ws


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the packages that cargo compiled, not found fresh, in a `compile` action."""
    names: list[str] = []
    real = steps.STEPS["@cargo-bitcode"]

    def spy(folder: Path, args: Sequence[str], action: Action) -> str:
        for line in (folder / args[0]).read_text().splitlines():
            said = json.loads(line)
            if said["reason"] == "compiler-artifact" and not said["fresh"]:
                names.append(said["target"]["name"])
        return real(folder, args, action)

    monkeypatch.setattr(steps, "STEPS", {**steps.STEPS, "@cargo-bitcode": spy})
    return names


def test_crates_a_proc_macro_and_a_build_script(
    rust_ws: Space, tmp_path: Path, compiled: list[str]
) -> None:
    shutil.rmtree(rust_ws.root / "k")
    kern(rust_ws)
    lock(rust_ws)
    ran = rust_ws.build()
    # One front end for both archs, though `half`, `glam` and `libm` know `target_feature`.
    assert ran.stages == sorted(
        ["cargo-deps", "compile", "link"]
        + [f"{stage} {arch}" for stage in ("codegen", "assemble") for arch in ("sm_80", "sm_90")]
    )
    record = json.loads(rust_ws.read("oxide-out/kern/kern.sm_90.json"))
    assert [entry["name"] for entry in record["entries"]] == ["waves"]
    assert record["entries"][0]["static_shared_bytes"] == 1024
    ptx = rust_ws.read("oxide-out/kern/kern.sm_90.ptx").decode()
    assert "ld.shared" in ptx
    assert "0f40F00000" in ptx, "7.5, which the build script wrote"
    assert ".extern" not in ptx
    assert b"/tmp" not in rust_ws.read("oxide-out/kern/kern.sm_90.cubin")

    # What others wrote is compiled once, and a comment changes nothing after the compile stage.
    assert compiled == ["build-script-build", "my_kernels"]
    rust_ws.write("kern/src/lib.rs", SOURCE.replace("t ^ 1", "t ^ 3"))
    assert "cargo-deps" not in rust_ws.build().stages
    rust_ws.write("kern/src/lib.rs", SOURCE.replace("t ^ 1", "t ^ 3") + "// Said.\n")
    assert rust_ws.build().stages == ["compile"]

    # Another folder, an empty cache, no network: the same bytes.
    before = {p.name: p.read_bytes() for p in (rust_ws.root / "oxide-out/kern").iterdir()}
    moved = tmp_path / "elsewhere"
    shutil.copytree(rust_ws.root, moved, ignore=shutil.ignore_patterns("oxide-out"))
    other = Space(moved, tmp_path / "empty", rust_ws.store, rust_ws.capture)
    other.environ = {"CARGO_HOME": str(tmp_path / "no"), "https_proxy": "http://127.0.0.1:9"}
    again = other.build("//...", "--offline")
    assert "cargo-deps" in again.stages
    assert {p.name: p.read_bytes() for p in (moved / "oxide-out/kern").iterdir()} == before


def test_a_workspace_of_device_crates_with_a_macro_of_its_own(rust_ws: Space) -> None:
    shutil.rmtree(rust_ws.root / "k")
    rust_ws.write("kern/BUILD.toml", BUILD + 'cargo_package = "front"\nfeatures = ["double"]\n')
    rust_ws.write("kern/Cargo.toml", '[workspace]\nresolver = "2"\nmembers = ["crates/*"]\n')
    package = '[package]\nname = "{}"\nversion = "0.1.0"\nedition = "2021"\n'
    rust_ws.write(
        "kern/crates/front/Cargo.toml",
        package.format("front")
        + '[features]\ndouble = []\n[dependencies]\nback = { path = "../back" }\n'
        + 'make = { path = "../make" }\n',
    )
    rust_ws.write(
        "kern/crates/front/src/lib.rs",
        "#![no_std]\n#![feature(abi_ptx)]\nmake::constant!();\n#[unsafe(no_mangle)]\n"
        'pub unsafe extern "ptx-kernel" fn run(x: *mut u32) {\n'
        '    let n = if cfg!(feature = "double") { 2 } else { 1 };\n'
        "    unsafe { *x = back::thread() * n + MADE }\n}\n",
    )
    rust_ws.write("kern/crates/back/Cargo.toml", package.format("back"))
    rust_ws.write(
        "kern/crates/back/src/lib.rs",
        "#![no_std]\n#![feature(stdarch_nvptx)]\nmod deep;\npub use deep::thread;\n",
    )
    rust_ws.write(
        "kern/crates/back/src/deep.rs",
        "pub fn thread() -> u32 { unsafe { core::arch::nvptx::_thread_idx_x() as u32 } }\n",
    )
    rust_ws.write(
        "kern/crates/make/Cargo.toml", package.format("make") + "[lib]\nproc-macro = true\n"
    )
    rust_ws.write(
        "kern/crates/make/src/lib.rs",
        "use proc_macro::TokenStream;\n#[proc_macro]\n"
        "pub fn constant(_: TokenStream) -> TokenStream {\n"
        '    "const MADE: u32 = 77;".parse().unwrap()\n}\n',
    )
    lock(rust_ws)
    rust_ws.build()
    ptx = rust_ws.read("oxide-out/kern/kern.sm_80.ptx").decode()
    assert "77;" in ptx, "what the macro wrote"
    assert "shl.b32" in ptx, "twice, by the feature"

    # A dependency within the workspace is compiled anew with what uses it.
    deep = "kern/crates/back/src/deep.rs"
    rust_ws.write(deep, rust_ws.read(deep).decode().replace("_thread_idx_x", "_block_idx_x"))
    assert "compile" in rust_ws.build().stages
    assert "ctaid.x" in rust_ws.read("oxide-out/kern/kern.sm_80.ptx").decode()


def test_messages_have_the_workspaces_paths_and_come_again_with_a_hit(small: Space) -> None:
    text = SMALL.replace("{ unsafe", "{ let idle = 1; unsafe")
    small.write("kern/src/lib.rs", text)
    first = small.oxide("build", "//...")
    assert "kern/src/lib.rs:4" in first.stderr
    assert "`idle`" in first.stderr
    shutil.rmtree(small.root / "oxide-out")
    assert "`idle`" in small.oxide("build", "//...").stderr
    small.write("kern/src/lib.rs", SMALL.replace("1.5", '"x"'))
    failed = small.oxide("build", "//...")
    assert failed.exit_code == 4
    assert "kern/src/lib.rs:4" in failed.stderr
    assert "E0308" in failed.stderr
    assert '"reason"' not in failed.stderr


def test_source_that_asks_for_the_arch_is_compiled_for_each(small: Space) -> None:
    small.write(
        "kern/src/lib.rs",
        SMALL.replace("#![feature(abi_ptx)]", "#![feature(abi_ptx, nvptx_target_feature)]")
        + '#[cfg(target_feature = "sm_90")]\n#[unsafe(no_mangle)]\n'
        'pub unsafe extern "ptx-kernel" fn only_90() {}\n',
    )
    stages = small.build().stages
    assert {"cargo-deps sm_80", "compile sm_80", "compile sm_90"} <= set(stages)
    assert b"only_90" not in small.read("oxide-out/kern/kern.sm_80.ptx")
    assert b"only_90" in small.read("oxide-out/kern/kern.sm_90.ptx")


def test_no_configuration_of_the_user_is_read(small: Space, tmp_path: Path) -> None:
    for folder in (tmp_path, small.root, small.root / "kern", small.cache):
        (folder / ".cargo").mkdir()
        (folder / ".cargo" / "config.toml").write_text("this is no configuration\n")
    small.environ = {"RUSTFLAGS": "--nonsense", "CARGO_BUILD_TARGET": "none", "RUSTC": "/none"}
    assert small.build().actions["failed"] == 0


def test_a_file_from_outside_of_the_workspace_is_an_error(small: Space, tmp_path: Path) -> None:
    (tmp_path / "secret.rs").write_text("pub const X: f32 = 2.0;\n")
    small.write(
        "kern/src/lib.rs",
        SMALL.replace("1.5", "s::X") + f'mod s {{ include!("{tmp_path}/secret.rs"); }}\n',
    )
    ran = small.oxide("build", "//...")
    assert ran.exit_code == 4
    assert f"reads `{tmp_path}/secret.rs`, which lies outside" in ran.stderr
    small.write("kern/own.txt", "2.5")
    small.write("kern/BUILD.toml", BUILD.replace('.rs"]', '.rs", "own.txt"]'))
    small.write(
        "kern/src/lib.rs",
        SMALL.replace("1.5", "s::X") + 'mod s { pub const X: f32 = include!("../own.txt"); }\n',
    )
    small.build()


def test_a_lock_file_that_does_not_fit(small: Space) -> None:
    small.write("kern/Cargo.toml", MANIFEST + 'libm = "0.2"\n')
    ran = small.oxide("build", "//...")
    assert ran.exit_code == 4
    assert "hint: `Cargo.toml` names the crate `libm`" in ran.stderr
    assert "cargo update --workspace" in ran.stderr
    small.write("kern/BUILD.toml", BUILD.replace('"**/Cargo.toml", ', ""))
    ran = small.oxide("build", "//...")
    assert ran.exit_code == 3
    assert "must have its manifest, `kern/Cargo.toml`" in ran.stderr
    small.write("kern/Cargo.lock", "version = [")
    ran = small.oxide("build", "//...")
    assert ran.exit_code == 3
    assert "kern/Cargo.lock: this is no lock file of cargo" in ran.stderr


def test_offline_before_the_crates_were_fetched(small: Space, tmp_path: Path) -> None:
    small.write("kern/Cargo.toml", MANIFEST + 'fnv = { version = "1", default-features = false }\n')
    lock(small)
    fresh = Space(small.root, small.cache, tmp_path / "store", small.capture)
    (tmp_path / "store/installs").mkdir(parents=True)
    for install in (small.store / "installs").iterdir():
        if not install.name.startswith("crates-"):
            (tmp_path / "store/installs" / install.name).symlink_to(install)
    fresh.environ = {"CARGO_HOME": str(tmp_path / "home")}
    ran = fresh.oxide("build", "//...", "--offline")
    assert ran.exit_code == 6, ran.stderr
    assert "the crates of `kern/Cargo.lock` could not be fetched" in ran.stderr
    assert "run the build once without `--offline`" in ran.stderr
    assert fresh.build().exit_code == 0
    fresh.build("//...", "--offline")
    assert "crates" in fresh.oxide("toolchain", "list").stdout
    # Older than whatever cargo makes of them, or it would run build scripts again.
    (tree,) = (tmp_path / "store/installs").glob("crates-*/tree")
    assert {file.stat().st_mtime for file in tree.rglob("*.rs")} == {500_000_000}


def test_another_lock_file_is_another_build(small: Space) -> None:
    small.write("kern/Cargo.toml", MANIFEST + 'fnv = { version = "1", default-features = false }\n')
    lock(small)
    small.build()
    assert small.build().actions["ran"] == 0
    # The plan of the last build must not hold: it is for the crates of another lock.
    before = crates(small.build())
    text = small.read("kern/Cargo.lock").decode()
    small.write("kern/Cargo.lock", text + "# Said.\n")
    after = crates(small.build())
    assert len(before) == len(after) == 1
    assert before != after


def crates(ran: Ran) -> set[str]:
    """The versions of the crates that a build used."""
    return {each["version"] for each in ran.record["toolchains"] if each["kind"] == "crates"}
