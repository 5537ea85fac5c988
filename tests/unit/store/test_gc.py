"""What a collection may take, and what it leaves when it is cut short."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from oxide_build.store import gc
from oxide_build.store.blobs import BlobStore, blob_files
from oxide_build.store.gc import Limits, collect_garbage
from oxide_build.store.inventory import take_inventory
from oxide_build.store.results import ActionResult, ResultStore, StoredOutput
from oxide_build.store.rows import ResultRows
from oxide_build.store.tally import Tally
from oxide_build.store.uses import Uses

TINY = Limits(max_bytes=1, max_age_days=30)


def key(number: int) -> str:
    return f"{number:064x}"


def put(root: Path, number: int, data: bytes) -> StoredOutput:
    """A result that no build is known to have used."""
    root.mkdir(mode=0o700, exist_ok=True)
    file = root / "new"
    file.write_bytes(data)
    blob = BlobStore(root).take(file)
    output = StoredOutput("oxide-out/a", blob.digest.sha256, blob.digest.size_bytes, blob.guard)
    store = ResultStore(root)
    store.put(key(number), ActionResult((output,), "", 1.0))
    store.close()
    return output


def later(monkeypatch: pytest.MonkeyPatch, hours: float) -> None:
    now = time.time()
    monkeypatch.setattr(gc.time, "time", lambda: now + hours * 3600)


def keys(root: Path) -> set[int]:
    return {int.from_bytes(each.key, "big") for each in take_inventory(root, time.time()).results}


def test_what_was_just_made_stays_though_no_set_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, 1, b"one")
    later(monkeypatch, 0.9)
    report = collect_garbage(tmp_path, TINY)
    assert report is not None
    assert (report.results, report.blobs, report.over) == (0, 0, True)
    later(monkeypatch, 1.1)
    report = collect_garbage(tmp_path, TINY)
    assert report is not None
    assert (report.results, report.blobs, report.over) == (1, 1, False)


def test_a_blob_of_two_results_stays_with_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, 1, b"same")
    put(tmp_path, 2, b"same")
    later(monkeypatch, 40 * 24)
    Uses(tmp_path, "w").end([key(2)])
    os.utime(next((tmp_path / "uses-v1").iterdir()), (gc.time.time(), gc.time.time()))
    report = collect_garbage(tmp_path, Limits(max_bytes=1 << 40, max_age_days=30))
    assert report is not None
    assert (report.results, report.blobs) == (1, 0)
    assert keys(tmp_path) == {2}


def test_a_collection_that_is_killed_leaves_whole_results_and_the_next_one_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, 1, b"one")
    put(tmp_path, 2, b"two")
    later(monkeypatch, 40 * 24)
    with monkeypatch.context() as killed:

        def kill(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        killed.setattr(gc, "_remove_blobs", kill)
        with pytest.raises(KeyboardInterrupt):
            collect_garbage(tmp_path, TINY)
    assert keys(tmp_path) == set()
    assert len(list(blob_files(tmp_path))) == 2
    report = collect_garbage(tmp_path, TINY)
    assert report is not None
    assert (report.results, report.blobs) == (0, 2)


def test_a_result_that_was_made_again_meanwhile_stays(tmp_path: Path) -> None:
    put(tmp_path, 1, b"one")
    put(tmp_path, 2, b"two")
    rows = list(ResultRows(tmp_path).read())
    put(tmp_path, 1, b"one")
    assert ResultRows(tmp_path).remove(rows) == 1
    assert keys(tmp_path) == {1}


def test_a_set_that_a_build_touches_meanwhile_pins_its_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, 1, b"one")
    put(tmp_path, 2, b"two")
    Uses(tmp_path, "w").end([key(1)])
    (file,) = (tmp_path / "uses-v1").iterdir()
    os.utime(file, (1, 1))
    later(monkeypatch, 2)
    real = gc._to_go

    def slow(*args: object) -> set[bytes]:
        gone = real(*args)  # type: ignore[arg-type]
        os.utime(file, (gc.time.time(), gc.time.time()))
        return gone

    monkeypatch.setattr(gc, "_to_go", slow)
    report = collect_garbage(tmp_path, TINY)
    assert report is not None
    assert report.results == 1
    assert keys(tmp_path) == {1}


def test_what_was_half_copied_goes_and_what_is_being_copied_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, 1, b"one")
    folder = next(blob_files(tmp_path)).parent
    (folder / ".tmp-x").write_bytes(b"half")
    assert collect_garbage(tmp_path, TINY) is not None
    assert (folder / ".tmp-x").exists()
    later(monkeypatch, 2)
    assert collect_garbage(tmp_path, Limits(max_bytes=1 << 40, max_age_days=30)) is not None
    assert not (folder / ".tmp-x").exists()


def test_what_is_left_is_the_new_size(tmp_path: Path) -> None:
    put(tmp_path, 1, b"x" * 5000)
    report = collect_garbage(tmp_path, Limits(max_bytes=1 << 40, max_age_days=30))
    size = Tally(tmp_path).read()
    assert report is not None
    assert size is not None
    # Two blocks and the row.
    assert 8192 < size.total_bytes == report.left_bytes < 9000


def test_a_dry_run_says_the_same_and_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, 1, b"one")
    put(tmp_path, 2, b"two")
    later(monkeypatch, 2)
    said = collect_garbage(tmp_path, TINY, dry_run=True)
    assert keys(tmp_path) == {1, 2}
    assert len(list(blob_files(tmp_path))) == 2
    assert collect_garbage(tmp_path, TINY) == said


def test_a_result_from_the_future_is_as_old_as_now(tmp_path: Path) -> None:
    put(tmp_path, 1, b"one")
    past = time.time() - 1000
    (stored,) = take_inventory(tmp_path, past).results
    assert stored.used_s == past


def test_small_files_that_nobody_needed_for_long_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, 1, b"one")
    for name in ("snapshots-v1/a", "file-states-v1/b", "logs-v1/w/c", "history-v1/d"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "mine").touch()
    later(monkeypatch, 29 * 24)
    collect_garbage(tmp_path, Limits(max_bytes=1 << 40, max_age_days=30))
    assert (tmp_path / "logs-v1/w/c").exists()
    later(monkeypatch, 31 * 24)
    collect_garbage(tmp_path, Limits(max_bytes=1 << 40, max_age_days=30))
    left = {path.name for path in tmp_path.rglob("*") if path.is_file()}
    assert left & {"a", "b", "c", "d", "mine"} == {"mine"}


def test_a_blob_that_is_about_to_be_read_stays(tmp_path: Path) -> None:
    output = put(tmp_path, 1, b"one")
    (path,) = blob_files(tmp_path)
    then = time.time() - 40 * 86_400
    os.utime(path, (then, then))
    assert BlobStore(tmp_path).checked(output.blob) == path
    ResultRows(tmp_path).clear()
    report = collect_garbage(tmp_path, TINY)
    assert report is not None
    assert report.blobs == 0
