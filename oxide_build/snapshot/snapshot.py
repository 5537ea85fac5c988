"""A snapshot: every file and folder that the last good build looked at, and what it printed.

It is only ever an accelerator. A build whose snapshot is missing, damaged or no longer true does
the whole work and comes to the same result. Nothing in it is executed or unpickled: it is read by
slicing bytes. This module is imported before everything else and must stay cheap: `os`, `array`,
`zlib`.

Layout: magic; crc32 of the rest; then five parts, each behind its length in 8 bytes: the request,
the time it was taken (ns), what to print (three texts), the paths, their states. Texts and paths
end with a zero byte, a state is four unsigned 64-bit numbers: mtime, ctime, size, inode.
"""

from __future__ import annotations

import os
import zlib
from array import array
from collections.abc import Iterable, Sequence

MAGIC = b"oxide-snapshot-1\n"
_LENGTH = 8
_NUMBERS = 4
_MOST = 1 << 63

# mtime_ns, ctime_ns, size_bytes, inode
State = tuple[int, int, int, int]
# What standard output got, and standard error with and without colours.
Texts = tuple[str, str, str]

# In the texts, where the seconds that the command took belong.
SECONDS = "\x01"


def encode(
    request: str, taken_ns: int, texts: Texts, states: Iterable[tuple[str, State]]
) -> bytes | None:
    """The file's content; None where some value has no place in it (a time before 1970)."""
    numbers = array("Q")
    paths: list[bytes] = []
    for path, state in states:
        name = os.fsencode(path)
        if b"\0" in name or not all(0 <= number < _MOST for number in state):
            return None
        paths.append(name)
        numbers.extend(state)
    parts = (
        os.fsencode(request),
        b"%d" % taken_ns,
        b"".join(os.fsencode(text.replace("\0", "")) + b"\0" for text in texts),
        b"".join(path + b"\0" for path in paths),
        numbers.tobytes(),
    )
    body = b"".join(len(part).to_bytes(_LENGTH, "little") + part for part in parts)
    return MAGIC + zlib.crc32(body).to_bytes(_LENGTH, "little") + body


def decode(data: bytes, request: str) -> tuple[int, Texts, Sequence[bytes], Sequence[int]] | None:
    """The parts of a snapshot of `request`: time, texts, paths, and four numbers for each path.

    None for anything else, whatever it is. About 10 ms for 200,000 paths.
    """
    start = len(MAGIC) + _LENGTH
    if data[: len(MAGIC)] != MAGIC or len(data) < start:
        return None
    body = memoryview(data)[start:]
    if zlib.crc32(body) != int.from_bytes(data[len(MAGIC) : start], "little"):
        return None
    parts: list[bytes] = []
    at = 0
    while at < len(body):
        length = int.from_bytes(body[at : at + _LENGTH], "little")
        at += _LENGTH
        parts.append(bytes(body[at : at + length]))
        at += length
    if at != len(body) or len(parts) != 5 or parts[0] != os.fsencode(request):
        return None
    texts = parts[2].split(b"\0")
    paths = parts[3].split(b"\0")
    if len(texts) != 4 or not parts[1].isdigit():
        return None
    paths.pop()
    numbers = array("Q")
    if len(parts[4]) != len(paths) * _NUMBERS * numbers.itemsize:
        return None
    numbers.frombytes(parts[4])
    out, plain, styled = (os.fsdecode(text) for text in texts[:3])
    return int(parts[1]), (out, plain, styled), paths, numbers


def unchanged(paths: Sequence[bytes], numbers: Sequence[int]) -> bool:
    """Whether every path, relative to the working folder, is as it was: a stat each.

    In one thread: threads make it slower, as each stat is shorter than handing the lock over.
    """
    stat = os.stat
    following = iter(numbers)
    try:
        for path, mtime, ctime, size, inode in zip(
            paths, following, following, following, following, strict=True
        ):
            now = stat(path)
            if (
                now.st_mtime_ns != mtime
                or now.st_ctime_ns != ctime
                or now.st_size != size
                or now.st_ino != inode
            ):
                return False
    except (OSError, ValueError):
        return False
    return True
