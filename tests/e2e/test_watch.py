"""`oxide watch` builds when something that matters changes."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from oxide_build.cli.watch import concerns
from tests.conftest import Space

DEADLINE_S = 30


@pytest.mark.parametrize(
    ("path", "matters"),
    [
        ("a/x.rs", True),
        ("BUILD.toml", True),
        ("oxide.lock", True),
        ("oxide-out/a/x.ptx", False),
        (".git/index", False),
        ("a/.x.rs.swp", False),
        ("a/x.rs~", False),
        ("a/4913", False),
        ("a/target/debug/x", False),
    ],
)
def test_what_matters(path: str, matters: bool) -> None:
    assert concerns(path) is matters


class Watching:
    """The command in a process of its own, and what it says."""

    def __init__(self, space: Space) -> None:
        environ = {
            **os.environ,
            "OXIDE_CACHE": str(space.cache),
            "OXIDE_STORE": str(space.store),
        }
        self.process = subprocess.Popen(
            [sys.executable, "-m", "oxide_build", "watch", "//..."],
            cwd=space.root,
            env=environ,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self._lines.put(line)

    def until(self, text: str) -> list[str]:
        """What was said up to a line with `text`."""
        said: list[str] = []
        deadline = time.monotonic() + DEADLINE_S
        while time.monotonic() < deadline:
            try:
                said.append(self._lines.get(timeout=0.2))
            except queue.Empty:
                continue
            if text in said[-1]:
                return said
        raise AssertionError(f"`{text}` was not said, but: {''.join(said)}")

    @property
    def quiet(self) -> bool:
        return self._lines.empty()


@pytest.fixture
def watching(ws: Space) -> Iterator[tuple[Space, Watching]]:
    ws.write("in.txt", "one\n")
    ws.write(
        "BUILD.toml",
        '[[genrule]]\nname = "g"\nsrcs = ["in.txt"]\nouts = ["out.txt"]\n'
        'shell = "cat in.txt > $(OUT)"\n',
    )
    found = Watching(ws)
    try:
        found.until("watching")
        yield ws, found
    finally:
        found.process.kill()
        found.process.wait()


def test_a_change_is_built_and_a_mistake_does_not_end_it(watching: tuple[Space, Watching]) -> None:
    ws, watch = watching
    assert ws.read("oxide-out/out.txt") == b"one\n"
    ws.write("in.txt", "two\n")
    said = watch.until("watching")
    assert "changed: in.txt" in said[0]
    assert any("1 ran" in line for line in said)
    assert ws.read("oxide-out/out.txt") == b"two\n"
    ws.write("BUILD.toml", "[[nope]]\n")
    assert any("there is no rule `nope`" in line for line in watch.until("watching"))
    ws.write("notes.swp", "")
    ws.write("BUILD.toml", '[[genrule]]\nname = "h"\nouts = ["h"]\nshell = "echo h > $(OUT)"\n')
    watch.until("watching")
    assert ws.read("oxide-out/h") == b"h\n"


def test_an_interrupt_ends_it_cleanly(watching: tuple[Space, Watching]) -> None:
    _, watch = watching
    watch.process.send_signal(signal.SIGINT)
    assert watch.process.wait(timeout=DEADLINE_S) == 0


def test_changes_during_a_build_lead_to_one_more(watching: tuple[Space, Watching]) -> None:
    ws, watch = watching
    build = (ws.root / "BUILD.toml").read_text()
    ws.write("BUILD.toml", build.replace("cat in.txt", "sleep 1; cat in.txt"))
    watch.until("changed: BUILD.toml")
    for text in ("a", "b", "c"):
        ws.write("in.txt", text)
    watch.until("watching")
    watch.until("watching")
    assert ws.read("oxide-out/out.txt") == b"c"
    time.sleep(0.5)
    assert watch.quiet
