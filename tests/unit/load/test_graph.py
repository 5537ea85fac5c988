"""Graphs: what is in them, in which order, and what may depend on what."""

from __future__ import annotations

import random
import sys

import pytest

from oxide_build.load.graph import dependents
from oxide_build.load.order import order
from oxide_build.load.spellings import sees
from oxide_build.model.label import Label
from tests.unit.load.conftest import Loading


def lib(name: str, *deps: str, more: str = "") -> str:
    listed = ", ".join(f'"{dep}"' for dep in deps)
    return f'[[lib]]\nname = "{name}"\ndeps = [{listed}]\n{more}'


def names(labels: object) -> list[str]:
    return [str(label) for label in labels]  # type: ignore[attr-defined]


def test_dependencies_come_first_and_only_what_is_needed(space: Loading) -> None:
    space.write("a/BUILD.toml", lib("a", "//b", "//c") + lib("unused", "//d"))
    space.write("b/BUILD.toml", lib("b", "//c"))
    space.write("c/BUILD.toml", lib("c"))
    space.write("d/BUILD.toml", lib("d"))
    graph = space.load("//a")
    assert names(graph.targets) == ["//c:c", "//b:b", "//a:a"]
    assert names(graph.requested) == ["//a:a"]
    assert {str(k): names(v) for k, v in dependents(graph).items()} == {
        "//c:c": ["//b:b", "//a:a"],
        "//b:b": ["//a:a"],
        "//a:a": [],
    }


@pytest.mark.parametrize(
    ("patterns", "found"),
    [
        (["//..."], ["//:r", "//a:x", "//a:y", "//a/b:z"]),
        (["//a/..."], ["//a:x", "//a:y", "//a/b:z"]),
        (["//a:all"], ["//a:x", "//a:y"]),
        (["//a:*"], ["//a:x", "//a:y"]),
        (["//a/b:z", "//a:x", "//a/b:z"], ["//a/b:z", "//a:x"]),
        (["//...", "-//a/..."], ["//:r"]),
        (["//...", "-//a:x"], ["//:r", "//a:y", "//a/b:z"]),
        (["//a/...", "-//a:all", "//a:y"], ["//a/b:z", "//a:y"]),
        (["-//a/...", "//a:x"], ["//a:x"]),
        (["//...", "-//nowhere/..."], ["//:r", "//a:x", "//a:y", "//a/b:z"]),
        (["//a:x", "-//a:x"], []),
    ],
)
def test_patterns_add_and_take_away_in_order(
    space: Loading, patterns: list[str], found: list[str]
) -> None:
    space.write("BUILD.toml", lib("r"))
    space.write("a/BUILD.toml", lib("x") + lib("y"))
    space.write("a/b/BUILD.toml", lib("z"))
    assert names(space.load(*patterns).requested) == found


def test_a_broken_package_can_be_left_out(space: Loading) -> None:
    space.write("a/BUILD.toml", lib("a"))
    space.write("broken/BUILD.toml", "[[")
    assert names(space.load("//...", "-//broken/...").requested) == ["//a:a"]
    assert "broken/BUILD.toml:1" in space.error("//...")


def test_one_typo_does_not_hide_behind_other_patterns(space: Loading) -> None:
    space.write("a/BUILD.toml", lib("a"))
    assert "no package `//b`" in space.error("//a", "//b")


def test_visibility_is_checked_between_packages_only(space: Loading) -> None:
    private = 'visibility = ["//visibility:private"]\n'
    space.write("a/BUILD.toml", lib("a", ":hidden") + lib("hidden", more=private))
    assert names(space.load("//a").targets) == ["//a:hidden", "//a:a"]
    space.write("b/BUILD.toml", lib("b", "//a:hidden"))
    assert "`//a:hidden`, which is not visible from `//b`" in space.error("//b")


def test_the_default_visibility_of_the_workspace_holds(space: Loading) -> None:
    space.write(
        "oxide.toml",
        '[workspace]\nname = "w"\ndefault_visibility = ["//visibility:private"]\n',
    )
    space.write("a/BUILD.toml", lib("a"))
    space.write("b/BUILD.toml", lib("b", "//a"))
    assert "not visible" in space.error("//b")
    space.write("a/BUILD.toml", '[package]\nvisibility = ["//b"]\n' + lib("a"))
    assert space.target("//b").deps == (Label("a", "a"),)


