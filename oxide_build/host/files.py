"""Files written whole or not at all, and copies that share no bytes that could be changed."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from oxide_build.errors import InfrastructureError

# How the names of files begin that are being written.
UNFINISHED = ".tmp-"


@contextlib.contextmanager
def new_file(path: Path, *, mode: int) -> Iterator[BinaryIO]:
    """A file to write that appears at `path` when the block ends well, and else never.

    A reader sees the old file or the whole new one; a link at `path` is replaced, not followed.
    The folder must exist. Raises `OSError`.
    """
    temporary = f"{path.parent}/{UNFINISHED}{_random()}"
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fchmod(file.fileno(), mode)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def write_new(path: str, data: bytes, *, mode: int) -> None:
    """Make the file `path`, which must not exist, whatever the umask; raises `OSError`."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(handle, view) :]
        os.fchmod(handle, mode)
    finally:
        os.close(handle)


def write_atomic(path: Path, data: bytes, *, mode: int = 0o644) -> None:
    """Put `data` at `path` in one step, making its folder.

    Raises `InfrastructureError` on a full disk, missing permission and the like.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with new_file(path, mode=mode) as file:
            file.write(data)
    except OSError as error:
        raise InfrastructureError(
            f"could not write `{path}`: {error.strerror}", hint="is the disk full, or read-only?"
        ) from error


@contextlib.contextmanager
def scratch_folder(parent: Path, prefix: str) -> Iterator[Path]:
    """A new folder below `parent` that is gone afterwards, whatever happened inside."""
    try:
        parent.mkdir(parents=True, exist_ok=True)
        folder = parent / f"{prefix}{_random()}"
        folder.mkdir(mode=0o700)
    except OSError as error:
        raise InfrastructureError(
            f"could not make a folder in `{parent}`: {error.strerror}"
        ) from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _random() -> str:
    # Not `tempfile`: importing it takes longer than many a build.
    return os.urandom(8).hex()
