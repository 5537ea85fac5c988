"""Every CUDA toolkit on this machine, side by side."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from oxide_build.errors import OxideError
from oxide_build.provision.asker import Asker
from oxide_build.provision.cuda_probe import CudaProbe, probe_ptxas
from oxide_build.provision.tool_store import ToolStore
from oxide_build.resolution.versions import CudaSpec

# What a toolkit has besides ptxas, and where, in a full installation or in NVIDIA's wheels.
_PARTS = {
    "nvcc": ("bin/nvcc",),
    "nvlink": ("bin/nvlink",),
    "fatbinary": ("bin/fatbinary",),
    "libdevice": ("nvvm/libdevice/libdevice.10.bc",),
    "libNVVM": ("nvvm/lib64/libnvvm.so", "lib/libnvvm.so.4"),
    "compute-sanitizer": ("bin/compute-sanitizer", "compute-sanitizer/compute-sanitizer"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class InstalledCuda:
    """One toolkit.

    named    who leads to it: "PATH", "CUDA_HOME", "/usr/local/cuda-13.0", "site-packages of …"
    probe    what its ptxas said of itself; None where it has none or does not run
    lacks    parts that it does not have
    """

    root: str
    named: tuple[str, ...]
    probe: CudaProbe | None
    lacks: tuple[str, ...]
    failure: str = ""


def installed_toolkits(
    store: ToolStore, asker: Asker, usual: Path = Path("/usr/local")
) -> Iterator[InstalledCuda]:
    """Toolkits by their root, each once, in the order in which they are looked for.

    Three processes for each new ptxas, later remembered by file state.
    """
    roots: dict[str, list[str]] = {}
    for name, root in _roots(asker.environ, usual):
        roots.setdefault(os.path.realpath(root), []).append(name)
    for provider in ("pypi", "archive"):
        for install in store.installs(CudaSpec.kind, provider):
            for ptxas in sorted(install.tree.glob("**/bin/ptxas")) or [install.tree / "bin/ptxas"]:
                roots.setdefault(os.path.realpath(ptxas.parent.parent), []).append("store")
    for root, named in roots.items():
        yield _looked_at(Path(root), tuple(dict.fromkeys(named)), asker)


def _roots(environ: Mapping[str, str], usual: Path) -> Iterator[tuple[str, str]]:
    for program in ("ptxas", "nvcc"):
        found = shutil.which(program, path=environ.get("PATH", os.defpath))
        if found is not None:
            yield "PATH", str(Path(found).resolve().parent.parent)
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if root := environ.get(variable):
            yield variable, root
    for path in sorted(usual.glob("cuda*")):
        if path.is_dir():
            yield str(path), str(path)
    for folder in site_folders(environ):
        for path in sorted((folder / "nvidia").glob("*")):
            if (path / "bin/ptxas").is_file():
                yield f"site-packages of {folder.parent.parent.parent}", str(path)


def site_folders(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """Where Python packages lie: for the Python that runs, and in `VIRTUAL_ENV`."""
    found = [Path(each) for each in sys.path if each.endswith("-packages")]
    if root := environ.get("VIRTUAL_ENV"):
        found += sorted(Path(root).glob("lib/python3*/site-packages"))
    return tuple(dict.fromkeys(path.resolve() for path in found if path.is_dir()))


def _looked_at(root: Path, named: tuple[str, ...], asker: Asker) -> InstalledCuda:
    lacks = [] if (root / "bin/ptxas").is_file() else ["ptxas"]
    lacks += [
        part for part, paths in _PARTS.items() if not any((root / path).exists() for path in paths)
    ]
    probe, failure = None, ""
    if "ptxas" not in lacks:
        try:
            probe = probe_ptxas(root / "bin/ptxas", asker)
        except OxideError as error:
            failure = error.message
    elif not root.is_dir():
        failure = "there is no such folder"
    return InstalledCuda(
        root=str(root), named=named, probe=probe, lacks=tuple(lacks), failure=failure
    )
