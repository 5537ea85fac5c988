"""What makes two calls of the tool the same request, and where its snapshot lies."""

from __future__ import annotations

import os
import sys
import zlib

FOLDER = "snapshots-v1"
_WORKSPACE_FILE = "oxide.toml"

# Environment variables that decide which tools are found or what is printed.
_PREFIXES = ("OXIDE_", "RUST", "CARGO_", "CUDA", "XDG_", "NO_COLOR", "FORCE_COLOR")
_NAMES = ("PATH", "HOME", "VIRTUAL_ENV", "LD_LIBRARY_PATH")

# With these there is more to do than to see that nothing changed.
_OTHER_WORK = ("--profile", "--dry-run", "--help", "-h")


def workspace_root(start: str) -> str | None:
    """The nearest folder with an `oxide.toml`, from `start` upward."""
    folder = start
    while True:
        if os.path.exists(f"{folder}/{_WORKSPACE_FILE}"):
            return folder or "/"
        if not folder or folder == "/":
            return None
        folder = folder.rpartition("/")[0]


def request_text(argv: list[str], root: str, folder: str) -> str | None:
    """Everything that decides what a build is asked for; None where no snapshot can answer it.

    `argv` is the command line after `oxide`, `folder` the one that it is called from.
    """
    if argv[:1] != ["build"] or any(_other_work(word) for word in argv):
        return None
    environ = [
        f"{name}={value}"
        for name, value in sorted(os.environ.items())
        if name.startswith(_PREFIXES) or name in _NAMES
    ]
    parts = [sys.executable, sys.version, str(os.getuid()), root, folder, *argv, "", *environ]
    return "\0".join(parts)


def snapshot_path(request: str) -> str:
    """The snapshot's file. Two requests with one name would only take turns."""
    name = zlib.crc32(os.fsencode(request))
    return f"{_cache()}/{FOLDER}/{name:08x}"


def _other_work(word: str) -> bool:
    return word.partition("=")[0] in _OTHER_WORK


def _cache() -> str:
    """As `cli.folders.Folders.find`, without the import that it needs."""
    named = os.environ.get("OXIDE_CACHE")
    if named:
        return os.path.abspath(named)
    base = os.environ.get("XDG_CACHE_HOME", "").strip()
    if not base:
        base = f"{os.path.expanduser('~')}/.cache"
    return f"{base}/oxide_build"
