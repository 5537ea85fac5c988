"""What a key was made of, kept beside the result, so that a later key can be compared with it."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import msgspec

from oxide_build.model.action import Action
from oxide_build.model.digest import Digest
from oxide_build.store.keys import KeyContext

# More arguments than these are not listed one by one.
_MOST = 4


class Ingredients(msgspec.Struct, frozen=True, array_like=True):
    """The ingredients of one key, as people know them.

    commands  (arguments, file for standard output, for standard error) of each command
    tools     mount -> (digest, what it is: "cuda 13.0.88")
    inputs    path -> digest; None where it is not known yet
    """

    platform: str
    commands: tuple[tuple[tuple[str, ...], str, str], ...]
    steps: str
    env: dict[str, str]
    tools: dict[str, tuple[str, str]]
    inputs: dict[str, str | None]
    outputs: tuple[str, ...]

    def encode(self) -> bytes:
        return zlib.compress(msgspec.msgpack.encode(self), 1)

    @classmethod
    def decode(cls, data: bytes) -> Ingredients | None:
        """None for what is no such thing."""
        try:
            return msgspec.msgpack.decode(zlib.decompress(data), type=cls)
        except (zlib.error, msgspec.MsgspecError, UnicodeDecodeError):
            return None


def ingredients(
    action: Action,
    inputs: Mapping[str, Digest | None],
    context: KeyContext,
    names: Mapping[tuple[str, str], str],
) -> Ingredients:
    """Those of `action`; `names` says what each part of a toolchain is."""
    uses_steps = any(command.argv[0].startswith("@") for command in action.commands)
    return Ingredients(
        platform=context.platform,
        commands=tuple(
            (command.argv, command.stdout or "", command.stderr or "")
            for command in action.commands
        ),
        steps=context.steps if uses_steps else "",
        env=dict(action.env),
        tools={
            context.trees[tool].mount: (str(context.trees[tool].digest), names.get(tool, tool[1]))
            for tool in action.tools
        },
        inputs={
            path: None if (digest := inputs[path]) is None else str(digest)
            for path in action.inputs
        },
        outputs=action.outputs,
    )


@dataclass(frozen=True, slots=True)
class Difference:
    """One ingredient that differs; `path` is that of an input, else ""."""

    sentence: str
    path: str = field(default="")


def differences(old: Ingredients, new: Ingredients) -> Iterator[Difference]:
    """What differs: tools, commands, environment, inputs, outputs."""
    if old.platform != new.platform:
        yield Difference(f"platform: {old.platform} -> {new.platform}")
    # A tool's version stands in arguments too; the tool itself is what changed.
    for mount in sorted({*old.tools, *new.tools}):
        before_tool, now_tool = old.tools.get(mount), new.tools.get(mount)
        if before_tool is None or now_tool is None or before_tool[0] != now_tool[0]:
            yield Difference(f"tool {_tools(before_tool, now_tool)}")
    yield from _commands(old, new)
    if old.steps != new.steps and old.steps and new.steps:
        yield Difference("the built-in steps are those of another version of oxide_build")
    for name in sorted({*old.env, *new.env}):
        before, now = old.env.get(name), new.env.get(name)
        if before != now:
            yield Difference(f"environment {name}: {_value(before)} -> {_value(now)}")
    for path in sorted({*old.inputs, *new.inputs}):
        if path not in old.inputs:
            yield Difference(f"input {path} is new", path)
        elif path not in new.inputs:
            yield Difference(f"input {path} is not used any more")
        elif new.inputs[path] is not None and old.inputs[path] != new.inputs[path]:
            yield Difference(f"input {path} changed", path)
    if sorted(old.outputs) != sorted(new.outputs):
        yield Difference(f"outputs: {', '.join(old.outputs)} -> {', '.join(new.outputs)}")


def _commands(old: Ingredients, new: Ingredients) -> Iterator[Difference]:
    if len(old.commands) != len(new.commands):
        yield Difference(f"it had {len(old.commands)} commands and has {len(new.commands)}")
        return
    for (argv, out, err), (now, now_out, now_err) in zip(old.commands, new.commands, strict=True):
        tool = now[0].rpartition("/")[2]
        if argv != now:
            yield Difference(f"{tool}: {_arguments(argv, now)}")
        if (out, err) != (now_out, now_err):
            yield Difference(f"{tool}: its output goes to another file")


def _arguments(old: tuple[str, ...], new: tuple[str, ...]) -> str:
    """`-mcpu=sm_80 -> -mcpu=sm_90`, `+ -Copt-level=2`, `- --cfg`."""
    import difflib

    parts = []
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for what, a, b, c, d in matcher.get_opcodes():
        before, after = " ".join(old[a:b]), " ".join(new[c:d])
        if what == "replace":
            parts.append(f"{_short(before)} -> {_short(after)}")
        elif what == "insert":
            parts.append(f"+ {_short(after)}")
        elif what == "delete":
            parts.append(f"- {_short(before)}")
    more = len(parts) - _MOST
    return "; ".join(parts[:_MOST]) + (f"; and {more} more" if more > 0 else "")


def _tools(old: tuple[str, str] | None, new: tuple[str, str] | None) -> str:
    before, now = old[1] if old else "none", new[1] if new else "none"
    return f"{before} -> {now}" if before != now else f"{now}: its files are other ones"


def _value(text: str | None) -> str:
    return "not set" if text is None else _short(text)


def _short(text: str) -> str:
    return text if len(text) <= 120 else f"{text[:117]}…"
