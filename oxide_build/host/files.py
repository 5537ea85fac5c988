"""Files written whole or not at all, and copies that share no bytes that could be changed."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from oxide_build.errors import InfrastructureError


def write_atomic(path: Path, data: bytes, *, mode: int = 0o644) -> None:
    """Put `data` at `path` in one step: a reader sees the old file or the new one.

    Raises `InfrastructureError` on a full disk, missing permission and the like.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".tmp-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                os.fchmod(file.fileno(), mode)
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)
            raise
    except OSError as error:
        raise InfrastructureError(f"could not write `{path}`: {error.strerror}") from error


@contextlib.contextmanager
def scratch_folder(parent: Path, prefix: str) -> Iterator[Path]:
    """A new folder below `parent` that is gone afterwards, whatever happened inside."""
    try:
        parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(dir=parent, prefix=prefix))
    except OSError as error:
        raise InfrastructureError(
            f"could not make a folder in `{parent}`: {error.strerror}"
        ) from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
