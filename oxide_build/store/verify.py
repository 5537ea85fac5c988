"""Reading everything in a cache and comparing it with what it should be."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from oxide_build.model.digest import Digest, is_sha256
from oxide_build.store.blobs import BlobStore, blob_files
from oxide_build.store.hashing import hash_file
from oxide_build.store.index import remake_index
from oxide_build.store.inventory import read_results
from oxide_build.store.results import StoredOutput
from oxide_build.store.rows import ResultRows, Row


@dataclass(frozen=True, slots=True)
class Damage:
    """Something that is wrong: what it is and how, and what removes it: rows of the index, a file,
    or the whole index."""

    what: str
    how: str
    rows: tuple[Row, ...] = ()
    blob: Path | None = None
    index: bool = False


def verify(cache: Path) -> Iterator[Damage]:
    """Everything in the cache at `cache` that is wrong; reads all of it, about 1 GB a second and
    core. Builds may run. Raises `InfrastructureError` where the machine refuses."""
    faults = ResultRows(cache).faults()
    yield from (Damage("the index", fault, index=True) for fault in faults)
    # Blobs before results: a collector removes them in the other order, so that a result that is
    # there and whose blob is not has really lost it.
    contents: dict[str, tuple[Digest, str]] = {}
    paths = list(blob_files(cache))
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for path, content in zip(paths, pool.map(_content, paths), strict=True):
            damage = _blob_damage(path, content)
            if damage is not None:
                yield damage
            elif not isinstance(content, OSError):
                contents[path.name] = content
    if faults:
        return
    results, broken = read_results(cache, time.time())
    for row in broken:
        yield Damage("the index", f"row {row.number} is no result", rows=(row,))
    blobs = BlobStore(cache)
    for stored in results:
        for output in stored.result.outputs:
            how = _output_damage(output, contents, blobs)
            if how is not None:
                name = f"result {stored.key.hex()[:12]}… ({output.path})"
                yield Damage(name, how, rows=stored.rows)


def repair(cache: Path, damages: list[Damage]) -> None:
    """Remove what is wrong: it is made again when it is needed. An index that is damaged as a whole
    begins anew; no build should run then. Raises `OSError`, `InfrastructureError`."""
    for damage in damages:
        if damage.blob is not None:
            with contextlib.suppress(FileNotFoundError):
                damage.blob.unlink()
    if any(damage.index for damage in damages):
        remake_index(cache)
    else:
        ResultRows(cache).remove({row for damage in damages for row in damage.rows})


def _content(path: Path) -> tuple[Digest, str] | OSError:
    try:
        return hash_file(path)
    except OSError as error:
        return error


def _blob_damage(path: Path, content: tuple[Digest, str] | OSError) -> Damage | None:
    what = f"blob {path.name}"
    if isinstance(content, FileNotFoundError):
        return None
    if isinstance(content, OSError):
        return Damage(what, f"cannot be read: {content.strerror}", blob=path)
    if content[0].sha256 != path.name:
        return Damage(what, "has other content than its name says", blob=path)
    return None


def _output_damage(
    output: StoredOutput, contents: Mapping[str, tuple[Digest, str]], blobs: BlobStore
) -> str | None:
    content = contents.get(output.sha256)
    if content is None and is_sha256(output.sha256):
        # Made after the blobs were listed, or gone.
        with contextlib.suppress(OSError):
            content = hash_file(blobs.path(output.blob.digest))
    if content is None or content[0].sha256 != output.sha256:
        return "its blob is missing or damaged"
    return None if content == (output.blob.digest, output.guard) else "names its blob wrongly"
