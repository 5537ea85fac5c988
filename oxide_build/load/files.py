"""The files of a workspace: the one door to them, and it opens to nothing outside."""

from __future__ import annotations

import errno
import os
import stat
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from oxide_build.errors import DefinitionError, InfrastructureError, UsageError
from oxide_build.load.limits import SIZE_LIMIT_BYTES, check_size
from oxide_build.model.action import OUTPUT_ROOT
from oxide_build.model.label import check_package, shown

BUILD_FILE = "BUILD.toml"
WORKSPACE_FILE = "oxide.toml"

# What a path that names nothing fails with.
_ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG)

# "other" is a FIFO, a socket or a device: never read.
Kind = Literal["file", "folder", "other", "missing"]


@dataclass(frozen=True, slots=True)
class Folder:
    """The names in a folder, sorted; hidden ones are left out.

    Symbolic links are in `links` only, whatever they point to.
    """

    files: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


class WorkspaceFiles:
    """Reads files of the workspace at `root` by their `/`-separated relative paths.

    Symbolic links are followed as long as they stay inside the workspace. One that leaves it, or
    that leads to itself, is a `DefinitionError` which names the link; so are absolute paths and
    paths with `..`. Keeps no content in memory. Other failures of the disk are
    `InfrastructureError`.

    `seen` has what was looked at, before it was looked at, and when (ns): the files that were read
    and the folders whose names mattered, for those the names themselves are in `names`. It is for
    who wants to know later whether all is the same.
    """

    def __init__(self, root: Path) -> None:
        self.root = Path(os.path.realpath(root))
        self.seen: dict[str, tuple[os.stat_result, int]] = {}
        self.names: dict[str, int] = {}

    def read(self, path: str, *, limit_bytes: int | None = SIZE_LIMIT_BYTES) -> bytes:
        """The content of a regular file; a larger one than `limit_bytes` is not read."""
        real = self._real(path)
        try:
            # O_NONBLOCK: a FIFO must not block us before it is seen to be one.
            handle = os.open(real, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
            with os.fdopen(_regular(handle, path), "rb") as file:
                found = os.fstat(handle)
                self.seen.setdefault(path, (found, time.time_ns()))
                if limit_bytes is not None:
                    check_size(path, found.st_size, limit_bytes)
                    data = file.read(limit_bytes + 1)
                    check_size(path, len(data), limit_bytes)
                    return data
                return file.read()
        except OSError as error:
            if error.errno in _ABSENT:
                raise DefinitionError(f"{_place(path)}: there is no such file") from None
            if error.errno == errno.ENXIO:
                raise DefinitionError(f"{_place(path)}: this is not a regular file") from None
            raise _unreadable(path, error) from error

    def kind(self, path: str) -> Kind:
        """What lies at `path`, links followed."""
        try:
            real = self._real(path)
            self._see_folder(path.rpartition("/")[0])
            mode = os.lstat(real).st_mode
        except OSError as error:
            if error.errno in _ABSENT:
                return "missing"
            raise _unreadable(path, error) from error
        if stat.S_ISREG(mode):
            return "file"
        return "folder" if stat.S_ISDIR(mode) else "other"

    def exists(self, path: str) -> bool:
        """Whether a file or folder of the workspace is there; never raises."""
        try:
            return self.kind(path) != "missing"
        except (DefinitionError, InfrastructureError):
            return False

    def folder(self, path: str) -> Folder:
        """What the folder at `path` holds; nothing where there is no such folder."""
        names: dict[str, list[str]] = {"files": [], "folders": [], "links": [], "others": []}
        try:
            real = self._real(path)
            self._see_folder(path)
            with os.scandir(real) as entries:
                for entry in entries:
                    if not entry.name.startswith("."):
                        names[_sort_of(entry)].append(entry.name)
        except OSError as error:
            if error.errno in _ABSENT:
                return Folder()
            raise _unreadable(path, error) from error
        return Folder(**{sort: tuple(sorted(found)) for sort, found in names.items()})

    def is_link(self, path: str) -> bool:
        """Whether the last part of `path` is a symbolic link."""
        return os.path.islink(self.root / path)

    def packages_below(self, package: str) -> list[str]:
        """`package` and the packages below it, those of them that exist, sorted.

        Left out are hidden folders, the output folder, workspaces inside this one, and folders
        behind symbolic links (their packages have names of their own). O(entries below).
        """
        found: list[str] = []
        waiting = [package]
        while waiting:
            path = waiting.pop()
            folder = self.folder(path)
            entries = {*folder.files, *folder.links, *folder.others}
            if path and WORKSPACE_FILE in entries:
                continue
            if BUILD_FILE in entries:
                found.append(path)
            prefix = f"{path}/" if path else ""
            waiting.extend(prefix + name for name in folder.folders if name != OUTPUT_ROOT)
        for path in found:
            _check_name(path)
        return sorted(found)

    def _see_folder(self, path: str) -> None:
        """Note the state of the folder at `path`, or of the nearest one above that exists."""
        while path not in self.seen:
            try:
                state = os.stat(self.root / path)
                self.names[path] = folder_names(str(self.root / path))
                self.seen[path] = (state, time.time_ns())
            except OSError:
                if not path:
                    return
                path = path.rpartition("/")[0]

    def _real(self, path: str) -> str:
        """The absolute path without links of `path`, which is inside the workspace."""
        parts = path.split("/") if path else []
        if "\0" in path or any(part in ("", ".", "..") for part in parts):
            raise DefinitionError(
                f"{shown(path)} is not a path inside the workspace",
                hint="paths are relative to the workspace root and have no `.` or `..` parts",
            )
        real = str(self.root)
        for position, part in enumerate(parts):
            real = f"{real}/{part}"
            if os.path.islink(real):
                real = self._follow(real, "/".join(parts[: position + 1]))
        return real

    def _follow(self, link: str, path: str) -> str:
        try:
            real = os.path.realpath(link, strict=True)
        except FileNotFoundError:
            # A dangling link must not tell what exists outside, so this is checked as well.
            real = os.path.realpath(link)
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise _unreadable(path, error) from error
            raise DefinitionError(
                f"{_place(path)}: this symbolic link leads back to itself",
                hint="remove it, or let it point to a file",
            ) from None
        if os.path.commonpath((real, self.root)) != str(self.root):
            raise DefinitionError(
                f"{_place(path)}: this symbolic link leaves the workspace, to "
                f"{shown(os.readlink(link))}",
                hint="copy what it points to into the workspace; nothing outside is read",
            )
        return real


def folder_names(path: str) -> int:
    """A check sum of what a folder holds, as far as it can matter: hidden names and the output
    folder cannot. Raises `OSError`."""
    with os.scandir(path) as entries:
        found = sorted(
            f"{_sort_of(entry)} {entry.name}"
            for entry in entries
            if not entry.name.startswith(".") and entry.name != OUTPUT_ROOT
        )
    return zlib.crc32("\0".join(found).encode("utf-8", "surrogateescape"))


def parents(path: str) -> Iterator[str]:
    """The folders that hold `path`, nearest first, down to the root, which is ``""``."""
    while path:
        path = path.rpartition("/")[0]
        yield path


def _check_name(package: str) -> None:
    try:
        check_package(package, f"//{package}")
    except UsageError as error:
        raise DefinitionError(
            f"{_place(package)}/{BUILD_FILE}: no label can name this package", hint=error.hint
        ) from None


def _sort_of(entry: os.DirEntry[str]) -> str:
    if entry.is_symlink():
        return "links"
    if entry.is_file(follow_symlinks=False):
        return "files"
    return "folders" if entry.is_dir(follow_symlinks=False) else "others"


def _place(path: str) -> str:
    return shown(path)[1:-1]


def _regular(handle: int, path: str) -> int:
    """`handle`, or an error where it is not one of a regular file."""
    mode = os.fstat(handle).st_mode
    if stat.S_ISREG(mode):
        return handle
    os.close(handle)
    raise DefinitionError(f"{_place(path)}: this is {_called(mode)}, not a regular file")


def _called(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "a folder"
    return "a FIFO" if stat.S_ISFIFO(mode) else "a device or socket"


def _unreadable(path: str, error: OSError) -> InfrastructureError:
    return InfrastructureError(f"could not read {shown(path)}: {error.strerror}")
