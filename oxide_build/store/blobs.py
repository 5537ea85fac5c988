"""Blobs: files by the digest of their content."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import xxhash

from oxide_build.errors import InfrastructureError
from oxide_build.host.files import new_file
from oxide_build.model.digest import Digest
from oxide_build.store.hashing import hash_file

_FOLDER = "blobs-v1"
_FICLONE = 0x40049409  # linux/fs.h: share extents until one side is written


class DamagedBlob(Exception):
    """A blob does not have the content that its name promises; it has been removed."""

    def __init__(self, digest: Digest) -> None:
        super().__init__(str(digest))
        self.digest = digest


@dataclass(frozen=True, slots=True)
class Blob:
    """A stored content: its identity and the xxh3-128 that a read is checked against."""

    digest: Digest
    guard: str


class BlobStore:
    """Content below `root/blobs-v1`, two hexadecimal digits a folder.

    A blob appears whole or not at all, is read-only, and is never changed afterwards. Nothing
    outside shares its bytes in a way that an edit could reach them.
    """

    def __init__(self, root: Path) -> None:
        self._folder = root / _FOLDER
        self._checked: set[str] = set()

    def path(self, digest: Digest) -> Path:
        return self._folder / digest.sha256[:2] / digest.sha256

    def has(self, digest: Digest) -> bool:
        """Whether a blob of the right size is there; its content is checked when it is read."""
        try:
            return os.stat(self.path(digest)).st_size == digest.size_bytes
        except OSError:
            return False

    def take(self, file: Path) -> Blob:
        """Move `file` into the store and return its identity.

        `file` should lie on the same file system; it is gone afterwards.
        """
        digest, guard = hash_file(file)
        target = self.path(digest)
        try:
            if self.has(digest):
                os.unlink(file)
            else:
                target.parent.mkdir(parents=True, exist_ok=True)
                os.chmod(file, 0o555)  # noqa: S103 (the cache folder itself is 0700)
                try:
                    os.replace(file, target)
                except OSError as error:
                    if error.errno != errno.EXDEV:
                        raise
                    _copy_new(file, target)
                    os.unlink(file)
        except OSError as error:
            raise InfrastructureError(
                f"could not store `{target}`: {error.strerror}",
                hint="is the disk of the cache full? `OXIDE_CACHE` can name another folder",
            ) from error
        return Blob(digest, guard)

    def checked(self, blob: Blob) -> Path:
        """The path of a blob whose content was read and found right, once a process.

        Raises `DamagedBlob` after removing one that is wrong or missing. About 0.05 s a GB.
        """
        path = self.path(blob.digest)
        if blob.digest.sha256 in self._checked:
            return path
        if _guard(path) != blob.guard:
            with contextlib.suppress(OSError):
                path.unlink()
            raise DamagedBlob(blob.digest)
        self._checked.add(blob.digest.sha256)
        return path

    def copy_to(self, blob: Blob, target: Path, *, mode: int = 0o644) -> None:
        """Put the content at `target` in one step, as a clone where the file system can."""
        source = self.checked(blob)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            _copy_new(source, target, mode=mode)
        except OSError as error:
            raise InfrastructureError(f"could not write `{target}`: {error.strerror}") from error


def _guard(path: Path) -> str | None:
    hasher = xxhash.xxh3_128()
    try:
        with open(path, "rb") as file:
            while chunk := file.read(1 << 20):
                hasher.update(chunk)
    except OSError:
        return None
    return hasher.hexdigest()


def _copy_new(source: Path, target: Path, *, mode: int = 0o555) -> None:
    with new_file(target, mode=mode) as out, open(source, "rb") as data:
        try:
            fcntl.ioctl(out.fileno(), _FICLONE, data.fileno())
        except OSError:
            shutil.copyfileobj(data, out, 1 << 20)
