"""Actions: commands over declared files, hermetic and hashable."""

from __future__ import annotations

from dataclasses import dataclass, field

from oxide_build.model.label import Label

# Everything that actions write has a path below this folder; nothing of the user's may lie there.
OUTPUT_ROOT = "oxide-out"

# The built-in step whose arguments are a path and the whole content of that file.
WRITE_FILE = "@write-file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One step of an action.

    `argv[0]` is a relative path of a tool, or the name of a built-in step behind an `@`
    (`@place-address-spaces`). Arguments may hold `{cwd}`, the action's folder as an absolute
    path, which is not part of the key. `stdout` and `stderr` name files that take the streams;
    without them the streams belong to the action's own output, which the user is shown.
    """

    argv: tuple[str, ...]
    stdout: str | None = None
    stderr: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """Commands that run one after the other in a private folder.

    inputs   paths relative to that folder: sources at their place in the workspace, outputs of
             other actions below `OUTPUT_ROOT`
    outputs  paths below `OUTPUT_ROOT`; each must exist afterwards, nothing else is kept
    tools    (toolchain id, tree name) pairs: the parts of toolchains that it may read
    env      the whole environment; nothing is inherited
    """

    commands: tuple[Command, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    tools: tuple[tuple[str, str], ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    # For people and reports; not identity.
    label: Label = field(compare=False)
    stage: str = field(compare=False)
    arch: str | None = field(default=None, compare=False)
