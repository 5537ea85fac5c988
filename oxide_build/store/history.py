"""Under which key each action of a workspace was last known, and before that."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec

from oxide_build.errors import InfrastructureError
from oxide_build.host.files import write_atomic

_FOLDER = "history-v1"


class Past(msgspec.Struct, frozen=True, array_like=True):
    """The key of the last build, the other one before it ("" for none), and since when (unix s)."""

    key: str
    previous: str
    since_s: float


class History:
    """The past of a workspace's actions, by the path of their first output.

    Read when first needed; one file, written when a build learnt something. Losing it loses
    explanations, nothing else.
    """

    def __init__(self, cache: Path, workspace: str) -> None:
        self._path = cache / _FOLDER / f"{workspace}.msgpack"
        self._noted: list[tuple[str, str]] = []
        self._known: dict[str, Past] | None = None

    def note(self, output: str, key: str) -> None:
        """The action that makes `output` was built under `key`; cheap."""
        self._noted.append((output, key))

    def past(self, output: str) -> Past | None:
        """What is remembered of the action that makes `output`."""
        return self._all().get(output)

    @property
    def keys(self) -> list[str]:
        """The keys that were noted since the last save."""
        return [key for _, key in self._noted]

    def save(self) -> None:
        """Keep what was noted. A disk that cannot be written costs explanations."""
        known = self._all()
        changed = False
        now = time.time()
        for output, key in self._noted:
            before = known.get(output)
            if before is None or before.key != key:
                known[output] = Past(key, "" if before is None else before.key, now)
                changed = True
        self._noted.clear()
        if changed:
            try:
                write_atomic(self._path, msgspec.msgpack.encode(known))
            except InfrastructureError:
                return

    def _all(self) -> dict[str, Past]:
        if self._known is None:
            try:
                data = self._path.read_bytes()
                self._known = msgspec.msgpack.decode(data, type=dict[str, Past])
            except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
                self._known = {}
        return self._known
