"""When results were last used, remembered for sets of keys instead of for each key.

A build that uses the same results as the one before touches one file. That file is touched when a
build begins, too, which keeps what it will most likely need from being removed meanwhile.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import xxhash

from oxide_build.errors import InfrastructureError
from oxide_build.host.files import write_atomic

_FOLDER = "uses-v1"
KEY_BYTES = 32


class Uses:
    """The uses of one workspace's builds, below `cache`; what cannot be written is forgotten."""

    def __init__(self, cache: Path, workspace: str) -> None:
        self._folder = cache / _FOLDER
        self._workspace = workspace

    def begin(self) -> None:
        """A build begins: what the last one used is likely to be used again. One `utime`."""
        files = self._folder.glob(f"{self._workspace}-*")
        with contextlib.suppress(OSError, ValueError):
            os.utime(max(files, key=lambda path: path.stat().st_mtime_ns))

    def end(self, keys: Iterable[str]) -> None:
        """A build used the results of `keys`, or made them."""
        data = b"".join(sorted({bytes.fromhex(key) for key in keys}))
        if not data:
            return
        path = self._folder / f"{self._workspace}-{xxhash.xxh3_128_hexdigest(data)}"
        try:
            os.utime(path)
        except OSError:
            with contextlib.suppress(InfrastructureError):
                write_atomic(path, data)


def last_uses(cache: Path) -> Iterator[tuple[Path, float, list[bytes]]]:
    """Every set that is remembered: its file, when it was last used (unix s), its keys."""
    for path in sorted((cache / _FOLDER).glob("*-*")):
        with contextlib.suppress(OSError):
            used_s = path.stat().st_mtime
            data = path.read_bytes()
            ends = range(KEY_BYTES, len(data) + 1, KEY_BYTES)
            yield path, used_s, [data[end - KEY_BYTES : end] for end in ends]
