"""Folders of one process, and what is left of them when it was killed.

A process number tells nothing where several containers share a folder: each counts its own, and
sees the numbers of the others as free. A lock on the folder itself ends with the process, however
it ends, and holds between containers of one machine.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from oxide_build.errors import InfrastructureError
from oxide_build.host.files import write_new


@dataclass(frozen=True, slots=True)
class ClaimedFolder:
    """A new folder that others leave alone as long as this process lives."""

    path: str
    handle: int

    def remove(self) -> None:
        """Remove the folder and what is in it; what cannot be removed is left to `sweep`."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self.handle)


def claim(parent: Path, prefix: str) -> ClaimedFolder:
    """Make a folder below `parent` whose name begins with `prefix`; raises `OSError`."""
    parent.mkdir(parents=True, exist_ok=True)
    while True:
        path = f"{parent}/{prefix}{os.urandom(6).hex()}"
        os.mkdir(path, 0o700)
        handle = None
        with contextlib.suppress(FileNotFoundError):
            handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        if handle is None:
            continue
        # Between the two calls above it belonged to nobody, and somebody may be sweeping.
        if _locked(handle) is not False and os.path.exists(path):
            return ClaimedFolder(path, handle)
        os.close(handle)


def sweep(parent: Path, prefix: str) -> None:
    """Remove the folders that processes which are gone have claimed below `parent`."""
    try:
        names = os.listdir(parent)
    except OSError:
        return
    for name in names:
        if not name.startswith(prefix):
            continue
        path = f"{parent}/{name}"
        try:
            handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            if _locked(handle):
                shutil.rmtree(path, ignore_errors=True)
        finally:
            os.close(handle)


def replace_file(path: Path, data: bytes, prefix: str) -> None:
    """Put `data` at `path` in one step, from a claimed folder beside it.

    Unlike `write_atomic` it leaves nothing behind that `sweep` would not find. Raises
    `InfrastructureError`.
    """
    try:
        folder = claim(path.parent, prefix)
        try:
            write_new(f"{folder.path}/new", data, mode=0o644)
            os.replace(f"{folder.path}/new", path)
        finally:
            folder.remove()
    except OSError as error:
        raise InfrastructureError(
            f"could not write `{path}`: {error.strerror}", hint="is the disk full, or read-only?"
        ) from error


@contextlib.contextmanager
def exclusive(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder that exists, waiting for it; without, where there are no locks."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        yield
        return
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _locked(handle: int) -> bool | None:
    """Whether the lock could be had; None where the file system has no locks on folders."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True
