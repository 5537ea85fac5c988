"""Room on a disk."""

from __future__ import annotations

import errno
import os
from pathlib import Path

# What tools print when a write failed for want of room; their locale is always C.
_SAID = (os.strerror(errno.ENOSPC), os.strerror(errno.EDQUOT))


def is_full(folder: Path) -> bool:
    """Whether not one block, or not one file more, fits on the disk of `folder`.

    A few microseconds. Quotas are not seen.
    """
    try:
        found = os.statvfs(folder)
    except OSError:
        return False
    root = os.geteuid() == 0
    blocks = found.f_bfree if root else found.f_bavail
    files = found.f_ffree if root else found.f_favail
    # File systems without a limit on files say that there are none at all.
    return blocks == 0 or (found.f_files > 0 and files == 0)


def says_full(text: str) -> bool:
    """Whether a tool's output tells of a full disk or quota."""
    return any(said in text for said in _SAID)
