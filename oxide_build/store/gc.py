"""Removing what nobody used for long, and what does not fit, least recently used first."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from oxide_build.host.locks import held
from oxide_build.store.blobs import blob_files, disk_bytes
from oxide_build.store.inventory import Inventory, StoredResult, read_results, take_inventory
from oxide_build.store.rows import ResultRows
from oxide_build.store.tally import Size, Tally
from oxide_build.store.uses import forget_uses, used_since

# What was made or used so recently is kept: a build that runs may be relying on it.
GRACE_S = 3600.0
_DAY_S = 86_400.0
# A full cache is brought down to this share, so that the next build does not collect again.
_TARGET = 0.9
# Folders of small files that only make things faster, or tell what happened. Their own time is
# when they were last of use.
_ASIDE = ("file-states-v1", "snapshots-v1", "history-v1", "logs-v1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How large a cache may be, and how long a result may lie unused."""

    max_bytes: int
    max_age_days: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GcReport:
    """What was removed, and what is left; `over` tells that this is more than the limit, all of it
    in use within the grace."""

    results: int
    blobs: int
    freed_bytes: int
    left_bytes: int
    over: bool


def collect_garbage(
    cache: Path, limits: Limits, *, dry_run: bool = False, grace_s: float = GRACE_S
) -> GcReport | None:
    """Bring the cache within `limits`; None where another process is at it.

    Results go before the blobs that only they name, so that being killed in between leaves blobs
    without results, which the next time removes. Whatever is removed too early costs a build one
    more run of an action. Raises `OSError`, and `InfrastructureError` where the index cannot be
    read.
    """
    with held(cache / "gc.lock", wait=False) as mine:
        if not mine:
            return None
        return _collect(cache, limits, time.time(), dry_run=dry_run, grace_s=grace_s)


def _collect(cache: Path, limits: Limits, now: float, *, dry_run: bool, grace_s: float) -> GcReport:
    found = take_inventory(cache, now)
    gone = _to_go(found, limits, now, grace_s)
    broken = [row for row in found.broken if row.stored_s < now - grace_s]
    if dry_run:
        kept: Iterable[StoredResult] = (r for r in found.results if r.key not in gone)
    else:
        # A build that began since has touched the set of what it is about to use.
        gone -= used_since(cache, now - grace_s) if grace_s > 0 else set()
        going = [stored for stored in found.results if stored.key in gone]
        ResultRows(cache).remove([*broken, *(row for stored in going for row in stored.rows)])
        # Read again: results that came meanwhile may name blobs of those that went.
        kept, _ = read_results(cache, now)
    named = {output.sha256 for stored in kept for output in stored.result.outputs}
    removed, freed = _remove_blobs(cache, named, now - grace_s, dry_run=dry_run)
    freed += sum(row.size_bytes for row in broken)
    freed += sum(row.size_bytes for r in found.results if r.key in gone for row in r.rows)
    left = max(0, found.size_bytes - freed)
    over = left > limits.max_bytes
    if not dry_run:
        oldest = now - limits.max_age_days * _DAY_S
        forget_uses(cache, oldest)
        _remove_halves(cache, now - grace_s)
        _remove_aside(cache, oldest)
        Tally(cache).measured(Size(left, now, over))
    return GcReport(results=len(gone), blobs=removed, freed_bytes=freed, left_bytes=left, over=over)


def _to_go(found: Inventory, limits: Limits, now: float, grace_s: float) -> set[bytes]:
    """The keys of the results to remove: those too old, then the least recently used."""
    oldest = now - limits.max_age_days * _DAY_S
    pinned = now - grace_s
    gone = {each.key for each in found.results if each.used_s < min(oldest, pinned)}
    users: dict[str, int] = {}
    total = 0
    for stored in found.results:
        if stored.key not in gone:
            total += sum(row.size_bytes for row in stored.rows)
            for output in stored.result.outputs:
                users[output.sha256] = users.get(output.sha256, 0) + 1
    total += sum(disk_bytes(found.blobs[name][0]) for name in users if name in found.blobs)
    if total <= limits.max_bytes:
        return gone
    for stored in sorted(found.results, key=lambda each: each.used_s):
        if total <= limits.max_bytes * _TARGET or stored.used_s > pinned:
            break
        if stored.key in gone:
            continue
        gone.add(stored.key)
        total -= sum(row.size_bytes for row in stored.rows)
        for output in stored.result.outputs:
            users[output.sha256] -= 1
            if not users[output.sha256] and output.sha256 in found.blobs:
                total -= disk_bytes(found.blobs[output.sha256][0])
    return gone


def _remove_blobs(
    cache: Path, named: Collection[str], before: float, *, dry_run: bool
) -> tuple[int, int]:
    """Remove blobs without a result that nobody relied on since; their number and bytes."""
    removed = freed = 0
    for path in blob_files(cache):
        if path.name in named:
            continue
        with contextlib.suppress(OSError):
            state = os.stat(path, follow_symlinks=False)
            if state.st_mtime > before:
                continue
            if not dry_run:
                os.unlink(path)
            removed += 1
            freed += disk_bytes(state.st_size)
    return removed, freed


def _remove_aside(cache: Path, before: float) -> None:
    for name in _ASIDE:
        for folder, _, files in os.walk(cache / name):
            for file in files:
                with contextlib.suppress(OSError):
                    if os.stat(f"{folder}/{file}").st_mtime < before:
                        os.unlink(f"{folder}/{file}")


def _remove_halves(cache: Path, before: float) -> None:
    """Remove what killed processes had half written."""
    for path in cache.glob("*-v1/**/.tmp-*"):
        with contextlib.suppress(OSError):
            if path.stat().st_mtime < before:
                path.unlink()
