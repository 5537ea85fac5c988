"""A second cache that others fill: it is read, checked, and never written."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
from pathlib import Path

import msgspec

from oxide_build.host.claims import claim
from oxide_build.model.digest import is_sha256
from oxide_build.store.blobs import BlobStore
from oxide_build.store.hashing import hash_file
from oxide_build.store.index import database
from oxide_build.store.results import ActionResult, ResultStore, StoredOutput
from oxide_build.store.shared_index import SharedIndex

# Of the folders of processes, as those in which actions run: builds remove what was left of them.
_PREFIX = "action-"


class SharedCache:
    """The cache at `root`, which may be another user's and may be changed by them at any time.

    Whatever is wrong in it is a miss; `complaint` is the first thing that was, for one warning. Its
    owner decides what it says that an action gives; that the bytes are the ones that it says is
    checked here.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._blobs = BlobStore(root)
        self._index: SharedIndex | None = None
        refusal = _refusal(root)
        self.complaint = ""
        if refusal is None:
            self._index = SharedIndex(root)
        else:
            self._complain(refusal)

    def fetch(self, key: str, blobs: BlobStore, results: ResultStore) -> ActionResult | None:
        """The result of `key` with its blobs copied into the own cache; None if it is not there.

        Every byte is compared with the SHA-256 that the result names before anything is kept.
        """
        result = self._result(key)
        if result is None:
            return None
        try:
            folder = claim(blobs.staging, _PREFIX)
            try:
                for number, output in enumerate(result.outputs):
                    if not self._copied(output, blobs, Path(folder.path, str(number))):
                        return None
            finally:
                folder.remove()
        except OSError as error:
            self._complain(f"a blob of {key[:12]}… cannot be copied: {error.strerror}")
            return None
        results.put(key, result)
        return result

    def close(self) -> None:
        if self._index is not None:
            self._index.close()
            self._index = None

    def _copied(self, output: StoredOutput, blobs: BlobStore, file: Path) -> bool:
        """Whether the own cache has the output's blob now; raises `OSError`."""
        name = output.sha256
        if not is_sha256(name):
            self._complain("a result names a blob by what is no digest")
            return False
        if blobs.has(output.sha256, output.size_bytes):
            return True
        _copy_regular(self._blobs.path(output.blob.digest), file)
        if hash_file(file) != (output.blob.digest, output.guard):
            self._complain(f"the blob {name[:12]}… has not the content that its name says")
            return False
        blobs.take(file)
        return True

    def _result(self, key: str) -> ActionResult | None:
        if self._index is None:
            return None
        try:
            data = self._index.get(bytes.fromhex(key))
        except (sqlite3.Error, OSError) as error:
            # To ask again for each of 10,000 actions would only be slow.
            self.close()
            self._complain(f"its index cannot be read: {error}")
            return None
        try:
            return None if data is None else msgspec.msgpack.decode(data, type=ActionResult)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            self._complain(f"the result of {key[:12]}… is damaged")
            return None

    def _complain(self, what: str) -> None:
        self.complaint = self.complaint or f"the shared cache `{self._root}`: {what}"


def _refusal(root: Path) -> str | None:
    """Why nothing is taken from `root`: whoever can write there decides what builds make."""
    place = Path(os.path.realpath(root))
    try:
        for inside in (place, place / "blobs-v1", database(place).parent, database(place)):
            if os.stat(inside).st_mode & stat.S_IWOTH:
                return f"everybody may write to `{inside}`, so it is not used"
        for above in place.parents:
            mode = os.stat(above).st_mode
            if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
                return f"everybody may replace it, as `{above}` is open to all, so it is not used"
        os.close(os.open(database(place), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC))
    except OSError as error:
        return f"it cannot be read: {error.strerror} (`{error.filename}`)"
    return None


def _copy_regular(source: Path, target: Path) -> None:
    """Copy a file, but neither follow a link nor wait for a pipe; raises `OSError`."""
    handle = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(handle, "rb") as data:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(0, "it is no regular file")
        with open(target, "xb") as out:
            shutil.copyfileobj(data, out, 1 << 20)
