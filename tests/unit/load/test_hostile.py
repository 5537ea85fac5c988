"""Definitions that no person wrote: a clear error, soon, and nothing read outside the workspace."""

from __future__ import annotations

import os
import signal
import socket
import tempfile
import tracemalloc
from pathlib import Path

import pytest

from oxide_build.errors import DefinitionError
from oxide_build.load.limits import SIZE_LIMIT_BYTES
from oxide_build.load.toml_file import parse_toml
from tests.unit.load.conftest import Loading

SECRET = "root:x:0:0"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (
            b'\n[[lib]]\nname = "a\x00b"\n',
            "BUILD.toml:3: the file is not valid TOML: the file holds a NUL",
        ),
        (b"\x00" * 100, "NUL character"),
        (b'\n[[lib]]\nname = "\xff"\n', "BUILD.toml:3: the file is not UTF-8: byte 0xff"),
        (b"\xff\xfe[\x00[\x00", "not UTF-8"),
        (b"a = " + b"[" * 1_000_000, "BUILD.toml:1: the file is nested too deeply"),
        (b"\na = " + b"{a=" * 1_000_000, "BUILD.toml:2: the file is nested too deeply"),
        (b"a." * 1_000_000 + b"b=1", "nested too deeply"),
        (b"[" + b"a." * 1_000_000 + b"b]", "nested too deeply"),
        (b"a = " + b"9" * 1_000_000, "too many digits"),
        (b"a = 1\n\na = 2\n", "BUILD.toml:3: the file is not valid TOML: this key"),
        (b"[[lib]]\r[[lib]]", "BUILD.toml:1"),
    ],
)
def test_unreadable_files_have_a_place_and_a_cause(space: Loading, data: bytes, said: str) -> None:
    space.write("k/BUILD.toml", data)
    message = space.error()
    assert "k/BUILD.toml" in message
    assert said in message
    assert len(message) < 1000


def test_a_string_of_50_megabytes_is_not_even_read(space: Loading) -> None:
    space.write("k/BUILD.toml", b'[[lib]]\nname = "' + b"x" * 50_000_000 + b'"\n')
    tracemalloc.start()
    try:
        message = space.error()
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()
    assert f"50,000,018 bytes, but at most {SIZE_LIMIT_BYTES:,} are read" in message


def test_the_limit_holds_for_bytes_from_elsewhere() -> None:
    with pytest.raises(DefinitionError, match="bytes"):
        parse_toml("BUILD.toml", b" " * (SIZE_LIMIT_BYTES + 1))


def test_long_words_are_cut_in_messages(space: Loading) -> None:
    long = "x" * 400_000
    space.write(
        "k/BUILD.toml",
        f'[[{long}]]\n[[lib]]\nname = "{long}"\n"{long}" = 1\nsrcs = ["{long}"]\n'
        f'deps = ["//{long}", ":{long}"]\nmode = {{ "{long}" = "x" }}\nruntime = "{long}"\n',
    )
    message = space.error()
    assert len(message) < 10_000
    assert message.count("BUILD.toml:") >= 7


def test_thousands_of_errors_do_not_fill_the_terminal(space: Loading) -> None:
    space.write("k/BUILD.toml", "[[lib]]\nnaem = 1\n" * 5000)
    message = space.error()
    assert message.count("BUILD.toml:") == 50
    assert "9950 more errors are not shown" in message


def test_control_characters_are_never_shown_as_they_are(space: Loading) -> None:
    evil = r"\u001b[31m\n\u0007"
    space.write(
        "k/BUILD.toml",
        f'["{evil}"]\n[[lib]]\nname = "{evil}"\n"{evil}" = 1\nsrcs = ["{evil}"]\n'
        f'deps = ["{evil}"]\n'
        f'env = {{ "{evil}" = 1 }}\nflags = ["\\u0000"]\nmode = {{ "{evil}" = "x" }}\n',
    )
    message = space.error()
    assert "\x1b" not in message
    assert "\x07" not in message
    assert "\0" not in message


def test_a_source_link_out_of_the_workspace_is_refused(space: Loading, tmp_path: Path) -> None:
    (tmp_path / "secret.rs").write_text(SECRET)
    space.write(
        "k/BUILD.toml",
        '[[lib]]\nname = "a"\nsrcs = ["x.rs"]\n[[lib]]\nname = "b"\nsrcs = ["*.rs"]\n',
    )
    (space.root / "k/x.rs").symlink_to(tmp_path / "secret.rs")
    message = space.error()
    assert message.count("k/x.rs: this symbolic link leaves the workspace") == 2
    assert SECRET not in message
    with pytest.raises(DefinitionError, match="leaves the workspace"):
        space.files.read("k/x.rs")


def test_a_build_file_link_out_of_the_workspace_is_refused(space: Loading, tmp_path: Path) -> None:
    (tmp_path / "BUILD.toml").write_text(SECRET)
    (space.root / "k").mkdir()
    (space.root / "k/BUILD.toml").symlink_to("../../BUILD.toml")
    message = space.error()
    assert "k/BUILD.toml: this symbolic link leaves the workspace" in message
    assert SECRET not in message


