"""Blobs: files by the digest of their content."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import itertools
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import xxhash

from oxide_build.errors import InfrastructureError
from oxide_build.host.clock import settled
from oxide_build.host.files import new_file, write_new
from oxide_build.model.digest import Digest
from oxide_build.store.hashing import hash_file

_FOLDER = "blobs-v1"
_NAME_LENGTH = 64
_FICLONE = 0x40049409  # linux/fs.h: share extents until one side is written
# Read whole instead of checked first and copied then.
_SMALL_BYTES = 1 << 18
# How old the mark that a blob is needed may get before it is renewed; collectors believe it for an
# hour. Each mark makes those who remember the blob read it again.
_FRESH_NS = 1200 * 1_000_000_000
# What file systems give out space in.
_BLOCK_BYTES = 4096
# Tells the temporary files of this process apart.
_COUNTER = itertools.count()


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
    outside shares its bytes in a way that an edit could reach them. Its time of change (mtime) is
    when it was last taken or relied upon, which keeps collectors away for a while.
    """

    def __init__(self, root: Path) -> None:
        self._folder = root / _FOLDER
        self._text = str(self._folder)
        # SHA-256 -> mtime, ctime, size, inode of the blob when it was found right.
        self._checked: dict[str, tuple[int, int, int, int]] = {}
        # Sizes of the blobs that were added. A list, as workers add to it at the same time.
        self._added: list[int] = []
        # Where files that are to be taken may be made: on the same file system.
        self.staging = root / "tmp"

    @property
    def added_bytes(self) -> int:
        """What the blobs that this process added take of the disk."""
        return sum(disk_bytes(size) for size in self._added)

    def path(self, digest: Digest) -> Path:
        return self._folder / digest.sha256[:2] / digest.sha256

    def has(self, sha256: str, size_bytes: int) -> bool:
        """Whether a blob of that size is there; its content is checked when it is read."""
        try:
            # Text: joining a `Path` takes longer than the stat.
            return os.stat(f"{self._text}/{sha256[:2]}/{sha256}").st_size == size_bytes
        except OSError:
            return False

    def take(self, file: Path) -> Blob:
        """Move `file` into the store and return its identity.

        `file` should lie on the same file system; it is gone afterwards.
        """
        digest, guard = hash_file(file)
        target = self.path(digest)
        try:
            if self.has(digest.sha256, digest.size_bytes) and _touch(target):
                os.unlink(file)
            else:
                self._added.append(digest.size_bytes)
                target.parent.mkdir(parents=True, exist_ok=True)
                # A tool may have given it any time.
                os.utime(file)
                os.chmod(file, 0o555)  # noqa: S103 (the cache folder itself is 0700)
                try:
                    os.replace(file, target)
                except OSError as error:
                    if error.errno != errno.EXDEV:
                        raise
                    _move_in(file, target)
                    os.unlink(file)
        except OSError as error:
            raise InfrastructureError(
                f"could not store `{target}`: {error.strerror}",
                hint="is the disk of the cache full? `OXIDE_CACHE` can name another folder",
            ) from error
        return Blob(digest, guard)

    def checked(self, blob: Blob) -> Path:
        """The path of a blob whose content was read and found right.

        Read once a process, and again if the file changed since: who runs as root can write into
        a read-only file. Raises `DamagedBlob` after removing one that is wrong or missing. About
        0.05 s a GB. No collector takes it for a while, as an action may be about to read it.
        """
        path = self.path(blob.digest)
        state = _state(path)
        if state is not None and time.time_ns() - state[0] > _FRESH_NS and _touch(path):
            state = _state(path)
        if state is not None and self._checked.get(blob.digest.sha256) == state:
            return path
        read_ns = time.time_ns()
        if _guard(path) != blob.guard:
            self._checked.pop(blob.digest.sha256, None)
            with contextlib.suppress(OSError):
                path.unlink()
            raise DamagedBlob(blob.digest)
        if state is not None and settled(state[1], read_ns):
            self._checked[blob.digest.sha256] = state
        return path

    def copy_to(
        self, blob: Blob, target: str, *, mode: int = 0o644, staging: str | None = None
    ) -> None:
        """Put the content at `target` in one step; the folder must exist.

        A reader sees the old file or the whole new one, and a link at `target` is replaced, not
        followed. `staging` is a folder of the same file system to write in: one for many files is
        faster, as a file system may take 0.5 ms for the first file of a folder's own region.
        Raises `DamagedBlob`, `InfrastructureError`.
        """
        temporary = f"{staging or os.path.dirname(target)}/.tmp-{os.getpid()}-{next(_COUNTER)}"
        try:
            self.copy_new(blob, temporary, mode=mode)
            os.replace(temporary, target)
        except OSError as error:
            raise _unwritten(target, error) from error
        finally:
            with contextlib.suppress(OSError):
                os.unlink(temporary)

    def copy_new(self, blob: Blob, target: str, *, mode: int) -> None:
        """Make the file `target`, which must not exist, from the content.

        A copy, or a clone where the file system can: never a link, through which an edit would
        reach the store. Raises `DamagedBlob`, `OSError`.
        """
        if blob.digest.size_bytes <= _SMALL_BYTES:
            write_new(target, self._read(blob), mode=mode)
            return
        source = self.checked(blob)
        handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        try:
            _clone(source, handle)
            os.fchmod(handle, mode)
        finally:
            os.close(handle)

    def _read(self, blob: Blob) -> bytes:
        """The content of a small blob, read once and found right."""
        name = blob.digest.sha256
        path = f"{self._text}/{name[:2]}/{name}"
        try:
            with open(path, "rb", buffering=0) as file:
                data = file.read()
        except OSError:
            data = None
        if data is None or xxhash.xxh3_128_hexdigest(data) != blob.guard:
            with contextlib.suppress(OSError):
                os.unlink(path)
            raise DamagedBlob(blob.digest)
        return data


