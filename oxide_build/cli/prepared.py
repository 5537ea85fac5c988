"""A build that is ready to run: actions, and what they are run with.

It comes from a loaded workspace, or from a plan that an earlier build of the same request left.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from oxide_build.analysis.actions import ActionGraph
from oxide_build.cli.folders import Folders
from oxide_build.cli.messages import say
from oxide_build.execution.output_record import OutputRecord
from oxide_build.execution.output_tree import OutputTree
from oxide_build.execution.runner import LocalRunner
from oxide_build.execution.sandbox import Sandbox
from oxide_build.execution.tool_watch import ToolWatch
from oxide_build.execution.tools import BuildTools
from oxide_build.host.process import ProcessGroup
from oxide_build.load.files import WorkspaceFiles
from oxide_build.model.cache_settings import CacheSettings
from oxide_build.store.blobs import BlobStore
from oxide_build.store.file_states import FileStates
from oxide_build.store.history import History
from oxide_build.store.keys import KeyContext
from oxide_build.store.results import ResultStore
from oxide_build.store.tally import Tally
from oxide_build.store.uses import Uses

if TYPE_CHECKING:
    from oxide_build.resolution.messages import MessageFacts


@dataclass(frozen=True, kw_only=True)
class UsedToolchain:
    """A toolchain that actions use, as reports name it."""

    kind: str
    version: str
    provider: str


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """Everything that a build needs, and what must be known afterwards.

    asked     what was asked for, for the log
    names     what each part of a toolchain is, by the pair that actions name it with
    gone      whether a label of an earlier build is no target any more
    choice    what chooses among the outputs of the targets, as in `OutputRecord`
    """

    files: WorkspaceFiles
    states: FileStates
    folders: Folders
    graph: ActionGraph
    context: KeyContext
    names: Mapping[tuple[str, str], str]
    toolchains: tuple[UsedToolchain, ...]
    cache: CacheSettings
    asked: Mapping[str, object]
    gone: Callable[[str], bool]
    choice: str
    jobs: int
    keep_going: bool
    processes: ProcessGroup = field(default_factory=ProcessGroup)

    @property
    def root(self) -> Path:
        return self.files.root

    @contextmanager
    def build_tools(self) -> Iterator[BuildTools]:
        """What a build works with."""
        cache, workspace = self.folders.cache, workspace_id(self.root)
        Tally(cache).begin()
        blobs, results = BlobStore(cache), ResultStore(cache)
        sandbox = Sandbox(cache / "tmp", self.files, blobs)
        # An empty variable switches off what oxide.toml names.
        place = os.environ.get("OXIDE_SHARED_CACHE", self.cache.shared)
        shared = None
        if place and os.path.realpath(place) != os.path.realpath(cache):
            from oxide_build.store.shared import SharedCache

            shared = SharedCache(Path(place))
        try:
            yield BuildTools(
                files=self.files,
                states=self.states,
                blobs=blobs,
                results=results,
                sandbox=sandbox,
                runner=LocalRunner(self.processes),
                watch=ToolWatch(self.context.trees, self.folders.store),
                tree=OutputTree(self.root, blobs, self.states),
                record=OutputRecord(self.root, self.choice, self.gone),
                context=self.context,
                shared=shared,
                uses=Uses(cache, workspace),
                history=History(cache, workspace),
                names=self.names,
                messages=_messages,
                jobs=self.jobs,
                keep_going=self.keep_going,
            )
        finally:
            sandbox.close()
            results.close()
            if shared is not None:
                shared.close()
                if shared.complaint:
                    say(f"{shared.complaint}; what it may have is built instead")
            Tally(cache).add(blobs.added_bytes)


def workspace_id(root: Path) -> str:
    """A short name for a workspace in the cache, by its folder."""
    return hashlib.sha256(str(root).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def file_states(root: Path, folders: Folders) -> FileStates:
    """The remembered digests of a workspace's files."""
    return FileStates(root, folders.cache / "file-states-v1" / f"{workspace_id(root)}.msgpack")


def _messages() -> MessageFacts:
    from oxide_build.cli.toolchains import load_facts

    return load_facts().messages
