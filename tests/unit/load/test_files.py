"""Packages are found, and only where packages may be."""

from __future__ import annotations

from pathlib import Path

import pytest

from oxide_build.errors import DefinitionError
from oxide_build.load.files import parents
from tests.unit.load.conftest import Loading


def test_packages_are_found_in_order(space: Loading) -> None:
    for path in ("z", "a/b", "a", "a-b", "a/no/b", "oxide-out/x", ".git/x", "n/in/ner"):
        space.write(f"{path}/BUILD.toml")
    space.write("n/oxide.toml")
    (space.root / "link").symlink_to("a")
    assert space.files.packages_below("") == ["a", "a-b", "a/b", "a/no/b", "z"]
    assert space.files.packages_below("a") == ["a", "a/b", "a/no/b"]
    assert space.files.packages_below("a/no") == ["a/no/b"]
    assert space.files.packages_below("n/in") == ["n/in/ner"]
    assert space.files.packages_below("missing") == []


def test_the_root_may_be_a_package(space: Loading) -> None:
    space.write("BUILD.toml")
    assert space.files.packages_below("") == [""]


def test_a_folder_called_like_a_build_file_makes_no_package(space: Loading) -> None:
    space.write("k/BUILD.toml/x")
    assert space.files.packages_below("") == []


def test_kinds_are_told_apart(space: Loading) -> None:
    space.write("a/x.rs")
    assert [space.files.kind(path) for path in ("a/x.rs", "a", "", "b", "a/x.rs/y")] == [
        "file",
        "folder",
        "folder",
        "missing",
        "missing",
    ]


def test_a_workspace_behind_a_link_is_the_same(space: Loading, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(space.root)
    space.write("x.rs", "x")
    assert Loading(tmp_path / "alias").files.read("x.rs") == b"x"


def test_larger_files_are_read_when_asked_for(space: Loading) -> None:
    space.write("x", b"x" * 100)
    assert len(space.files.read("x", limit_bytes=None)) == 100
    assert len(space.files.read("x", limit_bytes=100)) == 100
    with pytest.raises(DefinitionError, match="x: the file has 100 bytes, but at most 99"):
        space.files.read("x", limit_bytes=99)


def test_a_folder_is_not_read(space: Loading) -> None:
    space.write("a/x")
    with pytest.raises(DefinitionError, match="a: this is a folder, not a regular file"):
        space.files.read("a")


def test_parents_end_with_the_root() -> None:
    assert list(parents("a/b/c")) == ["a/b", "a", ""]
    assert list(parents("a")) == [""]
    assert list(parents("")) == []
