"""A private folder for one action: its declared inputs, its tools, nothing else."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from oxide_build.errors import ActionFailed, InfrastructureError
from oxide_build.host.files import scratch_folder
from oxide_build.host.process import alive
from oxide_build.load.files import WorkspaceFiles
from oxide_build.model.action import OUTPUT_ROOT, Action
from oxide_build.model.digest import Digest
from oxide_build.model.toolchain import ToolTree
from oxide_build.store.blobs import Blob, BlobStore

# A folder's name has the process that made it, so that what a killed one left can be told.
_PREFIX = "action-"

# Every input may be run: the execute bit of a source then changes nothing, so that it need not be
# part of the key.
_MODE = 0o755

# Inputs of this size and more are shown through a link to the read-only blob instead of a copy.
_LINK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Sandbox:
    """Makes private folders below `parent` from a workspace's files and from blobs."""

    parent: Path
    files: WorkspaceFiles
    blobs: BlobStore

    @contextlib.contextmanager
    def folder(
        self,
        action: Action,
        sources: Mapping[str, Digest],
        derived: Mapping[str, Blob],
        trees: Mapping[tuple[str, str], ToolTree],
    ) -> Iterator[Path]:
        """A folder holding exactly the action's inputs; gone afterwards.

        `sources` and `derived` have the identity of every input. Raises `DamagedBlob`, or
        `ActionFailed` where a source no longer has the content that its digest says.
        """
        with scratch_folder(self.parent, f"{_PREFIX}{os.getpid()}-") as folder:
            try:
                for path in action.inputs:
                    if path in derived:
                        self._place_blob(folder, path, derived[path])
                    else:
                        self._place_source(folder, path, sources[path])
                for mount, root in {
                    trees[tool].mount: trees[tool].root for tool in action.tools
                }.items():
                    place = folder / mount
                    place.parent.mkdir(parents=True, exist_ok=True)
                    place.symlink_to(root)
                for path in action.outputs:
                    (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / "tmp").mkdir(exist_ok=True)
            except OSError as error:
                raise InfrastructureError(
                    f"could not prepare a folder for `{action.label}`: {error}"
                ) from error
            yield folder

    def remove_leftovers(self) -> None:
        """Remove the folders of processes that were killed."""
        for folder in self.parent.glob(f"{_PREFIX}*"):
            pid = folder.name.removeprefix(_PREFIX).partition("-")[0]
            if pid.isdigit() and not alive(int(pid)):
                shutil.rmtree(folder, ignore_errors=True)

    def _place_source(self, folder: Path, path: str, digest: Digest) -> None:
        data = self.files.read(path, limit_bytes=None)
        if Digest.of(data) != digest:
            raise ActionFailed(
                f"`{path}` changed while the build was running", hint="run the build again"
            )
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        target.chmod(_MODE)

    def _place_blob(self, folder: Path, path: str, blob: Blob) -> None:
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if blob.digest.size_bytes >= _LINK_BYTES:
            target.symlink_to(self.blobs.checked(blob))
        else:
            self.blobs.copy_new(blob, str(target), mode=_MODE)


def collect(folder: Path, action: Action) -> dict[str, Path]:
    """The action's outputs in `folder`.

    Raises `ActionFailed` where one is missing or is no regular file: a tool's exit code 0 is no
    proof that it wrote anything.
    """
    found: dict[str, Path] = {}
    for path in action.outputs:
        file = folder / path
        if file.is_symlink() or not file.is_file():
            raise ActionFailed(
                f"the {action.stage} of `{action.label}` ended without an error, but did not write "
                f"`{path.removeprefix(OUTPUT_ROOT + '/')}`",
                hint="is the output's name what the command writes?",
            )
        if os.path.realpath(file) != os.path.realpath(folder) + "/" + path:
            raise ActionFailed(f"`{path}` was written through a link by `{action.label}`")
        found[path] = file
    return found
