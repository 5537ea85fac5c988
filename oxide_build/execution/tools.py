"""What a build works with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from oxide_build.execution.output_record import OutputRecord
from oxide_build.execution.output_tree import OutputTree
from oxide_build.execution.runner import LocalRunner
from oxide_build.execution.sandbox import Sandbox
from oxide_build.execution.tool_watch import ToolWatch
from oxide_build.load.files import WorkspaceFiles
from oxide_build.store.blobs import BlobStore
from oxide_build.store.file_states import FileStates
from oxide_build.store.history import History
from oxide_build.store.keys import KeyContext
from oxide_build.store.results import ResultStore
from oxide_build.store.uses import Uses

if TYPE_CHECKING:
    from oxide_build.resolution.messages import MessageFacts
    from oxide_build.store.shared import SharedCache


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildTools:
    """Everything that a build works with; made once by the command.

    `names` says what each part of a toolchain is, by the pair that actions name it with.
    """

    files: WorkspaceFiles
    states: FileStates
    blobs: BlobStore
    results: ResultStore
    sandbox: Sandbox
    runner: LocalRunner
    watch: ToolWatch
    tree: OutputTree
    record: OutputRecord
    context: KeyContext
    shared: SharedCache | None
    history: History
    uses: Uses
    names: Mapping[tuple[str, str], str]
    messages: Callable[[], MessageFacts]
    jobs: int
    keep_going: bool = False
