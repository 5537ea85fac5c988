"""When results were last used, remembered for sets of keys instead of for each key.

A build that uses the same results as the one before touches one file. That file is touched when a
build begins, too, which keeps what it will most likely need from being removed meanwhile.

Layout: `uses-v1/WORKSPACE-DIGEST` holds the keys, 32 bytes each and sorted; its name has the
digest of that content, its mtime is when they were last used. A workspace in which somebody edits
makes a set with each edit. Past a number of them the older ones of a day become one, their union,
used when the newest of them was: never earlier than is true.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import xxhash

from oxide_build.errors import InfrastructureError
from oxide_build.host.files import UNFINISHED, write_atomic

_FOLDER = "uses-v1"
_DAY_S = 86_400.0
KEY_BYTES = 32
# Sets of one workspace that stay as they are when older ones are united, and how many of those
# there may be beyond one a day before they are.
_RECENT = 8
_SLACK = 8


@dataclass(frozen=True, slots=True, order=True)
class _Set:
    """A set of keys: when it was last used (unix s), where it lies."""

    used_s: float
    path: str


class Uses:
    """The uses of one workspace's builds, below `cache`; what cannot be written is forgotten."""

    def __init__(self, cache: Path, workspace: str) -> None:
        self._folder = cache / _FOLDER
        self._prefix = f"{workspace}-"

    def begin(self) -> None:
        """A build begins: what the last one used is likely to be used again. One listing."""
        found = _sets(self._folder, self._prefix)
        if found:
            _touch(found[-1].path)

    def end(self, keys: Iterable[str]) -> None:
        """A build used the results of `keys`, or made them. About 10 ms for 10,000."""
        data = b"".join(sorted({bytes.fromhex(key) for key in keys}))
        if not data:
            return
        path = self._path(data)
        if _touch(str(path)):
            return
        with contextlib.suppress(InfrastructureError, OSError):
            write_atomic(path, data)
            self._unite_older(time.time())

    def _unite_older(self, now: float) -> None:
        older = _sets(self._folder, self._prefix)[:-_RECENT]
        days = [list(each) for _, each in itertools.groupby(older, lambda s: s.used_s // _DAY_S)]
        if len(older) < len(days) + _SLACK:
            return
        for day in days:
            if len(day) > 1:
                self._unite(day, now)

    def _unite(self, sets: Collection[_Set], now: float) -> None:
        data = b"".join(sorted({key for each in sets for key in _keys(each.path)}))
        path = self._path(data)
        newest_s = min(max(each.used_s for each in sets), now)
        parts = {each.path for each in sets} - {str(path)}
        # The union is there, with its time, before its parts go: who is killed between loses none.
        if not path.exists():
            write_atomic(path, data)
        os.utime(path, (newest_s, newest_s))
        for part in parts:
            os.unlink(part)

    def _path(self, data: bytes) -> Path:
        return self._folder / f"{self._prefix}{xxhash.xxh3_128_hexdigest(data)}"


def last_uses(cache: Path, now: float) -> dict[bytes, float]:
    """Every key that is remembered, and when it was last used (unix s, not after `now`)."""
    found: dict[bytes, float] = {}
    for each in reversed(_sets(cache / _FOLDER)):
        used_s = min(each.used_s, now)
        for key in _keys(each.path):
            found.setdefault(key, used_s)
    return found


def used_since(cache: Path, since: float) -> set[bytes]:
    """The keys that were used at that time (unix s) or later."""
    recent = (each for each in _sets(cache / _FOLDER) if each.used_s >= since)
    return {key for each in recent for key in _keys(each.path)}


def forget_uses(cache: Path, before: float) -> None:
    """Remove what was last used before that time (unix s), and what is no set."""
    for each in _sets(cache / _FOLDER):
        if each.used_s < before or _content(each.path) is None:
            with contextlib.suppress(OSError):
                os.unlink(each.path)


def _sets(folder: Path, prefix: str = "") -> list[_Set]:
    """Those whose names begin so, the least recently used first."""
    found = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(prefix) and not entry.name.startswith(UNFINISHED):
                with contextlib.suppress(OSError):
                    found.append(_Set(entry.stat(follow_symlinks=False).st_mtime, entry.path))
    return sorted(found)


def _touch(path: str) -> bool:
    try:
        os.utime(path, follow_symlinks=False)
    except OSError:
        return False
    return True


def _content(path: str) -> bytes | None:
    """The file's content if it is the set that its name says."""
    try:
        data = Path(path).read_bytes()
    except OSError:
        return None
    named = path.endswith(f"-{xxhash.xxh3_128_hexdigest(data)}")
    return data if named and len(data) % KEY_BYTES == 0 else None


def _keys(path: str) -> Iterator[bytes]:
    data = _content(path) or b""
    for at in range(0, len(data), KEY_BYTES):
        yield data[at : at + KEY_BYTES]
