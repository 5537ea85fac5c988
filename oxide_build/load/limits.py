"""How large a file that people write may be."""

from __future__ import annotations

from oxide_build.errors import DefinitionError

SIZE_LIMIT_BYTES = 4 << 20


def check_size(path: str, size_bytes: int, limit_bytes: int) -> None:
    """Raise `DefinitionError` for a file that no person wrote."""
    if size_bytes > limit_bytes:
        raise DefinitionError(
            f"{path}: the file has {size_bytes:,} bytes, but at most {limit_bytes:,} are read",
            hint="put data into files of their own and name them in an attribute",
        )
