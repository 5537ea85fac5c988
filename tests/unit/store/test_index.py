"""An index is thrown away when it is damaged, and only then; what is planted in it does nothing."""

from __future__ import annotations

import contextlib
import os
import pickle
import sqlite3
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import diskcache
import pytest

from oxide_build.errors import InfrastructureError
from oxide_build.store.index import database
from oxide_build.store.results import ActionResult, ResultStore, StoredOutput

KEY, OTHER = "ab" * 32, "cd" * 32
RESULT = ActionResult((StoredOutput("oxide-out/a", "cd" * 32, 3, "guard"),), "said", 1.5)


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A cache with one result."""
    fill(tmp_path / "cache")
    return tmp_path / "cache"


def fill(root: Path) -> None:
    store = ResultStore(root)
    store.put(KEY, RESULT)
    store.close()


def found(root: Path) -> ActionResult | None:
    store = ResultStore(root)
    try:
        return store.get(KEY)
    finally:
        store.close()


def sql(root: Path, *statements: str) -> None:
    connection = sqlite3.connect(database(root))
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


@pytest.mark.parametrize("length", [0, 10, 100, 1024, 4096, 5000, 12288])
def test_a_truncated_index_is_a_miss_and_works_again(cache: Path, length: int) -> None:
    data = database(cache).read_bytes()
    database(cache).write_bytes(data[:length])
    assert found(cache) is None
    fill(cache)
    assert found(cache) == RESULT


@pytest.mark.parametrize(
    "table",
    [
        "CREATE TABLE Cache (key2 TEXT)",
        "CREATE VIEW Cache AS SELECT 1 AS key, 1 AS raw",
        "CREATE TABLE Cache (rowid INTEGER PRIMARY KEY, key BLOB, raw INTEGER, expire_time REAL)",
    ],
)
def test_another_schema_is_a_miss_and_works_again(cache: Path, table: str) -> None:
    sql(cache, "DROP TABLE Cache", table)
    assert found(cache) is None
    fill(cache)
    assert found(cache) == RESULT


def test_an_index_of_another_version_is_named_and_kept(cache: Path) -> None:
    sql(cache, "PRAGMA user_version = 7")
    before = database(cache).read_bytes()
    with pytest.raises(InfrastructureError, match="its version is 7, and this one knows 0"):
        ResultStore(cache)
    assert database(cache).read_bytes() == before


def test_a_locked_index_is_not_thrown_away(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connection = sqlite3.connect(database(cache), isolation_level=None)
    connection.execute("BEGIN EXCLUSIVE")
    # diskcache asks for a minute.
    monkeypatch.setattr(
        diskcache.Cache, "_sql_retry", property(lambda self: self._sql), raising=True
    )
    with pytest.raises(InfrastructureError, match="another process keeps it locked"):
        ResultStore(cache)
    connection.close()
    monkeypatch.undo()
    assert found(cache) == RESULT


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m,mode=0700", "tmpfs", str(folder)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip(f"no small file system can be mounted here: {mounted.stderr.decode().strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=False)


def fill_disk(folder: Path) -> Path:
    ballast = folder / "ballast"
    with open(ballast, "wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(bytes(4096)):
            pass
    return ballast


def test_a_full_disk_is_named_and_the_index_is_kept(small_disk: Path) -> None:
    fill(small_disk)
    ballast = fill_disk(small_disk)
    with pytest.raises(InfrastructureError, match=r"the disk is full|could not open"):
        ResultStore(small_disk)
    ballast.unlink()
    assert found(small_disk) == RESULT


def test_a_disk_that_fills_up_meanwhile_costs_results_and_nothing_else(small_disk: Path) -> None:
    store = ResultStore(small_disk)
    store.put(KEY, RESULT)
    store.flush()
    ballast = fill_disk(small_disk)
    for number in range(200):
        store.put(f"{number:064x}", ActionResult((), "x" * 5000, 1.0))
    store.flush()
    store.close()
    ballast.unlink()
    assert found(small_disk) == RESULT


def test_a_read_only_disk_is_named_and_the_index_is_kept(small_disk: Path) -> None:
    fill(small_disk)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(InfrastructureError, match=r"cannot be written|cannot be opened|Read-only"):
        ResultStore(small_disk)
    subprocess.run(["mount", "-o", "remount,rw", str(small_disk)], check=True)
    assert found(small_disk) == RESULT


def test_a_flush_that_is_refused_ends(cache: Path) -> None:
    store = ResultStore(cache)
    store._cache.close()
    store._cache._timeout = 0
    connection = sqlite3.connect(database(cache), isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    store.put(OTHER, RESULT)
    flushing = threading.Thread(target=store.flush, daemon=True)
    flushing.start()
    flushing.join(30)
    assert not flushing.is_alive()
    connection.close()
    assert store.get(KEY) == RESULT


def test_a_planted_file_name_removes_nothing(cache: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    sql(cache, "UPDATE Cache SET filename = '../../victim'")
    store = ResultStore(cache)
    store.put(KEY, RESULT)
    store.flush()
    store.close()
    assert victim.read_text() == "mine"


class Planted:
    """Unpickling it makes a folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("raw", [0, 1])
@pytest.mark.parametrize("mode", [1, 2, 3, 4])
@pytest.mark.parametrize("filename", [None, "planted"])
def test_pickles_in_key_and_value_and_beside_do_not_run(
    cache: Path, tmp_path: Path, raw: int, mode: int, filename: str | None
) -> None:
    planted = pickle.dumps(Planted(tmp_path / "ran"))
    (cache / "results-v1" / "planted").write_bytes(planted)
    connection = sqlite3.connect(database(cache))
    connection.execute(
        "UPDATE Cache SET mode = ?, value = ?, filename = ?",
        (mode, None if filename else planted, filename),
    )
    connection.execute(
        "INSERT INTO Cache (key, raw, store_time, mode, value) VALUES (?, ?, 0, ?, ?)",
        (planted, raw, mode, planted),
    )
    connection.commit()
    connection.close()
    assert found(cache) is None
    assert not (tmp_path / "ran").exists()
