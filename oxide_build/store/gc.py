"""Removing what nobody used for long, and what does not fit, least recently used first."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from pathlib import Path

from oxide_build.store.blobs import blob_files
from oxide_build.store.inventory import Inventory, take_inventory
from oxide_build.store.results import ResultStore
from oxide_build.store.size import set_size
from oxide_build.store.uses import last_uses

# What was made or used so recently is kept: a build that runs may be relying on it.
GRACE_S = 3600.0
_DAY_S = 86_400.0
# A full cache is brought down to this share, so that the next build does not collect again.
_TARGET = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How large a cache may be, and how long a result may lie unused."""

    max_bytes: int
    max_age_days: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GcReport:
    """What was removed, and what is left."""

    results: int
    blobs: int
    freed_bytes: int
    left_bytes: int


def collect_garbage(
    cache: Path, limits: Limits, *, dry_run: bool = False, grace_s: float = GRACE_S
) -> GcReport | None:
    """Bring the cache within `limits`; None where another process is at it.

    Results go before the blobs that only they name, so that being killed in between leaves blobs
    without results, which the next time removes. Whatever is removed too early costs a build one
    more run of an action.
    """
    from filelock import FileLock, Timeout

    try:
        with FileLock(cache / "gc.lock", timeout=0):
            return _collect(cache, limits, time.time(), dry_run=dry_run, grace_s=grace_s)
    except Timeout:
        return None


def _collect(cache: Path, limits: Limits, now: float, *, dry_run: bool, grace_s: float) -> GcReport:
    found = take_inventory(cache)
    gone = _to_go(found, limits, now, grace_s)
    kept_blobs = {
        output.sha256
        for stored in found.results
        if stored.key not in gone
        for output in stored.result.outputs
    }
    if gone and not dry_run:
        results = ResultStore(cache)
        try:
            results.remove(gone)
        finally:
            results.close()
    removed = freed = 0
    for path in blob_files(cache):
        size, written_s = found.blobs.get(path.name, (0, now))
        if path.name in kept_blobs or written_s > now - grace_s:
            continue
        removed += 1
        freed += size
        if not dry_run:
            with contextlib.suppress(OSError):
                path.unlink()
    left = found.size_bytes - freed
    if not dry_run:
        _forget_uses(cache, now - limits.max_age_days * _DAY_S)
        _remove_halves(cache, now - grace_s)
        set_size(cache, left)
    return GcReport(results=len(gone), blobs=removed, freed_bytes=freed, left_bytes=left)


def _to_go(found: Inventory, limits: Limits, now: float, grace_s: float) -> set[bytes]:
    """The keys of the results to remove."""
    oldest = now - limits.max_age_days * _DAY_S
    pinned = now - grace_s
    gone = {each.key for each in found.results if each.used_s < min(oldest, pinned)}
    users: dict[str, int] = {}
    for stored in found.results:
        if stored.key not in gone:
            for output in stored.result.outputs:
                users[output.sha256] = users.get(output.sha256, 0) + 1
    total = sum(found.blobs[sha256][0] for sha256 in users if sha256 in found.blobs)
    if total <= limits.max_bytes:
        return gone
    for stored in sorted(found.results, key=lambda each: each.used_s):
        if total <= limits.max_bytes * _TARGET or stored.used_s > pinned:
            break
        if stored.key in gone:
            continue
        gone.add(stored.key)
        for output in stored.result.outputs:
            users[output.sha256] -= 1
            if not users[output.sha256] and output.sha256 in found.blobs:
                total -= found.blobs[output.sha256][0]
    return gone


def _forget_uses(cache: Path, oldest: float) -> None:
    for path, used_s, _ in last_uses(cache):
        if used_s < oldest:
            with contextlib.suppress(OSError):
                path.unlink()


def _remove_halves(cache: Path, oldest: float) -> None:
    """Remove what killed processes had half written."""
    for path in cache.glob("*-v1/**/.tmp-*"):
        with contextlib.suppress(OSError):
            if path.stat().st_mtime < oldest:
                path.unlink()
