"""Which files builds have put into `oxide-out`, so that those of targets that are gone can go."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from oxide_build.host.files import write_atomic
from oxide_build.model.action import OUTPUT_ROOT

_FILE = f"{OUTPUT_ROOT}/.outputs-v1"

# Label -> paths below `oxide-out/`.
Outputs = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class OutputRecord:
    """The record of a workspace. Losing it leaves old files where they are, nothing worse."""

    root: Path

    def read(self) -> dict[str, tuple[str, ...]]:
        """What is recorded; {} where that is nothing, or cannot be read."""
        try:
            data = (self.root / _FILE).read_bytes()
            return msgspec.msgpack.decode(data, type=dict[str, tuple[str, ...]])
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            return {}

    def update(self, built: Outputs, *, gone: Callable[[str], bool], narrowed: bool) -> list[str]:
        """Record what was `built`, remove what nothing makes any more; returns what was removed.

        `gone` tells whether a label that was not built is no target any more. A `narrowed` build
        (`--arch`) made only some outputs of its targets, so their others stay. One file is written
        if something changed.
        """
        before = self.read()
        after = {label: paths for label, paths in before.items() if not gone(label)}
        for label, paths in built.items():
            kept = before.get(label, ()) if narrowed else ()
            after[label] = tuple(dict.fromkeys((*paths, *kept)))
        if after == before:
            return []
        made = {path for paths in after.values() for path in paths}
        stale = sorted({path for paths in before.values() for path in paths} - made)
        removed = [path for path in stale if self._remove(path)]
        if after or before:
            write_atomic(self.root / _FILE, msgspec.msgpack.encode(after))
        return removed

    def _remove(self, path: str) -> bool:
        """Remove a file and the folders that it leaves empty; never through a link."""
        parts = path.split("/")
        if parts[0] != OUTPUT_ROOT or any(part in ("", ".", "..") for part in parts):
            return False
        folders = ["/".join(parts[:end]) for end in range(1, len(parts))]
        if any(os.path.islink(self.root / folder) for folder in folders):
            return False
        try:
            os.unlink(self.root / path)
        except OSError:
            return False
        for folder in reversed(folders[1:]):
            with contextlib.suppress(OSError):
                os.rmdir(self.root / folder)
        return True
