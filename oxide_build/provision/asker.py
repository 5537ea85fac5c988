"""What is needed to ask a tool something and to remember the answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from oxide_build.host.process import ProcessGroup
from oxide_build.model.arch import Arch
from oxide_build.provision.file_state import Notebook


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """The environment that tools run in, the door they run through, and the memory."""

    environ: Mapping[str, str]
    processes: ProcessGroup
    notebook: Notebook

    def with_libraries(self, folders: Iterable[str]) -> Asker:
        """The same with `folders` searched first for shared libraries."""
        path = ":".join(folders)
        return replace(self, environ={**self.environ, "LD_LIBRARY_PATH": path}) if path else self

    def forgetting(self, folder: Path) -> Asker:
        """The same with a memory in `folder`, for installs that will be moved."""
        return replace(self, notebook=Notebook(folder))


def by_number(archs: Iterable[str]) -> tuple[str, ...]:
    """Spellings like `sm_90a`, in order of number and suffix."""
    return tuple(str(arch) for arch in sorted({_arch(name) for name in archs}))


def _arch(name: str) -> Arch:
    # `Arch.parse` refuses families that our facts do not know; the tool knows better.
    digits = name.removeprefix("sm_").rstrip("af")
    return Arch(int(digits), name[len("sm_") + len(digits) :])
