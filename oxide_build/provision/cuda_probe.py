"""What a ptxas is: asked once, then remembered by file state."""

from __future__ import annotations

import re
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from oxide_build.errors import ToolchainError
from oxide_build.host.files import scratch_folder
from oxide_build.host.process import Completed
from oxide_build.provision.asker import Asker, by_number
from oxide_build.provision.file_state import states_of, unchanged

_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CudaProbe:
    """version "13.0.88"; max_ptx "9.0"; archs as `-arch` takes them, `sm_` only."""

    version: str
    max_ptx: str
    archs: tuple[str, ...]


def probe_ptxas(ptxas: Path, asker: Asker) -> CudaProbe:
    """Ask `ptxas`, or recall what it said if it did not change. Raises `ToolchainError`."""
    key = f"ptxas {ptxas}"
    known = asker.notebook.read(key)
    if "probe" in known and unchanged(known["files"]):
        data = known["probe"]
        return CudaProbe(**{**data, "archs": tuple(data["archs"])})
    now = time.time_ns()
    with scratch_folder(Path(tempfile.gettempdir()), "oxide-ptxas-") as folder:
        # The complaint about a version that does not exist names the highest that does.
        (folder / "ceiling.ptx").write_text(".version 99.0\n")
        version = _said(ptxas, ["--version"], folder, asker).stdout
        listed = _said(ptxas, ["--help"], folder, asker).stdout
        ceiling = _said(ptxas, ["ceiling.ptx", "-o", "/dev/null"], folder, asker)
    probe = CudaProbe(
        version=_found(ptxas, "--version", rb"release [\d.]+, V(\d+\.\d+\.\d+)", version),
        max_ptx=_found(
            ptxas,
            "ceiling.ptx",
            rb"current version is '(\d+\.\d+)'",
            ceiling.stderr + ceiling.stdout,
        ),
        archs=_archs(ptxas, listed),
    )
    asker.notebook.write(key, {"probe": asdict(probe), "files": states_of([str(ptxas)], now)})
    return probe


def _archs(ptxas: Path, text: bytes) -> tuple[str, ...]:
    """The values of `--gpu-name` in the help text."""
    section = re.search(rb"--gpu-name.*?Allowed values for this option:(.*?)\.\s", text, re.DOTALL)
    names = re.findall(rb"'(sm_\d+[af]?)'", section[1]) if section else []
    if not names:
        raise _not_ptxas(ptxas, "--help")
    return by_number(name.decode() for name in names)


def _found(ptxas: Path, argument: str, pattern: bytes, text: bytes) -> str:
    found = re.search(pattern, text)
    if found is None:
        raise _not_ptxas(ptxas, argument)
    return found[1].decode()


def _not_ptxas(ptxas: Path, argument: str) -> ToolchainError:
    return ToolchainError(
        f"`{ptxas} {argument}` does not answer as ptxas does",
        hint="it is not NVIDIA's ptxas or does not run on this machine: name another provider in "
        "`oxide.toml`",
    )


def _said(ptxas: Path, arguments: list[str], folder: Path, asker: Asker) -> Completed:
    """The exit status is not looked at: 12.0 dies of SIGSEGV after the right complaint."""
    argv = [str(ptxas), *arguments]
    return asker.processes.run(argv, cwd=folder, env=asker.environ, timeout_s=_TIMEOUT_S)
