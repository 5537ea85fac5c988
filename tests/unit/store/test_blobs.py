"""Blobs are whole, checked, and out of reach of edits."""

from __future__ import annotations

from pathlib import Path

import pytest

from oxide_build.model.digest import Digest
from oxide_build.store.blobs import BlobStore, DamagedBlob


def taken(store: BlobStore, tmp_path: Path, data: bytes):  # type: ignore[no-untyped-def]
    file = tmp_path / "new"
    file.write_bytes(data)
    return store.take(file)


def test_a_taken_file_is_there_under_its_digest(tmp_path: Path) -> None:
    store = BlobStore(tmp_path)
    blob = taken(store, tmp_path, b"hello")
    assert blob.digest == Digest.of(b"hello")
    assert store.has(blob.digest.sha256, blob.digest.size_bytes)
    assert not (tmp_path / "new").exists()
    assert store.checked(blob).read_bytes() == b"hello"


def test_editing_a_copy_does_not_reach_the_blob(tmp_path: Path) -> None:
    store = BlobStore(tmp_path)
    blob = taken(store, tmp_path, b"hello")
    copy = tmp_path / "copy"
    store.copy_to(blob, str(copy))
    with open(copy, "r+b") as file:
        file.write(b"HELLO")
    assert BlobStore(tmp_path).checked(blob).read_bytes() == b"hello"


@pytest.mark.parametrize("damage", [b"hellO", b"hell", b"", None])
def test_a_damaged_blob_is_removed_and_reported(tmp_path: Path, damage: bytes | None) -> None:
    store = BlobStore(tmp_path)
    blob = taken(store, tmp_path, b"hello")
    path = store.path(blob.digest)
    path.unlink()
    if damage is not None:
        path.write_bytes(damage)
    with pytest.raises(DamagedBlob):
        BlobStore(tmp_path).copy_to(blob, str(tmp_path / "out"))
    assert not path.exists()
    assert not (tmp_path / "out").exists()


def test_a_truncated_blob_is_not_there(tmp_path: Path) -> None:
    store = BlobStore(tmp_path)
    blob = taken(store, tmp_path, b"hello")
    store.path(blob.digest).chmod(0o644)
    store.path(blob.digest).write_bytes(b"hel")
    assert not store.has(blob.digest.sha256, blob.digest.size_bytes)


def test_a_copy_replaces_a_link_instead_of_writing_through_it(tmp_path: Path) -> None:
    store = BlobStore(tmp_path)
    blob = taken(store, tmp_path, b"hello")
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / "out").symlink_to(victim)
    store.copy_to(blob, str(tmp_path / "out"))
    assert victim.read_text() == "mine"
    assert (tmp_path / "out").read_bytes() == b"hello"
