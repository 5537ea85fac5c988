"""One action that was not in the cache: run, checked, and what it made kept."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from oxide_build.errors import ActionFailed, InfrastructureError
from oxide_build.execution.diagnostics import hint_for
from oxide_build.execution.runner import Execution
from oxide_build.execution.sandbox import collect
from oxide_build.execution.tools import BuildTools
from oxide_build.host.disk import is_full, says_full
from oxide_build.model.action import Action
from oxide_build.model.digest import Digest
from oxide_build.store.blobs import Blob
from oxide_build.store.ingredients import ingredients
from oxide_build.store.results import ActionResult, StoredOutput


@dataclass(frozen=True, slots=True)
class Work:
    """An action, its key, and the identity of each of its inputs: sources, and what others made."""

    action: Action
    key: str
    sources: Mapping[str, Digest]
    derived: Mapping[str, Blob]


def perform(work: Work, tools: BuildTools) -> tuple[Execution, ActionResult | None]:
    """Run the action in a folder of its own; safe in any thread.

    The result is None where it failed: a failure is never kept. Raises `DamagedBlob` where an
    input is, `ActionFailed` where an input changed meanwhile, `InfrastructureError` for what the
    machine refuses.
    """
    action = work.action
    with tools.sandbox.folder(action, work.sources, work.derived, tools.context.trees) as folder:
        tools.watch.begin(action)
        execution = tools.runner.run(action, folder)
        _check_room(tools.sandbox.parent, execution, action)
        tools.sandbox.check_inputs(action, work.derived)
        tools.watch.check(action)
        if execution.failure is None:
            try:
                files = collect(folder, action)
            except ActionFailed as error:
                execution = replace(execution, failure=error.message, hint=error.hint)
            else:
                return execution, _keep(work, files, execution, tools)
    if execution.hint is None:
        hint = hint_for(action, execution.message, tools.files.exists, tools.messages())
        execution = replace(execution, hint=hint)
    return execution, None


def _check_room(folder: Path, execution: Execution, action: Action) -> None:
    """Blame the disk, not the tool; and trust nothing that was written while it was full.

    Not every tool looks whether its writes succeeded, so a success says nothing then.
    """
    if is_full(folder) or (execution.failure is not None and says_full(execution.message)):
        raise InfrastructureError(
            f"the disk of `{folder}` was full while `{action.label}` ran: "
            f"{execution.message.strip() or os.strerror(errno.ENOSPC)}",
            hint="make room there, or let `OXIDE_CACHE` name a folder on another disk",
        )


def _keep(
    work: Work, files: Mapping[str, Path], execution: Execution, tools: BuildTools
) -> ActionResult:
    outputs = []
    for path, file in files.items():
        executable = bool(file.stat().st_mode & stat.S_IXUSR)
        blob = tools.blobs.take(file)
        outputs.append(
            StoredOutput(path, blob.digest.sha256, blob.digest.size_bytes, blob.guard, executable)
        )
    result = ActionResult(tuple(outputs), execution.message, execution.wall_s)
    inputs = {**work.sources, **{path: blob.digest for path, blob in work.derived.items()}}
    made_of = ingredients(work.action, inputs, tools.context, tools.names)
    tools.results.put(work.key, result, made_of)
    return result
