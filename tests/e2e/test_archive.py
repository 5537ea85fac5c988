"""A ptxas that comes as an archive, from a server that cuts the connection."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from oxide_build.provision.tool_store import ToolStore
from tests.conftest import Space
from tests.e2e.conftest import CUDA, oxide_toml
from tests.unit.provision.archives import Server, serving

pytestmark = [pytest.mark.network, pytest.mark.toolchain]


@pytest.fixture(scope="module")
def packed(warm_cache: Path, store: Path) -> bytes:
    """A tar.xz with the ptxas that `warm_cache` made the tool fetch from PyPI."""
    (found,) = (i for i in ToolStore(store).installs("cuda", "pypi") if i.record.spec == CUDA)
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:xz", preset=0) as archive:
        archive.add(found.tree / found.record.details["folder"] / "bin/ptxas", "cuda/bin/ptxas")
    return file.getvalue()


@pytest.fixture
def server(packed: bytes) -> Iterator[Server]:
    with serving(packed) as running:
        yield running


@pytest.fixture
def space(rust_ws: Space, server: Server, store: Path, tmp_path: Path) -> Space:
    """A workspace that names the archive, with a store that has rustc and no ptxas."""
    rust_ws.store = tmp_path / "store"
    (rust_ws.store / "installs").mkdir(parents=True)
    for install in ToolStore(store).installs("rust", "rustup"):
        (rust_ws.store / "installs" / install.name).symlink_to(install.tree.parent)
    name_archive(rust_ws, server, server.sha256)
    return rust_ws


def name_archive(space: Space, server: Server, sha256: str, version: str = CUDA) -> None:
    entry = (
        f'[[toolchain.archive]]\nkind = "cuda"\nversion = "{version}"\nurl = "{server.url}"\n'
        f'sha256 = "{sha256}"\nstrip_prefix = "cuda"\n'
    )
    space.write("oxide.toml", oxide_toml(cuda="13.0") + entry)


def test_a_build_with_it_gives_what_the_same_ptxas_of_pypi_gives(
    space: Space, server: Server, store: Path
) -> None:
    server.cuts = [len(server.content) // 2]
    ran = space.build()
    assert server.seen == [None, f"bytes={len(server.content) // 2}-"]
    assert f"sha256 {server.sha256}" in ran.stderr
    cubin = space.read("oxide-out/k/twice.sm_90.cubin")
    assert space.build("--offline").actions["ran"] == 0
    space.write("oxide.toml", oxide_toml())
    space.store = store
    space.build()
    assert space.read("oxide-out/k/twice.sm_90.cubin") == cubin


def test_the_lock_holds_the_archive(space: Space, server: Server) -> None:
    ran = space.oxide("toolchain", "lock")
    assert ran.exit_code == 0, ran.stderr
    lock = space.read("oxide.lock").decode()
    assert 'provider = "archive"' in lock
    assert f'"tool.tar.gz" = "{server.sha256}"' in lock
    space.build()
    space.write("oxide.toml", oxide_toml(cuda="13.0"))
    ran = space.oxide("build", "//...")
    assert ran.exit_code == 6
    assert '`archive` needs a `[[toolchain.archive]]` with `kind = "cuda"`' in ran.stderr


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"sha256": "ab" * 32}, "has the sha256"),
        ({"version": "13.0.48"}, f"holds cuda {CUDA}, but its"),
    ],
)
def test_one_that_is_not_what_was_asked_for_stops_the_build(
    space: Space, server: Server, change: dict[str, str], said: str
) -> None:
    name_archive(space, server, **{"sha256": server.sha256, **change})
    ran = space.oxide("build", "//...")
    assert ran.exit_code == 6
    assert said in ran.stderr
    assert "hint:" in ran.stderr
    assert not (space.root / "oxide-out").exists()
    assert not any("cuda" in path.name for path in (space.store / "installs").iterdir())


def test_it_can_be_installed_ahead(space: Space) -> None:
    ran = space.oxide("toolchain", "install", "cuda", "13.0", "--provider", "archive")
    assert ran.exit_code == 0, ran.stderr
    assert f"cuda {CUDA} (archive" in ran.stderr
    space.build("--offline")
