"""The folders of a machine whose names decide which toolchains are found on it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path


def surroundings(environ: Mapping[str, str], store: Path) -> Iterator[str]:
    """Folders that, as long as their lists of names stay, hold the same toolchains.

    Those of every provider, asked or not: a toolchain that is installed later may be preferred to
    the one that was found. Folders that do not exist are listed too.
    """
    home = environ.get("RUSTUP_HOME") or os.path.join(environ.get("HOME", "/"), ".rustup")
    toolchains = os.path.join(home, "toolchains")
    yield toolchains
    try:
        names = sorted(os.listdir(toolchains))
    except OSError:
        names = []
    # rustup notes each component that it adds or removes in a file here.
    yield from (os.path.join(toolchains, name, "lib/rustlib") for name in names)
    yield str(store / "installs")
    yield from filter(None, environ.get("PATH", os.defpath).split(os.pathsep))
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if root := environ.get(variable):
            yield os.path.join(root, "bin")
    yield "/usr/local"
    yield from (folder for folder in sys.path if folder.endswith("site-packages"))
