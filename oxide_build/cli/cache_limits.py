"""How large the cache may be: by the environment, by `oxide.toml`, or as usual."""

from __future__ import annotations

import os

from oxide_build.errors import UsageError
from oxide_build.model.cache_settings import CacheSettings


def max_bytes(settings: CacheSettings) -> int:
    """Raises `UsageError` for an `OXIDE_CACHE_MAX_SIZE` that is no size."""
    text = os.environ.get("OXIDE_CACHE_MAX_SIZE")
    if text is None:
        return settings.max_bytes
    # Imported late: a build that nobody limited this way need not know how sizes are written.
    from oxide_build.load.cache_table import parse_size

    size = parse_size(text)
    if size is None:
        raise UsageError(
            f"OXIDE_CACHE_MAX_SIZE: `{text}` is no size", hint="write it as `20GB` or `500MB`"
        )
    return size
