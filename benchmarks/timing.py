"""The seconds of a whole command, from its start to its end."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path


def seconds(argv: Sequence[str], folder: Path, environ: Mapping[str, str]) -> float:
    """Run `argv` in `folder`, with `environ` beside the present one; raises where it fails."""
    start = time.perf_counter()
    subprocess.run(
        argv,
        cwd=folder,
        env={**os.environ, **environ},
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return time.perf_counter() - start
