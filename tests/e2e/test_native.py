"""`native` means the GPU of this machine, and without one it says so."""

from __future__ import annotations

import pytest

from oxide_build.device.gpus import native_arch
from oxide_build.errors import DeviceError
from tests.conftest import Space

pytestmark = [pytest.mark.network, pytest.mark.toolchain]


def test_native_builds_for_this_gpu_or_says_that_there_is_none(rust_ws: Space) -> None:
    build = (rust_ws.root / "k/BUILD.toml").read_text()
    rust_ws.write("k/BUILD.toml", build.replace('["sm_80", "sm_90"]', '["native"]'))
    ran = rust_ws.oxide("build", "--json", "//k:twice")
    try:
        arch = native_arch()
    except DeviceError:
        assert ran.exit_code == 7
        assert "k/BUILD.toml:5: `archs` of `//k:twice`" in ran.stderr
        assert "hint: name the archs instead" in ran.stderr
        return
    assert ran.exit_code == 0, ran.stderr
    assert f"codegen {arch}" in ran.stages
