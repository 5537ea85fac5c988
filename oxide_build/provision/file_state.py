"""What was found out about files, kept until one of them changes.

A file's state is (mtime_ns, ctime_ns, size, inode), which costs one stat. A file that changed so
shortly before it was read that a second change could bear the same time is never remembered as
unchanged: its state is kept as None and it is read again.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oxide_build.errors import InfrastructureError
from oxide_build.host import clock
from oxide_build.host.files import write_atomic

# [mtime_ns, ctime_ns, size, inode]; None compares unequal to everything.
State = list[int] | None

_FORMAT = 2


def state_of(path: str) -> State:
    """The state of the file that `path` leads to; None if there is none.

    Of a folder only the times and the inode of its list of names count.
    """
    try:
        found = os.stat(path)
    except OSError:
        return None
    if stat.S_ISDIR(found.st_mode):
        # A rename of the folder itself changes its ctime, not the names in it.
        return [found.st_mtime_ns, 0, 0, found.st_ino]
    return [found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino]


def settled(state: State, now_ns: int) -> State:
    """`state`, or None if a change at `now_ns` could leave it as it is."""
    if state is None:
        return None
    # Every change sets the ctime, whatever is done to the mtime; of folders only that is kept.
    return state if clock.settled(state[1] or state[0], now_ns) else None


def unchanged(states: Mapping[str, State]) -> bool:
    """Whether every file is as it was; one stat each, stops at the first that is not."""
    return all(state is not None and state_of(path) == state for path, state in states.items())


def states_of(paths: Iterable[str], now_ns: int) -> dict[str, State]:
    """The settled states of `paths`, to be kept with what is then read from them."""
    return {path: settled(state_of(path), now_ns) for path in paths}


@dataclass(frozen=True, slots=True)
class Notebook:
    """Small JSON documents in `folder`, by key. Losing one costs time, never correctness."""

    folder: Path

    def read(self, key: str) -> dict[str, Any]:
        """The document of `key`; {} if there is none or it cannot be read."""
        try:
            data = json.loads(self._path(key).read_bytes())
        except (OSError, ValueError):
            return {}
        if not isinstance(data, dict) or data.get("format") != _FORMAT or data.get("key") != key:
            return {}
        return data

    def write(self, key: str, data: Mapping[str, Any]) -> None:
        """Keep `data`; a folder that cannot be written is as good as one that forgets."""
        text = json.dumps({**data, "format": _FORMAT, "key": key}, separators=(",", ":"))
        try:
            write_atomic(self._path(key), text.encode())
        except InfrastructureError:
            return

    def _path(self, key: str) -> Path:
        return self.folder / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"
