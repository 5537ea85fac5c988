"""Action results: cache key -> what the action left."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import diskcache
import msgspec

from oxide_build.model.digest import Digest
from oxide_build.store.blobs import Blob
from oxide_build.store.index import open_index
from oxide_build.store.ingredients import Ingredients

# Keys of results are 32 bytes; those of what they were made of have this in front.
_INGREDIENTS = b"i"

# Keys in one query; SQLite before 3.32 takes 999 parameters.
_BATCH = 900

# How long a result may wait for others to be written with (seconds).
FLUSH_S = 0.25


class StoredOutput(msgspec.Struct, frozen=True, array_like=True):
    """One output: path below the action's folder, SHA-256, size in bytes, xxh3-128, and whether
    the action made it executable."""

    path: str
    sha256: str
    size_bytes: int
    guard: str
    executable: bool = False

    @property
    def blob(self) -> Blob:
        return Blob(Digest(self.sha256, self.size_bytes), self.guard)


class ActionResult(msgspec.Struct, frozen=True, array_like=True):
    """What a successful action left: outputs, what its tools said, how long it took (seconds)."""

    outputs: tuple[StoredOutput, ...]
    message: str
    wall_s: float


class ResultStore:
    """Results below `root/results-v1`. Whatever is wrong with an entry makes it a miss."""

    def __init__(self, root: Path) -> None:
        self._cache = open_index(root)
        self._lock = threading.Lock()
        self._pending: dict[bytes, bytes] = {}
        self._expected: dict[bytes, bytes] = {}
        self._flushed = time.monotonic()

    def expect(self, keys: Sequence[str]) -> None:
        """Read what is kept under `keys` ahead, many in one query: a tenth of the time of one each.

        What is not there, or cannot be read so, is asked for by `get` as ever.
        """
        names = [bytes.fromhex(key) for key in keys]
        for at in range(0, len(names), _BATCH):
            batch = names[at : at + _BATCH]
            marks = ", ".join("?" * len(batch))
            # Only rows that `get` would give too: bytes, in the row itself.
            query = f"SELECT key, value FROM Cache WHERE raw = 1 AND mode = 1 AND key IN ({marks})"  # noqa: S608
            with contextlib.suppress(sqlite3.Error, ValueError, TypeError):
                self._expected.update(
                    (bytes(name), value)
                    for name, value in self._cache._sql(query, batch)
                    if isinstance(value, bytes)
                )

    def get(self, key: str) -> ActionResult | None:
        name = bytes.fromhex(key)
        try:
            data = self._pending.get(name) or self._expected.get(name) or self._cache.get(name)
            return None if data is None else msgspec.msgpack.decode(data, type=ActionResult)
        except (sqlite3.Error, OSError, ValueError, TypeError, msgspec.MsgspecError):
            return None

    def ingredients(self, key: str) -> Ingredients | None:
        """What `key` was made of; None where nobody remembers."""
        name = _INGREDIENTS + bytes.fromhex(key)
        try:
            data = self._pending.get(name) or self._cache.get(name)
        except (sqlite3.Error, OSError, ValueError, TypeError):
            return None
        return None if data is None else Ingredients.decode(data)

    def put(self, key: str, result: ActionResult, made_of: Ingredients | None = None) -> None:
        """Keep `result` and what its key was made of, soon: with others in one transaction.

        A commit costs as much as a small action. Safe in any thread; `flush` is for the one that
        made this object, once it is `due`. Another thread's connection to the index would stay
        open after `close`, and what is left open while other processes come and go, as in `oxide
        watch`, loses sight of the index.
        """
        with self._lock:
            self._pending[bytes.fromhex(key)] = msgspec.msgpack.encode(result)
            if made_of is not None:
                self._pending[_INGREDIENTS + bytes.fromhex(key)] = made_of.encode()

    @property
    def due(self) -> bool:
        """Whether something waits to be written, and has long enough."""
        return bool(self._pending) and time.monotonic() - self._flushed > FLUSH_S

    def flush(self) -> None:
        """Write what waits. A cache that cannot be written is no reason to fail a build."""
        with self._lock:
            self._flushed = time.monotonic()
            pending = dict(self._pending)
        if not pending:
            return
        failures = contextlib.suppress(sqlite3.Error, OSError, diskcache.Timeout)
        # Without `retry`: diskcache takes every refusal for a lock, and would ask for ever.
        with failures, self._cache.transact():
            for name, data in pending.items():
                self._cache.set(name, data)
        with self._lock:
            for name in pending:
                self._pending.pop(name, None)

    def close(self) -> None:
        self.flush()
        with contextlib.suppress(sqlite3.Error):
            self._cache.close()
