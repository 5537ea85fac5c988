"""How large the cache may be: by the environment, by `oxide.toml`, or as usual."""

from __future__ import annotations

import os

from oxide_build.errors import UsageError
from oxide_build.load.cache_table import parse_size
from oxide_build.model.workspace import CacheSettings
from oxide_build.store.gc import Limits


def limits_of(settings: CacheSettings) -> Limits:
    """Raises `UsageError` for an `OXIDE_CACHE_MAX_SIZE` that is no size."""
    text = os.environ.get("OXIDE_CACHE_MAX_SIZE")
    size = settings.max_bytes if text is None else parse_size(text)
    if size is None:
        raise UsageError(
            f"OXIDE_CACHE_MAX_SIZE: `{text}` is no size", hint="write it as `20GB` or `500MB`"
        )
    return Limits(max_bytes=size, max_age_days=settings.max_age_days)
