"""Choosing a compiler and a toolkit for each arch, or saying why none fits: a pure function."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from oxide_build.model.arch import Arch, ArchRequest
from oxide_build.model.ptx import PtxVersion
from oxide_build.resolution.candidates import (
    CudaCandidate,
    RustCandidate,
    all_cuda,
    cuda_candidates,
    release_order,
    rust_candidates,
)
from oxide_build.resolution.case import Case, Deployment, Exclusion, Route
from oxide_build.resolution.driver_predicates import cubin_problem, ptx_problem
from oxide_build.resolution.fact_file import Evidence
from oxide_build.resolution.facts import Facts
from oxide_build.resolution.predicates import exclusions
from oxide_build.resolution.versions import CudaSpec, RustSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirements:
    """What is asked for: compilers, toolkits, archs, where it must load, a PTX version, and the
    route from source to PTX."""

    rust: RustSpec
    cuda: CudaSpec
    archs: tuple[ArchRequest, ...]
    deployment: Deployment = field(default_factory=Deployment)
    ptx: PtxVersion | None = None
    route: Route = field(default_factory=Route)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What builds `request`: its case satisfies every predicate. `warnings` are the forms that do
    not load on the driver although another one does."""

    request: ArchRequest
    rust: RustCandidate
    cuda: CudaCandidate
    ptx: PtxVersion | None
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why nothing builds `request`.

    main      the reason to tell first
    excluded  every candidate's name with what speaks against it, see `judged`
    changes   single changes that were tried and work, the cheapest first
    """

    request: ArchRequest
    main: str
    excluded: tuple[tuple[str, tuple[Exclusion, ...]], ...]
    changes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """A verdict for each arch that was asked for, in order."""

    verdicts: tuple[Choice | Refusal, ...]

    @property
    def ok(self) -> bool:
        return all(isinstance(each, Choice) for each in self.verdicts)


def resolve(
    wanted: Requirements,
    rust: Sequence[RustCandidate],
    cuda: Sequence[CudaCandidate],
    facts: Facts,
) -> Resolution:
    """For each arch the first pair of candidates that fits it.

    Candidates come in order of preference. An arch is judged by itself, so that asking for one more
    changes nothing of what the others are built with. Of two pairs the one with the preferred
    compiler comes first, because another compiler means another core and another front-end run.
    O(rust x cuda x archs).
    """
    pairs = list(itertools.product(rust, cuda))
    verdicts: list[Choice | Refusal] = []
    for request in wanted.archs:
        pair = next((p for p in pairs if _fits(wanted, request, *p, facts)), None)
        if pair is not None:
            verdicts.append(_choice(_case(wanted, request, *pair, facts)))
        else:
            verdicts.append(_refusal(wanted, request, rust, cuda, facts))
    return Resolution(verdicts=tuple(verdicts))


def resolve_known(wanted: Requirements, facts: Facts) -> Resolution:
    """`resolve` among everything that the facts know: needs no machine."""
    return resolve(
        wanted, rust_candidates(facts, wanted.rust), cuda_candidates(facts, wanted.cuda), facts
    )


def _case(
    wanted: Requirements,
    request: ArchRequest,
    rust: RustCandidate,
    cuda: CudaCandidate,
    facts: Facts,
) -> Case:
    return Case(
        request=request,
        rust=rust,
        cuda=cuda,
        deployment=wanted.deployment,
        ptx=wanted.ptx,
        facts=facts,
        route=wanted.route,
    )


def _fits(
    wanted: Requirements,
    request: ArchRequest,
    rust: RustCandidate,
    cuda: CudaCandidate,
    facts: Facts,
) -> bool:
    return next(exclusions(_case(wanted, request, rust, cuda, facts)), None) is None


def _choice(case: Case) -> Choice:
    forms = ((case.request.cubin, cubin_problem), (case.request.ptx, ptx_problem))
    found = [problem(case) for kept, problem in forms if kept]
    return Choice(
        request=case.request,
        rust=case.rust,
        cuda=case.cuda,
        ptx=case.written,
        warnings=tuple(each[0] for each in found if each is not None),
    )


def _refusal(
    wanted: Requirements,
    request: ArchRequest,
    rust: Sequence[RustCandidate],
    cuda: Sequence[CudaCandidate],
    facts: Facts,
) -> Refusal:
    pairs = (
        tuple(exclusions(_case(wanted, request, *pair, facts)))
        for pair in itertools.product(rust, cuda)
    )
    excluded = list(judged(wanted, request, rust, cuda, facts))
    for name, candidates in ((f"rust {wanted.rust}", rust), (f"cuda {wanted.cuda}", cuda)):
        if not candidates:
            excluded.append((name, (_nothing(name),)))
    return Refusal(
        request=request,
        # Of the pair that came furthest: the one with the fewest facts against it.
        main=min(pairs, key=len, default=excluded[-1][1])[0].sentence,
        excluded=tuple(excluded),
        changes=tuple(changes(wanted, request, facts)),
    )


def judged(
    wanted: Requirements,
    request: ArchRequest,
    rust: Sequence[RustCandidate],
    cuda: Sequence[CudaCandidate],
    facts: Facts,
) -> Iterator[tuple[str, tuple[Exclusion, ...]]]:
    """Every candidate by name with what speaks against it, whatever it is combined with.

    Then the pairs whose parts are fine and which do not go together. A candidate that would do with
    another partner says so. O(rust x cuda).
    """
    found = {
        (one, other): tuple(exclusions(_case(wanted, request, one, other, facts)))
        for one, other in itertools.product(rust, cuda)
    }
    alone: dict[RustCandidate | CudaCandidate, tuple[Exclusion, ...]] = {}
    for one in rust:
        rows = [[e for e in found[one, c] if e.subject == "rust"] for c in cuda]
        alone[one] = tuple(e for e in rows[0] if all(e in row for row in rows)) if rows else ()
        yield one.name, alone[one] or (_partner(one.name, "ptxas"),)
    for other in cuda:
        rows = [[e for e in found[r, other] if e.subject != "rust"] for r in rust]
        alone[other] = tuple(e for e in rows[0] if all(e in row for row in rows)) if rows else ()
        yield other.name, alone[other] or (_partner(other.name, "rustc"),)
    for (one, other), against in found.items():
        if against and not alone[one] and not alone[other]:
            yield f"{one.name} with {other.name}", against


def _partner(name: str, kind: str) -> Exclusion:
    return Exclusion(
        subject="rust" if kind == "ptxas" else "cuda",
        predicate="partner-found",
        sentence=f"{name} would do, with another {kind}",
        evidence=Evidence(how="inferred", source="all other predicates"),
    )


def _nothing(name: str) -> Exclusion:
    return Exclusion(
        subject=name.split()[0],
        predicate="candidate-known",
        sentence=f"nothing that is known matches `{name}`",
        evidence=Evidence(how="inferred", source="toolchains/rust.toml and toolchains/cuda.toml"),
    )


def changes(wanted: Requirements, request: ArchRequest, facts: Facts) -> Iterator[str]:
    """Single changes that make `request` build; each was tried."""

    def works(changed: Requirements) -> bool:
        return resolve_quick(replace(changed, archs=(request,)), facts)

    def works_for(other: ArchRequest) -> bool:
        return resolve_quick(replace(wanted, archs=(other,)), facts)

    kits = sorted({each.release for each in all_cuda(facts)}, key=release_order)
    fitting = [r for r in kits if works(replace(wanted, cuda=CudaSpec.parse(r)))]
    if fitting:
        yield f"move CUDA to {_span(fitting, kits)}"
    releases = [each.version for each in facts.rust.releases]
    fitting = [r for r in releases if works(replace(wanted, rust=RustSpec.parse(r)))]
    if fitting:
        yield f"move rustc to {_span(fitting, releases)}"
    backend = wanted.route.backend
    for pin in backend.pins_of(wanted.route.revision)[::-1] if backend else ():
        if works(replace(wanted, rust=RustSpec.parse(pin.spec))):
            yield f"move rustc to {pin.spec}"
            break
    if wanted.route.nvvm and works(replace(wanted, route=replace(wanted.route, nvvm=False))):
        yield "go through llc instead of libNVVM"
    gpu = wanted.deployment.gpu
    if gpu is not None:
        other = replace(request, arch=Arch(gpu.number))
        if other != request and works_for(other):
            yield f"build for {other.arch}"
    driver = wanted.deployment.driver
    if driver is not None:
        branches = sorted({r.branch for r in facts.drivers.ptx if r.branch})
        for branch in branches:
            moved = replace(wanted.deployment, driver=facts.drivers.of(str(branch)))
            if branch > driver.branch and works(replace(wanted, deployment=moved)):
                yield f"require driver {branch} or later"
                break
    least = request.min_ptx
    if least is not None and works_for(replace(request, min_ptx=None)):
        yield f'do without `min_ptx = "{least}"`'
    if wanted.ptx is not None and works(replace(wanted, ptx=None)):
        yield f"do not ask for PTX {wanted.ptx}"
    yield f"drop {request.arch}"


def _span(fitting: Sequence[str], known: Sequence[str]) -> str:
    """`12.8 or later`, `12.8 to 12.9`, `1.96 or earlier`; both ascend."""
    if len(fitting) == 1 and fitting[0] != known[-1]:
        return fitting[0]
    if fitting[-1] == known[-1]:
        return f"{fitting[0]} or later"
    if fitting[0] == known[0]:
        return f"{fitting[-1]} or earlier"
    return f"{fitting[0]} to {fitting[-1]}"


def resolve_quick(wanted: Requirements, facts: Facts) -> bool:
    """Whether some known pair fits all archs of `wanted`."""
    pairs = itertools.product(
        rust_candidates(facts, wanted.rust), cuda_candidates(facts, wanted.cuda)
    )
    return any(
        all(_fits(wanted, request, *pair, facts) for request in wanted.archs) for pair in pairs
    )
