"""The wheel holds everything that an installed tool needs."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.network


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> Path:
    """The wheel, unpacked where no checkout is near."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, repository],
        check=True,
        timeout=300,
    )
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def test_data_is_inside_and_nothing_else_is(unpacked: Path, repository: Path) -> None:
    content = unpacked / "oxide_build" / "_content"
    for folder in ("rules", "toolchains", "cache"):
        for file in (repository / folder).iterdir():
            assert (content / folder / file.name).read_bytes() == file.read_bytes()
    assert {entry.name for entry in unpacked.iterdir() if "dist-info" not in entry.name} == {
        "oxide_build"
    }


def test_the_unpacked_wheel_runs(unpacked: Path, tmp_path: Path) -> None:
    environ = {**os.environ, "PYTHONPATH": str(unpacked)}
    done = subprocess.run(
        [sys.executable, "-m", "oxide_build", "rules", "rust_kernel"],
        cwd=tmp_path,
        env=environ,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert "crate_root" in done.stdout
    where = subprocess.run(
        [sys.executable, "-c", "import oxide_build; print(oxide_build.__file__)"],
        cwd=tmp_path,
        env=environ,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert str(unpacked) in where.stdout
