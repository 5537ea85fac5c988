"""`[cache]` of `oxide.toml`: how large the cache may be, how long it keeps, and a shared one."""

from __future__ import annotations

import re

from oxide_build.load.table import Table
from oxide_build.load.wording import type_of
from oxide_build.model.cache_settings import CacheSettings
from oxide_build.model.label import shown

_KEYS = ("max_size", "max_age_days", "shared")
_SIZE = re.compile(r"(\d{1,6}(?:\.\d{1,3})?)\s*(MB|GB|TB)\Z", re.ASCII)
_BYTES = {"MB": 1_000_000, "GB": 1_000_000_000, "TB": 1_000_000_000_000}


def read_cache(table: Table) -> CacheSettings:
    """The settings; mistakes go to the table's problems."""
    table.check_keys(_KEYS)
    standard = CacheSettings()
    size, text = None, table.string("max_size")
    if text is not None:
        size = parse_size(text)
        if size is None:
            hint = 'write it as "20GB" or "500MB"'
            table.error(
                "max_size", f"`max_size` of {table.name}: {shown(text)} is no size", hint=hint
            )
    days = table.values.get("max_age_days")
    if days is not None and (isinstance(days, bool) or not isinstance(days, int) or days < 1):
        given = shown(str(days)) if isinstance(days, int) else type_of(days)
        hint = "write `max_age_days = 30`"
        message = f"`max_age_days` of {table.name} must be a number of days, not {given}"
        table.error("max_age_days", message, hint=hint)
        days = None
    shared = table.string("shared")
    if shared is not None and not shared.startswith("/"):
        hint = "write an absolute path, the same on every machine that has it"
        message = f"`shared` of {table.name}: {shown(shared)} is not an absolute path"
        table.error("shared", message, hint=hint)
    return CacheSettings(
        max_bytes=size or standard.max_bytes,
        max_age_days=days or standard.max_age_days,
        shared=shared,
    )


def parse_size(text: str) -> int | None:
    """Bytes of `20GB`, `1.5 TB`; None for what is no size."""
    found = _SIZE.match(text.strip())
    return round(float(found[1]) * _BYTES[found[2]]) if found else None
