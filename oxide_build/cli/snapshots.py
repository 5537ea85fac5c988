"""Taking a snapshot of a build that has nothing left to do."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

from oxide_build.cli.prepared import Prepared
from oxide_build.errors import InfrastructureError
from oxide_build.host.files import write_atomic
from oxide_build.host.terminal import without_colour
from oxide_build.snapshot.request import request_text, snapshot_path
from oxide_build.snapshot.snapshot import State, encode


def take_snapshot(
    argv: list[str],
    start: Path,
    prepared: Prepared,
    defined: dict[str, State],
    out: str,
    err: str,
) -> bool:
    """Keep what the next call of `argv` would print if nothing changes; returns whether it did.

    `out` and `err` are those of a build whose actions are all hits, `defined` the states of what
    defines it. A snapshot that cannot be taken or kept is no failure.
    """
    request = request_text(argv, str(prepared.root), os.path.realpath(start))
    files = prepared.states.used()
    if request is None or files is None:
        return False
    texts = (out, without_colour(err), err)
    data = encode(request, time.time_ns(), texts, sorted({**defined, **files}.items()))
    if data is None:
        return False
    with contextlib.suppress(InfrastructureError):
        write_atomic(Path(snapshot_path(request)), data, mode=0o600)
        return True
    return False