@pytest.mark.parametrize(
    ("package", "allowed", "seen"),
    [
        ("b", "//visibility:public", True),
        ("b", "//visibility:private", False),
        ("a", "//visibility:private", True),
        ("b", "//b:__pkg__", True),
        ("b/c", "//b:__pkg__", False),
        ("b/c", "//b:__subpackages__", True),
        ("b", "//b:__subpackages__", True),
        ("bc", "//b:__subpackages__", False),
        ("x", "//:__subpackages__", True),
        ("x", "//:__pkg__", False),
        ("", "//:__pkg__", True),
    ],
)
def test_who_sees_what(package: str, allowed: str, seen: bool) -> None:
    assert sees(package, Label("a", "x"), (allowed,)) is seen


def test_a_file_with_a_syntax_error_is_reported_once(space: Loading) -> None:
    space.write("a/BUILD.toml", lib("a", "//b", "//b:other"))
    space.write("b/BUILD.toml", "[[lib\n")
    assert space.error("//a").count("BUILD.toml:") == 1


def test_every_tangle_of_cycles_is_reported(space: Loading) -> None:
    space.write("a/BUILD.toml", lib("x", ":y") + lib("y", ":x") + lib("z", ":z", ":x"))
    message = space.error()
    assert message.count("depends on itself") == 2
    assert "`//a:x`\n    -> `//a:y`  (a/BUILD.toml:3, `deps`)\n    -> `//a:x`" in message


def test_long_cycles_are_shown_by_their_ends(space: Loading) -> None:
    count = 5000
    space.write("a/BUILD.toml", "".join(lib(f"t{i}", f":t{(i + 1) % count}") for i in range(count)))
    message = space.error()
    assert "4,989 more" in message
    assert len(message.splitlines()) < 20


def test_a_chain_of_100000_needs_no_recursion() -> None:
    count = 100_000
    labels, cycles = order([0], lambda node: [node + 1] if node < count else [])
    assert labels == list(range(count, -1, -1))
    assert cycles == []


def test_order_respects_every_edge_of_random_graphs() -> None:
    rng = random.Random(7)
    for _ in range(200):
        size = rng.randrange(1, 12)
        edges = {
            node: [rng.randrange(node) for _ in range(rng.randrange(4))] if node else []
            for node in range(size)
        }
        roots = rng.sample(range(size), size)
        labels, cycles = order(roots, edges.__getitem__)
        assert not cycles
        assert sorted(labels) == list(range(size))
        place = {node: index for index, node in enumerate(labels)}
        assert all(place[dep] < place[node] for node in edges for dep in edges[node])


def test_what_cycles_name_are_cycles() -> None:
    rng = random.Random(11)
    for _ in range(200):
        size = rng.randrange(1, 8)
        edges = {node: [rng.randrange(size) for _ in range(2)] for node in range(size)}
        _, cycles = order(range(size), edges.__getitem__)
        # Every node has dependencies, so there must be a cycle.
        assert cycles
        assert len({node for cycle in cycles for node in cycle}) == sum(map(len, cycles))
        for cycle in cycles:
            following = [*cycle[1:], cycle[0]]
            assert all(dep in edges[node] for node, dep in zip(cycle, following, strict=True))


def test_twice_the_targets_are_twice_the_work(space: Loading) -> None:
    def calls_for(packages: range, targets: int) -> int:
        for package in packages:
            text = lib("t0") + "".join(lib(f"t{i}", f":t{i - 1}", "//p0:t0") for i in range(1, 100))
            space.write(f"p{package}/BUILD.toml", text.replace(', "//p0:t0"', "", 1))
        calls = 0

        def count(frame: object, event: str, argument: object) -> None:
            nonlocal calls
            calls += 1

        sys.setprofile(count)
        try:
            assert len(space.load().targets) == targets
        finally:
            sys.setprofile(None)
        return calls

    once = calls_for(range(10), 1000)
    assert calls_for(range(10, 20), 2000) < 2.1 * once
