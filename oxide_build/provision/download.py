"""Downloading one file of known sha256, continued where it was cut."""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from oxide_build.errors import InfrastructureError, ToolchainError
from oxide_build.model.label import shown
from oxide_build.provision.provider import Refused
from oxide_build.provision.remote_file import Cut, Response, open_url

# Nothing that is one toolchain is larger; CUDA with everything is 4 GB.
SIZE_LIMIT_BYTES = 8 << 30
# Before the second attempt, the third, …: so there are five.
PAUSES_S = (0.5, 1.0, 2.0, 4.0)
_TIMEOUT_S = 60.0
_CHUNK_BYTES = 256 << 10
_KEEP_PARTS_S = 30 * 86_400.0

# Gets how many bytes are here and, where the server says, of how many.
OnProgress = Callable[[int, int | None], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What to download, and how far to go for it.

    limit_bytes  a larger file is refused
    timeout_s    an attempt ends after so long without a byte
    pauses_s     between attempts; there is one attempt more than pauses
    """

    url: str
    sha256: str
    limit_bytes: int = SIZE_LIMIT_BYTES
    timeout_s: float = _TIMEOUT_S
    pauses_s: Sequence[float] = PAUSES_S


def download(wanted: Wanted, path: Path, on_progress: OnProgress) -> int:
    """Make `path` the whole file; returns its size in bytes.

    What an earlier call left at `path` is continued, and what this one gets is kept where it is
    cut; a whole file costs its hashing and no network. The caller sees to it that nobody else
    writes `path`. Raises `Refused` where the file has another sha256 or is too large, which removes
    `path`; `ToolchainError` where it cannot be had; `InfrastructureError` for a full disk.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _forget_old(path.parent)
        with open(path, "a+b") as file:
            part = _Part(file)
            _fetch(wanted, part, on_progress)
            if part.sha256 != wanted.sha256 and part.pieces > 1:
                # The server may have replaced the file after the first piece of it.
                part.restart()
                _fetch(wanted, part, on_progress)
        if part.sha256 == wanted.sha256:
            return part.size_bytes
        raise Refused(
            f"{shown(wanted.url)} has the sha256 {part.sha256} ({part.size_bytes:,} bytes), but "
            f"`oxide.toml` says {wanted.sha256}",
            hint="if who made the archive replaced it, write the new sha256; else do not trust it",
        )
    except Refused:
        path.unlink(missing_ok=True)
        raise
    except OSError as error:
        raise InfrastructureError(
            f"could not write `{path}`: {error.strerror or error}",
            hint="make room or give permission, or choose another folder for the tool store",
        ) from error


class _Part:
    """The file as far as it is here.

    `pieces` counts the responses that it is made of; what an earlier call left counts as one.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._hash = hashlib.sha256()
        self.size_bytes = 0
        file.seek(0)
        while chunk := file.read(_CHUNK_BYTES):
            self._hash.update(chunk)
            self.size_bytes += len(chunk)
        self.pieces = 1 if self.size_bytes else 0

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()

    def append(self, chunk: bytes) -> None:
        self._file.write(chunk)
        self._hash.update(chunk)
        self.size_bytes += len(chunk)

    def restart(self) -> None:
        self._file.truncate(0)
        self._hash = hashlib.sha256()
        self.size_bytes = self.pieces = 0


def _fetch(wanted: Wanted, part: _Part, on_progress: OnProgress) -> None:
    """Complete `part`, by several attempts if need be."""
    if part.size_bytes and part.sha256 == wanted.sha256:
        # Who downloaded it was killed before it was unpacked.
        return
    for pause_s in (*wanted.pauses_s, None):
        try:
            with open_url(wanted.url, part.size_bytes, timeout_s=wanted.timeout_s) as response:
                _receive(wanted, response, part, on_progress)
            return
        except Cut as cut:
            if cut.anew:
                part.restart()
            if pause_s is None:
                kept = f"the {part.size_bytes:,} bytes that came are kept: " * bool(part.size_bytes)
                raise ToolchainError(
                    f"{shown(wanted.url)} could not be downloaded in {len(wanted.pauses_s) + 1} "
                    f"attempts: {cut}",
                    hint=f"{kept}try again when the network is better",
                ) from cut
            time.sleep(pause_s)


def _receive(wanted: Wanted, response: Response, part: _Part, on_progress: OnProgress) -> None:
    if response.begin != part.size_bytes:
        part.restart()
    total = response.total_bytes
    part.pieces += 1
    if total is not None and total > wanted.limit_bytes:
        raise _too_large(wanted)
    while chunk := response.read(_CHUNK_BYTES):
        part.append(chunk)
        if part.size_bytes > wanted.limit_bytes:
            raise _too_large(wanted)
        on_progress(part.size_bytes, total)
    if total is not None and part.size_bytes < total:
        raise Cut(f"the connection was cut after {part.size_bytes:,} of {total:,} bytes")


def _too_large(wanted: Wanted) -> Refused:
    return Refused(
        f"{shown(wanted.url)} is larger than {wanted.limit_bytes:,} bytes",
        hint="is it the address of one toolchain?",
    )


def _forget_old(folder: Path) -> None:
    """Remove parts that nobody has continued for 30 days."""
    for path in folder.glob("*.part"):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > _KEEP_PARTS_S:
                path.unlink()
