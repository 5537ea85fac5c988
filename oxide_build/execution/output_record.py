"""Which files builds have put into `oxide-out`: those that nothing makes any more can go."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from oxide_build.host.claims import exclusive, replace_file
from oxide_build.model.action import OUTPUT_ROOT

_FILE = f"{OUTPUT_ROOT}/.outputs-v1"

# New files are written in a folder of the process in `oxide-out`, whose name begins so.
STAGING = ".tmp-"

# Request -> paths below `oxide-out/`.
_Requests = dict[str, tuple[str, ...]]


class _Content(msgspec.Struct, frozen=True, array_like=True):
    """`labels` has what each target left, by request; `stale` what is about to be removed."""

    labels: dict[str, _Requests] = {}
    stale: tuple[str, ...] = ()


class OutputRecord:
    """The record of a workspace as one build uses it. Losing it leaves old files where they are.

    A request is what chooses among the outputs of a target (`--arch`, `--config`), "" for neither.
    What a target made at an earlier build of the same request and makes no more is stale, and so is
    all that a target left which is gone. What only other requests made stays.

    It is written before the files are, and once more when some were removed: whenever a build is
    killed, no file is forgotten that it put there. Other builds of the workspace may run meanwhile;
    what they record after this object was made is theirs alone.
    """

    def __init__(self, root: Path, request: str, gone: Callable[[str], bool]) -> None:
        self._root = root
        self.request = request
        self._gone = gone
        self._seen = self._read()

    def begin(self, built: Mapping[str, Sequence[str]]) -> None:
        """Record that the files of `built` (label -> paths) will be put into the folder now.

        `gone` tells whether another label is no target any more. Costs no write where nothing
        changed. Raises `InfrastructureError`.
        """
        if not built and not self._seen.labels:
            return
        with contextlib.suppress(OSError):
            os.mkdir(self._root / OUTPUT_ROOT)
        with exclusive(self._root / OUTPUT_ROOT):
            before = self._read()
            labels = {
                label: requests
                for label, requests in before.labels.items()
                if label in built or not self._settled(label, before) or not self._gone(label)
            }
            for label, paths in built.items():
                labels[label] = self._updated(label, tuple(paths), before)
            if labels == before.labels:
                return
            known = _paths(before.labels) | set(before.stale)
            self._write(_Content(labels, tuple(sorted(known - _paths(labels)))))

    def remove_stale(self) -> list[str]:
        """Remove what `begin` found stale, and what a killed build had; returns the paths."""
        with exclusive(self._root / OUTPUT_ROOT):
            found = self._read()
            if not found.stale:
                return []
            made = _paths(found.labels)
            removed = [path for path in found.stale if path not in made and self._remove(path)]
            self._write(_Content(found.labels))
            return removed

    def _settled(self, label: str, now: _Content) -> bool:
        """Whether nobody built `label` since this build began."""
        return self._seen.labels.get(label) == now.labels.get(label)

    def _updated(self, label: str, paths: tuple[str, ...], before: _Content) -> _Requests:
        requests = before.labels.get(label, {})
        old = requests.get(self.request, ())
        if old == paths:
            return requests
        if not self._settled(label, before):
            return {**requests, self.request: tuple(dict.fromkeys((*paths, *old)))}
        dropped = set(old).difference(paths)
        kept = {
            request: tuple(path for path in made if path not in dropped)
            for request, made in requests.items()
        }
        return {**kept, self.request: paths}

    def _read(self) -> _Content:
        try:
            return msgspec.msgpack.decode((self._root / _FILE).read_bytes(), type=_Content)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            return _Content()

    def _write(self, content: _Content) -> None:
        # A link in the place of the folder is refused where files are put; nothing goes through it.
        if not os.path.islink(self._root / OUTPUT_ROOT):
            replace_file(self._root / _FILE, msgspec.msgpack.encode(content), STAGING)

    def _remove(self, path: str) -> bool:
        """Remove a file and the folders that it leaves empty; never through a link."""
        parts = path.split("/")
        if parts[0] != OUTPUT_ROOT or any(part in ("", ".", "..") for part in parts):
            return False
        folders = ["/".join(parts[:end]) for end in range(1, len(parts))]
        if any(os.path.islink(self._root / folder) for folder in folders):
            return False
        try:
            os.unlink(self._root / path)
        except (OSError, ValueError):
            return False
        for folder in reversed(folders[1:]):
            with contextlib.suppress(OSError):
                os.rmdir(self._root / folder)
        return True


def _paths(labels: Mapping[str, _Requests]) -> set[str]:
    return {path for requests in labels.values() for paths in requests.values() for path in paths}
