"""Content digests: SHA-256 and a size, as in the Remote Execution API."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


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
