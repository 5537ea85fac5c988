"""Taking files out of a wheel: only regular ones, only inside, only as its RECORD says."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import re
import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from oxide_build.errors import ToolchainError

_CHUNK_BYTES = 1 << 20


def unpack_wheel(wheel: Path, into: Path, wanted: re.Pattern[str]) -> tuple[Path, ...]:
    """Extract the members whose whole name matches `wanted`; returns the paths written.

    Every file must be listed in the wheel's RECORD with the sha256 that its bytes have. Files in
    a `bin` folder become executable. Raises `ToolchainError` for absolute names, `..`, links,
    wrong hashes and damaged archives; what was written until then stays.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            recorded = _recorded(archive, wheel)
            members = [info for info in archive.infolist() if wanted.fullmatch(info.filename)]
            return tuple(_extract(archive, info, recorded, into, wheel) for info in members)
    except (zipfile.BadZipFile, EOFError, ValueError, NotImplementedError) as error:
        raise ToolchainError(f"`{wheel.name}` is not a sound wheel: {error}") from error
    except OSError as error:
        raise ToolchainError(f"could not unpack `{wheel.name}`: {error.strerror}") from error


def _extract(
    archive: zipfile.ZipFile,
    info: zipfile.ZipInfo,
    recorded: dict[str, str],
    into: Path,
    wheel: Path,
) -> Path:
    name = PurePosixPath(info.filename)
    mode = info.external_attr >> 16
    parts = name.parts
    if name.is_absolute() or ".." in parts or "\\" in info.filename or not parts:
        raise ToolchainError(f"`{wheel.name}` has a file outside of itself: `{info.filename}`")
    if info.is_dir() or (stat.S_IFMT(mode) and not stat.S_ISREG(mode)):
        raise ToolchainError(f"`{wheel.name}`: `{info.filename}` is not a plain file")
    target = into.joinpath(*parts)
    target.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    with open(target, "xb") as file:
        for chunk in _chunks(archive, info):
            digest.update(chunk)
            file.write(chunk)
    found = base64.urlsafe_b64encode(digest.digest()).rstrip(b"=").decode()
    if recorded.get(info.filename) != f"sha256={found}":
        raise ToolchainError(
            f"`{wheel.name}`: the bytes of `{info.filename}` are not those that its RECORD lists"
        )
    target.chmod(0o755 if "bin" in parts[:-1] else 0o644)
    return target


def _chunks(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    with archive.open(info) as member:
        while chunk := member.read(_CHUNK_BYTES):
            yield chunk


def _recorded(archive: zipfile.ZipFile, wheel: Path) -> dict[str, str]:
    names = [n for n in archive.namelist() if re.fullmatch(r"[^/]+\.dist-info/RECORD", n)]
    if len(names) != 1:
        raise ToolchainError(f"`{wheel.name}` is not a wheel: it has {len(names)} RECORD files")
    rows = csv.reader(io.StringIO(archive.read(names[0]).decode("utf-8")))
    return {row[0]: row[1] for row in rows if len(row) >= 2}
