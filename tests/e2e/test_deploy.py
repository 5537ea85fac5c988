"""What could not be assembled, or would not load where it must, is refused before compiling."""

from __future__ import annotations

import pytest

from tests.conftest import Space
from tests.e2e.conftest import BUILD, oxide_toml

pytestmark = [pytest.mark.network, pytest.mark.toolchain]


def deploy(space: Space, driver: str, archs: str) -> None:
    space.write("oxide.toml", oxide_toml() + f'\n[deploy]\nmin_driver = "{driver}"\n')
    space.write("k/BUILD.toml", BUILD.replace('["sm_80", "sm_90"]', archs))


def test_a_ptx_that_the_oldest_driver_refuses_is_not_built(rust_ws: Space) -> None:
    deploy(rust_ws, "535", '["sm_90", "100-virtual"]')
    ran = rust_ws.oxide("build", "//...")
    assert ran.exit_code == 6
    assert "k/BUILD.toml:5: `archs` of `//k:twice`: driver 535 (CUDA 12.2) takes PTX" in ran.stderr
    assert "not 8.6 (error 222; R565 is the first that does)" in ran.stderr
    assert "require driver 565 or later, or drop sm_100" in ran.stderr
    assert "compile" not in ran.stderr


def test_a_cubin_that_it_refuses_is_no_loss_where_the_ptx_loads(rust_ws: Space) -> None:
    deploy(rust_ws, "535", '["sm_80", "sm_90"]')
    rust_ws.build()
    deploy(rust_ws, "535", '["90-real"]')
    ran = rust_ws.oxide("build", "//...")
    assert ran.exit_code == 6
    assert "a cubin of CUDA 13.0 needs driver 580 or later, but 535 was named" in ran.stderr
    deploy(rust_ws, "580.65.06", '["90-real", "sm_100"]')
    rust_ws.build()


def test_a_floor_that_is_no_driver_has_its_place(rust_ws: Space) -> None:
    deploy(rust_ws, "new", '["sm_90"]')
    ran = rust_ws.oxide("build", "//...")
    assert ran.exit_code == 3
    assert "oxide.toml:9: `min_driver` of `[deploy]` is not a driver version: `new`" in ran.stderr
