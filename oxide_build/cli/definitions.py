"""What defines a build, apart from its sources and outputs, and the states of all that."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from oxide_build.analysis.actions import ActionGraph
from oxide_build.cli.session import Session
from oxide_build.content import content_root
from oxide_build.host.clock import settled
from oxide_build.model.toolchain import Toolchain
from oxide_build.provision.file_state import Notebook
from oxide_build.provision.surroundings import surroundings
from oxide_build.provision.tool_store import ToolStore
from oxide_build.provision.trees import tree_states
from oxide_build.snapshot.snapshot import State

_NATIVE = "native"


class Surroundings:
    """What decides which tools are found and what they do, as it was when the command began."""

    def __init__(self, store: Path) -> None:
        self._began_ns = time.time_ns()
        self._store = store
        self._folders = {path: _state(path) for path in self._paths()}

    def states(self, toolchains: Sequence[Toolchain]) -> dict[str, State] | None:
        """States of the tool's own files, of its surroundings, and of the toolchains in use.

        None if something changed since, or too shortly before to tell.
        """
        found: dict[str, State] = {}
        for path in self._paths():
            before, now = self._folders.get(path), _state(path)
            if before != now or (now is not None and not self._old(now[0])):
                return None
            if now is not None:
                found[path] = now
        for file in _own_files():
            state = _state(file)
            if state is None or not self._old(state[1]):
                return None
            found[file] = state
        notebook = Notebook(ToolStore(self._store).state)
        for toolchain in toolchains:
            for tree in toolchain.trees.values():
                states = tree_states(tree, notebook)
                if states is None:
                    return None
                found.update((path, _numbers(state)) for path, state in states.items())
        return found

    def _old(self, changed_ns: int) -> bool:
        return settled(changed_ns, self._began_ns)

    def _paths(self) -> Iterator[str]:
        """Those that exist, and for the others the nearest folder above that does."""
        for path in dict.fromkeys(surroundings(os.environ, self._store)):
            place = os.path.abspath(path)
            while not os.path.exists(place):
                place = os.path.dirname(place)
            yield place


def definitions(
    session: Session, around: Surroundings, graph: ActionGraph
) -> dict[str, State] | None:
    """States of all that defines the build, sources and outputs apart.

    None if something of it changed meanwhile, or too shortly before it was looked at to tell, or if
    it depends on what no file tells.
    """
    if _asks_for_native(session):
        return None
    own = around.states(session.used())
    if own is None:
        return None
    found = dict(own)
    sources = {path for action in graph.actions for path in action.inputs}
    for path, (state, seen_ns) in session.files.seen.items():
        # A lock file is a source, and decides besides which crates there are.
        if path in sources and path not in session.crates.locks:
            continue
        folder = (state.st_mode & 0o170000) == 0o040000
        if not settled(state.st_mtime_ns if folder else state.st_ctime_ns, seen_ns):
            return None
        found[path or "."] = _numbers(state)
    return found


def _asks_for_native(session: Session) -> bool:
    # Which arch it means is the driver's to say, and no file tells when that changes.
    archs = [session.request.archs, *(t.archs for t in session.graph.targets.values())]
    return any(_NATIVE in each for each in archs)


def _own_files() -> Iterator[str]:
    """The tool's own code and data: another version may do another thing."""
    roots = [Path(__file__).resolve().parent.parent]
    roots += [content_root(name) for name in ("rules", "toolchains", "cache")]
    for root in roots:
        for folder, folders, names in os.walk(root):
            folders[:] = [name for name in folders if name != "__pycache__"]
            yield from (
                f"{folder}/{name}" for name in names if name.endswith((".py", ".bzl", ".toml"))
            )
    yield sys.executable


def _state(path: str) -> State | None:
    try:
        return _numbers(os.stat(path))
    except OSError:
        return None


def _numbers(state: os.stat_result) -> State:
    return state.st_mtime_ns, state.st_ctime_ns, state.st_size, state.st_ino
