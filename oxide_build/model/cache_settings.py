"""`[cache]` of `oxide.toml`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheSettings:
    """The size that a build keeps to, days that a result may lie unused, and the folder
    of a second cache that is only read."""

    max_bytes: int = 20_000_000_000
    max_age_days: float = 30
    shared: str | None = None
