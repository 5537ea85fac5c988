"""Reading everything in a cache and comparing it with what it should be."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from oxide_build.store.blobs import blob_files
from oxide_build.store.hashing import hash_file
from oxide_build.store.inventory import take_inventory
from oxide_build.store.results import ResultStore


@dataclass(frozen=True, slots=True)
class Damage:
    """Something that is wrong: what it is and how. `key` is that of a result, b"" for a blob."""

    what: str
    how: str
    key: bytes = b""
    blob: Path | None = None


def verify(cache: Path) -> Iterator[Damage]:
    """Everything in the cache at `cache` that is wrong; reads all of it, 1 to 2 GB a second."""
    found = take_inventory(cache)
    if found.broken:
        yield Damage("the index", f"{found.broken} of its rows are no results")
    guards: dict[str, str] = {}
    for path in blob_files(cache):
        try:
            digest, guard = hash_file(path)
        except OSError as error:
            yield Damage(f"blob {path.name}", f"cannot be read: {error.strerror}", blob=path)
            continue
        if digest.sha256 != path.name:
            yield Damage(f"blob {path.name}", "has other content than its name says", blob=path)
        else:
            guards[path.name] = guard
    for stored in found.results:
        for output in stored.result.outputs:
            name = f"result {stored.key.hex()[:12]}… ({output.path})"
            size = found.blobs.get(output.sha256, (None, 0.0))[0]
            if output.sha256 not in guards:
                yield Damage(name, "its blob is missing or damaged", key=stored.key)
            elif guards[output.sha256] != output.guard or size != output.size_bytes:
                yield Damage(name, "names its blob wrongly", key=stored.key)


def repair(cache: Path, damages: list[Damage]) -> None:
    """Remove what is wrong: it is made again when it is needed."""
    for damage in damages:
        if damage.blob is not None:
            with contextlib.suppress(OSError):
                damage.blob.unlink()
    results = ResultStore(cache)
    try:
        results.remove({damage.key for damage in damages if damage.key})
    finally:
        results.close()
