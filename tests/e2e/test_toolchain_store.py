"""`oxide toolchain install`, `list` and `gc` on a store of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Space

pytestmark = [pytest.mark.network, pytest.mark.toolchain]


def test_install_list_gc(ws: Space, tmp_path: Path) -> None:
    ws.store = tmp_path / "own-store"
    assert "0 toolchains" in ws.oxide("toolchain", "list").stderr
    ran = ws.oxide("toolchain", "install", "cuda", "12.3")
    assert ran.exit_code == 0, ran.stderr
    assert "cuda 12.3.107 (pypi" in ran.stderr
    (row,) = ws.oxide("toolchain", "list", "--json").record["toolchains"]
    assert (row["kind"], row["spec"], row["provider"]) == ("cuda", "12.3.107", "pypi")
    assert row["size_bytes"] > 10_000_000
    assert len(row["files"][0]["sha256"]) == 64
    assert "12.3.107" in ws.oxide("toolchain", "list").stdout
    assert "removed 0 toolchains" in ws.oxide("toolchain", "gc").stderr
    assert "would remove 1" in ws.oxide("toolchain", "gc", "--keep-days", "0", "--dry-run").stderr
    assert "removed 1 toolchains" in ws.oxide("toolchain", "gc", "--keep-days", "0").stderr
    assert "0 toolchains" in ws.oxide("toolchain", "list").stderr


def test_what_cannot_be_had_is_said(ws: Space, tmp_path: Path) -> None:
    ws.store = tmp_path / "own-store"
    ran = ws.oxide("toolchain", "install", "cuda", "99.9")
    assert ran.exit_code == 6
    assert "99.9" in ran.stderr
    assert ws.oxide("toolchain", "install", "go", "1").exit_code == 2
    assert ws.oxide("toolchain", "install", "cuda", "new").exit_code == 3
