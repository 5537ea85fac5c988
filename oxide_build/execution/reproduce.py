"""Two builds of the same actions, compared byte for byte."""

from __future__ import annotations

import difflib
import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from oxide_build.analysis.actions import ActionGraph
from oxide_build.execution.schedule import Schedule
from oxide_build.model.action import Action
from oxide_build.store.blobs import BlobStore
from oxide_build.store.history import History
from oxide_build.store.results import ResultStore

_SHOWN_LINES = 6
_LONGEST_LINE = 160


@dataclass(frozen=True, slots=True)
class Attempt:
    """One of the builds: its workspace folder, and its cache with the name it has there."""

    root: Path
    cache: Path
    workspace: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """The same action, another result.

    kind    "bytes": what ran does not always do the same; "follows": an input differed already;
            "key": the tool itself depends on the folder; "missing": it was not built
    detail  lines for people: where they differ, and the usual causes that were found there
    """

    action: Action
    output: str
    kind: str
    detail: tuple[str, ...]


def compare(
    graph: ActionGraph, one: Attempt, two: Attempt, began: str
) -> Iterator[Mismatch | Action]:
    """Every needed action in order: itself if both made the same, else how they differ.

    `began` is the time that the builds began ("2026-12-01"), looked for in what differs.
    """
    wanted = [path for files in graph.files.values() for path in files]
    wanted += [output.path for outputs in graph.outputs.values() for output in outputs]
    sides = [_Side(one), _Side(two)]
    differing: set[str] = set()
    try:
        for index in Schedule(graph, wanted).needed:
            action = graph.actions[index]
            found = _compared(action, sides[0], sides[1], began)
            if isinstance(found, Mismatch):
                if found.kind == "key" and differing & set(action.inputs):
                    found = replace(found, kind="follows", detail=())
                differing.update(action.outputs)
            yield found
    finally:
        for side in sides:
            side.results.close()


class _Side:
    def __init__(self, attempt: Attempt) -> None:
        self.attempt = attempt
        self.history = History(attempt.cache, attempt.workspace)
        self.results = ResultStore(attempt.cache)
        self.blobs = BlobStore(attempt.cache)

    def key(self, action: Action) -> str:
        past = self.history.past(action.outputs[0])
        return "" if past is None else past.key

    def digests(self, action: Action) -> Mapping[str, str]:
        result = self.results.get(self.key(action)) if self.key(action) else None
        return {} if result is None else {each.path: each.sha256 for each in result.outputs}

    def content(self, sha256: str) -> bytes:
        folder = self.attempt.cache / "blobs-v1" / sha256[:2]
        return (folder / sha256).read_bytes()


def _compared(action: Action, one: _Side, two: _Side, began: str) -> Mismatch | Action:
    first, second = one.digests(action), two.digests(action)
    for output in action.outputs:
        a, b = first.get(output), second.get(output)
        if a is None or b is None:
            return Mismatch(action=action, output=output, kind="missing", detail=())
        if a == b:
            continue
        kind = "bytes" if one.key(action) == two.key(action) else "key"
        folders = (one.attempt.root, two.attempt.root, one.attempt.cache, two.attempt.cache)
        detail = describe(one.content(a), two.content(b), folders, began)
        return Mismatch(action=action, output=output, kind=kind, detail=tuple(detail))
    if one.key(action) != two.key(action):
        return Mismatch(action=action, output=action.outputs[0], kind="key", detail=())
    return action


def describe(one: bytes, two: bytes, folders: Sequence[Path], began: str) -> Iterator[str]:
    """Where two contents differ, and which of the usual causes occur in them."""
    offset = next(
        (i for i, (a, b) in enumerate(zip(one, two, strict=False)) if a != b),
        min(len(one), len(two)),
    )
    line = one[:offset].count(b"\n") + 1
    yield f"{len(one)} and {len(two)} bytes, the first difference at byte {offset}, line {line}"
    yield from _lines(one, two)
    for name, needle in (
        ("the folder of the workspace or of the cache", tuple(str(f).encode() for f in folders)),
        ("the date of the build", (began.encode(),)),
        ("the name of this machine", (socket.gethostname().encode(),)),
    ):
        if any(word and word in data for word in needle for data in (one, two)):
            yield f"it holds {name}"


def _lines(one: bytes, two: bytes) -> Iterator[str]:
    """The first lines that differ, where both are text."""
    try:
        before, after = one.decode("utf-8").splitlines(), two.decode("utf-8").splitlines()
    except UnicodeDecodeError:
        return
    found = difflib.unified_diff(before, after, lineterm="", n=0)
    rows = (row for row in found if row[:1] in "+-" and row[:3] not in ("+++", "---"))
    for row in islice(rows, _SHOWN_LINES):
        yield row[:_LONGEST_LINE]
