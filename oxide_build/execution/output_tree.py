"""`oxide-out`: where the outputs of targets lie for people to find."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from oxide_build.errors import InfrastructureError
from oxide_build.host.files import write_atomic
from oxide_build.model.action import OUTPUT_ROOT
from oxide_build.store.blobs import Blob, BlobStore
from oxide_build.store.file_states import FileStates

# Tells backup programs that everything here can be made again (https://bford.info/cachedir/).
_CACHEDIR_TAG = b"Signature: 8a477f597d28d172789f06886806bc55\n# Made by oxide_build.\n"


@dataclass(frozen=True, slots=True)
class OutputTree:
    """The folder `oxide-out` of a workspace."""

    root: Path
    blobs: BlobStore
    states: FileStates

    def put(self, path: str, blob: Blob, *, mode: int) -> bool:
        """Make the file at `path` (below `oxide-out/`) have this content, and `mode` if written.

        Returns whether it had to be written. A file that someone changed is put right.
        """
        self._check_folders(path)
        if self.states.digest(path) == blob.digest:
            return False
        target = self.root / path
        if target.is_dir() and not target.is_symlink():
            shutil.rmtree(target)
        self._mark()
        self.blobs.copy_to(blob, target, mode=mode)
        self.states.written(path, blob.digest)
        return True

    def clean(self) -> bool:
        """Remove the whole folder; returns whether there was one."""
        folder = self.root / OUTPUT_ROOT
        if folder.is_symlink():
            raise InfrastructureError(
                f"`{OUTPUT_ROOT}` is a symbolic link, and what it points to may not be ours",
                hint="remove the link yourself",
            )
        if not folder.exists():
            return False
        shutil.rmtree(folder)
        return True

    def _mark(self) -> None:
        folder = self.root / OUTPUT_ROOT
        if not (folder / "CACHEDIR.TAG").exists():
            write_atomic(folder / "CACHEDIR.TAG", _CACHEDIR_TAG)
            write_atomic(folder / ".gitignore", b"*\n")

    def _check_folders(self, path: str) -> None:
        """No part of the way may be a link: nothing is written outside the workspace."""
        place = self.root
        for part in path.split("/")[:-1]:
            place = place / part
            if place.is_symlink():
                raise InfrastructureError(
                    f"`{os.path.relpath(place, self.root)}` is a symbolic link, so its files would "
                    "be written somewhere else",
                    hint="remove the link",
                )
            if place.exists() and not place.is_dir():
                place.unlink()
