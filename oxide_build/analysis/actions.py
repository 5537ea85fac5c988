"""What a rule returned, checked and turned into values of the model."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from oxide_build.errors import DefinitionError
from oxide_build.model.action import OUTPUT_ROOT, WRITE_FILE, Action, Command
from oxide_build.model.label import Label, shown

# Parts between single slashes, none of them `.` or `..`.
_PLAIN = re.compile(r"(?!\.\.?(?:/|\Z))[^/\0]+(?:/(?!\.\.?(?:/|\Z))[^/\0]+)*\Z")

_ACTION_KEYS = {"stage", "commands", "inputs", "outputs", "tools", "env", "arch"}
_RESULT_KEYS = {"actions", "outputs", "files", "notes", "providers"}


@dataclass(frozen=True, slots=True)
class Output:
    """A file that building a target leaves in `oxide-out`; `arch` is None for all archs."""

    path: str
    arch: str | None


@dataclass(frozen=True, slots=True)
class RuleResult:
    """What one call of an implementation gave."""

    actions: tuple[Action, ...]
    outputs: tuple[Output, ...]
    files: tuple[str, ...]
    notes: Mapping[str, str]
    providers: Mapping[str, Any]


def read_result(raw: object, *, label: Label, place: str) -> RuleResult:
    """Check the value that a rule's implementation returned.

    `place` begins the message of a `DefinitionError`, which is the rule author's.
    """
    if not isinstance(raw, Mapping) or set(raw) != _RESULT_KEYS:
        raise DefinitionError(
            f"{place}: the rule did not return `result(…)`",
            hint='load `result` from "@oxide//prelude.bzl" and return what it gives',
        )
    return RuleResult(
        actions=tuple(_action(item, label, place) for item in raw["actions"]),
        outputs=tuple(
            Output(_derived(item["path"], place), item["arch"]) for item in raw["outputs"]
        ),
        files=tuple(_path(item, place) for item in raw["files"]),
        notes=dict(raw["notes"]),
        providers=dict(raw["providers"]),
    )


def _action(raw: object, label: Label, place: str) -> Action:
    if not isinstance(raw, Mapping) or set(raw) != _ACTION_KEYS:
        raise DefinitionError(
            f"{place}: an item of `actions` was not made by `action(…)`",
            hint='load `action` from "@oxide//prelude.bzl"',
        )
    stage = raw["stage"]
    outputs = tuple(_derived(item, place) for item in raw["outputs"])
    if not outputs or not raw["commands"]:
        raise DefinitionError(f"{place}: an action needs at least one command and one output")
    return Action(
        commands=tuple(_command(item, place) for item in raw["commands"]),
        inputs=tuple(dict.fromkeys(_path(item, place) for item in raw["inputs"])),
        outputs=outputs,
        tools=tuple((kind, tree) for kind, tree in raw["tools"]),
        env=tuple(sorted((key, _text(value, place)) for key, value in raw["env"].items())),
        label=label,
        stage=_text(stage, place),
        arch=raw["arch"],
    )


def _command(raw: object, place: str) -> Command:
    if not isinstance(raw, Mapping) or not raw.get("argv"):
        raise DefinitionError(f"{place}: an item of `commands` was not made by `command(…)`")
    return Command(
        argv=_texts(raw["argv"], place),
        stdout=None if raw["stdout"] is None else _path(raw["stdout"], place),
        stderr=None if raw["stderr"] is None else _path(raw["stderr"], place),
    )


def _text(value: object, place: str) -> str:
    if not isinstance(value, str) or "\0" in value:
        raise DefinitionError(f"{place}: {value!r} is not a usable string in an action")
    return value


def _texts(values: Sequence[object], place: str) -> tuple[str, ...]:
    """As `_text`, for many at once: an analysis of 10,000 kernels reads three million."""
    try:
        if "\0".join(values).count("\0") == len(values) - 1:  # type: ignore[arg-type]
            return tuple(values)  # type: ignore[arg-type]
    except TypeError:
        pass
    return tuple(_text(value, place) for value in values)


def _path(value: object, place: str) -> str:
    if isinstance(value, str) and _PLAIN.match(value):
        return value
    raise DefinitionError(
        f"{place}: {shown(_text(value, place))} is not a plain relative path",
        hint="actions name files relative to the workspace root, without `.` and `..`",
    )


def _derived(value: object, place: str) -> str:
    path = _path(value, place)
    if not path.startswith(OUTPUT_ROOT + "/"):
        raise DefinitionError(
            f"{place}: the output {shown(path)} does not lie below `{OUTPUT_ROOT}/`",
            hint="make its path with `out_path(ctx, name)` or `stage_path(ctx, name)`",
        )
    return path


@dataclass(frozen=True, slots=True)
class ActionGraph:
    """All actions of a build, who makes what, and what each target leaves behind.

    `producer` maps an output's path to the index of its action. `outputs` and `notes` have the
    requested targets only.
    """

    actions: tuple[Action, ...]
    producer: Mapping[str, int]
    outputs: Mapping[Label, tuple[Output, ...]]
    files: Mapping[Label, tuple[str, ...]]
    notes: Mapping[Label, Mapping[str, str]]


@dataclass(slots=True)
class GraphBuilder:
    """Collects actions; the same action from two targets is kept once."""

    actions: list[Action] = field(default_factory=list)
    producer: dict[str, int] = field(default_factory=dict)

    def add(self, actions: Sequence[Action], place: str) -> None:
        """Take `actions`; raises `DefinitionError` where two different ones make one file."""
        for action in actions:
            first = self.producer.get(action.outputs[0])
            if first is not None and self.actions[first] == action:
                continue
            for path in action.outputs:
                if path in self.producer:
                    other = self.actions[self.producer[path]]
                    raise DefinitionError(
                        f"{place}: `{action.label}` and `{other.label}` both make `{path}`",
                        hint="rename one of the targets or outputs",
                    )
                self.producer[path] = len(self.actions)
            self.actions.append(action)

    def literal_content(self, path: str) -> str | None:
        """What will be in an output, where its action says so; None where it must run first."""
        index = self.producer.get(path)
        commands = () if index is None else self.actions[index].commands
        if len(commands) == 1 and commands[0].argv[:2] == (WRITE_FILE, path):
            return commands[0].argv[2]
        return None

    def check_inputs(self) -> None:
        """Every input below `oxide-out` must be some action's output."""
        prefix = OUTPUT_ROOT + "/"
        for action in self.actions:
            for path in action.inputs:
                if path.startswith(prefix) and path not in self.producer:
                    raise DefinitionError(
                        f"an action of `{action.label}` reads `{path}`, which no action makes"
                    )
