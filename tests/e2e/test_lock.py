"""A build with `oxide.lock` uses exactly what it names, or fails."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.conftest import Space
from tests.e2e.conftest import oxide_toml

pytestmark = [pytest.mark.network, pytest.mark.toolchain]


@pytest.fixture
def locked(rust_ws: Space) -> Space:
    ran = rust_ws.oxide("toolchain", "lock")
    assert ran.exit_code == 0, ran.stderr
    assert "rust (x86_64-linux): nothing -> 1.96.0" in ran.stderr or "aarch64" in ran.stderr
    return rust_ws


def edit(space: Space, pattern: str, text: str) -> None:
    lock = space.root / "oxide.lock"
    before = lock.read_text()
    lock.write_text(re.sub(pattern, text, before, count=1))
    assert lock.read_text() != before


def test_locking_again_changes_nothing(locked: Space) -> None:
    before = locked.read("oxide.lock")
    assert "nothing changed" in locked.oxide("toolchain", "lock").stderr
    assert "nothing changed" in locked.oxide("toolchain", "update").stderr
    assert locked.read("oxide.lock") == before
    assert locked.oxide("toolchain", "lock", "--check").exit_code == 0


def test_a_locked_range_stays_where_it_was_locked(locked: Space) -> None:
    locked.write("oxide.toml", oxide_toml(rust=">=1.95"))
    ran = locked.oxide("build", "//...")
    assert ran.exit_code == 6
    assert "`oxide.lock` is stale: rust was locked for `1.96.0`" in ran.stderr
    assert "asks for `>=1.95`" in ran.stderr
    assert locked.oxide("toolchain", "lock", "--check").exit_code == 6
    assert locked.oxide("toolchain", "update").exit_code == 0
    locked.build()


def test_the_lock_names_the_release_and_not_the_preference(locked: Space) -> None:
    locked.write("oxide.toml", oxide_toml(rust=">=1.95"))
    edit(locked, r'requirement = "1\.96\.0"', 'requirement = ">=1.95"')
    edit(locked, r'spec = "1\.96\.0"', 'spec = "1.95.0"')
    ran = locked.oxide("build", "//...")
    # 1.95.0 was taken, as the lock says, and is not what the lock's digests are of.
    assert ran.exit_code == 6
    assert "is not the one in `oxide.lock`: version 1.95.0 instead of 1.96.0" in ran.stderr


def test_other_files_under_the_same_name_are_refused(locked: Space) -> None:
    edit(locked, r'"llvm" = "[0-9a-f]{4}', '"llvm" = "0000')
    ran = locked.oxide("build", "//...")
    assert ran.exit_code == 6
    assert "its llvm has other files" in ran.stderr
    assert "oxide toolchain update" in ran.stderr


def test_another_host_is_not_guessed_for(locked: Space) -> None:
    lock = locked.root / "oxide.lock"
    lock.write_text(re.sub(r'host = "[^"]+"', 'host = "sparc-solaris"', lock.read_text()))
    ran = locked.oxide("build", "//...")
    assert ran.exit_code == 6
    assert "for sparc-solaris, but not for" in ran.stderr
    assert locked.oxide("toolchain", "lock").exit_code == 0
    locked.build()
    assert "sparc-solaris" in lock.read_text()


def test_asking_for_another_compiler_is_not_held_to_the_lock(locked: Space) -> None:
    edit(locked, r'"llvm" = "[0-9a-f]{4}', '"llvm" = "0000')
    assert locked.oxide("build", "//...", "--rust", "1.96.0").exit_code == 0


def test_a_damaged_lock_stops_the_build(locked: Space) -> None:
    locked.write("oxide.lock", "version = 7\n")
    ran = locked.oxide("build", "//...")
    assert ran.exit_code == 3
    assert "oxide.lock cannot be read" in ran.stderr


def test_two_machines_with_one_lock_give_the_same_bytes(locked: Space, tmp_path: Path) -> None:
    locked.build()
    other = Space(tmp_path / "other", tmp_path / "cache2", tmp_path / "store2", locked.capture)
    shutil.copytree(locked.root, other.root, ignore=shutil.ignore_patterns("oxide-out"))
    ran = other.build()
    assert "fetched" in ran.stderr
    made = sorted((locked.root / "oxide-out/k").iterdir())
    assert len(made) == 6
    for file in made:
        assert other.read(f"oxide-out/k/{file.name}") == file.read_bytes()
