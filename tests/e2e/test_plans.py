"""A build whose definitions are as they were goes by its plan, and comes to the same result."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from oxide_build.cli import session
from oxide_build.cli.plans import plan_of
from tests.conftest import Space
from tests.e2e.conftest import KERNEL

ARGV = ("build", "//...")

BUILD = """\
[[genrule]]
name = "a"
srcs = ["*.txt"]
outs = ["out"]
cmd = ["cat", "$(SRCS)"]
capture_stdout = true
"""


@pytest.fixture
def planned(ws: Space, monkeypatch: pytest.MonkeyPatch) -> Space:
    """A built workspace that has a plan of `oxide build //...`."""
    ws.write("a/BUILD.toml", BUILD)
    ws.write("a/one.txt", "1")
    mine = {"OXIDE_CACHE": ws.cache, "OXIDE_STORE": ws.store, "NO_COLOR": 1}
    for name, value in mine.items():
        monkeypatch.setenv(name, str(value))
    settle(ws)
    return ws


def settle(space: Space) -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        ran = space.oxide(*ARGV)
        assert ran.exit_code == 0, ran.stderr
        if has_plan(space):
            return
        time.sleep(0.05)
    raise AssertionError("there is no plan")


def has_plan(space: Space) -> bool:
    before = Path.cwd()
    os.chdir(space.root)
    try:
        return plan_of(list(ARGV), space.root) is not None
    finally:
        os.chdir(before)


@pytest.fixture
def no_loading(planned: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise AssertionError("the workspace was loaded")

    monkeypatch.setattr(session, "load_graph", refused)


@pytest.mark.usefixtures("no_loading")
@pytest.mark.parametrize(
    ("change", "out"),
    [
        (lambda s: s.write("a/one.txt", "2"), b"2"),
        (lambda s: shutil.rmtree(s.root / "oxide-out"), b"1"),
        (lambda s: s.write("oxide-out/a/out", "tampered"), b"1"),
        (lambda s: shutil.rmtree(s.cache / "results-v1"), b"1"),
        (lambda s: s.write("a/.hidden", "x"), b"1"),
    ],
    ids=["source", "outputs gone", "output tampered", "results gone", "hidden file"],
)
def test_it_is_enough_for(planned: Space, change: Callable[[Space], object], out: bytes) -> None:
    change(planned)
    ran = planned.oxide(*ARGV)
    assert ran.exit_code == 0, ran.stderr
    assert planned.read("oxide-out/a/out") == out


@pytest.mark.parametrize(
    "change",
    [
        lambda s: s.write("a/BUILD.toml", BUILD + "\n# changed\n"),
        lambda s: s.write("a/two.txt", "2"),
        lambda s: (s.root / "a/one.txt").rename(s.root / "a/uno.txt"),
        lambda s: s.write("b/BUILD.toml", BUILD),
        lambda s: s.write("oxide.toml", '[workspace]\nname = "other"\n'),
        lambda s: s.write("oxide.lock", "version = 1\n"),
        lambda s: (s.root / "a/one.txt").unlink(),
    ],
    ids=["BUILD.toml", "new file", "renamed", "new package", "oxide.toml", "lock", "source gone"],
)
def test_it_does_not_outlive_its_definitions(
    planned: Space, change: Callable[[Space], object]
) -> None:
    change(planned)
    assert not has_plan(planned)


def test_a_damaged_one_is_none(planned: Space) -> None:
    (file,) = planned.cache.glob("snapshots-v1/*.plan")
    assert file.stat().st_mode & 0o777 == 0o600
    data = file.read_bytes()
    for at in range(0, len(data), max(1, len(data) // 200)):
        flipped = bytearray(data)
        flipped[at] ^= 0x10
        file.write_bytes(bytes(flipped))
        assert not has_plan(planned), at
    file.write_bytes(data[:-3])
    assert not has_plan(planned)
    file.write_bytes(data)
    assert has_plan(planned)


def test_the_same_is_said_and_recorded_as_without_it(planned: Space) -> None:
    planned.write("a/one.txt", "2")
    with_plan = planned.oxide(*ARGV, "--json")
    shutil.rmtree(planned.cache / "snapshots-v1")
    planned.write("a/one.txt", "3")
    without = planned.oxide(*ARGV, "--json")
    drop = {"wall_s", "ran"}
    assert {k: v for k, v in with_plan.record.items() if k not in drop} == {
        k: v for k, v in without.record.items() if k not in drop
    }


@pytest.mark.network
@pytest.mark.toolchain
def test_a_source_that_begins_to_ask_for_its_target_ends_it(
    rust_ws: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = {"OXIDE_CACHE": rust_ws.cache, "OXIDE_STORE": rust_ws.store, "NO_COLOR": 1}
    for name, value in mine.items():
        monkeypatch.setenv(name, str(value))
    settle(rust_ws)
    rust_ws.write("k/twice.rs", KERNEL.replace("2.0", "3.0"))
    assert has_plan(rust_ws)
    rust_ws.write("k/twice.rs", KERNEL + "\n// target_feature\n")
    assert not has_plan(rust_ws)
    # Then each arch has a front end of its own.
    assert "compile sm_80" in rust_ws.build().stages
