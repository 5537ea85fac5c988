"""Digests of trees: what they cover, and when they are recalled."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

import pytest

from oxide_build.errors import ToolchainError
from oxide_build.model.digest import Digest
from oxide_build.provision import trees
from oxide_build.provision.file_state import Notebook, settled
from oxide_build.provision.trees import Part, TreePlan, digest_tree, tree_files

PARTS = (Part("bin", "rustc"), Part("lib", "*.so*"), Part("src", deep=True), Part("absent"))


def plan(root: Path, *parts: Part) -> TreePlan:
    return TreePlan(name="t", mount="toolchain/t", root=str(root), parts=parts or PARTS)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    for name in ("bin/rustc", "bin/cargo", "lib/a.so.1", "lib/notes.txt", "src/x/y.rs", "src/z.rs"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    return folder


def digest(root: Path, notebook: Notebook) -> Digest:
    return digest_tree(plan(root), notebook).digest


def counting(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    hashed: list[str] = []
    real = trees._hash_file

    def hash_file(path: str) -> tuple[str, bool]:
        hashed.append(path)
        return real(path)

    monkeypatch.setattr(trees, "_hash_file", hash_file)
    return hashed


def test_only_selected_files_count(root: Path, tmp_path: Path) -> None:
    assert tree_files(plan(root)) == ("bin/rustc", "lib/a.so.1", "src/x/y.rs", "src/z.rs")
    notebook = Notebook(tmp_path / "n")
    before = digest(root, notebook)
    (root / "bin/cargo").write_text("other")
    (root / "lib/notes.txt").write_text("other")
    assert digest(root, notebook) == before


@pytest.mark.parametrize("change", ["content", "mode", "name", "new", "gone"])
def test_every_change_of_a_selected_file_changes_the_digest(
    root: Path, tmp_path: Path, change: str
) -> None:
    notebook = Notebook(tmp_path / "n")
    # Otherwise the memory would not be trusted, and the change not be its merit.
    time.sleep(0.05)
    before = digest(root, notebook)
    if change == "content":
        (root / "src/z.rs").write_text("SRC/z.rs")
    elif change == "mode":
        (root / "bin/rustc").chmod(0o755)
    elif change == "name":
        (root / "src/z.rs").rename(root / "src/w.rs")
    elif change == "new":
        (root / "src/x/new.rs").touch()
    else:
        (root / "src/x/y.rs").unlink()
    assert digest(root, notebook) != before
    assert digest(root, notebook) == digest(root, Notebook(tmp_path / "fresh"))


def test_an_edit_of_the_same_size_with_the_old_mtime_is_noticed(root: Path, tmp_path: Path) -> None:
    notebook = Notebook(tmp_path / "n")
    time.sleep(0.05)
    before = digest(root, notebook)
    path = root / "src/z.rs"
    old = path.stat()
    path.write_text("SRC/z.rs")
    os.utime(path, ns=(old.st_atime_ns, old.st_mtime_ns))
    assert digest(root, notebook) != before


def test_the_second_time_hashes_nothing(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notebook = Notebook(tmp_path / "n")
    time.sleep(0.05)
    hashed = counting(monkeypatch)
    first = digest(root, notebook)
    assert len(hashed) == 4
    assert digest(root, notebook) == first
    assert len(hashed) == 4
    (root / "src/z.rs").write_text("new")
    digest(root, notebook)
    assert [Path(path).name for path in hashed[4:]] == ["z.rs"]


def test_files_that_have_just_changed_are_read_again(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notebook = Notebook(tmp_path / "n")
    hashed = counting(monkeypatch)
    (root / "src/z.rs").write_text("now")
    digest(root, notebook)
    digest(root, notebook)
    assert sum(path.endswith("z.rs") for path in hashed) == 2


def test_states_settle_after_a_tick() -> None:
    now = 10_000_000_000_123
    assert settled([1, now - 1_000_000, 3, 4], now) is None
    assert settled([1, now - 30_000_000, 3, 4], now) is not None
    # Whole seconds: a file system with a coarse clock.
    assert settled([1, 9_999_000_000_000, 3, 4], 10_000_000_000_000) is None


def test_links_inside_count_as_what_they_lead_to(root: Path, tmp_path: Path) -> None:
    notebook = Notebook(tmp_path / "n")
    os.symlink("../src/z.rs", root / "lib/b.so")
    before = digest(root, notebook)
    (root / "src/z.rs").write_text("new content")
    assert digest(root, notebook) != before
    (root / "lib/b.so").unlink()
    (root / "lib/b.so").write_text("new content")
    assert digest(root, notebook) == digest(root, Notebook(tmp_path / "fresh"))


@pytest.mark.parametrize("link", ["lib/out.so", "src"])
def test_links_out_of_the_root_are_refused(root: Path, tmp_path: Path, link: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.so").write_text("secret")
    if link == "src":
        (root / "src").rename(root / "old")
        os.symlink(outside, root / "src")
    else:
        os.symlink(outside / "secret.so", root / link)
    with pytest.raises(ToolchainError, match="out of the toolchain's folder"):
        digest(root, Notebook(tmp_path / "n"))


def test_a_tree_without_files_is_an_error(root: Path, tmp_path: Path) -> None:
    with pytest.raises(ToolchainError, match="no files"):
        digest_tree(plan(root, Part("absent")), Notebook(tmp_path / "n"))


def test_a_damaged_memory_costs_only_time(root: Path, tmp_path: Path) -> None:
    notebook = Notebook(tmp_path / "n")
    before = digest(root, notebook)
    for path in (tmp_path / "n").iterdir():
        path.write_bytes(b'{"format":')
    assert digest(root, notebook) == before


def test_a_memory_that_cannot_be_written_is_no_error(root: Path, tmp_path: Path) -> None:
    (tmp_path / "n").write_text("a file where the folder should be")
    assert digest(root, Notebook(tmp_path / "n")) == digest(root, Notebook(tmp_path / "m"))


def test_the_same_files_elsewhere_have_the_same_digest(root: Path, tmp_path: Path) -> None:
    notebook = Notebook(tmp_path / "n")
    here = digest(root, notebook)
    root.rename(tmp_path / "moved")
    assert digest(tmp_path / "moved", notebook) == here


def test_the_digest_is_of_the_sorted_list_of_files(root: Path, tmp_path: Path) -> None:
    (root / "bin/rustc").chmod(0o755)
    lines = [
        f"{'x' if name == 'bin/rustc' else '-'} {hashlib.sha256(name.encode()).hexdigest()} {name}"
        for name in ("bin/rustc", "lib/a.so.1", "src/x/y.rs", "src/z.rs")
    ]
    expected = Digest.of("".join(f"{line}\n" for line in lines).encode())
    assert digest(root, Notebook(tmp_path / "n")) == expected
