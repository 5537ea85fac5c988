"""Proof by the oldest assembler: a driver's JIT is the ptxas of its CUDA release, so that ptxas is
fetched and asked."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from oxide_build.cli.folders import Folders
from oxide_build.cli.progress import BuildProgress, FetchProgress, StatusLine
from oxide_build.cli.request import Request
from oxide_build.cli.session import open_session
from oxide_build.cli.toolchains import Toolchains
from oxide_build.devicecode.ptx import read_ptx
from oxide_build.execution.build import build, check
from oxide_build.host.process import ProcessGroup
from oxide_build.model.arch import Arch
from oxide_build.model.toolchain import Toolchain
from oxide_build.model.workspace import ToolchainRequirements
from oxide_build.provision.reporter import FetchReporter
from oxide_build.resolution.driver_facts import Driver

# The least that a ptxas assembles.
_KERNEL = ".version {ptx}\n.target {arch}\n.address_size 64\n.visible .entry k()\n{{\n\tret;\n}}\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """Whether `ptxas` took the PTX called `name`; `said` is what it said against it."""

    name: str
    driver: str
    ptxas: str
    said: str

    @property
    def ok(self) -> bool:
        return not self.said


def smallest_kernel(ptx: str, arch: Arch) -> str:
    """A PTX of that version and target with an entry that does nothing."""
    return _KERNEL.format(ptx=ptx, arch=arch)


def prove(
    texts: Mapping[str, str], driver: Driver, reporter: FetchReporter, *, offline: bool
) -> Iterator[Proof]:
    """Assemble each PTX with the ptxas of `driver`'s CUDA release.

    Raises `ToolchainError` where that cannot be had.
    """
    processes = ProcessGroup()
    toolchains = Toolchains(
        ToolchainRequirements(cuda=driver.cuda),
        Folders.find().store,
        processes,
        offline=offline,
        reporter=reporter,
    )
    cuda = toolchains.preferred("cuda")
    tree = cuda.trees["ptxas"]
    ptxas = Path(tree.root, cuda.tools["ptxas"].removeprefix(f"{tree.mount}/"))
    with tempfile.TemporaryDirectory() as folder:
        for name, text in texts.items():
            Path(folder, "k.ptx").write_text(text, encoding="utf-8")
            arch = _assembled_for(Arch.parse(read_ptx(text).target), cuda)
            argv = [str(ptxas), f"-arch={arch}", "k.ptx", "-o", "k.cubin"]
            done = processes.run(argv, cwd=Path(folder), env={}, timeout_s=300)
            said = done.stderr.decode("utf-8", "replace").strip()
            yield Proof(
                name=name,
                driver=driver.text,
                ptxas=cuda.version,
                said="" if done.ok else said or "it crashed",
            )


def built_ptx(request: Request) -> dict[str, str]:
    """Build what `request` names; every PTX among the outputs, by path.

    Raises `ActionFailed` where something does not build.
    """
    line, fetching = StatusLine(), FetchProgress()
    session = open_session(Path.cwd(), request, fetching)
    try:
        prepared = session.prepare()
        with prepared.build_tools() as tools:
            report = build(prepared.graph, tools, BuildProgress(line))
    finally:
        line.clear()
        fetching.close()
    check(report)
    root = Path(session.workspace.root)
    return {
        path: (root / path).read_text(encoding="utf-8")
        for paths in report.outputs.values()
        for path in paths
        if path.endswith(".ptx")
    }


def _assembled_for(target: Arch, cuda: Toolchain) -> Arch:
    """The arch to assemble for: the target, or the first later one that this ptxas knows."""
    known = sorted(Arch.parse(name) for name in cuda.archs)
    if target in known:
        return target
    return next((arch for arch in known if target.runs_on(arch)), target)
