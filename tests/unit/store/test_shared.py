"""A shared cache is read and checked, and nothing is written or waited for there."""

from __future__ import annotations

import os
import pickle
import shutil
import sqlite3
from pathlib import Path

import msgspec
import pytest

from oxide_build.store.blobs import BlobStore
from oxide_build.store.index import database
from oxide_build.store.results import ActionResult, ResultStore, StoredOutput
from oxide_build.store.shared import SharedCache

KEY, OTHER = "ab" * 32, "cd" * 32


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    root = tmp_path / "a folder? with #signs%20"
    put(root, KEY, b"kernel")
    return root


def put(root: Path, key: str, data: bytes, store: ResultStore | None = None) -> ActionResult:
    root.mkdir(mode=0o755, exist_ok=True)
    file = root / "new"
    file.write_bytes(data)
    blob = BlobStore(root).take(file)
    output = StoredOutput("oxide-out/a", blob.digest.sha256, blob.digest.size_bytes, blob.guard)
    result = ActionResult((output,), "", 1.0)
    results = store or ResultStore(root)
    results.put(key, result)
    results.flush()
    if store is None:
        results.close()
    return result


def fetch(root: Path, tmp_path: Path, key: str = KEY) -> tuple[bytes | None, str]:
    """The content of the result's blob in the own cache, and what was complained of."""
    shared = SharedCache(root)
    own, results = BlobStore(tmp_path / "own"), ResultStore(tmp_path / "own")
    try:
        found = shared.fetch(key, own, results)
        assert results.get(key) == found
        data = None if found is None else own.checked(found.outputs[0].blob).read_bytes()
        return data, shared.complaint
    finally:
        shared.close()
        results.close()


def listing(root: Path) -> dict[str, tuple[int, int]]:
    return {
        str(path): (path.stat().st_mtime_ns, path.stat().st_size)
        for path in (root, *root.rglob("*"))
    }


def test_what_is_there_is_copied_and_nothing_is_written(theirs: Path, tmp_path: Path) -> None:
    before = listing(theirs)
    assert fetch(theirs, tmp_path) == (b"kernel", "")
    assert fetch(theirs, tmp_path, OTHER) == (None, "")
    assert listing(theirs) == before


def test_it_is_read_while_its_owner_writes(theirs: Path, tmp_path: Path) -> None:
    writing = ResultStore(theirs)
    put(theirs, OTHER, b"other", writing)
    assert Path(f"{database(theirs)}-wal").stat().st_size > 0
    before = {p.name for p in database(theirs).parent.iterdir()}
    assert fetch(theirs, tmp_path, OTHER) == (b"other", "")
    assert fetch(theirs, tmp_path) == (b"kernel", "")
    assert {p.name for p in database(theirs).parent.iterdir()} == before
    writing.close()


def test_a_row_that_is_replaced_meanwhile_is_never_another_keys(
    theirs: Path, tmp_path: Path
) -> None:
    shared = SharedCache(theirs)
    own, results = BlobStore(tmp_path / "own"), ResultStore(tmp_path / "own")
    assert shared.fetch(KEY, own, results) is not None
    # The new row gets the number of the old one, to which the pages that were read still point.
    connection = sqlite3.connect(database(theirs))
    connection.execute("DELETE FROM Cache")
    connection.commit()
    connection.close()
    put(theirs, OTHER, b"other")
    assert shared.fetch(KEY, own, results) is None
    found = shared.fetch(OTHER, own, results)
    assert found is not None
    assert own.checked(found.outputs[0].blob).read_bytes() == b"other"
    results.close()


def test_a_writer_that_was_killed_is_read_or_missed_and_never_wrong(
    theirs: Path, tmp_path: Path
) -> None:
    writing = ResultStore(theirs)
    put(theirs, OTHER, b"other", writing)
    killed = tmp_path / "killed"
    shutil.copytree(theirs, killed)
    writing.close()
    (database(killed).parent / "cache.db-shm").unlink()
    before = {p.name for p in database(killed).parent.iterdir()}
    data, complaint = fetch(killed, tmp_path, OTHER)
    assert data == b"other" or complaint
    assert {p.name for p in database(killed).parent.iterdir()} == before


