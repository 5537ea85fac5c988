"""The `pypi` provider: ptxas from NVIDIA's compiler wheels, through pip."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from oxide_build.errors import ToolchainError
from oxide_build.host.process import Completed
from oxide_build.model.toolchain import Toolchain
from oxide_build.provision.asker import Asker
from oxide_build.provision.cuda_candidate import CudaCandidates, CudaPlace
from oxide_build.provision.cuda_probe import probe_ptxas
from oxide_build.provision.provider import Found, Missing
from oxide_build.provision.reporter import FetchReporter
from oxide_build.provision.tool_store import FetchedFile, InstallRecord, ToolStore, folder_size
from oxide_build.resolution.facts import CudaFacts
from oxide_build.resolution.versions import CudaSpec, Spec

# ptxas and the licence; libdevice where the wheel has it (up to 12.9).
_WANTED = re.compile(
    r"nvidia/[^/]+/(bin/ptxas|nvvm/libdevice/[^/]+\.bc)|[^/]+\.dist-info/(licenses/)?[^/]*License[^/]*"
)


@dataclass(frozen=True, slots=True)
class PypiProvider:
    """Serves every toolkit since 11.7 whose wheel has a build for this machine."""

    store: ToolStore
    asker: Asker
    facts: CudaFacts
    python: str = sys.executable

    name: ClassVar[str] = "pypi"
    kinds: ClassVar[tuple[str, ...]] = (CudaSpec.kind,)

    def find(self, spec: Spec) -> Found | Missing:
        """Look in our store."""
        if not isinstance(spec, CudaSpec):
            return Missing("serves ptxas only")
        places = tuple(
            CudaPlace(install.tree / install.record.details["folder"], f"`{install.tree}`")
            for install in self.store.installs(CudaSpec.kind, self.name)
        )
        found = CudaCandidates(self.name, places, self.facts, self.asker).find(spec)
        if isinstance(found, Found):
            return found
        command = f"{self.python} -m pip install --no-deps '{self._requirement(spec)}'"
        return Missing(found, can_fetch=True, command=command)

    def fetch(self, spec: Spec, reporter: FetchReporter) -> Toolchain:
        """Run `pip download` with the user's own configuration and keep what we need."""
        if not isinstance(spec, CudaSpec):
            raise ToolchainError("PyPI serves ptxas only")
        with self.store.exclusive(f"cuda-pypi-{spec}"):
            again = self.find(spec)
            if not isinstance(again, Found):
                self._install(self._requirement(spec), reporter)
                again = self.find(spec)
        if isinstance(again, Found):
            return again.toolchain
        raise ToolchainError(f"pip fetched a wheel for `{spec}`, but {again.reason}")

    def _requirement(self, spec: CudaSpec) -> str:
        """The distribution and version to ask the index for."""
        best = spec.best(self.facts.preferred_patches)
        if spec.range.exact:
            name = self.facts.wheel(str(spec))
            whole = len(spec.range.exact) == 3
            return f"{name}=={spec}" if whole else f"{name}=={best or f'{spec}.*'}"
        if best is not None:
            return f"{self.facts.wheel(best)}=={best}"
        return f"{self.facts.wheel(self.facts.preferred[0])}{spec}"

    def _install(self, requirement: str, reporter: FetchReporter) -> None:
        what = f"{requirement} (pypi)"
        reporter.begin(what)
        with self.store.staging() as folder:
            wheel = self._download(requirement, folder, reporter, what)
            fetched = FetchedFile(wheel.name, _sha256(wheel), wheel.stat().st_size, requirement)
            tree = folder / "tree"
            tree.mkdir()
            unpacked = unpack_ptxas(wheel, tree)
            probe = probe_ptxas(unpacked, self.asker.forgetting(folder / "state"))
            self.store.publish(
                tree,
                InstallRecord(
                    kind=CudaSpec.kind,
                    provider=self.name,
                    version=probe.version,
                    spec=probe.version,
                    files=(fetched,),
                    size_bytes=folder_size(tree),
                    details={"folder": str(unpacked.parent.parent.relative_to(tree))},
                ),
                probe.version,
            )
        reporter.done(what, fetched.size_bytes or 0, fetched.sha256)

    def _download(self, requirement: str, folder: Path, reporter: FetchReporter, what: str) -> Path:
        wheels, temporary = folder / "wheels", folder / "pip"
        wheels.mkdir()
        temporary.mkdir()
        # pip writes to TMPDIR first; there its growth can be watched.
        env = {**self.asker.environ, "TMPDIR": str(temporary)}
        done = self.asker.processes.run(
            [
                *(self.python, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"),
                *("--no-input", "--disable-pip-version-check", "--progress-bar", "off"),
                *("--dest", str(wheels), requirement),
            ],
            cwd=folder,
            env=env,
            on_tick=lambda: reporter.progress(
                what, max(folder_size(temporary), folder_size(wheels)), None
            ),
        )
        found = sorted(wheels.glob("*.whl"))
        if not done.ok or len(found) != 1:
            raise _failure(requirement, self.python, done)
        return found[0]


def unpack_ptxas(wheel: Path, tree: Path) -> Path:
    """Unpack what we need of a wheel into `tree`; returns the path of ptxas."""
    # Imported late: zipfile costs 13 ms, and a warm build unpacks nothing.
    from oxide_build.provision.wheel import unpack_wheel

    unpacked = unpack_wheel(wheel, tree, _WANTED)
    tools = [path for path in unpacked if path.parts[-2:] == ("bin", "ptxas")]
    if len(tools) != 1:
        raise ToolchainError(
            f"`{wheel.name}` has no ptxas for this machine",
            hint="ask for another version of CUDA, or install the toolkit and use the `system` "
            "provider",
        )
    return tools[0]


def _failure(requirement: str, python: str, done: Completed) -> ToolchainError:
    text = done.stderr.decode("utf-8", "replace")
    if "No module named pip" in text:
        return ToolchainError(
            f"`{python}` has no pip, which the `pypi` provider runs",
            hint=f"`{python} -m ensurepip`, or `uv pip install pip`",
        )
    lines = [line.strip() for line in text.splitlines() if line.startswith("ERROR:")]
    reason = "; ".join(lines[-2:]) or text.strip()[-300:] or f"status {done.returncode}"
    return ToolchainError(
        f"pip could not download `{requirement}`: {reason}",
        hint=f"try it by hand: `{python} -m pip download --no-deps '{requirement}'`",
    )


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def site_ptxas_roots() -> tuple[Path, ...]:
    """Folders of NVIDIA wheels that were installed next to us."""
    roots = []
    for entry in dict.fromkeys(sys.path):
        folder = os.path.join(entry, "nvidia")
        if entry.endswith("-packages") and os.path.isdir(folder):
            roots += [Path(folder, n) for n in sorted(os.listdir(folder), reverse=True)]
    return tuple(root for root in roots if (root / "bin/ptxas").is_file())