def test_a_folder_link_out_of_the_workspace_is_refused(space: Loading, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/BUILD.toml").write_text('[[lib]]\nname = "out"\n')
    (tmp_path / "out/x.rs").write_text(SECRET)
    (space.root / "link").symlink_to(tmp_path / "out")
    space.write("k/BUILD.toml", '[[lib]]\nname = "a"\ndeps = ["//link:out"]\n')
    assert "`link` is a symbolic link" in space.error()
    space.write("k/BUILD.toml", '[[lib]]\nname = "a"\nsrcs = ["sub/x.rs"]\n')
    (space.root / "k/sub").symlink_to(tmp_path / "out")
    assert "k/sub: this symbolic link leaves the workspace" in space.error("//k:a")
    assert space.files.packages_below("") == ["k"]


def test_a_sibling_with_the_same_beginning_is_outside(space: Loading, tmp_path: Path) -> None:
    (tmp_path / "ws2").mkdir()
    (tmp_path / "ws2/x.rs").write_text(SECRET)
    (space.root / "x.rs").symlink_to(tmp_path / "ws2/x.rs")
    with pytest.raises(DefinitionError, match="leaves the workspace"):
        space.files.read("x.rs")


@pytest.mark.parametrize("target", ["x.rs", "y.rs"])
def test_a_link_that_leads_to_itself_is_named(space: Loading, target: str) -> None:
    (space.root / "x.rs").symlink_to(target)
    (space.root / "y.rs").symlink_to("x.rs")
    with pytest.raises(DefinitionError, match=r"x\.rs: this symbolic link leads back to itself"):
        space.files.kind("x.rs")


def test_links_inside_the_workspace_are_followed(space: Loading) -> None:
    space.write("common/x.rs", "fn x() {}")
    space.write("k/BUILD.toml", '[[lib]]\nname = "k"\nsrcs = ["*.rs"]\n')
    (space.root / "k/x.rs").symlink_to("../common/x.rs")
    assert space.target("//k").attrs["srcs"] == ("k/x.rs",)
    assert space.files.read("k/x.rs") == b"fn x() {}"


def test_a_dangling_link_is_a_missing_file(space: Loading) -> None:
    (space.root / "x.rs").symlink_to("nowhere.rs")
    assert space.files.kind("x.rs") == "missing"
    with pytest.raises(DefinitionError, match="no such file"):
        space.files.read("x.rs")


def test_special_files_are_refused_without_waiting(space: Loading) -> None:
    os.mkfifo(space.root / "fifo.rs")
    space.write("BUILD.toml", '[[lib]]\nname = "a"\nsrcs = ["fifo.rs"]\n')
    assert "`fifo.rs` is a FIFO, a socket or a device" in space.error()
    with pytest.raises(DefinitionError, match="a FIFO, not a regular file"):
        space.files.read("fifo.rs")


def test_a_build_file_that_is_a_fifo_is_refused(space: Loading) -> None:
    (space.root / "k").mkdir()
    os.mkfifo(space.root / "k/BUILD.toml")
    assert "k/BUILD.toml: this is a FIFO, not a regular file" in space.error()


def test_a_socket_is_refused() -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder, socket.socket(socket.AF_UNIX) as sock:
        loading = Loading(Path(folder))
        sock.bind(f"{folder}/s")
        with pytest.raises(DefinitionError, match="not a regular file"):
            loading.files.read("s")


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a/../../x", "a//b", "./a", "a\0b", "a/."])
def test_paths_that_could_lead_out_are_refused(space: Loading, path: str) -> None:
    with pytest.raises(DefinitionError, match="not a path inside the workspace"):
        space.files.read(path)
    assert not space.files.exists(path)


@pytest.mark.parametrize("name", ["new\nline.rs", "bad\udcff.rs", "{cwd}.rs", "-o.rs", "@args.rs"])
def test_awkward_names_of_sources_are_refused_by_globs(space: Loading, name: str) -> None:
    (space.root / name).write_text("")
    space.write("BUILD.toml", '[[lib]]\nname = "a"\nsrcs = ["*.rs"]\n')
    assert "cannot be the name of a source" in space.error()


def test_a_package_that_no_label_can_name_is_an_error(space: Loading) -> None:
    space.write("a\nb/BUILD.toml")
    assert "a\\nb/BUILD.toml: no label can name this package" in space.error()


def test_a_glob_of_many_stars_takes_no_time(space: Loading) -> None:
    space.write("a" * 200 + ".rs")
    stars = "*a" * 60
    space.write("BUILD.toml", f'[[lib]]\nname = "a"\nsrcs = ["{stars}b", "{"**/" * 5000}x"]\n')
    # Trying every way to match would take longer than anyone waits.
    signal.alarm(120)
    try:
        assert "matches no file" in space.error()
    finally:
        signal.alarm(0)


def test_deep_folders_are_walked(space: Loading) -> None:
    space.write("/".join(["d"] * 900) + "/x.rs")
    space.write("BUILD.toml", '[[lib]]\nname = "a"\nsrcs = ["**/*.rs"]\n')
    assert space.target("//:a").attrs["srcs"] == ("d/" * 900 + "x.rs",)