def blob_files(root: Path) -> Iterator[Path]:
    """Every blob of the cache at `root`; half-written ones have names that are no digests."""
    for folder in sorted((root / _FOLDER).glob("[0-9a-f][0-9a-f]")):
        yield from (path for path in folder.iterdir() if len(path.name) == _NAME_LENGTH)


def disk_bytes(size_bytes: int) -> int:
    """What a file of that size takes of a disk: whole blocks. Most blobs are smaller than one."""
    return -(-size_bytes // _BLOCK_BYTES) * _BLOCK_BYTES


def _touch(path: Path) -> bool:
    """Tell collectors that the blob is needed; False where it is gone."""
    try:
        os.utime(path, follow_symlinks=False)
    except FileNotFoundError:
        return False
    except OSError:
        pass
    return True


def _state(path: Path) -> tuple[int, int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


def _guard(path: Path) -> str | None:
    hasher = xxhash.xxh3_128()
    try:
        with open(path, "rb") as file:
            while chunk := file.read(1 << 20):
                hasher.update(chunk)
    except OSError:
        return None
    return hasher.hexdigest()


def _move_in(file: Path, target: Path) -> None:
    """From another file system, so that the blob still appears in one step."""
    with new_file(target, mode=0o555) as out, open(file, "rb") as data:
        shutil.copyfileobj(data, out, 1 << 20)


def _clone(source: Path, handle: int) -> None:
    with open(source, "rb") as data:
        try:
            fcntl.ioctl(handle, _FICLONE, data.fileno())
        except OSError:
            with open(handle, "wb", closefd=False) as out:
                shutil.copyfileobj(data, out, 1 << 20)


def _unwritten(target: str, error: OSError) -> InfrastructureError:
    return InfrastructureError(
        f"could not write `{target}`: {error.strerror}", hint="is the disk full, or read-only?"
    )