@pytest.mark.parametrize("how", ["flipped", "longer", "empty", "link", "pipe", "folder", "gone"])
def test_a_blob_that_is_not_what_it_says_is_a_miss(theirs: Path, tmp_path: Path, how: str) -> None:
    (blob,) = (theirs / "blobs-v1").glob("*/*")
    blob.unlink()
    if how == "flipped":
        blob.write_bytes(b"Kernel")
    elif how == "longer":
        blob.write_bytes(b"kernel and more")
    elif how == "empty":
        blob.touch()
    elif how == "link":
        (tmp_path / "elsewhere").write_bytes(b"kernel")
        blob.symlink_to(tmp_path / "elsewhere")
    elif how == "pipe":
        os.mkfifo(blob)
    elif how == "folder":
        blob.mkdir()
    data, complaint = fetch(theirs, tmp_path)
    assert data is None
    assert "the shared cache" in complaint
    assert not list((tmp_path / "own" / "blobs-v1").glob("*/*"))
    assert not list((tmp_path / "own" / "tmp").iterdir())


def rewrite(root: Path, value: bytes, mode: int = 1) -> None:
    connection = sqlite3.connect(database(root))
    connection.execute("UPDATE Cache SET value = ?, mode = ?", (value, mode))
    connection.commit()
    connection.close()


def test_a_wrong_guard_is_a_miss(theirs: Path, tmp_path: Path) -> None:
    result = put(theirs, KEY, b"kernel")
    output = msgspec.structs.replace(result.outputs[0], guard="0" * 32)
    rewrite(theirs, msgspec.msgpack.encode(ActionResult((output,), "", 1.0)))
    assert fetch(theirs, tmp_path)[0] is None


def test_a_digest_that_is_a_path_reaches_nothing(theirs: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"kernel")
    name = f"../../../{secret.relative_to(tmp_path)}"
    output = StoredOutput("oxide-out/a", name, 6, "0" * 32)
    rewrite(theirs, msgspec.msgpack.encode(ActionResult((output,), "", 1.0)))
    data, complaint = fetch(theirs, tmp_path)
    assert data is None
    assert "no digest" in complaint


class Planted:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("mode", [1, 4])
def test_a_pickle_is_a_miss(theirs: Path, tmp_path: Path, mode: int) -> None:
    rewrite(theirs, pickle.dumps(Planted(tmp_path / "ran")), mode)
    assert fetch(theirs, tmp_path)[0] is None
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("data", [b"", b"junk" * 1000, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_garbage_index_is_a_miss_with_one_warning(
    theirs: Path, tmp_path: Path, data: bytes
) -> None:
    database(theirs).write_bytes(data)
    found, complaint = fetch(theirs, tmp_path)
    assert found is None
    assert "its index cannot be read" in complaint
    assert database(theirs).read_bytes() == data


def test_a_view_in_place_of_the_table_is_not_asked(theirs: Path, tmp_path: Path) -> None:
    connection = sqlite3.connect(database(theirs))
    connection.execute("DROP TABLE Cache")
    connection.execute(
        "CREATE VIEW Cache AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)"
        " SELECT x AS key, 1 AS raw, 1 AS mode, x AS value FROM n"
    )
    connection.commit()
    connection.close()
    assert "no table of results" in fetch(theirs, tmp_path)[1]


@pytest.mark.parametrize("place", ["", "blobs-v1", "results-v1", "results-v1/cache.db"])
def test_what_everybody_may_write_is_refused(theirs: Path, tmp_path: Path, place: str) -> None:
    (theirs / place).chmod(0o777)
    data, complaint = fetch(theirs, tmp_path)
    assert data is None
    assert "everybody may write to" in complaint


def test_a_place_that_everybody_may_replace_is_refused(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    put(tmp_path / "open" / "cache", KEY, b"kernel")
    (tmp_path / "open").chmod(0o777)
    assert "everybody may replace it" in fetch(tmp_path / "open" / "cache", tmp_path)[1]
    (tmp_path / "open").chmod(0o1777)
    assert fetch(tmp_path / "open" / "cache", tmp_path) == (b"kernel", "")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_it_may_be_another_users(theirs: Path, tmp_path: Path) -> None:
    for path in (theirs, *theirs.rglob("*")):
        os.chown(path, 12345, 12345)
    assert fetch(theirs, tmp_path) == (b"kernel", "")


def test_a_folder_that_is_not_there_is_one_warning(tmp_path: Path) -> None:
    assert "it cannot be read: No such file" in fetch(tmp_path / "none", tmp_path)[1]
