"""The result cache keeps bytes, unpickles nothing, and takes damage for a miss."""

from __future__ import annotations

import os
import pickle
import sqlite3
from pathlib import Path

from oxide_build.store.results import ActionResult, ResultStore, StoredOutput

KEY = "ab" * 32
RESULT = ActionResult((StoredOutput("oxide-out/a", "cd" * 32, 3, "guard"),), "said", 1.5)


def test_a_result_is_there_for_the_next_process(tmp_path: Path) -> None:
    store = ResultStore(tmp_path)
    assert store.get(KEY) is None
    store.put(KEY, RESULT)
    store.close()
    assert ResultStore(tmp_path).get(KEY) == RESULT


class Planted:
    """Unpickling it makes a folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.path),)


def test_a_planted_pickle_does_not_run(tmp_path: Path) -> None:
    store = ResultStore(tmp_path)
    store.put(KEY, RESULT)
    store.close()
    planted = pickle.dumps(Planted(tmp_path / "ran"))
    database = sqlite3.connect(tmp_path / "results-v1" / "cache.db")
    database.execute("update Cache set mode = 4, value = ?", (planted,))
    database.commit()
    database.close()
    store = ResultStore(tmp_path)
    store.expect([KEY])
    assert store.get(KEY) is None
    assert not (tmp_path / "ran").exists()


def test_a_damaged_entry_is_a_miss(tmp_path: Path) -> None:
    store = ResultStore(tmp_path)
    store.put(KEY, RESULT)
    store.close()
    database = sqlite3.connect(tmp_path / "results-v1" / "cache.db")
    database.execute("update Cache set value = ?", (b"\x00\x01",))
    database.commit()
    database.close()
    store = ResultStore(tmp_path)
    assert store.get(KEY) is None
    store.expect([KEY])
    assert store.get(KEY) is None


def test_what_was_read_ahead_is_what_is_there(tmp_path: Path) -> None:
    keys = [f"{number:064x}" for number in range(2000)]
    store = ResultStore(tmp_path)
    for number, key in enumerate(keys):
        store.put(key, ActionResult((), str(number), 0.0))
    store.close()
    store = ResultStore(tmp_path)
    store.expect([KEY, *keys])
    # Gone since: what was read ahead is known without the database, all else comes from it.
    database = sqlite3.connect(tmp_path / "results-v1" / "cache.db")
    database.execute("delete from Cache")
    database.commit()
    database.close()
    results = [store.get(key) for key in keys]
    assert [found and found.message for found in results] == [str(n) for n in range(2000)]
    assert store.get(KEY) is None
    store.put(keys[0], RESULT)
    assert store.get(keys[0]) == RESULT


def test_a_destroyed_index_is_made_anew(tmp_path: Path) -> None:
    ResultStore(tmp_path).close()
    (tmp_path / "results-v1" / "cache.db").write_bytes(b"not a database" * 1000)
    store = ResultStore(tmp_path)
    assert store.get(KEY) is None
    store.put(KEY, RESULT)
    assert store.get(KEY) == RESULT
