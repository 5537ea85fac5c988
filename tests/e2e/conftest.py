"""Workspaces with a real compiler, fetched by the tool itself into the tests' store."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Space

# One release for most tests; `test_examples.py` has the others.
RUST, CUDA = "1.96.0", "13.0.88"
RUSTUP = shutil.which("rustup") or shutil.which("rustup", path=Path.home() / ".cargo/bin")

LIBRARY = """\
#![no_std]
#![feature(stdarch_nvptx)]

pub fn thread() -> usize {
    unsafe { core::arch::nvptx::_thread_idx_x() as usize }
}
"""

KERNEL = """\
#![no_std]
#![feature(abi_ptx)]

// A comment of this length.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn twice(x: *mut f32, n: u32) {
    let i = grid::thread();
    if i < n as usize {
        unsafe { *x.add(i) *= 2.0 }
    }
}
"""

BUILD = """\
[[rust_library]]
name = "grid"
srcs = ["grid.rs"]

[[rust_kernel]]
name = "twice"
srcs = ["twice.rs"]
deps = [":grid"]
archs = ["sm_80", "sm_90"]
"""


def oxide_toml(rust: str = RUST, cuda: str = CUDA, more: str = "") -> str:
    return f'[workspace]\nname = "test"\n{more}\n[toolchain]\nrust = "{rust}"\ncuda = "{cuda}"\n'


def examples(space: Space, repository: Path, rust: str, providers: str) -> None:
    """A copy of the examples whose `oxide.toml` differs in one line of `[toolchain]`."""
    shutil.copytree(repository / "examples", space.root / "examples")
    text = (repository / "oxide.toml").read_text()
    text = re.sub(r"(?m)^rust = .*$", f'rust = "{rust}"\nproviders = {providers}', text)
    space.write("oxide.toml", text)


@pytest.fixture(scope="session")
def warm_cache(tmp_path_factory: pytest.TempPathFactory, store: Path) -> Path:
    """A cache that holds the sysroot and nothing of any target."""
    root = tmp_path_factory.mktemp("warm")
    (root / "ws").mkdir()
    (root / "ws" / "oxide.toml").write_text(oxide_toml())
    (root / "ws" / "lib.rs").write_text("#![no_std]\n")
    (root / "ws" / "BUILD.toml").write_text('[[rust_library]]\nname = "empty"\nsrcs = ["lib.rs"]\n')
    # The panic handler is needed by kernels alone, so a kernel is built, of no interest to anyone.
    (root / "ws" / "k.rs").write_text(
        "#![no_std]\n#![feature(abi_ptx)]\n#[unsafe(no_mangle)]\n"
        'pub unsafe extern "ptx-kernel" fn warm_up() {}\n'
    )
    with open(root / "ws" / "BUILD.toml", "a") as file:
        file.write('[[rust_kernel]]\nname = "k"\nsrcs = ["k.rs"]\narchs = ["sm_80"]\n')
    environ = {**os.environ, "OXIDE_CACHE": str(root / "cache"), "OXIDE_STORE": str(store)}
    done = subprocess.run(
        [sys.executable, "-m", "oxide_build", "build", "//..."],
        cwd=root / "ws",
        env=environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=1800,
    )
    assert done.returncode == 0, done.stderr
    return root / "cache"


@pytest.fixture
def rust_ws(ws: Space, warm_cache: Path) -> Space:
    """A library, a kernel that uses it, and a compiler; the sysroot is in the cache already."""
    # Blobs are read-only and replaced, never written, so links will do.
    shutil.copytree(warm_cache, ws.cache, copy_function=_link)
    ws.write("oxide.toml", oxide_toml())
    ws.write("k/BUILD.toml", BUILD)
    ws.write("k/grid.rs", LIBRARY)
    ws.write("k/twice.rs", KERNEL)
    return ws


def _link(source: str, target: str) -> str:
    if "blobs-v1" in source:
        os.link(source, target)
    else:
        shutil.copy2(source, target)
    return target
