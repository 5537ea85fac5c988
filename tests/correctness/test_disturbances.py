"""Whatever happens to files between two builds, the second is what a clean one would be.

Peers fail several of these rows: they trust times, do not look at outputs, or miss that a source
changed while it was read.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from oxide_build.load.files import WorkspaceFiles
from tests.conftest import Space
from tests.correctness.graphs import start

BUILD = """\
[[genrule]]
name = "upper"
srcs = ["in.txt"]
outs = ["upper.txt"]
shell = "tr a-z A-Z < in.txt > $(OUT)"

[[genrule]]
name = "twice"
srcs = [":upper", "tool.sh"]
outs = ["twice.txt"]
shell = "sh p/tool.sh oxide-out/p/upper.txt > $(OUT)"

[[genrule]]
name = "stripped"
srcs = ["in.txt"]
outs = ["stripped.txt"]
shell = "grep -v '^#' p/in.txt > $(OUT)"

[[genrule]]
name = "count"
srcs = [":stripped"]
outs = ["count.txt"]
shell = "wc -l < oxide-out/p/stripped.txt > $(OUT)"

[[genrule]]
name = "deep"
srcs = ["deep/*.txt"]
outs = ["deep.txt"]
shell = "cat $(SRCS) > $(OUT)"
""".replace("< in.txt", "< p/in.txt")


def contents(space: Space) -> dict[str, bytes]:
    root = space.root / "oxide-out"
    return {
        str(file.relative_to(root)): file.read_bytes()
        for file in sorted(root.rglob("*.txt"))
        if file.is_file()
    }


def clean(space: Space) -> dict[str, bytes]:
    """What a build from nothing makes of the same files."""
    copy = Space(
        space.root.with_name("clean"), space.cache.with_name("clean-cache"), space.store,
        space.capture,
    )  # fmt: skip
    shutil.copytree(space.root, copy.root, ignore=shutil.ignore_patterns("oxide-out"))
    copy.build()
    found = contents(copy)
    shutil.rmtree(copy.root)
    shutil.rmtree(copy.cache)
    return found


@pytest.fixture
def built(ws: Space) -> Space:
    ws.write("p/BUILD.toml", BUILD)
    ws.write("p/in.txt", "# a comment\nhello\n")
    ws.write("p/tool.sh", 'cat "$1" "$1"\n')
    ws.write("p/deep/a.txt", "a\n")
    ws.write("p/deep/b.txt", "b\n")
    ws.build()
    # Past the tick in which a change could hide.
    time.sleep(0.05)
    ws.build()
    return ws


@dataclass(frozen=True)
class Row:
    """A disturbance, and how many of the five actions run because of it."""

    change: Callable[[Space], object]
    ran: int


def keeping_times(path: str, text: str) -> Callable[[Space], object]:
    def change(space: Space) -> None:
        file = space.root / path
        before = file.stat()
        file.write_text(text)
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))

    return change


def write(path: str, text: str, *, mtime: float | None = None) -> Callable[[Space], object]:
    def change(space: Space) -> None:
        file = space.write(path, text)
        if mtime is not None:
            os.utime(file, (mtime, mtime))

    return change


def folder_and_back(space: Space) -> None:
    file = space.root / "p/in.txt"
    text = file.read_text()
    file.unlink()
    file.mkdir()
    assert space.oxide("build", "//...").exit_code == 3
    file.rmdir()
    file.write_text(text)


def file_and_back(space: Space) -> None:
    folder = space.root / "p/deep"
    away = folder.rename(space.root / "away")
    folder.write_text("a file where a folder was")
    assert space.oxide("build", "//...").exit_code == 3
    folder.unlink()
    away.rename(folder)


def swapped(space: Space) -> None:
    """Two files of one size and time change places."""
    one, two = space.root / "p/deep/a.txt", space.root / "p/deep/b.txt"
    for file in (one, two):
        os.utime(file, (1e9, 1e9))
    one.rename(space.root / "p/c")
    two.rename(one)
    (space.root / "p/c").rename(two)


def restored_from_backup(space: Space) -> None:
    """A whole folder is replaced by a copy with the times of the original and one other file."""
    folder, copy = space.root / "p/deep", space.root / "copy"
    shutil.copytree(folder, copy)
    before = (copy / "a.txt").stat()
    (copy / "a.txt").write_text("A\n")
    os.utime(copy / "a.txt", ns=(before.st_atime_ns, before.st_mtime_ns))
    shutil.rmtree(folder)
    copy.rename(folder)


def renamed_by_case(space: Space) -> None:
    (space.root / "p/in.txt").rename(space.root / "p/IN.txt")
    build = space.root / "p/BUILD.toml"
    build.write_text(build.read_text().replace("in.txt", "IN.txt"))


def output_is_a_folder(space: Space) -> None:
    file = space.root / "oxide-out/p/upper.txt"
    file.unlink()
    (file / "deep").mkdir(parents=True)


def edit_build(old: str, new: str) -> Callable[[Space], object]:
    def change(space: Space) -> None:
        build = space.root / "p/BUILD.toml"
        before = build.read_text()
        build.write_text(before.replace(old, new))
        assert build.read_text() != before

    return change


ROWS = {
    "nothing": Row(lambda _: None, 0),
    "touch": Row(lambda s: os.utime(s.root / "p/in.txt"), 0),
    "same-size edit with restored mtime": Row(keeping_times("p/in.txt", "# a comment\nhullo\n"), 4),
    "edit with an older mtime": Row(write("p/in.txt", "# a comment\nold\n", mtime=1e9), 4),
    "edit with a future mtime": Row(write("p/in.txt", "# a comment\nnew\n", mtime=4e9), 4),
    "comment only": Row(write("p/in.txt", "# another comment\nhello\n"), 3),
    "mtime in the future": Row(lambda s: os.utime(s.root / "p/in.txt", (4e9, 4e9)), 0),
    "output tampered": Row(write("oxide-out/p/twice.txt", "x"), 0),
    "output tampered, same size and time": Row(
        keeping_times("oxide-out/p/count.txt", "9\n"), 0
    ),
    "output deleted": Row(lambda s: (s.root / "oxide-out/p/upper.txt").unlink(), 0),
    "output became a folder": Row(output_is_a_folder, 0),
    "folder and back": Row(folder_and_back, 0),
    "file and back": Row(file_and_back, 0),
    "files swapped": Row(swapped, 1),
    "folder restored from a backup": Row(restored_from_backup, 1),
    "file deleted that a glob found": Row(lambda s: (s.root / "p/deep/b.txt").unlink(), 1),
    "target renamed": Row(edit_build('name = "count"', 'name = "lines"'), 0),
    "target removed": Row(edit_build(BUILD[BUILD.index('[[genrule]]\nname = "deep"'):], ""), 0),
    "output renamed": Row(edit_build('outs = ["count.txt"]', 'outs = ["lines.txt"]'), 1),
    "cache removed": Row(lambda s: shutil.rmtree(s.cache), 5),
    "renamed by case": Row(renamed_by_case, 2),
    "command changed": Row(edit_build("tr a-z A-Z", "tr a-m A-M"), 2),
    "environment changed": Row(edit_build('"count"', '"count"\nenv = { A = "1" }'), 1),
    "tool changed": Row(write("p/tool.sh", 'cat "$1" "$1" "$1"\n'), 1),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_after_a_disturbance_the_build_is_right(built: Space, name: str) -> None:
    row = ROWS[name]
    row.change(built)
    ran = built.build()
    assert ran.actions["ran"] == row.ran, [each["label"] for each in ran.record["ran"]]
    assert contents(built) == clean(built)
    assert built.build().actions["ran"] == 0


@pytest.mark.parametrize("name", ROWS)
def test_so_is_that_of_the_real_command_which_may_answer_from_a_snapshot(
    built: Space, name: str
) -> None:
    deadline = time.monotonic() + 20
    while not list(built.cache.glob("snapshots-v1/*")) and time.monotonic() < deadline:
        time.sleep(0.05)
        assert run(built)["ran"] == 0
    assert list(built.cache.glob("snapshots-v1/*"))
    row = ROWS[name]
    row.change(built)
    assert run(built)["ran"] == row.ran
    assert contents(built) == clean(built)
    assert run(built)["ran"] == 0


def run(space: Space) -> dict[str, int]:
    process = start(space, "build", "--json", "//...")
    out, err = process.communicate()
    assert process.returncode == 0, err.decode()
    actions: dict[str, int] = json.loads(out)["actions"]
    return actions


def test_a_deleted_input_is_named(built: Space) -> None:
    (built.root / "p/in.txt").unlink()
    ran = built.oxide("build", "//...")
    assert ran.exit_code == 3
    assert "p/BUILD.toml:3" in ran.stderr
    assert "in.txt" in ran.stderr


def test_going_back_runs_nothing(built: Space) -> None:
    before = contents(built)
    built.write("p/in.txt", "other\n")
    built.build()
    built.write("p/in.txt", "# a comment\nhello\n")
    assert built.build().actions["ran"] == 0
    assert contents(built) == before


def test_a_source_that_changes_while_it_is_used_does_no_harm(built: Space) -> None:
    """The command changes its own source in the workspace: the worst moment there is.

    What runs reads a copy that was compared with the key's digest, so its result is that of the old
    content, is kept under the old content's key, and the next build sees the new content.
    """
    source = built.root / "p/in.txt"
    built.write(
        "q/BUILD.toml",
        '[[genrule]]\nname = "q"\nsrcs = ["//p:in"]\nouts = ["q.txt"]\n'
        f'shell = "sleep 0.1; cat p/in.txt > $(OUT); echo changed > {source}"\n',
    )
    build = built.root / "p/BUILD.toml"
    build.write_text(build.read_text() + '[[filegroup]]\nname = "in"\nsrcs = ["in.txt"]\n')
    built.build("//q")
    assert built.read("oxide-out/q/q.txt") == b"# a comment\nhello\n"
    assert built.build("//q").actions["ran"] == 1
    assert built.read("oxide-out/q/q.txt") == b"changed\n"
    built.write("p/in.txt", "# a comment\nhello\n")
    assert built.build("//q").actions["ran"] == 0
    assert built.read("oxide-out/q/q.txt") == b"# a comment\nhello\n"


def test_a_source_that_changes_before_it_is_copied_stops_the_build(
    built: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = WorkspaceFiles.read

    def late(self: WorkspaceFiles, path: str, **more: Any) -> bytes:
        if path == "p/in.txt":
            (built.root / path).write_text("other\n")
        return real(self, path, **more)

    built.write("p/in.txt", "new\n")
    monkeypatch.setattr(WorkspaceFiles, "read", late)
    ran = built.oxide("build", "//...")
    assert ran.exit_code == 4
    assert "`p/in.txt` changed while the build was running" in ran.stderr
    monkeypatch.undo()
    assert built.build().actions["ran"] == 4
    assert contents(built) == clean(built)


def test_a_source_that_changes_within_the_tick_of_its_hash_is_seen(ws: Space) -> None:
    ws.write("p/BUILD.toml", BUILD)
    ws.write("p/tool.sh", 'cat "$1"\n')
    ws.write("p/deep/a.txt", "a\n")
    file = ws.write("p/in.txt", "0000\n")
    for number in range(1, 8):
        # Same size, at once after the build: stamps may well be equal.
        file.write_text(f"{number:04}\n")
        ws.build()
        assert ws.read("oxide-out/p/upper.txt") == f"{number:04}\n".encode()


def test_a_build_that_finds_its_output_folder_linked_away_says_so(
    built: Space, tmp_path: Path
) -> None:
    shutil.rmtree(built.root / "oxide-out")
    (tmp_path / "elsewhere").mkdir()
    (built.root / "oxide-out").symlink_to(tmp_path / "elsewhere")
    ran = built.oxide("build", "//...")
    assert ran.exit_code == 5
    assert "`oxide-out` is a symbolic link" in ran.stderr
    assert list((tmp_path / "elsewhere").iterdir()) == []
