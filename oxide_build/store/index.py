"""The index of results: opened without pickle, and told apart from what is no index of ours."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path
from typing import Any

import diskcache

from oxide_build.errors import InfrastructureError
from oxide_build.host.locks import held

FOLDER = "results-v1"
_DATABASE = "cache.db"

# sqlite.org/fileformat.html, section 1.3: how a database begins, three bytes that are the same in
# all of them, and where the user_version is.
_MAGIC = b"SQLite format 3\0"
_SAME_AT, _SAME = slice(21, 24), bytes((64, 32, 32))
_VERSION_AT = slice(60, 64)

# sqlite.org/rescode.html: what the machine said no to, whatever is in the file.
_MACHINE = {
    sqlite3.SQLITE_PERM: "no permission",
    sqlite3.SQLITE_BUSY: "another process keeps it locked",
    sqlite3.SQLITE_LOCKED: "another process keeps it locked",
    sqlite3.SQLITE_READONLY: "it cannot be written",
    sqlite3.SQLITE_IOERR: "the disk gave an error",
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened or written",
    sqlite3.SQLITE_NOMEM: "no memory is left",
}


class _BytesDisk(diskcache.Disk):  # type: ignore[misc]
    """diskcache's storage without pickle and without files: it unpickles whatever lies in the
    database (CVE-2025-69872), so ours refuses everything but bytes."""

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

    def remove(self, file_path: str) -> None:
        # Nothing of ours is in a file, so a name here was planted, and may lead anywhere.
        pass


def database(root: Path) -> Path:
    """The file of the index in the cache at `root`."""
    return root / FOLDER / _DATABASE


def open_index(root: Path) -> Any:
    """The index of the cache at `root`; a damaged one is made anew.

    Raises `InfrastructureError` where the machine refuses, or where another version made it. A
    disk that is full or read-only is no reason to throw an index away; a damaged one holds nothing
    that cannot be made again.
    """
    folder = root / FOLDER
    _check_version(folder / _DATABASE)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(sqlite3.DatabaseError, ValueError, TypeError):
            return _open(folder)
        # One process repairs; who waited finds a good index.
        with held(folder / ".lock"):
            with contextlib.suppress(sqlite3.DatabaseError, ValueError, TypeError):
                return _open(folder)
            _unlink(folder)
            return _open(folder)
    except OSError as error:
        raise InfrastructureError(
            f"could not open the cache in `{folder}`: {error.strerror}",
            hint="set `OXIDE_CACHE` to a folder that you may write",
        ) from error
    except (sqlite3.DatabaseError, ValueError, TypeError) as error:
        raise InfrastructureError(
            f"the cache in `{folder}` is damaged and could not be made anew: {error}",
            hint="remove that folder: everything in it can be made again",
        ) from error


def remake_index(root: Path) -> None:
    """Begin anew with an empty index, whatever is there; no build should run.

    Raises `OSError`, and `InfrastructureError` where the machine refuses.
    """
    folder = root / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    with held(folder / ".lock"):
        _unlink(folder)
        _open(folder).close()


def machine_trouble(error: BaseException) -> str | None:
    """What the machine refused, where `error` is about that and not about the file's content."""
    code = getattr(error, "sqlite_errorcode", None)
    # A file that ends too early, as one whose writer was killed may, is damaged: no disk's fault.
    if code is None or code == sqlite3.SQLITE_IOERR_SHORT_READ:
        return None
    return _MACHINE.get(code & 0xFF)


def _unlink(folder: Path) -> None:
    for file in folder.glob(f"{_DATABASE}*"):
        file.unlink(missing_ok=True)


def _open(folder: Path) -> Any:
    cache = None
    try:
        cache = diskcache.Cache(
            str(folder),
            disk=_BytesDisk,
            eviction_policy="none",
            cull_limit=0,
            size_limit=1 << 50,
            disk_min_file_size=1 << 30,
            timeout=10,
        )
        # A table of that name with other columns is found now, not by a build that stores nothing.
        cache._sql("SELECT key, raw, store_time, mode, filename, value FROM Cache LIMIT 0")
        return cache
    except sqlite3.DatabaseError as error:
        if cache is not None:
            cache.close()
        trouble = machine_trouble(error)
        if trouble is None:
            raise
        raise InfrastructureError(
            f"could not open the cache in `{folder}`: {trouble} ({error})",
            hint="make room or give permission, or name another folder in `OXIDE_CACHE`",
        ) from error


def _check_version(database: Path) -> None:
    try:
        with open(database, "rb") as file:
            head = file.read(_VERSION_AT.stop)
    except OSError:
        return
    version = int.from_bytes(head[_VERSION_AT], "big")
    if version and head.startswith(_MAGIC) and head[_SAME_AT] == _SAME:
        raise InfrastructureError(
            f"the index `{database}` was made by another version of oxide_build: its version is "
            f"{version}, and this one knows 0",
            hint="name another folder in `OXIDE_CACHE`, or remove the index: what is in the cache "
            "can be made again",
        )
