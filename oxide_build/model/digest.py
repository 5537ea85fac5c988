"""Content digests: SHA-256 and a size, as in the Remote Execution API."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

_SHA256 = re.compile(r"[0-9a-f]{64}\Z", re.ASCII)


@dataclass(frozen=True, slots=True, order=True)
class Digest:
    """SHA-256 of some bytes (64 lower-case hexadecimal digits) and their number."""

    sha256: str
    size_bytes: int

    def __str__(self) -> str:
        return f"{self.sha256}/{self.size_bytes}"

    @classmethod
    def of(cls, data: bytes) -> Digest:
        return cls(hashlib.sha256(data).hexdigest(), len(data))


def is_sha256(text: str) -> bool:
    """Whether `text` is written as a digest is; what is not must not become part of a path."""
    return _SHA256.match(text) is not None
