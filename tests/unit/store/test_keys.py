"""Every ingredient changes the key; what is no ingredient does not."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import tomli

from oxide_build.content import content_root
from oxide_build.model.action import Action, Command
from oxide_build.model.digest import Digest
from oxide_build.model.label import Label
from oxide_build.model.toolchain import ToolTree
from oxide_build.store.keys import KEY_VERSION, ExplainSink, KeyContext, cache_key, write_key

A, B = Digest.of(b"a"), Digest.of(b"b")
TREE = ToolTree(name="llvm", mount="toolchain/rust", digest=A, root="/somewhere")
CONTEXT = KeyContext(platform="linux-x86_64", steps="s1", trees={("id1", "llvm"): TREE})
ACTION = Action(
    commands=(
        Command(argv=("toolchain/rust/bin/llc", "a.bc", "-o", "oxide-out/a.ptx"), stderr="log"),
        Command(argv=("@assembly-record", "x")),
    ),
    inputs=("a.bc", "b.bc"),
    outputs=("oxide-out/a.ptx",),
    tools=(("id1", "llvm"),),
    env=(("A", "1"), ("B", "2")),
    label=Label("p", "n"),
    stage="codegen",
    arch="sm_90",
)
INPUTS = {"a.bc": A, "b.bc": B}


def key(action: Action = ACTION, context: KeyContext = CONTEXT, **inputs: Digest) -> str:
    return cache_key(action, {**INPUTS, **inputs}, context)


@pytest.mark.parametrize(
    "other",
    [
        replace(ACTION, commands=ACTION.commands[:1]),
        replace(ACTION, commands=ACTION.commands[::-1]),
        replace(ACTION, commands=(replace(ACTION.commands[0], stderr=None), ACTION.commands[1])),
        replace(ACTION, commands=(replace(ACTION.commands[0], stdout="o"), ACTION.commands[1])),
        replace(ACTION, inputs=("a.bc",)),
        replace(ACTION, outputs=("oxide-out/b.ptx",)),
        replace(ACTION, tools=()),
        replace(ACTION, env=(("A", "1"),)),
        replace(ACTION, env=(("A", "2"), ("B", "2"))),
    ],
)
def test_what_an_action_is_changes_the_key(other: Action) -> None:
    assert key(other) != key()


@pytest.mark.parametrize(
    "context",
    [
        replace(CONTEXT, platform="linux-aarch64"),
        replace(CONTEXT, steps="s2"),
        replace(CONTEXT, trees={("id1", "llvm"): replace(TREE, digest=B)}),
        replace(CONTEXT, trees={("id1", "llvm"): replace(TREE, mount="toolchain/llvm")}),
    ],
)
def test_what_an_action_runs_with_changes_the_key(context: KeyContext) -> None:
    assert key(context=context) != key()


def test_the_content_of_an_input_changes_the_key() -> None:
    assert cache_key(ACTION, {"a.bc": B, "b.bc": B}, CONTEXT) != key()


@pytest.mark.parametrize(
    "other",
    [
        replace(ACTION, label=Label("q", "m")),
        replace(ACTION, stage="other"),
        replace(ACTION, arch=None),
        replace(ACTION, inputs=("b.bc", "a.bc")),
        replace(ACTION, env=(("B", "2"), ("A", "1"))),
    ],
)
def test_names_for_people_and_orders_without_meaning_do_not(other: Action) -> None:
    assert key(other) == key()


def test_where_a_toolchain_lies_and_what_it_is_called_do_not() -> None:
    elsewhere = replace(CONTEXT, trees={("id2", "llvm"): replace(TREE, root="/elsewhere")})
    assert key(replace(ACTION, tools=(("id2", "llvm"),)), elsewhere) == key()


def test_steps_matter_only_to_actions_that_use_them() -> None:
    plain = replace(ACTION, commands=ACTION.commands[:1])
    assert key(plain) == key(plain, replace(CONTEXT, steps="s2"))


def test_the_key_document_lists_the_tags_of_the_walk() -> None:
    sink = ExplainSink()
    write_key(ACTION, INPUTS, CONTEXT, sink)
    document = tomli.loads((content_root("cache") / "key.toml").read_text())
    assert list(dict.fromkeys(line.split(" = ")[0] for line in sink.lines)) == document["tags"]
    assert document["version"] == KEY_VERSION


def vectors() -> dict[str, str]:
    small = replace(ACTION, commands=ACTION.commands[:1], tools=(), env=())
    return {
        "kernel codegen": key(),
        "no tools, no environment": key(small),
        "hostile names": cache_key(
            replace(small, inputs=("argument", "3:a"), outputs=("oxide-out/input.path",)),
            {"argument": A, "3:a": B},
            CONTEXT,
        ),
    }


def test_golden_keys_change_only_with_the_version(pytestconfig: pytest.Config) -> None:
    path = content_root("cache") / "vectors.json"
    now = {"version": KEY_VERSION, "keys": vectors()}
    if pytestconfig.getoption("--update-golden"):
        Path(path).write_text(json.dumps(now, indent=2) + "\n")
    assert json.loads(path.read_text()) == now
