"""Running one action on this machine."""

from __future__ import annotations

import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from oxide_build.errors import ActionFailed, InfrastructureError
from oxide_build.execution.sandbox import CACHE_HINT
from oxide_build.host.process import ProcessGroup
from oxide_build.model.action import Action, Command


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """One run of an action.

    message  what its tools said, with colours, in order; "" where all was quiet
    failure  what went wrong in a sentence, None where nothing did
    hint     what to do about it, where the failing step knew
    """

    message: str
    failure: str | None
    hint: str | None
    wall_s: float


@dataclass(frozen=True, slots=True)
class LocalRunner:
    """Runs commands one after the other in a prepared folder; stops at the first that fails."""

    processes: ProcessGroup

    def run(self, action: Action, folder: Path) -> Execution:
        """Run `action` in `folder`. A failure is part of the result, not an exception.

        Raises `InfrastructureError` where the disk is to blame.
        """
        start = time.monotonic()
        said: list[str] = []
        failure: str | None = None
        hint: str | None = None
        for command in action.commands:
            try:
                if command.argv[0].startswith("@"):
                    # Imported late: a build whose actions are hits needs none of the steps.
                    from oxide_build.execution.steps import run_step

                    text = run_step(folder, command.argv, action)
                else:
                    text, failure = self._tool(action, command, folder)
            except ActionFailed as error:
                text, failure, hint = "", error.message, error.hint
            except OSError as error:
                raise InfrastructureError(
                    f"could not write in `{folder.parent}` for `{action.label}`: {error.strerror}",
                    hint=CACHE_HINT,
                ) from error
            if text:
                said.append(text)
            if failure is not None:
                break
        return Execution(
            message="\n".join(part.strip("\n") for part in said),
            failure=failure,
            hint=hint,
            wall_s=time.monotonic() - start,
        )

    def _tool(self, action: Action, command: Command, folder: Path) -> tuple[str, str | None]:
        argv = [argument.replace("{cwd}", str(folder)) for argument in command.argv]
        done = self.processes.run(argv, cwd=folder, env=_environment(action, folder))
        streams = ((done.stdout, command.stdout), (done.stderr, command.stderr))
        # A stream that goes into a file is data; where a tool failed and said nothing else, it may
        # have the reason.
        silent = not any(stream.strip() for stream, target in streams if target is None)
        parts = []
        for stream, target in streams:
            if target is not None:
                (folder / target).write_bytes(stream)
            if target is None or (silent and not done.ok):
                parts.append(stream.decode("utf-8", "replace").replace(f"{folder}/", ""))
        tool = command.argv[0].rpartition("/")[2]
        failure = None if done.ok else f"`{tool}` {_ending(done.returncode)}"
        return "\n".join(part for part in parts if part.strip()), failure


def _environment(action: Action, folder: Path) -> Mapping[str, str]:
    # Where tools put temporary files is the machine's business and no part of the key.
    return {"TMPDIR": str(folder / "tmp"), **dict(action.env)}


def _ending(returncode: int) -> str:
    if returncode >= 0:
        return f"failed with exit code {returncode}"
    try:
        return f"was ended by {signal.Signals(-returncode).name}"
    except ValueError:
        return f"was ended by signal {-returncode}"
