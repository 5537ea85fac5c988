"""Statics end in the memories that they ask for."""

from __future__ import annotations

import re

import pytest

from tests.conftest import Space
from tests.e2e.conftest import oxide_toml

pytestmark = [pytest.mark.network, pytest.mark.toolchain]

KERNEL = """\
#![no_std]
#![feature(abi_ptx, stdarch_nvptx)]
use core::arch::nvptx::{_syncthreads, _thread_idx_x};
use core::mem::MaybeUninit;

#[unsafe(link_section = ".shared")]
static mut TILE: MaybeUninit<[f32; 256]> = MaybeUninit::uninit();
#[unsafe(link_section = ".shared")]
static mut DYNAMIC: [f32; 0] = [];
#[unsafe(no_mangle)]
#[unsafe(link_section = ".constant")]
static mut SCALE: [f32; 4] = [1.0, 2.0, 3.0, 4.0];

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn mirror(x: *mut f32) {
    unsafe {
        let t = _thread_idx_x() as usize;
        let tile = &raw mut TILE as *mut f32;
        let dynamic = &raw mut DYNAMIC as *mut f32;
        tile.add(t).write(*x.add(t));
        dynamic.add(t).write(*x.add(t));
        _syncthreads();
        let scale = (&raw const SCALE as *const f32).add(t & 3).read_volatile();
        *x.add(t) = (tile.add(255 - t).read() + dynamic.add(t ^ 1).read()) * scale;
    }
}
"""


@pytest.mark.parametrize("rust", ["1.96.0", "nightly-2026-10-29"])
def test_shared_dynamic_and_constant_statics(rust_ws: Space, rust: str) -> None:
    rust_ws.write("oxide.toml", oxide_toml(rust))
    rust_ws.write("m/mirror.rs", KERNEL)
    rust_ws.write(
        "m/BUILD.toml",
        '[[rust_kernel]]\nname = "mirror"\nsrcs = ["mirror.rs"]\narchs = ["sm_90"]\n',
    )
    rust_ws.build("//m:mirror")
    ptx = rust_ws.read("oxide-out/m/mirror.sm_90.ptx").decode()
    assert re.search(r"\.shared \.align \d+ \.b8 \w+\[1024\]", ptx)
    assert re.search(r"\.extern \.shared \.align \d+ \.b8 \w+\[\]", ptx)
    assert re.search(r"\.visible \.const \.align \d+ \.b8 SCALE\[16\]", ptx)
    assert "ld.shared" in ptx
    assert "st.shared" in ptx
    assert re.search(r"ld\.(volatile\.)?const", ptx)
    # Nothing goes through a generic address.
    assert not re.search(r"\b(ld|st)\.(volatile\.)?[bfu]\d", ptx)


def test_initialised_shared_memory_is_refused(rust_ws: Space) -> None:
    rust_ws.write("k/twice.rs", KERNEL.replace(
        "MaybeUninit<[f32; 256]> = MaybeUninit::uninit()", "[f32; 256] = [1.0; 256]"))  # fmt: skip
    ran = rust_ws.oxide("build", "//k:twice")
    assert ran.exit_code == 4
    assert "TILE" in ran.stderr
    assert "MaybeUninit" in ran.stderr
