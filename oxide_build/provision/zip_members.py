"""The members of a zip, by its directory."""

from __future__ import annotations

import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path

from oxide_build.provision.archive_member import CHUNK_BYTES, Member, damaged, sound

_LINK_BYTES = 4096
_ENCRYPTED = 0x1


def zip_members(path: Path, name: str) -> Iterator[Member]:
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            yield _zip_member(archive, info, name)


def _zip_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str) -> Member:
    def chunks() -> Iterator[bytes]:
        with sound(name), archive.open(info) as file:
            while chunk := file.read(CHUNK_BYTES):
                yield chunk

    mode = info.external_attr >> 16
    kind = _zip_kind(info, mode)
    target = ""
    if kind == "symlink":
        if info.file_size > _LINK_BYTES:
            raise damaged(name, f"the link `{info.filename}` has {info.file_size:,} bytes")
        target = archive.read(info).decode("utf-8")
    # zipfile cuts a name at its first NUL: what is checked must be the whole one.
    whole = info.orig_filename
    # Made where files have no mode: what lies in a `bin` is meant to be run.
    in_bin = stat.S_IMODE(mode) == 0 and "bin" in whole.split("/")[:-1]
    return Member(
        name=whole,
        kind=kind,
        size_bytes=info.file_size,
        executable=bool(mode & 0o100) or in_bin,
        target=target,
        chunks=chunks,
    )


def _zip_kind(info: zipfile.ZipInfo, mode: int) -> str:
    if info.flag_bits & _ENCRYPTED:
        return "encrypted"
    form = stat.S_IFMT(mode)
    if form == stat.S_IFLNK:
        return "symlink"
    if form not in (0, stat.S_IFREG, stat.S_IFDIR):
        return "a device or pipe"
    return "folder" if info.is_dir() else "file"
