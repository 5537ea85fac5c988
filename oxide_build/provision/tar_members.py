"""The members of a tar, which is read once and whose headers are not trusted."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from typing import IO

from oxide_build.model.label import shown
from oxide_build.provision.archive_member import CHUNK_BYTES, Member, sound
from oxide_build.provision.provider import Refused

# What the headers of one member may take: long names are a few hundred bytes, but a header may
# claim gigabytes, which tarfile would read into memory.
_HEADER_BYTES = 1 << 20
_BLOCK_BYTES = 512
_KINDS = {
    tarfile.REGTYPE: "file",
    tarfile.AREGTYPE: "file",
    tarfile.CONTTYPE: "file",
    tarfile.DIRTYPE: "folder",
    tarfile.SYMTYPE: "symlink",
    tarfile.LNKTYPE: "hardlink",
    tarfile.CHRTYPE: "a device",
    tarfile.BLKTYPE: "a device",
    tarfile.FIFOTYPE: "a pipe",
}


class _Stream:
    """The bytes of a tar, read once from front to end.

    `budget` is how much may still be read of the headers at hand.
    """

    def __init__(self, unpacked: IO[bytes], name: str, limit_bytes: int) -> None:
        self._unpacked = unpacked
        self._name = name
        self._limit_bytes = limit_bytes
        self._position = 0
        self.budget: int | None = None
        self.last = b""

    def read(self, size: int) -> bytes:
        """Exactly `size` bytes, fewer only at the end."""
        if self.budget is not None:
            self.budget -= size
            if self.budget < 0 or size < 0:
                raise Refused(
                    f"`{self._name}` has a member whose header is over {_HEADER_BYTES:,} bytes"
                )
        pieces = []
        while size > 0 and (piece := self._unpacked.read(size)):
            pieces.append(piece)
            size -= len(piece)
        self.last = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        self._position += len(self.last)
        if self._position > self._limit_bytes:
            raise Refused(f"`{self._name}` unpacks to more than {self._limit_bytes:,} bytes")
        return self.last

    def tell(self) -> int:
        return self._position

    def seek(self, position: int, _whence: int = 0) -> int:
        """Forward only. Raises `EOFError` where the end comes before `position`."""
        if position < self._position:
            raise ValueError("a member lies before the one in front of it")
        while self._position < position:
            if not self.read(min(CHUNK_BYTES, position - self._position)):
                raise EOFError("it ends in the middle of a member")
        return position


def tar_members(unpacked: IO[bytes], name: str, limit_bytes: int) -> Iterator[Member]:
    stream = _Stream(unpacked, name, limit_bytes)
    stream.budget = _HEADER_BYTES
    # What tarfile calls of its file is here; it is not asked to extract anything.
    archive = tarfile.TarFile(fileobj=stream, encoding="utf-8")  # type: ignore[arg-type]
    while (info := archive.next()) is not None:
        # tarfile remembers every member, and nobody here asks again.
        archive.members = []  # type: ignore[attr-defined]
        stream.budget = None
        yield _tar_member(info, stream, name)
        stream.seek(archive.offset)
        stream.budget = _HEADER_BYTES
    # tarfile takes a damaged header, and a missing one, for the end: only zeros are.
    if stream.last.count(0) != _BLOCK_BYTES:
        raise EOFError("it ends without the mark of an end, or has a damaged header")
    stream.budget = None
    # The compressed file's own check comes last.
    while stream.read(CHUNK_BYTES):
        pass


def _tar_member(info: tarfile.TarInfo, stream: _Stream, name: str) -> Member:
    def chunks() -> Iterator[bytes]:
        left = info.size
        with sound(name):
            while left:
                chunk = stream.read(min(CHUNK_BYTES, left))
                if not chunk:
                    raise EOFError(f"it ends in the middle of {shown(info.name)}")
                left -= len(chunk)
                yield chunk

    return Member(
        name=info.name,
        kind=_tar_kind(info),
        size_bytes=info.size if info.isreg() else 0,
        executable=bool(info.mode & 0o100),
        target=info.linkname,
        chunks=chunks,
    )


def _tar_kind(info: tarfile.TarInfo) -> str:
    if info.issparse():
        return "a sparse file"
    return _KINDS.get(info.type, "of a kind that is not known")
