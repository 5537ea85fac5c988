"""Versions of the PTX language."""

from __future__ import annotations

import re
from dataclasses import dataclass

from oxide_build.errors import UsageError

_DOTTED = re.compile(r"(\d{1,2})\.(\d)\Z", re.ASCII)
_FEATURE = re.compile(r"\+?ptx(\d{1,2})(\d)\Z", re.ASCII)


@dataclass(frozen=True, slots=True, order=True)
class PtxVersion:
    """A `.version` of PTX: 7.8, 9.0. Not every pair was ever published (there is no 6.6)."""

    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"

    @property
    def feature(self) -> str:
        """The LLVM target feature that asks for it: `ptx78`."""
        return f"ptx{self.major}{self.minor}"

    @classmethod
    def parse(cls, text: str) -> PtxVersion:
        """Read `7.8`, `ptx78` or `+ptx78`; raises `UsageError`."""
        found = _DOTTED.match(text) or _FEATURE.match(text)
        if found is None:
            raise UsageError(f"`{text[:40]}` is not a PTX version", hint="write it as `7.8`")
        return cls(int(found[1]), int(found[2]))
