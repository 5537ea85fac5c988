"""Fixtures: the compiler of the end-to-end tests, and disks that are too small."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.conftest import rust_ws, warm_cache

__all__ = ["rust_ws", "warm_cache"]


@dataclass(frozen=True)
class SmallDisk:
    """A file system of 600 kB that can be made larger."""

    folder: Path

    def grow(self) -> None:
        subprocess.run(["mount", "-o", "remount,size=8m", str(self.folder)], check=True)

    def fill(self, *, but: int = 0) -> None:
        """Leave no room, or so many bytes."""
        free = shutil.disk_usage(self.folder).free - but
        if free > 0:
            (self.folder / "ballast").write_bytes(bytes(free))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[SmallDisk]:
    folder = tmp_path / "small"
    folder.mkdir()
    try:
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=600k,mode=0700", "tmpfs", str(folder)],
            capture_output=True,
            check=False,
        )
        said = mounted.stderr.decode().strip() if mounted.returncode else ""
    except FileNotFoundError:
        said = "there is no `mount`"
    if said:
        pytest.skip(f"no small file system can be mounted here: {said}")
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=False)
