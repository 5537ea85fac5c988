"""A plan: the actions of a request, kept until something that defines them changes.

Where a snapshot cannot answer, because a source or an output changed, a plan spares loading and
analysing the workspace. Like a snapshot it is only ever an accelerator, and is checked the same
way: every definition, folder, toolchain and file of the tool must be as it was.
"""

from __future__ import annotations

import contextlib
import os
import time
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from oxide_build.analysis.actions import ActionGraph, Output
from oxide_build.cli.folders import Folders
from oxide_build.cli.prepared import Prepared, UsedToolchain, file_states
from oxide_build.errors import InfrastructureError, OxideError
from oxide_build.host.clock import settled
from oxide_build.host.files import write_atomic
from oxide_build.load.files import WorkspaceFiles, folder_names
from oxide_build.model.action import Action
from oxide_build.model.cache_settings import CacheSettings
from oxide_build.model.digest import Digest
from oxide_build.model.label import Label
from oxide_build.model.toolchain import ToolTree
from oxide_build.snapshot.request import request_text, snapshot_path, workspace_root
from oxide_build.snapshot.snapshot import State, decode, encode
from oxide_build.store.keys import KeyContext

if TYPE_CHECKING:
    from oxide_build.cli.running import Showing

_SUFFIX = ".plan"
_LENGTH = 8
_LONGEST_NS = 24 * 3600 * 1_000_000_000


class Target(msgspec.Struct, frozen=True, array_like=True):
    """What is asked of a requested target."""

    label: Label
    outputs: tuple[Output, ...]
    files: tuple[str, ...]
    notes: dict[str, str]


class Body(msgspec.Struct, frozen=True, array_like=True):
    """A plan without the states that it depends on.

    scanned  the words that rules look for in sources, and which of them were there: a source may
             change as long as those do not
    folders  check sums of the names in folders: one may change in other ways, as the workspace's
             own does when `oxide-out` goes
    """

    actions: tuple[Action, ...]
    targets: tuple[Target, ...]
    platform: str
    steps: str
    trees: tuple[tuple[str, str, ToolTree, str], ...]
    toolchains: tuple[tuple[str, str, str], ...]
    cache: CacheSettings
    asked: dict[str, Any]
    choice: str
    jobs: int
    keep_going: bool
    quiet: bool
    as_json: bool
    scanned: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]
    folders: dict[str, int]


class Plan(msgspec.Struct, frozen=True):
    """A plan that still holds, with the states that it was checked against.

    `settled` is False where one of them is so young that it could hide a change to come: then it is
    right now, and says nothing for later.
    """

    body: Body
    states: dict[str, State]
    settled: bool = True


def plan_of(argv: list[str], start: Path) -> tuple[Prepared, Plan] | None:
    """The build `argv` made ready from its plan; None where there is none that holds."""
    folder = os.path.realpath(start)
    root = workspace_root(folder)
    request = None if root is None else request_text(argv, root, folder)
    if root is None or request is None:
        return None
    path = Path(snapshot_path(request) + _SUFFIX)
    try:
        data = path.read_bytes()
        if path.stat().st_uid != os.getuid():
            return None
    except OSError:
        return None
    found = _read(data, request)
    if found is None:
        return None
    still = _still(root, found)
    if still is None:
        return None
    prepared = _prepared(found.body, WorkspaceFiles(Path(root)))
    try:
        if not all(_same_words(prepared, *scanned) for scanned in found.body.scanned):
            return None
        return prepared, still
    except OxideError:
        return None


