"""Remembered digests of files, trusted as long as a file's state has not changed."""

from __future__ import annotations

import contextlib
import os
import stat
import time
from pathlib import Path

import msgspec

from oxide_build.errors import DefinitionError, InfrastructureError
from oxide_build.host import clock
from oxide_build.host.files import write_atomic
from oxide_build.model.digest import Digest
from oxide_build.store.hashing import hash_file

# Entries of other requests are kept up to this many and twice what the present one needs.
_SPARE_ENTRIES = 1000


class FileState(msgspec.Struct, frozen=True, array_like=True):
    """What a file was when it was hashed. Times in nanoseconds since the epoch."""

    mtime_ns: int
    ctime_ns: int
    size_bytes: int
    inode: int
    hashed_ns: int
    sha256: str

    def still(self, now: os.stat_result) -> bool:
        """Whether the file is certainly the one that was hashed."""
        same = (
            self.mtime_ns == now.st_mtime_ns
            and self.ctime_ns == now.st_ctime_ns
            and self.size_bytes == now.st_size
            and self.inode == now.st_ino
        )
        return same and clock.settled(self.ctime_ns, self.hashed_ns)


_Table = dict[str, FileState]


class FileStates:
    """Digests of files below `root`, kept in `table` between runs.

    Safe when `table` is missing, damaged or stale: it is only ever an accelerator.
    """

    def __init__(self, root: Path, table: Path) -> None:
        # Text: joining a `Path` takes longer than the stat that follows.
        self._root = f"{root}/"
        self._table_path = table
        self._table: _Table = _read(table)
        self._used: set[str] = set()
        self._required: dict[str, Digest] = {}
        self._dirty = False

    def digest(self, path: str) -> Digest | None:
        """Digest of the regular file at `path` (relative to the root), None where there is none."""
        full = self._root + path
        try:
            now = os.stat(full)
            if not stat.S_ISREG(now.st_mode):
                return None
            self._used.add(path)
            state = self._table.get(path)
            if state is not None and state.still(now):
                return Digest(state.sha256, state.size_bytes)
            hashed_ns = time.time_ns()
            digest, _ = hash_file(full)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InfrastructureError(f"could not read `{path}`: {error.strerror}") from error
        self._remember(path, digest, now, hashed_ns)
        return digest

    def require(self, path: str) -> Digest:
        """Digest of a source, which must be there; raises `DefinitionError`.

        The first answer stands as long as this object lives, so that all actions of a build are
        made for one state of each source; the copy that an action gets is compared with it.
        """
        digest = self._required.get(path)
        if digest is None:
            digest = self.digest(path)
            if digest is None:
                raise DefinitionError(f"the file `{path}` is gone, or is no regular file")
            self._required[path] = digest
        return digest

    def written(self, path: str, digest: Digest, began_ns: int) -> None:
        """Note that `path` has been given this content by a write that began at `began_ns`.

        What others did to the file since then has a later time, so that it is not taken for ours.
        """
        self._used.add(path)
        with contextlib.suppress(OSError):
            self._remember(path, digest, os.stat(self._root + path), began_ns)

    def used(self) -> dict[str, tuple[int, int, int, int]] | None:
        """Every file that was asked for: mtime, ctime (ns), size, inode.

        None if one of them changed so shortly before it was hashed that its state says nothing.
        """
        found = {}
        for path in self._used:
            state = self._table.get(path)
            if state is None or not clock.settled(state.ctime_ns, state.hashed_ns):
                return None
            found[path] = (state.mtime_ns, state.ctime_ns, state.size_bytes, state.inode)
        return found

    def save(self) -> None:
        """Write the table if it changed; forgets files that nobody asks for any more.

        A disk that has no room for it costs time, and is no reason to fail a build.
        """
        if not self._dirty:
            return
        if len(self._table) > _SPARE_ENTRIES + 2 * len(self._used):
            self._table = {path: self._table[path] for path in self._used if path in self._table}
        with contextlib.suppress(InfrastructureError):
            write_atomic(self._table_path, msgspec.msgpack.encode(self._table))
        self._dirty = False

    def _remember(self, path: str, digest: Digest, now: os.stat_result, hashed_ns: int) -> None:
        self._dirty = True
        self._table[path] = FileState(
            now.st_mtime_ns, now.st_ctime_ns, now.st_size, now.st_ino, hashed_ns, digest.sha256
        )


def _read(path: Path) -> _Table:
    try:
        return msgspec.msgpack.decode(path.read_bytes(), type=_Table)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return {}
