"""What `oxide doctor` looks at on the machine, toolchains apart: Python, folders, driver."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from oxide_build import __version__
from oxide_build.cli.findings import Finding
from oxide_build.cli.folders import Folders
from oxide_build.device.gpus import DriverReport
from oxide_build.errors import OxideError
from oxide_build.host.process import ProcessGroup
from oxide_build.resolution.facts import Facts

# A toolchain takes about 0.9 GB; below this much free space the next fetch may fail.
_ROOM_BYTES = 2_000_000_000
_GB = 1_000_000_000


def own() -> Iterator[Finding]:
    """The tool itself and what runs it."""
    yield Finding(
        section="oxide_build",
        status="ok",
        text=f"oxide_build {__version__} on Python {platform.python_version()} ({sys.executable})",
    )


def folders(found: Folders) -> Iterator[Finding]:
    """The cache and the store: writable, with room."""
    for name, folder, variable in (
        ("cache", found.cache, "OXIDE_CACHE"),
        ("store", found.store, "OXIDE_STORE"),
    ):
        place = _existing(folder)
        if not os.access(place, os.W_OK):
            yield Finding(
                section="folders",
                status="missing",
                text=f"the {name} `{folder}` cannot be written",
                fix=f"set {variable} to a folder that you may write",
            )
            continue
        free = shutil.disk_usage(place).free
        tight = free < _ROOM_BYTES
        yield Finding(
            section="folders",
            status="note" if tight else "ok",
            text=f"{name} {folder} ({free / _GB:.1f} GB free)",
            fix=f"make room, or set {variable} to another disk" if tight else "",
        )


def private_folder(found: Folders) -> Iterator[Finding]:
    """Whether actions can run: a folder below the cache from which programs may be started."""
    try:
        found.cache.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryDirectory(dir=found.cache) as folder:
            script = Path(folder, "probe")
            script.write_text("#!/bin/sh\nexit 0\n")
            script.chmod(0o700)
            done = ProcessGroup().run(["./probe"], cwd=Path(folder), env={}, timeout_s=10)
        failed = None if done.ok else f"exit code {done.returncode}"
    except (OSError, OxideError) as error:
        failed = str(error)
    yield Finding(
        section="folders",
        status="ok" if failed is None else "missing",
        text="programs can run in private folders"
        if failed is None
        else f"programs cannot run in the cache folder: {failed}",
        fix="" if failed is None else "is it mounted noexec? set OXIDE_CACHE to another folder",
    )


def driver(report: DriverReport, facts: Facts) -> Iterator[Finding]:
    """The driver and its GPUs. Having none is no failure: building needs none."""
    if report.reason is not None:
        yield Finding(
            section="driver",
            status="note",
            text=f"no usable GPU: {report.reason}",
            fix="kernels build and assemble without one; `native` and smoke tests need one",
        )
        return
    cuda = f"{report.api // 1000}.{report.api % 1000 // 10}"
    toolkit = facts.cuda.toolkit(cuda)
    ceiling = f"PTX up to {toolkit.max_ptx}" if toolkit else "PTX ceiling unknown"
    version = f" {report.version}" if report.version else ""
    yield Finding(section="driver", status="ok", text=f"driver{version}, CUDA {cuda}: {ceiling}")
    for gpu in report.gpus:
        yield Finding(
            section="driver",
            status="ok",
            text=f"GPU {gpu.index}: {gpu.name}, {gpu.arch}, {gpu.memory_bytes / 2**30:.0f} GiB",
        )


def _existing(folder: Path) -> Path:
    """The nearest folder on the way to `folder` that exists."""
    while not folder.exists():
        folder = folder.parent
    return folder
