"""Asking a real ptxas what the facts say of it: minimum versions and the suffix rules."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from oxide_build.host.files import scratch_folder
from oxide_build.model.arch import Arch
from oxide_build.model.ptx import PtxVersion
from oxide_build.model.toolchain import Toolchain
from oxide_build.provision.asker import Asker
from oxide_build.resolution.assembling import refused
from oxide_build.resolution.fact_check import Disagreement
from oxide_build.resolution.facts import Facts

_TIMEOUT_S = 60.0

# Older toolkits take it from lower versions than anybody has tabulated.
_UNPROBED = Arch(35)


@dataclass(frozen=True, slots=True, order=True)
class Question:
    """A kernel of `.version` and `.target`, assembled for `-arch`."""

    version: PtxVersion
    target: Arch
    arch: Arch

    @property
    def text(self) -> str:
        return (
            f".version {self.version}\n.target {self.target}\n.address_size 64\n"
            ".visible .entry k()\n{\n\tret;\n}\n"
        )

    def __str__(self) -> str:
        return f"PTX {self.version} with .target {self.target} for -arch={self.arch}"


def questions(facts: Facts, cuda: str) -> tuple[Question, ...]:
    """What is worth asking the ptxas of `cuda`.

    For each target the lowest version and the one before it, for an arch that runs it; and for each
    target with a suffix the arch itself, its plain one, and one of another family.
    """
    kit = facts.cuda.toolkits[cuda]
    archs = sorted(Arch.parse(name) for name in kit.archs)
    ceiling = PtxVersion.parse(kit.max_ptx)
    published = sorted(facts.drivers.published)
    found: set[Question] = set()
    for name, text in facts.arch.min_ptx.items():
        target, least = Arch.parse(name), PtxVersion.parse(text)
        fitting = [arch for arch in archs if target.runs_on(arch)]
        if target == _UNPROBED or least > ceiling or not fitting:
            continue
        below = [version for version in published if version < least]
        found |= {Question(version, target, fitting[0]) for version in (least, *below[-1:])}
        if target.suffix:
            others = [arch for arch in archs if arch.family != target.family]
            plain = [arch for arch in archs if arch.number == target.number]
            found |= {Question(ceiling, target, arch) for arch in (*plain, *others[-1:])}
    return tuple(sorted(found))


def check_assembling(found: Toolchain, facts: Facts, asker: Asker) -> Iterator[Disagreement]:
    """Every question where the ptxas does not do what the facts say; 100 to 200 runs of 10 ms."""
    cuda = str(found.facts["release"])
    if cuda not in facts.cuda.toolkits:
        return
    tree = found.trees["ptxas"]
    ptxas = Path(tree.root, found.tools["ptxas"].removeprefix(f"{tree.mount}/"))
    asked = questions(facts, cuda)
    with (
        scratch_folder(Path(tempfile.gettempdir()), "oxide-ptxas-") as folder,
        ThreadPoolExecutor(os.cpu_count() or 1) as pool,
    ):

        def ask(numbered: tuple[int, Question]) -> str:
            number, question = numbered
            source = folder / f"{number}.ptx"
            source.write_text(question.text)
            argv = [str(ptxas), f"-arch={question.arch}", source.name, "-o", f"{number}.cubin"]
            done = asker.processes.run(argv, cwd=folder, env=asker.environ, timeout_s=_TIMEOUT_S)
            # 12.0 says the right thing and then dies of a signal.
            return "" if done.ok else done.stderr.decode("utf-8", "replace").strip() or "refused"

        answers = list(pool.map(ask, enumerate(asked)))
    for question, said in zip(asked, answers, strict=True):
        expected = refused(facts, cuda, question.version, question.target, question.arch)
        if (expected is None) != (said == ""):
            yield Disagreement(
                file="arch.toml",
                key=str(question),
                fact=f"refused ({expected})" if expected else "taken",
                found=said.splitlines()[0] if said else "it takes it",
            )
