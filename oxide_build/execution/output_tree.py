"""`oxide-out`: where the outputs of targets lie for people to find."""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path

from oxide_build.errors import InfrastructureError
from oxide_build.execution.output_record import STAGING
from oxide_build.host.claims import ClaimedFolder, claim, replace_file, sweep
from oxide_build.model.action import OUTPUT_ROOT
from oxide_build.store.blobs import Blob, BlobStore
from oxide_build.store.file_states import FileStates

# Tells backup programs that everything here can be made again (https://bford.info/cachedir/).
_CACHEDIR_TAG = b"Signature: 8a477f597d28d172789f06886806bc55\n# Made by oxide_build.\n"


@dataclass(frozen=True, slots=True)
class OutputTree:
    """The folder `oxide-out` of a workspace.

    `folders` are those that were seen, by this process, to be folders and no links.
    """

    root: Path
    blobs: BlobStore
    states: FileStates
    folders: set[str] = field(default_factory=set, compare=False)
    _claims: list[ClaimedFolder] = field(default_factory=list, compare=False)

    def put(self, path: str, blob: Blob, *, mode: int) -> bool:
        """Make the file at `path` (below `oxide-out/`) have this content, and `mode` if written.

        Returns whether it had to be written. A file that someone changed is put right. `finish`
        must be called after the last.
        """
        folder = path.rpartition("/")[0]
        if folder not in self.folders:
            self._check_folders(folder)
        if self.states.digest(path) == blob.digest:
            return False
        target = f"{self.root}/{path}"
        if folder not in self.folders:
            self._make_folder(folder)
        if os.path.isdir(target) and not os.path.islink(target):
            _remove_folder(target)
        began_ns = time.time_ns()
        self.blobs.copy_to(blob, target, mode=mode, staging=self._staging())
        self.states.written(path, blob.digest, began_ns)
        return True

    def finish(self) -> None:
        """Remove the folder that new files were written in, and those that killed builds left."""
        while self._claims:
            self._claims.pop().remove()
        if not os.path.islink(self.root / OUTPUT_ROOT):
            sweep(self.root / OUTPUT_ROOT, STAGING)

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
        try:
            shutil.rmtree(folder)
        except OSError as error:
            raise InfrastructureError(
                f"could not remove `{folder}`: {error.strerror}",
                hint="does a build run in this workspace? then clean when it has ended",
            ) from error
        return True

    def _staging(self) -> str:
        if not self._claims:
            self._mark()
            try:
                self._claims.append(claim(self.root / OUTPUT_ROOT, STAGING))
            except OSError as error:
                raise _unmade(self.root / OUTPUT_ROOT, error) from error
        return self._claims[0].path

    def _make_folder(self, folder: str) -> None:
        place = self.root / folder
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _unmade(place, error) from error
        self.folders.add(folder)

    def _mark(self) -> None:
        folder = self.root / OUTPUT_ROOT
        if not (folder / "CACHEDIR.TAG").exists():
            replace_file(folder / ".gitignore", b"*\n", STAGING)
            replace_file(folder / "CACHEDIR.TAG", _CACHEDIR_TAG, STAGING)

    def _check_folders(self, folder: str) -> None:
        """No part of the way may be a link: nothing is written outside the workspace."""
        place = str(self.root)
        for part in folder.split("/"):
            place = f"{place}/{part}"
            if os.path.islink(place):
                raise InfrastructureError(
                    f"`{os.path.relpath(place, self.root)}` is a symbolic link, so its files would "
                    "be written somewhere else",
                    hint="remove the link",
                )
            if not os.path.isdir(place):
                _remove_file(place)
                return
        self.folders.add(folder)


def _remove_file(place: str) -> None:
    """Remove a file where a folder belongs; another build may have made the folder meanwhile."""
    try:
        os.unlink(place)
    except (FileNotFoundError, IsADirectoryError):
        pass
    except OSError as error:
        raise _unmade(Path(place), error) from error


def _remove_folder(place: str) -> None:
    """Remove a folder where a file belongs; another build may be doing the same."""
    try:
        shutil.rmtree(place)
    except OSError as error:
        if os.path.isdir(place):
            raise InfrastructureError(
                f"could not remove the folder `{place}`, where a file belongs: {error.strerror}",
                hint="remove it yourself",
            ) from error


def _unmade(place: Path, error: OSError) -> InfrastructureError:
    return InfrastructureError(
        f"could not make a folder at `{place}`: {error.strerror}",
        hint="is the disk full, or read-only?",
    )
