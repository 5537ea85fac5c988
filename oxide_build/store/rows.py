"""The rows of the index, for who looks after the cache: read all, remove some.

The database is opened beside the builds that use it and changed by SQL alone, never removed:
SQLite would delete the log of a new database when the last user of the old one leaves
(sqlite.org/howtocorrupt.html, section 2.4).
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from oxide_build.errors import InfrastructureError
from oxide_build.store.index import database, machine_trouble
from oxide_build.store.results import ActionResult

_KEY_BYTES = 32
# What a row takes beside key and value: its columns and its entry in two trees.
_ROW_BYTES = 150
# Rows removed in one transaction. Builds wait for it.
_BATCH = 500
_RAW = 1


class DamagedIndex(InfrastructureError):
    """The database is no database, or not one of results."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row. `key` is the result's, 32 bytes; `about` tells that the row is not the result but
    something noted about it, under a longer key that ends with the result's.

    result    None where the row is no result, or is one that cannot be read
    stored_s  when it was written (seconds)
    """

    number: int
    key: bytes
    about: bool
    stored_s: float
    size_bytes: int
    result: ActionResult | None


class ResultRows:
    """The rows below `root/results-v1`. Where there is no database there are none."""

    def __init__(self, root: Path) -> None:
        self._path = database(root)

    def read(self) -> Iterator[Row]:
        """Every row, about 3 µs each; raises `DamagedIndex`, `InfrastructureError`.

        A row that is none of ours (another type, a pickle) comes as one without a result.
        """
        with self._open() as connection:
            if connection is None:
                return
            columns = "rowid, key, raw, mode, store_time, value"
            for number, key, raw, mode, stored_s, value in connection.execute(
                f"SELECT {columns} FROM Cache"  # noqa: S608 (a constant)
            ):
                whole = raw == _RAW and mode == _RAW
                whole = whole and isinstance(key, bytes) and isinstance(value, bytes)
                yield _row(
                    number,
                    key if whole else b"",
                    stored_s if isinstance(stored_s, float) else 0.0,
                    value if whole else b"",
                )

    def remove(self, rows: Iterable[Row]) -> int:
        """Remove them, unless they were written again since; returns how many went."""
        wanted = [(row.number, row.stored_s) for row in rows]
        count = 0
        with self._open() as connection:
            if connection is None:
                return 0
            for at in range(0, len(wanted), _BATCH):
                connection.execute("BEGIN IMMEDIATE")
                for number, stored_s in wanted[at : at + _BATCH]:
                    count += connection.execute(
                        "DELETE FROM Cache WHERE rowid = ?"
                        " AND (store_time <= ? OR typeof(store_time) != 'real')",
                        (number, stored_s),
                    ).rowcount
                connection.execute("COMMIT")
            # Else the space stays in the log until the last build has ended.
            with contextlib.suppress(sqlite3.OperationalError):
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return count

    def clear(self) -> int:
        """Remove every row; returns how many there were."""
        with self._open() as connection:
            if connection is None:
                return 0
            count = connection.execute("DELETE FROM Cache").rowcount
            with contextlib.suppress(sqlite3.OperationalError):
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            return count

    def faults(self) -> Sequence[str]:
        """What SQLite finds wrong with the database itself; reads all of it.

        Raises `InfrastructureError` where the machine refuses.
        """
        try:
            with self._open() as connection:
                if connection is None:
                    return ()
                found = [str(line) for (line,) in connection.execute("PRAGMA quick_check(20)")]
                connection.execute("SELECT key, raw, mode, store_time, value FROM Cache LIMIT 0")
                return () if found == ["ok"] else found
        except DamagedIndex as error:
            return (error.message,)

    @contextlib.contextmanager
    def _open(self) -> Iterator[sqlite3.Connection | None]:
        if not self._path.exists():
            yield None
            return
        try:
            uri = f"{self._path.absolute().as_uri()}?mode=rw"
            connection = sqlite3.connect(uri, uri=True, timeout=10, isolation_level=None)
            with contextlib.closing(connection):
                yield connection
        except sqlite3.DatabaseError as error:
            trouble = machine_trouble(error)
            if trouble is None:
                raise DamagedIndex(
                    f"the index `{self._path}` is damaged: {error}",
                    hint="`oxide cache verify --repair` makes it anew",
                ) from error
            raise InfrastructureError(
                f"the index `{self._path}` could not be used: {trouble} ({error})"
            ) from error


def _row(number: int, key: bytes, stored_s: float, value: bytes) -> Row:
    about = len(key) > _KEY_BYTES
    result = None
    if len(key) == _KEY_BYTES:
        with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError):
            result = msgspec.msgpack.decode(value, type=ActionResult)
    size = len(key) + len(value) + _ROW_BYTES
    return Row(number, key[-_KEY_BYTES:], about, stored_s, size, result)
