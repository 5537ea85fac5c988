"""What is in an archive: its format is seen by its first bytes, not by its name."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from oxide_build.provision.archive_member import Member, sound
from oxide_build.provision.provider import Refused
from oxide_build.provision.tar_members import tar_members
from oxide_build.provision.zip_members import zip_members

_GZIP = b"\x1f\x8b"
_XZ = b"\xfd7zXZ\0"
_BZIP2 = b"BZh"
_ZSTD = b"\x28\xb5\x2f\xfd"
_ZIPS = (b"PK\x03\x04", b"PK\x05\x06")


def members(path: Path, name: str, limit_bytes: int) -> Iterator[Member]:
    """The members of the archive at `path`, in its order; messages call it `name`.

    Raises `Refused` for a format that is not known, for damage, for an end in the middle, and where
    a tar unpacks to more than `limit_bytes` with its headers. Raises `OSError`.
    """
    with open(path, "rb") as file:
        head = file.read(512)
    if head.startswith(_ZSTD):
        raise Refused(
            f"`{name}` is compressed by zstd, which not every Python can read",
            hint="pack it anew with xz or gzip: `zstd -dc FILE | xz > NEW`",
        )
    with sound(name):
        if head.startswith(_ZIPS):
            yield from zip_members(path, name)
        else:
            with _unpacked(path, name, head) as tar:
                yield from tar_members(tar, name, limit_bytes)


def _unpacked(path: Path, name: str, head: bytes) -> IO[bytes]:
    """The tar inside of its compression."""
    if head.startswith(_GZIP):
        return gzip.open(path)  # type: ignore[return-value]
    if head.startswith(_XZ):
        return lzma.open(path)
    if head.startswith(_BZIP2):
        return bz2.open(path)
    if head[257:262] == b"ustar":
        return open(path, "rb")
    raise Refused(
        f"`{name}` is no archive that is known here",
        hint="known are tar, alone or with gzip, xz or bzip2, and zip",
    )
