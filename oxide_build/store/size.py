"""How large a cache is, as far as that is known without looking."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from oxide_build.errors import InfrastructureError
from oxide_build.host.files import write_atomic
from oxide_build.store.blobs import blob_files

_FILE = "size-v1"


def add_size(cache: Path, added_bytes: int) -> int:
    """Count what a build added; returns the size.

    Two builds at once may lose one another's bytes; each collection counts anew.
    """
    path = cache / _FILE
    try:
        known = int(path.read_bytes())
    except (OSError, ValueError):
        known = sum(os.stat(file).st_size for file in blob_files(cache)) - added_bytes
    total = max(0, known + added_bytes)
    if added_bytes or not path.exists():
        set_size(cache, total)
    return total


def set_size(cache: Path, size_bytes: int) -> None:
    """Remember what was counted; a cache that cannot be written is counted again."""
    with contextlib.suppress(InfrastructureError):
        write_atomic(cache / _FILE, b"%d" % size_bytes)
