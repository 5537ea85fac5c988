"""A build with nothing to do is answered from its snapshot, and only then."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from oxide_build.snapshot.answer import nothing_to_do
from oxide_build.snapshot.request import FOLDER
from tests.conftest import Space

ARGV = ("build", "//...")


def seconds_out(text: str) -> str:
    return re.sub(r"\(\d+\.\d\d s\)", "(T s)", text)


def untimed(record: str) -> str:
    return re.sub(r'"wall_s": [\d.]+', "", record)


@pytest.fixture
def settled(ws: Space, monkeypatch: pytest.MonkeyPatch) -> Space:
    """A built workspace of genrules with a snapshot of `oxide build //...`."""
    ws.write("oxide.toml", '[workspace]\nname = "w"\nrules = ["//my/rules.bzl"]\n')
    ws.write("my/rules.bzl", "RULES = {}\n")
    ws.write("a/one.txt", "1")
    ws.write("a/two.txt", "2")
    ws.write(
        "a/BUILD.toml",
        '[[genrule]]\nname = "a"\nsrcs = ["*.txt", "deep/x.dat"]\nouts = ["out"]\n'
        'cmd = ["cat", "$(SRCS)"]\ncapture_stdout = true\n',
    )
    ws.write("a/deep/x.dat", "x")
    ws.write("b/BUILD.toml", '[[genrule]]\nname = "b"\nouts = ["b"]\nshell = "echo b > $(OUT)"\n')
    mine = {"OXIDE_CACHE": ws.cache, "OXIDE_STORE": ws.store, "NO_COLOR": 1}
    for name, value in mine.items():
        monkeypatch.setenv(name, str(value))
    settle(ws)
    return ws


def settle(ws: Space) -> None:
    """Build until nothing is left to do, and the times of all files say so."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        ran = ws.oxide(*ARGV)
        assert ran.exit_code == 0, ran.stderr
        if answered(ws):
            return
        time.sleep(0.05)
    raise AssertionError("no snapshot answered")


def answered(ws: Space, *argv: str, folder: str = "") -> bool:
    before = Path.cwd()
    os.chdir(ws.root / folder)
    try:
        return nothing_to_do(list(argv or ARGV))
    finally:
        os.chdir(before)


def test_it_prints_what_the_build_would(settled: Space) -> None:
    settled.capture.readouterr()
    assert answered(settled)
    quick = settled.capture.readouterr()
    whole = settled.oxide(*ARGV)
    assert seconds_out(quick.err) == seconds_out(whole.stderr)
    assert quick.out == whole.stdout == ""
    assert "2 actions: 0 ran, 2 hits; 0 outputs written, 2 unchanged" in quick.err


def test_json_is_the_same_too(settled: Space) -> None:
    whole = settled.oxide(*ARGV, "--json")
    assert answered(settled, *ARGV, "--json")
    quick = settled.capture.readouterr()
    assert untimed(quick.out) == untimed(whole.stdout)


def test_warnings_are_repeated(settled: Space) -> None:
    settled.write(
        "b/BUILD.toml",
        '[[genrule]]\nname = "b"\nouts = ["b"]\nshell = "echo careful >&2; echo b > $(OUT)"\n',
    )
    settle(settled)
    settled.capture.readouterr()
    assert answered(settled)
    assert "warnings: //b genrule\ncareful\n" in settled.capture.readouterr().err


def rewrite(path: str, text: str) -> Callable[[Space], object]:
    return lambda ws: ws.write(path, text)


def same_size_and_time(path: str) -> Callable[[Space], object]:
    def change(ws: Space) -> None:
        file = ws.root / path
        before = file.stat()
        file.write_bytes(bytes(byte ^ 1 for byte in file.read_bytes()))
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))

    return change


CHANGES: dict[str, Callable[[Space], object]] = {
    "source": rewrite("a/one.txt", "changed"),
    "source, same size and mtime": same_size_and_time("a/one.txt"),
    "touch": lambda ws: os.utime(ws.root / "a/two.txt"),
    "source gone": lambda ws: (ws.root / "a/deep/x.dat").unlink(),
    "one more file for a glob": rewrite("a/three.txt", "3"),
    "file renamed": lambda ws: (ws.root / "a/two.txt").rename(ws.root / "a/2.txt"),
    "target": rewrite("b/BUILD.toml", '[[filegroup]]\nname = "c"\nsrcs = []\n'),
    "one more package": rewrite("c/d/BUILD.toml", '[[filegroup]]\nname = "f"\nsrcs = []\n'),
    "package inside a package": rewrite("a/deep/BUILD.toml", ""),
    "workspace": rewrite("oxide.toml", '[workspace]\nname = "other"\n'),
    "rules": rewrite("my/rules.bzl", "RULES = dict()\n"),
    "lock": rewrite("oxide.lock", "version = 1\n"),
    "output": rewrite("oxide-out/a/out", "tampered"),
    "output, same size and mtime": same_size_and_time("oxide-out/a/out"),
    "output gone": lambda ws: (ws.root / "oxide-out/b/b").unlink(),
    "outputs gone": lambda ws: (ws.root / "oxide-out").rename(ws.root / "away"),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_any_change_makes_it_silent(settled: Space, change: Callable[[Space], object]) -> None:
    change(settled)
    assert not answered(settled)


@pytest.mark.parametrize(
    "argv",
    [
        ("build",),
        ("build", "//a"),
        ("build", "//...", "--keep-going"),
        ("build", "//...", "--profile", "p.json"),
        ("build", "//...", "--help"),
        ("clean",),
    ],
)
def test_another_request_is_not_answered(settled: Space, argv: tuple[str, ...]) -> None:
    assert not answered(settled, *argv)


def test_another_folder_is_another_request(settled: Space) -> None:
    assert not answered(settled, folder="a")


def test_another_environment_is_another_request(
    settled: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert not answered(settled)


def test_a_day_later_everything_is_looked_at(
    settled: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: now + 25 * 3600 * 1_000_000_000)
    assert not answered(settled)
    monkeypatch.setattr(time, "time_ns", lambda: now - 1_000_000_000_000)
    assert not answered(settled)


def test_a_damaged_or_foreign_one_is_no_answer(
    settled: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    (file,) = (f for f in (settled.cache / FOLDER).iterdir() if not f.suffix)
    assert file.stat().st_mode & 0o777 == 0o600
    data = file.read_bytes()
    file.write_bytes(data[:-1])
    assert not answered(settled)
    file.write_bytes(data)
    assert answered(settled)
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    assert not answered(settled)
    monkeypatch.undo()
    real = file.rename(file.with_name("real"))
    file.symlink_to(real)
    assert not answered(settled)


def test_an_arch_that_only_the_driver_knows_is_never_answered(settled: Space) -> None:
    before = len(list((settled.cache / FOLDER).iterdir()))
    for _ in range(2):
        assert settled.oxide(*ARGV, "--arch", "native").exit_code == 0
        time.sleep(0.05)
    assert len(list((settled.cache / FOLDER).iterdir())) == before


def test_a_cache_that_is_gone_answers_nothing(settled: Space) -> None:
    settled.cache.rename(settled.cache.with_name("away"))
    assert not answered(settled)
