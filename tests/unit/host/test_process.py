"""The door for subprocesses: results, time limits, stopping."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from oxide_build.errors import InfrastructureError
from oxide_build.host.process import ProcessGroup


def test_a_failure_is_a_result(tmp_path: Path) -> None:
    done = ProcessGroup().run(["/bin/sh", "-c", "echo a; echo b >&2; exit 7"], cwd=tmp_path, env={})
    assert (done.returncode, done.stdout, done.stderr) == (7, b"a\n", b"b\n")
    assert not done.ok


def test_nothing_is_inherited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEAK", "1")
    done = ProcessGroup().run(["/usr/bin/env"], cwd=tmp_path, env={"A": "1"})
    assert done.text == "A=1"


def test_standard_input_is_empty(tmp_path: Path) -> None:
    assert ProcessGroup().run(["/bin/cat"], cwd=tmp_path, env={}).stdout == b""


def test_a_missing_program_is_said(tmp_path: Path) -> None:
    with pytest.raises(InfrastructureError, match="could not start `/nowhere/tool`"):
        ProcessGroup().run(["/nowhere/tool"], cwd=tmp_path, env={})


def test_what_outlives_its_time_is_ended(tmp_path: Path) -> None:
    with pytest.raises(InfrastructureError, match="did not end within"):
        ProcessGroup().run(["/bin/sleep", "60"], cwd=tmp_path, env={}, timeout_s=0.1)


def test_stopping_ends_children_and_their_children(tmp_path: Path) -> None:
    group = ProcessGroup()
    ended: list[BaseException] = []

    def work() -> None:
        script = "sleep 60 & echo $! > pid; wait"
        try:
            group.run(["/bin/sh", "-c", script], cwd=tmp_path, env={"PATH": "/usr/bin:/bin"})
        except KeyboardInterrupt as error:
            ended.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    deadline = time.monotonic() + 10
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text().strip():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    group.stop()
    thread.join(20)
    assert not thread.is_alive()
    assert ended
    child = Path("/proc", (tmp_path / "pid").read_text().strip(), "stat")
    deadline = time.monotonic() + 10
    # Gone, or a zombie that nobody has waited for yet.
    while child.exists() and child.read_text().split()[2] != "Z":
        assert time.monotonic() < deadline
        time.sleep(0.02)
    with pytest.raises(KeyboardInterrupt):
        group.run(["/bin/true"], cwd=tmp_path, env={})
