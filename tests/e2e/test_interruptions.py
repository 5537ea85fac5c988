"""Builds that are stopped, killed or doubled leave a state from which the next one is right."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import Space

pytestmark = [pytest.mark.network, pytest.mark.toolchain]


def start(space: Space, *argv: str) -> subprocess.Popen[str]:
    environ = {**os.environ, "OXIDE_CACHE": str(space.cache), "OXIDE_STORE": str(space.store)}
    return subprocess.Popen(
        [sys.executable, "-m", "oxide_build", "build", "//...", *argv],
        cwd=space.root,
        env=environ,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def children(pid: int) -> list[int]:
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            if parent == pid:
                found.append(int(folder.name))
    return found


def wait_for_child(process: subprocess.Popen[str]) -> int:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        if pids := children(process.pid):
            return pids[0]
        time.sleep(0.002)
    raise AssertionError("the build started nothing")


@pytest.fixture
def slow_ws(rust_ws: Space) -> Space:
    """A genrule that takes a minute, beside the kernel."""
    rust_ws.write(
        "slow/BUILD.toml",
        '[[genrule]]\nname = "slow"\nouts = ["o"]\nshell = "echo half > $(OUT); sleep 60"\n',
    )
    return rust_ws


def test_ctrl_c_stops_children_and_the_next_build_is_right(slow_ws: Space) -> None:
    process = start(slow_ws)
    deadline = time.monotonic() + 60
    # Let the kernel get through, so that only the slow one is left.
    while not any("sleep" in name(pid) for pid in descendants(process.pid)):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    pids = descendants(process.pid)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130, said
    assert "interrupted" in said
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]
    assert not (slow_ws.root / "oxide-out/slow").exists()
    slow_ws.write(
        "slow/BUILD.toml",
        '[[genrule]]\nname = "slow"\nouts = ["o"]\nshell = "echo whole > $(OUT)"\n',
    )
    slow_ws.build()
    assert slow_ws.read("oxide-out/slow/o") == b"whole\n"
    assert (slow_ws.root / "oxide-out/k/twice.sm_90.cubin").exists()


def descendants(pid: int) -> list[int]:
    found, stack = [], [pid]
    while stack:
        for child in children(stack.pop()):
            found.append(child)
            stack.append(child)
    return found


def name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


@pytest.mark.parametrize("delay_s", [0.0, 0.05, 0.2, 0.4])
def test_a_killed_build_leaves_nothing_wrong(rust_ws: Space, delay_s: float) -> None:
    process = start(rust_ws)
    wait_for_child(process)
    time.sleep(delay_s)
    process.kill()
    process.communicate()
    rust_ws.build()
    assert rust_ws.read("oxide-out/k/twice.sm_90.cubin").startswith(b"\x7fELF")
    assert rust_ws.build().actions["ran"] == 0
    assert not list((rust_ws.cache / "tmp").glob("action-*"))


def test_two_builds_at_once_are_both_right(rust_ws: Space) -> None:
    processes = [start(rust_ws) for _ in range(3)]
    for process in processes:
        _, said = process.communicate(timeout=120)
        assert process.returncode == 0, said
    assert rust_ws.build().actions["ran"] == 0
