"""Commands run in order, in their folder, with their environment and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from oxide_build.errors import ActionFailed
from oxide_build.execution.runner import LocalRunner
from oxide_build.execution.sandbox import collect
from oxide_build.host.process import ProcessGroup
from oxide_build.model.action import Action, Command
from oxide_build.model.label import Label


def action(*commands: Command, outputs: tuple[str, ...] = ("oxide-out/o",)) -> Action:
    return Action(
        commands=commands, inputs=(), outputs=outputs, label=Label("p", "t"), stage="test",
        env=(("PATH", "/usr/bin:/bin"), ("GREETING", "hello")),
    )  # fmt: skip


def sh(script: str, **streams: str) -> Command:
    return Command(argv=("/bin/sh", "-c", script), **streams)


@pytest.fixture
def runner() -> LocalRunner:
    return LocalRunner(ProcessGroup())


def test_only_the_declared_environment_is_there(
    runner: LocalRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUSTFLAGS", "leaked")
    done = runner.run(action(sh("env | sort", stdout="env")), tmp_path)
    assert done.failure is None
    names = {line.split("=")[0] for line in (tmp_path / "env").read_text().splitlines()}
    assert names - {"PWD", "_", "SHLVL", "OLDPWD"} == {"PATH", "GREETING", "TMPDIR"}


def test_streams_go_to_files_or_to_the_user(runner: LocalRunner, tmp_path: Path) -> None:
    done = runner.run(action(sh("echo out; echo err >&2", stdout="o")), tmp_path)
    assert (tmp_path / "o").read_text() == "out\n"
    assert done.message == "err"


def test_the_first_failure_ends_the_action_and_shows_kept_streams(
    runner: LocalRunner, tmp_path: Path
) -> None:
    done = runner.run(action(sh("echo why >&2; exit 3", stderr="log"), sh("touch never")), tmp_path)
    assert done.failure == "`sh` failed with exit code 3"
    assert done.message == "why"
    assert not (tmp_path / "never").exists()


def test_a_signal_is_named(runner: LocalRunner, tmp_path: Path) -> None:
    assert runner.run(action(sh("kill -SEGV $$")), tmp_path).failure == "`sh` was ended by SIGSEGV"


def test_the_folder_stands_for_cwd_and_is_not_shown(runner: LocalRunner, tmp_path: Path) -> None:
    done = runner.run(
        action(Command(argv=("/bin/sh", "-c", 'echo "$0" > p; echo "$0/x.rs:1"', "{cwd}"))),
        tmp_path,
    )
    assert (tmp_path / "p").read_text().strip() == str(tmp_path)
    assert done.message == "x.rs:1"


def test_an_unknown_step_fails_with_the_known_ones(runner: LocalRunner, tmp_path: Path) -> None:
    done = runner.run(action(Command(argv=("@nope",))), tmp_path)
    assert done.failure is not None
    assert "`@nope` is no built-in step" in done.failure
    assert done.hint is not None
    assert "@place-address-spaces" in done.hint


def test_exit_code_0_without_the_output_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "oxide-out").mkdir()
    with pytest.raises(ActionFailed, match="did not write `o`"):
        collect(tmp_path, action(sh("true")))


def test_an_output_that_is_a_link_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "oxide-out").mkdir()
    (tmp_path / "oxide-out" / "o").symlink_to("/etc/hostname")
    with pytest.raises(ActionFailed, match="did not write `o`"):
        collect(tmp_path, action(sh("true")))
