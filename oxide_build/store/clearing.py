"""Removing everything from the cache, and nothing that is not of it."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from oxide_build.errors import UsageError
from oxide_build.host.claims import sweep
from oxide_build.host.files import UNFINISHED
from oxide_build.host.locks import held
from oxide_build.store.index import FOLDER, remake_index
from oxide_build.store.rows import DamagedIndex, ResultRows

# What any version of the tool keeps in the cache, by the word before the version of its format.
_OURS = re.compile(
    r"(?:blobs|results|uses|file-states|snapshots|history|logs|counters|size)-v\d{1,3}\Z", re.ASCII
)
_TEMPORARY = "tmp"
_LOCK = "gc.lock"
# Nothing takes longer to be written whole.
_WRITING_S = 3600.0
_OTHERS = (_TEMPORARY, _LOCK)
# The folders of processes in `tmp`. Other programs have a folder of that name too, so nothing else
# in it is ours.
_WORKPLACE = "action-"


@dataclass(frozen=True, slots=True)
class Cleared:
    """What went, and what was left because it is not the tool's."""

    results: int
    files: int
    size_bytes: int
    left: Sequence[str]


def clear(root: Path) -> Cleared:
    """Remove all that the tool keeps in `root`.

    Builds may run: they find that their blobs are gone and make them again. The index is emptied,
    not removed, and folders of actions that run stay. Raises `UsageError` where `root` does
    not look like a cache, `OSError`, `InfrastructureError`; links are never followed.
    """
    names = sorted(os.listdir(root))
    left = [name for name in names if not _ours(root, name)]
    if left and not any(name in names for name in (FOLDER, "blobs-v1")):
        raise UsageError(
            f"`{root}` does not look like a cache of oxide_build: it holds `{left[0]}`, and "
            f"neither `{FOLDER}` nor `blobs-v1`",
            hint="is `OXIDE_CACHE` right? Nothing was removed",
        )
    with held(root / _LOCK):
        if _TEMPORARY not in left:
            sweep(root / _TEMPORARY, _WORKPLACE)
        results = _clear_results(root) if FOLDER in names and FOLDER not in left else 0
        files = size_bytes = 0
        for name in names:
            if name in left or name in (FOLDER, _LOCK, _TEMPORARY):
                continue
            count, size = _remove_files(root / name)
            files, size_bytes = files + count, size_bytes + size
    return Cleared(results, files, size_bytes, left)


def _ours(root: Path, name: str) -> bool:
    known = name in _OTHERS or _OURS.match(name) is not None
    return known and not os.path.islink(root / name)


def _clear_results(root: Path) -> int:
    try:
        return ResultRows(root).clear()
    except DamagedIndex:
        remake_index(root)
        return 0


def _remove_files(place: Path) -> tuple[int, int]:
    """Remove a file, or all files below a folder; gives their number and their bytes.

    Folders stay, and so does what is being written: a build that runs is about to use both.
    """
    if not place.is_dir():
        return _unlink(str(place))
    count = size = 0
    for folder, _, files in os.walk(place):
        for file in files:
            more, bytes_more = _unlink(f"{folder}/{file}")
            count, size = count + more, size + bytes_more
    return count, size


def _unlink(path: str) -> tuple[int, int]:
    with contextlib.suppress(OSError):
        state = os.lstat(path)
        recent = time.time() - state.st_ctime < _WRITING_S
        if not (recent and os.path.basename(path).startswith(UNFINISHED)):
            os.unlink(path)
            return 1, state.st_size
    return 0, 0
