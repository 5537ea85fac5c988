"""A remembered digest is used only while the file is certainly the same."""

from __future__ import annotations

import os
import time
from pathlib import Path

import msgspec
import pytest

from oxide_build.errors import DefinitionError
from oxide_build.model.digest import Digest
from oxide_build.store import file_states
from oxide_build.store.file_states import FileStates


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the files that were read to be hashed."""
    seen: list[str] = []
    real = file_states.hash_file

    def spy(path: str):  # type: ignore[no-untyped-def]
        seen.append(os.path.basename(path))
        return real(path)

    monkeypatch.setattr(file_states, "hash_file", spy)
    return seen


def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing can set a file's ctime, so the clock moves to make it old."""
    now = time.time_ns()
    monkeypatch.setattr(file_states.time, "time_ns", lambda: now + 10_000_000_000)


def test_an_old_file_is_hashed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hashed: list[str]
) -> None:
    (tmp_path / "a").write_text("one")
    later(monkeypatch)
    states = FileStates(tmp_path, tmp_path / "table")
    assert states.digest("a") == states.digest("a") == Digest.of(b"one")
    states.save()
    assert FileStates(tmp_path, tmp_path / "table").digest("a") == Digest.of(b"one")
    assert hashed == ["a"]


def test_a_file_that_just_changed_is_hashed_again(tmp_path: Path, hashed: list[str]) -> None:
    (tmp_path / "a").write_text("one")
    states = FileStates(tmp_path, tmp_path / "table")
    states.digest("a")
    states.digest("a")
    assert hashed == ["a", "a"]


def test_a_same_size_edit_with_restored_mtime_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a"
    file.write_text("one")
    later(monkeypatch)
    states = FileStates(tmp_path, tmp_path / "table")
    states.digest("a")
    before = file.stat()
    time.sleep(0.02)
    file.write_text("two")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert states.digest("a") == Digest.of(b"two")


def test_a_touch_keeps_the_digest(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one")
    states = FileStates(tmp_path, tmp_path / "table")
    before = states.digest("a")
    os.utime(tmp_path / "a", (1, 1))
    assert states.digest("a") == before


def test_what_is_no_regular_file_has_no_digest(tmp_path: Path) -> None:
    states = FileStates(tmp_path, tmp_path / "table")
    os.mkfifo(tmp_path / "pipe")
    assert states.digest("missing") is None
    assert states.digest(".") is None
    assert states.digest("pipe") is None
    with pytest.raises(DefinitionError, match="`missing` is gone"):
        states.require("missing")


@pytest.mark.parametrize("data", [b"", b"junk", msgspec.msgpack.encode({"a": [1, 2]})])
def test_a_damaged_table_is_only_forgotten(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a").write_text("one")
    (tmp_path / "table").write_bytes(data)
    assert FileStates(tmp_path, tmp_path / "table").digest("a") == Digest.of(b"one")
