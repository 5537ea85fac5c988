"""One combination that is judged: an arch, a compiler, a toolkit, and where it must load."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from oxide_build.model.arch import Arch, ArchRequest
from oxide_build.model.ptx import PtxVersion
from oxide_build.resolution.backend_facts import Backend
from oxide_build.resolution.candidates import CudaCandidate, RustCandidate
from oxide_build.resolution.driver_facts import Driver
from oxide_build.resolution.fact_file import Evidence
from oxide_build.resolution.facts import Facts


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """How source becomes PTX.

    backend   the codegen backend, None for rustc's own LLVM
    revision  which revision of the backend (the beginning of a commit); None: any
    nvvm      whether IR goes through libNVVM (LTO-IR does) instead of through llc
    """

    backend: Backend | None = None
    revision: str | None = None
    nvvm: bool = False

    @property
    def through_nvvm(self) -> bool:
        return self.nvvm or (self.backend is not None and self.backend.codegen == "nvvm")


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """Where results must load: the oldest driver, and a GPU; None where it does not matter."""

    driver: Driver | None = None
    gpu: Arch | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One arch with one compiler, one toolkit and one place to run.

    `ptx` is the very version that was asked for; `told` the one that llc is told, and `written` the
    one that results.
    """

    request: ArchRequest
    rust: RustCandidate
    cuda: CudaCandidate
    deployment: Deployment
    ptx: PtxVersion | None
    facts: Facts
    route: Route = field(default_factory=Route)

    @property
    def arch(self) -> Arch:
        return self.request.arch

    @property
    def told(self) -> PtxVersion | None:
        """None where llc is left to write what the arch needs at least."""
        least = self.request.min_ptx
        if self.ptx is not None or least is None:
            return self.ptx
        own = self.facts.arch.emitted(self.arch)
        return least if own is None or least > own else None

    @property
    def written(self) -> PtxVersion | None:
        """The `.version` of the PTX; None where the arch is not known to anyone."""
        if self.route.through_nvvm:
            return self.cuda.max_ptx
        return self.told or self.facts.arch.emitted(self.arch)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exclusion:
    """Why a case does not fit: what is at fault ("rust", "cuda", "driver", "gpu"), which predicate
    says so, and the fact behind it."""

    subject: str
    predicate: str
    sentence: str
    evidence: Evidence


# The reason why a case does not fit, with the fact behind it; None where it does.
Problem = tuple[str, Evidence] | None
Predicate = Callable[[Case], Problem]
