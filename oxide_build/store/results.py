"""Action results: cache key -> what the action left."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path
from typing import Any

import diskcache
import msgspec

from oxide_build.errors import InfrastructureError
from oxide_build.model.digest import Digest
from oxide_build.store.blobs import Blob

_FOLDER = "results-v1"


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

    def get(self, key: str) -> ActionResult | None:
        try:
            data = self._cache.get(bytes.fromhex(key))
            return None if data is None else msgspec.msgpack.decode(data, type=ActionResult)
        except (sqlite3.Error, OSError, ValueError, TypeError, msgspec.MsgspecError):
            return None

    def put(self, key: str, result: ActionResult) -> None:
        """Keep `result`. A cache that cannot be written is no reason to fail a build."""
        with contextlib.suppress(sqlite3.Error, OSError):
            self._cache.set(bytes.fromhex(key), msgspec.msgpack.encode(result))

    def close(self) -> None:
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
            except (sqlite3.DatabaseError, ValueError, TypeError):
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
