"""Releases on four majors of LLVM: each is fetched through rustup, builds, and can be locked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tomli

from tests.conftest import Space
from tests.e2e.conftest import RUSTUP, examples

pytestmark = [
    pytest.mark.network,
    pytest.mark.toolchain,
    pytest.mark.skipif(RUSTUP is None, reason="there is no `rustup` on this machine"),
]

ARCHS = ("sm_80", "sm_90")
# LLVM 20, 21, 22 and 23; `test_examples.py` has more archs.
RELEASES = {"1.89.0": 20, "1.92.0": 21, "nightly-2026-04-03": 22, "nightly-2026-10-29": 23}


@pytest.fixture(params=RELEASES, ids=str)
def release(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def release_ws(ws: Space, repository: Path, tmp_path: Path, release: str) -> Space:
    """The examples with `release`, and none of the user's own toolchains in sight."""
    ws.environ["RUSTUP_HOME"] = str(tmp_path / "no-toolchains")
    examples(ws, repository, release, '["rustup", "pypi"]')
    return ws


def cubins(space: Space) -> dict[str, bytes]:
    made = (space.root / "oxide-out").rglob("*.cubin")
    return {str(path.relative_to(space.root)): path.read_bytes() for path in made}


def test_a_release_builds_is_locked_and_builds_from_the_lock_offline(
    release_ws: Space, release: str, tmp_path: Path
) -> None:
    ran = release_ws.build("//examples/...", "--arch", ",".join(ARCHS))
    assert "warning" not in ran.stderr
    before = cubins(release_ws)
    kernels = [label for label, found in ran.record["targets"].items() if "front_end" in found]
    assert len(kernels) >= 6
    assert len(before) == len(kernels) * len(ARCHS)
    assert all(content.startswith(b"\x7fELF") for content in before.values())
    record = json.loads(release_ws.read("oxide-out/examples/matmul/matmul.sm_90.json"))
    assert int(record["tools"]["llvm"].partition(".")[0]) == RELEASES[release]

    assert release_ws.oxide("toolchain", "lock").exit_code == 0
    lock = tomli.loads(release_ws.read("oxide.lock").decode())
    (rust,) = (each for each in lock["toolchain"] if each["kind"] == "rust")
    assert (rust["spec"], rust["requirement"], rust["provider"]) == (release, release, "rustup")
    assert set(rust["trees"]) == {"rustc", "cargo", "rust-src", "llvm"}
    assert release_ws.oxide("toolchain", "lock", "--check").exit_code == 0

    # Everything anew: nothing in the cache, no rustup on PATH, and the network not asked.
    release_ws.cache = tmp_path / "cache-2"
    release_ws.environ.update(PATH="/usr/bin:/bin", HOME=str(tmp_path), CARGO_HOME=str(tmp_path))
    (release_ws.root / "oxide-out").rename(tmp_path / "before")
    again = release_ws.build("//examples/...", "--arch", ",".join(ARCHS), "--offline")
    assert again.actions["ran"] == ran.actions["ran"]
    assert cubins(release_ws) == before


def test_the_lock_of_a_release_does_not_take_another(release_ws: Space, release: str) -> None:
    assert release_ws.oxide("toolchain", "lock").exit_code == 0
    other = next(each for each in RELEASES if each != release)
    text = release_ws.read("oxide.toml").decode()
    release_ws.write("oxide.toml", text.replace(f'"{release}"', f'"{other}"'))
    ran = release_ws.oxide("build", "//examples/elementwise")
    assert ran.exit_code == 6
    assert f"rust was locked for `{release}`, but `[toolchain]` asks for `{other}`" in ran.stderr
