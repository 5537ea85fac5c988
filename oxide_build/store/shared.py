"""A second cache that others fill: it is read, checked, and never written."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from pathlib import Path

import msgspec

from oxide_build.host.files import scratch_folder
from oxide_build.store.blobs import BlobStore
from oxide_build.store.hashing import hash_file
from oxide_build.store.index import database
from oxide_build.store.results import ActionResult, ResultStore

_WORLD_WRITABLE = 0o002


class SharedCache:
    """The cache at `root`, which may be another user's and may be changed by them at any time.

    Whatever is wrong in it is a miss; `complaint` is the first thing that was, for one warning.
    Results are looked up without a lock and without making a file there.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._blobs = BlobStore(root)
        self._connection: sqlite3.Connection | None = None
        self.complaint = ""
        self._open()

    def fetch(self, key: str, blobs: BlobStore, results: ResultStore) -> ActionResult | None:
        """The result of `key` with its blobs copied into the own cache; None if it is not there.

        Every byte is compared with the SHA-256 that the result names before anything is kept.
        """
        result = self._result(key)
        if result is None:
            return None
        try:
            with scratch_folder(blobs.staging, "shared-") as folder:
                for number, output in enumerate(result.outputs):
                    if blobs.has(output.blob.digest):
                        continue
                    file = folder / str(number)
                    shutil.copyfile(self._blobs.path(output.blob.digest), file)
                    if hash_file(file) != (output.blob.digest, output.blob.guard):
                        self._complain(f"a blob of {key[:12]}… has not the content that it names")
                        return None
                    blobs.take(file)
        except OSError as error:
            self._complain(f"a blob of {key[:12]}… cannot be read: {error.strerror}")
            return None
        results.put(key, result)
        return result

    def close(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()

    def _open(self) -> None:
        try:
            mode = os.stat(self._root).st_mode
            if mode & _WORLD_WRITABLE:
                self._complain("everybody may write there, so it is not used")
                return
            # Immutable: SQLite takes no lock and makes no file beside it. What its owner writes
            # meanwhile may make a read fail, which is a miss.
            uri = f"file:{database(self._root)}?mode=ro&immutable=1"
            self._connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
        except OSError as error:
            self._complain(f"it cannot be read: {error.strerror}")
        except sqlite3.Error as error:
            self._complain(f"its index cannot be opened: {error}")

    def _result(self, key: str) -> ActionResult | None:
        if self._connection is None:
            return None
        try:
            row = self._connection.execute(
                "SELECT value FROM Cache WHERE key = ? AND raw = 1", (bytes.fromhex(key),)
            ).fetchone()
        except sqlite3.Error as error:
            self._complain(f"its index cannot be read: {error}")
            return None
        if row is None:
            return None
        try:
            return msgspec.msgpack.decode(row[0], type=ActionResult)
        except (msgspec.MsgspecError, TypeError, UnicodeDecodeError):
            self._complain(f"the result of {key[:12]}… is damaged")
            return None

    def _complain(self, what: str) -> None:
        self.complaint = self.complaint or f"the shared cache `{self._root}`: {what}"
