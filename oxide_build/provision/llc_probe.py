"""What an llc can do for GPUs, asked; for describing an LLVM that nobody has described yet."""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from oxide_build.errors import ToolchainError
from oxide_build.host.files import scratch_folder
from oxide_build.model.ptx import PtxVersion
from oxide_build.provision.asker import Asker, by_number

_TIMEOUT_S = 60.0
_TRIPLE = "nvptx64-nvidia-cuda"
_EMPTY = 'target triple = "nvptx64-nvidia-cuda"\ndefine void @k() {\n  ret void\n}\n'


@dataclass(frozen=True, slots=True, kw_only=True)
class LlcProbe:
    """major; the newest `+ptxNN` that it knows; the cpus; what it does below a cpu's minimum
    ("obeys", "raises", "aborts")."""

    major: int
    max_ptx: str
    cpus: tuple[str, ...]
    below_minimum: str


def probe_llc(llc: Path, asker: Asker) -> LlcProbe:
    """Ask `llc`: three runs. Raises `ToolchainError` where it does not answer as llc does."""
    with scratch_folder(Path(tempfile.gettempdir()), "oxide-llc-") as folder:
        (folder / "k.ll").write_text(_EMPTY)

        def said(*arguments: str) -> tuple[bool, str]:
            argv = [str(llc), *arguments]
            done = asker.processes.run(argv, cwd=folder, env=asker.environ, timeout_s=_TIMEOUT_S)
            return done.ok, (done.stdout + done.stderr).decode("utf-8", "replace")

        _, version = said("--version")
        major = re.search(r"LLVM version (\d+)\.", version)
        _, listed = said(f"-mtriple={_TRIPLE}", "-mattr=help", "-o", "-", "k.ll")
        cpus = by_number(set(re.findall(r"^ *(sm_\d+[af]?) +- Select the", listed, re.MULTILINE)))
        features = re.findall(r"^ *ptx(\d+) +- ", listed, re.MULTILINE)
        if major is None or not cpus or not features:
            raise ToolchainError(
                f"`{llc}` does not answer as an llc for GPUs does",
                hint="Debian's and rustup's llc are built with the NVPTX backend; is this one?",
            )
        # sm_90 needs 7.8.
        cpu = "sm_90" if "sm_90" in cpus else cpus[-1]
        ok, text = said(f"-mcpu={cpu}", "-mattr=+ptx60", "k.ll", "-o", "-")
    written = re.search(r"^\.version (\d+)\.(\d)", text, re.MULTILINE)
    below = "aborts" if not ok or written is None else "obeys"
    if below == "obeys" and written is not None and written.groups() != ("6", "0"):
        below = "raises"
    newest = max(PtxVersion.parse(f"ptx{each}") for each in features)
    return LlcProbe(major=int(major[1]), max_ptx=str(newest), cpus=cpus, below_minimum=below)
