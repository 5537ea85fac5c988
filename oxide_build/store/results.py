"""Action results: cache key -> what the action left."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any

import diskcache
import msgspec

from oxide_build.errors import InfrastructureError
from oxide_build.host.disk import is_full
from oxide_build.model.digest import Digest
from oxide_build.store.blobs import Blob
from oxide_build.store.ingredients import Ingredients

_FOLDER = "results-v1"

# Keys of results are 32 bytes; those of what they were made of have this in front.
_INGREDIENTS = b"i"

# What SQLite says where the machine, not the index, is in the way.
_REFUSALS = (
    sqlite3.SQLITE_BUSY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_FULL, sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY,
)  # fmt: skip

# How long a result may wait for others to be written with (seconds).
FLUSH_S = 0.25


def database(root: Path) -> Path:
    """The file of the index in the cache at `root`."""
    return root / _FOLDER / "cache.db"


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


class _BytesDisk(diskcache.Disk):  # type: ignore[misc]
    """diskcache's storage without pickle: it unpickles whatever lies in the database
    (CVE-2025-69872), so ours refuses everything but bytes."""

    def put(self, key: object) -> Any:
        if not isinstance(key, bytes):
            raise TypeError("keys of the result cache are bytes")
        return super().put(key)

    def get(self, key: Any, raw: bool) -> Any:
        if not raw:
            raise ValueError("a key of the result cache is no bytes")
        return super().get(key, raw)

    def store(self, value: object, read: bool, key: Any = diskcache.UNKNOWN) -> Any:
        if not isinstance(value, bytes) or read:
            raise TypeError("values of the result cache are bytes")
        return super().store(value, read, key=key)

    def fetch(self, mode: int, filename: str | None, value: Any, read: bool) -> Any:
        if mode != diskcache.core.MODE_RAW:
            raise ValueError("a value of the result cache is no bytes")
        return super().fetch(mode, filename, value, read)


class ResultStore:
    """Results below `root/results-v1`. Whatever is wrong with an entry makes it a miss."""

    def __init__(self, root: Path) -> None:
        self._folder = root / _FOLDER
        self._cache = self._open()
        self._lock = threading.Lock()
        self._pending: dict[bytes, bytes] = {}
        self._flushed = time.monotonic()

    def get(self, key: str) -> ActionResult | None:
        name = bytes.fromhex(key)
        try:
            data = self._pending.get(name) or self._cache.get(name)
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

        A commit costs as much as a small action. Who waits longer calls `flush`.
        """
        with self._lock:
            self._pending[bytes.fromhex(key)] = msgspec.msgpack.encode(result)
            if made_of is not None:
                self._pending[_INGREDIENTS + bytes.fromhex(key)] = made_of.encode()
        if self.due:
            self.flush()

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
        with failures, self._cache.transact(retry=True):
            for name, data in pending.items():
                self._cache.set(name, data)
        with self._lock:
            for name in pending:
                self._pending.pop(name, None)

    def remove(self, keys: Collection[bytes]) -> None:
        """Forget the results of `keys` and what those were made of."""
        with self._cache.transact(retry=True):
            for key in keys:
                self._cache.delete(key, retry=True)
                self._cache.delete(_INGREDIENTS + key, retry=True)

    def close(self) -> None:
        self.flush()
        with contextlib.suppress(sqlite3.Error):
            self._cache.close()

    def _open(self) -> Any:
        for _ in range(2):
            try:
                return diskcache.Cache(
                    str(self._folder),
                    disk=_BytesDisk,
                    eviction_policy="none",
                    cull_limit=0,
                    size_limit=1 << 50,
                    disk_min_file_size=1 << 30,
                    timeout=10,
                )
            except (sqlite3.DatabaseError, ValueError, TypeError) as error:
                if _is_refused(error) or is_full(self._folder):
                    # Nothing is wrong with the index, and removing it would lose all results.
                    raise InfrastructureError(
                        f"could not open the cache in `{self._folder}`: {error}",
                        hint="is its disk full, or read-only? `OXIDE_CACHE` can name another",
                    ) from error
                # A damaged index holds nothing that cannot be made again.
                for file in self._folder.glob("cache.db*"):
                    with contextlib.suppress(OSError):
                        file.unlink()
            except OSError as error:
                raise InfrastructureError(
                    f"could not open the cache in `{self._folder}`: {error.strerror}"
                ) from error
        raise InfrastructureError(
            f"the cache in `{self._folder}` is damaged and could not be made anew",
            hint="remove that folder: everything in it can be made again",
        )


def _is_refused(error: Exception) -> bool:
    code = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF in _REFUSALS
