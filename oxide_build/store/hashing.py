"""Hashing files: SHA-256 for identity, xxh3-128 as a guard."""

from __future__ import annotations

import hashlib
import os

import xxhash

from oxide_build.model.digest import Digest


def hash_file(path: str | os.PathLike[str]) -> tuple[Digest, str]:
    """Digest and guard of a file in one pass; raises `OSError`."""
    identity, guard, size = hashlib.sha256(), xxhash.xxh3_128(), 0
    with open(path, "rb") as file:
        while chunk := file.read(1 << 20):
            identity.update(chunk)
            guard.update(chunk)
            size += len(chunk)
    return Digest(identity.hexdigest(), size), guard.hexdigest()
