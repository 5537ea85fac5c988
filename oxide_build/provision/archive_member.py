"""One entry of an archive, and what is said of an archive that cannot be read."""

from __future__ import annotations

import contextlib
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from oxide_build.provision.provider import Refused

CHUNK_BYTES = 1 << 20
_DAMAGE = (
    tarfile.TarError,
    zipfile.BadZipFile,
    lzma.LZMAError,
    zlib.error,
    EOFError,
    ValueError,
    OverflowError,
    NotImplementedError,
    RuntimeError,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One entry of an archive, as it says of itself.

    kind    "file", "folder", "symlink" or "hardlink"; any other word says what it is instead
    target  where a link leads
    chunks  the bytes of a file; to be read before the next member is asked for, or not at all
    """

    name: str
    kind: str
    size_bytes: int
    executable: bool
    target: str
    chunks: Callable[[], Iterator[bytes]]


@contextlib.contextmanager
def sound(name: str) -> Iterator[None]:
    """Say in our words what the readers of Python's library complain of."""
    try:
        yield
    except _DAMAGE as error:
        raise damaged(name, str(error) or type(error).__name__) from error
    except OSError as error:
        # The decompressors say so of what they cannot read; those of the machine have a number.
        if error.errno is not None:
            raise
        raise damaged(name, str(error)) from error


def damaged(name: str, what: str) -> Refused:
    return Refused(
        f"`{name}` is damaged: {what}",
        hint="its sha256 is the one in `oxide.toml`, so it was published like this: pack it anew",
    )
