"""NVIDIA's wheels in one site-packages that do not go together."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib.metadata import distributions
from pathlib import Path

from oxide_build.resolution.versions import numbers

_NVCC = "nvidia-cuda-nvcc"
# Parts of one compiler, which look for each other's files.
_TOGETHER = ("nvidia-nvvm", "nvidia-cuda-crt", "nvidia-cuda-nvrtc", "nvidia-nvjitlink")


def nvidia_wheels(folder: Path) -> dict[str, str]:
    """Name -> version of NVIDIA's distributions in `folder`; reads their metadata only."""
    found = {}
    for each in distributions(path=[str(folder)]):
        name = re.sub(r"[-_.]+", "-", str(each.metadata["Name"] or "")).lower()
        if name.startswith("nvidia-"):
            found[name] = each.version
    return found


def conflicts(wheels: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """What does not go together, and what to do, a sentence each."""
    compilers = {name: v for name, v in wheels.items() if re.fullmatch(rf"{_NVCC}(-cu\d+)?", name)}
    old = [f"{_NVCC}-cu11", f"{_NVCC}-cu12"]
    if all(name in compilers for name in old):
        yield (
            f"{old[0]} {compilers[old[0]]} and {old[1]} {compilers[old[1]]} write the same files: "
            "ptxas is that of whichever was installed last",
            f"uninstall both (`pip uninstall {' '.join(old)}`), then install one",
        )
    elif len(compilers) > 1:
        listed = " and ".join(f"{name} {version}" for name, version in sorted(compilers.items()))
        yield (
            f"{listed} are both installed: which ptxas runs depends on who asks",
            f"keep one: `pip uninstall {min(compilers)}`",
        )
    for name, version in compilers.items():
        suffix = name.removeprefix(_NVCC)
        for other in _TOGETHER:
            theirs = wheels.get(f"{other}{suffix}")
            if theirs is not None and numbers(theirs)[:2] != numbers(version)[:2]:
                minor = ".".join(map(str, numbers(version)[:2]))
                yield (
                    f"{name} is {version}, but {other}{suffix} is {theirs}: code that one writes "
                    "may be too new for the other",
                    f"`pip install '{other}{suffix}=={minor}.*'`",
                )
