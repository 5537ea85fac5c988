"""About how large the cache is, known without walking over it."""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path

from oxide_build.errors import InfrastructureError
from oxide_build.host.files import write_atomic

_FILE = "size-v1"
# A file with this many bytes of additions is written anew as their sum.
_LONG_BYTES = 1 << 16
_DAY_S = 86_400.0
_REST_S = 600.0
# The file has whole seconds.
_SKEW_S = 1.0


@dataclass(frozen=True, slots=True)
class Size:
    """`total_bytes` by what was added since it was measured at `measured_s` (seconds).

    `over` tells that the collector could not bring it below the limit then.
    """

    total_bytes: int
    measured_s: float
    over: bool


class Tally:
    """The file `root/size-v1`: a line with what was measured, then one for each addition.

    A line is appended in one write, so builds that end together lose nothing. A build that was
    killed counts nothing, so the number is low by a little until the next measurement.
    """

    def __init__(self, root: Path) -> None:
        self._path = root / _FILE

    def begin(self) -> None:
        """An empty cache need not be measured. A stat."""
        if not (self._path.parent / "blobs-v1").exists():
            with contextlib.suppress(InfrastructureError):
                self.measured(Size(0, time.time(), over=False))

    def due(self, max_bytes: int, now: float) -> bool:
        """Whether it is time to collect: there is too much, or the last time was a day ago, so that
        what became too old goes too. Where all is in recent use, collecting rests for a while."""
        size = self.read()
        if size is None or not -_SKEW_S <= now - size.measured_s < _DAY_S:
            return True
        rests = size.over and now - size.measured_s < _REST_S
        return size.total_bytes > max_bytes and not rests

    def read(self) -> Size | None:
        """None where nothing was ever measured, or the file says nothing."""
        try:
            first, *additions = self._path.read_bytes().split(b"\n")
            total, measured, over = first.split()
            size = int(total) + sum(int(line) for line in additions if line)
            return Size(size, int(measured), over == b"1")
        except (OSError, ValueError):
            return None

    def add(self, size_bytes: int) -> None:
        """Count what a build stored. A cache that cannot be written is no reason to fail it."""
        if not size_bytes:
            return
        with contextlib.suppress(OSError):
            # Without a first line there is nothing to add to: the next build measures.
            handle = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                os.write(handle, b"%d\n" % size_bytes)
                long = os.fstat(handle).st_size > _LONG_BYTES
            finally:
                os.close(handle)
            if long and (size := self.read()) is not None:
                self.measured(size)

    def measured(self, size: Size) -> None:
        """Begin anew; raises `InfrastructureError` where that cannot be written."""
        text = f"{size.total_bytes} {int(size.measured_s)} {int(size.over)}\n"
        write_atomic(self._path, text.encode(), mode=0o600)
