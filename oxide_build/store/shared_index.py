"""The index of somebody else's cache, read and never written."""

from __future__ import annotations

import errno
import os
import sqlite3
import time
from pathlib import Path

from oxide_build.host.clock import settled
from oxide_build.store.index import database

_RAW = 1
# Larger than any result; a row without end would fill the memory.
_LONGEST_BYTES = 64 << 20

# Longer than the kernel's clock for files takes for a tick.
_TICK_S = 0.03

_State = tuple[int, int, int, int]


class SharedIndex:
    """Looks up rows below `root/results-v1`. Every failure is a `sqlite3.Error` or an `OSError`.

    A database at rest is opened as immutable: SQLite then locks nothing and makes no file. It also
    does not notice changes, so each answer counts only if the file is as it was when it was opened
    and had not changed just before, when one more change could leave its times as they are.
    While somebody writes, there is a log beside the database (`-wal`); SQLite then reads it under
    the writer's rules, with the file of the locks (`-shm`) opened for reading only.
    """

    def __init__(self, root: Path) -> None:
        self._path = str(database(root))
        self._connection: sqlite3.Connection | None = None
        self._state: _State | None = None

    def get(self, key: bytes) -> bytes | None:
        """The value at `key`, None for a miss: about 20 µs."""
        for _ in range(2):
            if self._connection is None or self._changed():
                self.close()
                self._open()
            value = self._look_up(key)
            if not self._changed():
                return value
        # It changes faster than it can be read: as good as not there.
        return None

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _open(self) -> None:
        self._state = None
        how = "mode=ro&readonly_shm=1"
        if not os.path.exists(f"{self._path}-wal"):
            self._state = _settled_state(self._path)
            how = "mode=ro&immutable=1"
        uri = f"{Path(self._path).absolute().as_uri()}?{how}"
        # A short wait: the writer's builds come first, and a miss costs little.
        connection = sqlite3.connect(uri, uri=True, timeout=1, isolation_level=None)
        self._connection = connection
        connection.execute("PRAGMA query_only = 1")
        connection.execute("PRAGMA trusted_schema = 0")
        # A view of that name could make a question run for ever.
        found = connection.execute("SELECT type FROM sqlite_master WHERE name = 'Cache'").fetchone()
        if found != ("table",):
            raise sqlite3.DatabaseError("it has no table of results")

    def _look_up(self, key: bytes) -> bytes | None:
        if self._connection is None:
            raise AssertionError("looked up before it was opened")
        row = self._connection.execute(
            "SELECT value FROM Cache WHERE key = ? AND raw = ? AND mode = ?"
            " AND typeof(value) = 'blob' AND length(value) <= ?",
            (key, _RAW, _RAW, _LONGEST_BYTES),
        ).fetchone()
        return None if row is None else bytes(row[0])

    def _changed(self) -> bool:
        if self._state is None:
            return False
        return _state(self._path) != self._state


def _state(path: str) -> _State:
    found = os.stat(path)
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


def _settled_state(path: str) -> _State | None:
    """The state of a file that nobody changed this very moment, for which this waits a little.

    Raises `OSError` where the file does not come to rest.
    """
    for _ in range(3):
        state = _state(path)
        if settled(max(state[0], state[1]), time.time_ns()):
            return state
        time.sleep(_TICK_S)
    raise OSError(errno.EBUSY, "it changes all the time", path)