def keep_plan(
    argv: list[str],
    start: Path,
    prepared: Prepared,
    showing: Showing,
    states: dict[str, State],
    scanned: dict[str, tuple[tuple[str, ...], tuple[str, ...]]],
) -> None:
    """Keep the plan of the build `argv`; `states` is all that defines it. Failing to is no harm."""
    root = str(prepared.root)
    request = request_text(argv, root, os.path.realpath(start))
    graph, context = prepared.graph, prepared.context
    if request is None:
        return
    body = Body(
        actions=graph.actions,
        targets=tuple(
            Target(label, tuple(outputs), tuple(graph.files[label]), dict(graph.notes[label]))
            for label, outputs in graph.outputs.items()
        ),
        platform=context.platform,
        steps=context.steps,
        trees=tuple(
            (id_, name, tree, prepared.names[id_, name])
            for (id_, name), tree in context.trees.items()
        ),
        toolchains=tuple((t.kind, t.version, t.provider) for t in prepared.toolchains),
        cache=prepared.cache,
        asked=dict(prepared.asked),
        choice=prepared.choice,
        jobs=prepared.jobs,
        keep_going=prepared.keep_going,
        quiet=showing.quiet,
        as_json=showing.as_json,
        scanned=tuple((path, *words) for path, words in sorted(scanned.items())),
        folders={path or ".": names for path, names in prepared.files.names.items()},
    )
    head = encode(request, time.time_ns(), ("", "", ""), sorted(states.items()))
    if head is None:
        return
    tail = msgspec.msgpack.encode(body)
    sizes = len(head).to_bytes(_LENGTH, "little") + zlib.crc32(tail).to_bytes(_LENGTH, "little")
    with contextlib.suppress(InfrastructureError):
        path = Path(snapshot_path(request) + _SUFFIX)
        write_atomic(path, sizes + head + tail, mode=0o600)


def _read(data: bytes, request: str) -> Plan | None:
    length = int.from_bytes(data[:_LENGTH], "little")
    start = 2 * _LENGTH
    head, tail = data[start : start + length], data[start + length :]
    if zlib.crc32(tail) != int.from_bytes(data[_LENGTH:start], "little"):
        return None
    states = decode(head, request)
    if states is None or not 0 <= time.time_ns() - states[0] < _LONGEST_NS:
        return None
    try:
        body = msgspec.msgpack.decode(tail, type=Body)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    numbers = iter(states[3])
    rows = zip(states[2], numbers, numbers, numbers, numbers, strict=True)
    return Plan(body, {os.fsdecode(path): (m, c, s, i) for path, m, c, s, i in rows})


def _prepared(body: Body, files: WorkspaceFiles) -> Prepared:
    folders = Folders.find()
    return Prepared(
        files=files,
        states=file_states(files.root, folders),
        folders=folders,
        graph=ActionGraph(
            actions=body.actions,
            producer={
                path: index for index, action in enumerate(body.actions) for path in action.outputs
            },
            outputs={each.label: each.outputs for each in body.targets},
            files={each.label: each.files for each in body.targets},
            notes={each.label: each.notes for each in body.targets},
        ),
        context=KeyContext(
            platform=body.platform,
            steps=body.steps,
            trees={(id_, name): tree for id_, name, tree, _ in body.trees},
        ),
        names={(id_, name): text for id_, name, _, text in body.trees},
        toolchains=tuple(
            UsedToolchain(kind=kind, version=version, provider=provider)
            for kind, version, provider in body.toolchains
        ),
        cache=body.cache,
        asked=body.asked,
        # No definition changed, so no target went.
        gone=lambda _: False,
        choice=body.choice,
        jobs=body.jobs,
        keep_going=body.keep_going,
    )


def _still(root: str, plan: Plan) -> Plan | None:
    """The plan with the states as they are now if they say the same, None if something changed."""
    found, old = dict(plan.states), True
    for path, state in plan.states.items():
        full = os.path.join(root, path)
        try:
            now = os.stat(full)
            numbers = (now.st_mtime_ns, now.st_ctime_ns, now.st_size, now.st_ino)
            if numbers == state:
                continue
            names = plan.body.folders.get(path)
            if names is None or folder_names(full) != names:
                return None
            old = old and settled(now.st_mtime_ns, time.time_ns())
        except OSError:
            return None
        found[path] = numbers
    return Plan(plan.body, found, old)


def _same_words(
    prepared: Prepared, path: str, words: tuple[str, ...], there: tuple[str, ...]
) -> bool:
    """Whether a source holds the same ones as then, and is what the actions will read."""
    data = prepared.files.read(path, limit_bytes=None)
    if Digest.of(data) != prepared.states.require(path):
        return False
    return tuple(word for word in words if word.encode() in data) == there
