"""What lies in a cache: results, blobs, their sizes and last uses. Reads everything there is."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from oxide_build.store.blobs import blob_files, disk_bytes
from oxide_build.store.results import ActionResult
from oxide_build.store.rows import ResultRows, Row
from oxide_build.store.uses import last_uses


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredResult:
    """A result in the index, with its row and those of what was noted about it; `used_s` is when a
    build last used it or made it (unix s)."""

    key: bytes
    result: ActionResult
    used_s: float
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """`blobs` maps a digest to (size in bytes, when it was last taken or relied upon, unix s);
    `broken` are the rows of the index that belong to no result that can be read."""

    results: tuple[StoredResult, ...]
    blobs: Mapping[str, tuple[int, float]]
    broken: tuple[Row, ...]

    @property
    def size_bytes(self) -> int:
        """What blobs and index take of the disk."""
        rows = sum(row.size_bytes for stored in self.results for row in stored.rows)
        rows += sum(row.size_bytes for row in self.broken)
        return rows + sum(disk_bytes(size) for size, _ in self.blobs.values())


def take_inventory(cache: Path, now: float) -> Inventory:
    """Everything in the cache at `cache`; about 1 s for 100,000 results.

    Raises `InfrastructureError` where the index cannot be read: a part of it would make blobs look
    as if nobody needed them. Nothing seems to be used later than `now`.
    """
    results, broken = read_results(cache, now)
    blobs = {}
    for path in blob_files(cache):
        with contextlib.suppress(OSError):
            state = os.stat(path)
            blobs[path.name] = (state.st_size, state.st_mtime)
    return Inventory(results=results, blobs=blobs, broken=broken)


def read_results(cache: Path, now: float) -> tuple[tuple[StoredResult, ...], tuple[Row, ...]]:
    """The results of the index, and the rows that belong to none; as `take_inventory`."""
    used = last_uses(cache, now)
    found: dict[bytes, tuple[Row, ActionResult]] = {}
    notes: dict[bytes, list[Row]] = {}
    broken = []
    for row in ResultRows(cache).read():
        if row.result is not None:
            found[row.key] = (row, row.result)
        elif row.about:
            notes.setdefault(row.key, []).append(row)
        else:
            broken.append(row)
    results = tuple(
        StoredResult(
            key=key,
            result=result,
            used_s=max(min(row.stored_s, now), used.get(key, 0.0)),
            rows=(row, *notes.pop(key, ())),
        )
        for key, (row, result) in found.items()
    )
    return results, (*broken, *(row for rest in notes.values() for row in rest))
