"""From a ptxas to a `Toolchain`, and choosing among several."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from oxide_build.errors import ToolchainError
from oxide_build.model.toolchain import Toolchain
from oxide_build.provision.asker import Asker
from oxide_build.provision.cuda_probe import CudaProbe, probe_ptxas
from oxide_build.provision.provider import Found
from oxide_build.provision.trees import Part, TreePlan, digest_tree
from oxide_build.resolution.facts import CudaFacts
from oxide_build.resolution.versions import CudaSpec, numbers

CUDA_MOUNT = "toolchain/cuda"


@dataclass(frozen=True, slots=True)
class CudaPlace:
    """A toolkit's folder, with `bin/ptxas` in it."""

    root: Path
    origin: str


@dataclass(frozen=True, slots=True)
class CudaCandidates:
    """Toolkits in the order in which equals are preferred."""

    provider: str
    places: tuple[CudaPlace, ...]
    facts: CudaFacts
    asker: Asker

    def find(self, spec: CudaSpec) -> Found | str:
        """The best that fits, or why none does.

        Best is whose minor release `facts.preferred` names first, then the newest.
        """
        reasons: list[str] = []
        fitting: list[tuple[tuple[int, list[int]], CudaPlace, CudaProbe]] = []
        for place in self.places:
            try:
                probe = probe_ptxas(place.root / "bin/ptxas", self.asker)
            except ToolchainError as error:
                reasons.append(error.message)
                continue
            if spec.matches(probe.version):
                fitting.append((self._rank(probe), place, probe))
            else:
                reasons.append(f"{place.origin} is {probe.version}")
        for _, place, probe in sorted(fitting, key=lambda entry: entry[0]):
            try:
                return Found(self._assemble(place, probe))
            except ToolchainError as error:
                reasons.append(error.message)
        return "; ".join(reasons) or "nothing is installed"

    def _assemble(self, place: CudaPlace, probe: CudaProbe) -> Toolchain:
        plan = TreePlan(
            name="ptxas",
            mount=CUDA_MOUNT,
            root=str(place.root),
            parts=(Part("bin", "ptxas"),),
        )
        return Toolchain(
            kind=CudaSpec.kind,
            version=probe.version,
            spec=probe.version,
            provider=self.provider,
            origin=place.origin,
            trees={"ptxas": digest_tree(plan, self.asker.notebook)},
            tools={"ptxas": f"{CUDA_MOUNT}/bin/ptxas"},
            archs=probe.archs,
            facts={
                "release": ".".join(map(str, numbers(probe.version)[:2])),
                "max_ptx": probe.max_ptx,
            },
        )

    def _rank(self, probe: CudaProbe) -> tuple[int, list[int]]:
        minor = ".".join(map(str, numbers(probe.version)[:2]))
        preferred = self.facts.preferred
        place = preferred.index(minor) if minor in preferred else len(preferred)
        return place, [-number for number in numbers(probe.version)]
