"""What must hold for a kernel to be built for an arch and to load where it is meant to.

Each predicate looks at one case and gives the reason why it does not fit, or None. All of them
are in `PREDICATES`; the facts behind them are in `toolchains/`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from oxide_build.model.arch import Arch, ArchRequest
from oxide_build.model.ptx import PtxVersion
from oxide_build.resolution.candidates import CudaCandidate, RustCandidate
from oxide_build.resolution.driver_facts import Driver
from oxide_build.resolution.fact_file import Evidence
from oxide_build.resolution.facts import Facts
from oxide_build.resolution.versions import numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """Where results must load: the oldest driver, and a GPU; None where it does not matter."""

    driver: Driver | None = None
    gpu: Arch | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One arch with one compiler, one toolkit and one place to run.

    `ptx` is the version that was asked for; `written` the one that results.
    """

    request: ArchRequest
    rust: RustCandidate
    cuda: CudaCandidate
    deployment: Deployment
    ptx: PtxVersion | None
    facts: Facts

    @property
    def arch(self) -> Arch:
        return self.request.arch

    @property
    def written(self) -> PtxVersion | None:
        """The `.version` of the PTX; None where the arch is not known to anyone."""
        return self.ptx or self.facts.arch.emitted(self.arch)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exclusion:
    """Why a case does not fit: what is at fault ("rust", "cuda", "driver", "gpu"), which predicate
    says so, and the fact behind it."""

    subject: str
    predicate: str
    sentence: str
    evidence: Evidence


Predicate = Callable[[Case], tuple[str, Evidence] | None]


def _release_known(case: Case) -> tuple[str, Evidence] | None:
    if case.rust.llvm is not None:
        return None
    return f"nothing is known of {case.rust.name}: not which LLVM it has", case.rust.evidence


def _builtins_in_tree(case: Case) -> tuple[str, Evidence] | None:
    if case.facts.rust.builtins_in_tree.holds(case.rust.version, case.rust.date):
        return None
    return (
        f"the rust-src of {case.rust.name} has no compiler_builtins, which core needs "
        "(1.89 and nightly-2025-06-23 are the first)",
        Evidence(how="measured", source="toolchains/rust.toml, builtins"),
    )


def _sources(case: Case) -> tuple[str, Evidence] | None:
    if "rust-src" not in case.rust.lacks:
        return None
    source = "toolchains/rust.toml, missing"
    return (
        f"{case.rust.name} was published without rust-src, of which core is built",
        Evidence(how="measured", source=source),
    )


def _llvm_tools(case: Case) -> tuple[str, Evidence] | None:
    if "llvm-tools" not in case.rust.lacks or case.rust.tools_llvm is not None:
        return None
    return (
        f"{case.rust.name} was published without llvm-tools, and none of the same LLVM "
        f"({case.rust.llvm}) or a newer one can be borrowed",
        Evidence(how="measured", source="toolchains/rust.toml, missing"),
    )


def _tools_read_bitcode(case: Case) -> tuple[str, Evidence] | None:
    writer, reader = case.rust.llvm, case.rust.tools_llvm
    if writer is None or reader is None or reader >= writer:
        return None
    return (
        f"the LLVM tools are of LLVM {reader}, which does not read the bitcode of "
        f"{case.rust.name} (LLVM {writer})",
        Evidence(how="measured", source="every pair of LLVM 18 to 23"),
    )


def _old_gpu(case: Case) -> tuple[str, Evidence] | None:
    dropped = case.facts.rust.old_gpus_dropped_in(case.rust.version, case.rust.date)
    if not dropped or case.arch.number >= 70:
        return None
    return (
        f"{case.rust.name} refuses {case.arch}: rustc 1.97 dropped everything before sm_70",
        Evidence(how="measured", source="toolchains/rust.toml, drops_old_gpus"),
    )


def _cpu_listed(case: Case) -> tuple[str, Evidence] | None:
    # Of the two that look at it, rustc's own LLVM and that of llc, the older decides.
    for major in {case.rust.llvm, case.rust.tools_llvm} - {None}:
        llvm = case.facts.llvm.of(major or 0)
        if llvm is not None and str(case.arch) not in llvm.cpus:
            first = case.facts.llvm.first_with(str(case.arch))
            since = f"LLVM {first} is the first that does" if first else "no LLVM known does"
            return (
                f"{case.rust.name} has LLVM {major}, which does not know {case.arch}: it would "
                f"warn, exit 0 and write PTX that no assembler takes ({since})",
                llvm.evidence,
            )
    return None


def _ptx_published(case: Case) -> tuple[str, Evidence] | None:
    drivers = case.facts.drivers
    if case.ptx is None or case.ptx in drivers.published:
        return None
    return f"there never was a PTX {case.ptx}", drivers.ptx[-1].evidence


def _ptx_known_to_llvm(case: Case) -> tuple[str, Evidence] | None:
    llvm = case.facts.llvm.of(case.rust.tools_llvm or 0)
    if case.ptx is None or llvm is None or case.ptx <= llvm.max_ptx:
        return None
    return (
        f"LLVM {llvm.major} of {case.rust.name} writes PTX up to {llvm.max_ptx} and would ignore "
        f"+{case.ptx.feature}",
        llvm.evidence,
    )


def _ptx_not_below_minimum(case: Case) -> tuple[str, Evidence] | None:
    minimum = case.facts.arch.minimum(case.arch)
    llvm = case.facts.llvm.of(case.rust.tools_llvm or 0)
    if case.ptx is None or minimum is None or case.ptx >= minimum:
        return None
    does = {
        "aborts": "ends with an error",
        "raises": f"writes {minimum} without a word",
        "obeys": "writes it, and ptxas refuses it",
    }[llvm.below_minimum if llvm else "aborts"]
    return (
        f"{case.arch} needs at least PTX {minimum}, so {case.ptx} cannot be had: llc {does}",
        Evidence(how="measured", source="toolchains/arch.toml, min_ptx"),
    )


def _arch_assembled(case: Case) -> tuple[str, Evidence] | None:
    if str(case.arch) in case.cuda.archs:
        return None
    kits = case.facts.cuda.toolkits.values()
    having = sorted(numbers(kit.cuda) for kit in kits if str(case.arch) in kit.archs)
    mine = numbers(case.cuda.release)
    if not having:
        why = "no ptxas known does"
    elif mine < having[0]:
        why = f"CUDA {'.'.join(map(str, having[0]))} is the first that does"
    else:
        why = f"CUDA {'.'.join(map(str, having[-1]))} was the last that did"
    if case.arch.number == 101 and mine >= (13, 0):
        why = "since CUDA 13.0 it is called sm_110"
    elif case.arch.number == 110 and mine < (13, 0):
        why = "before CUDA 13.0 it is called sm_101"
    return f"{case.cuda.name} does not know {case.arch}: {why}", case.cuda.evidence


def _version_assembled(case: Case) -> tuple[str, Evidence] | None:
    if case.written is None or case.written <= case.cuda.max_ptx:
        return None
    first = case.facts.drivers.cuda_for(case.written)
    return (
        f"the PTX is {case.written}, but {case.cuda.name} takes up to {case.cuda.max_ptx} "
        f"(CUDA {first} is the first that takes it)",
        case.cuda.evidence,
    )


def cubin_problem(case: Case) -> tuple[str, Evidence] | None:
    """Why the cubin would not load on the driver; None where it does or is not kept."""
    driver = case.deployment.driver
    if driver is None:
        return None
    major = numbers(case.cuda.release)[0]
    floor = case.facts.drivers.floors.get(major)
    if floor is None or driver.version >= numbers(floor)[: len(driver.version)]:
        return None
    return (
        f"a cubin of CUDA {case.cuda.release} needs driver {floor} or later, but {driver.text} was "
        "named",
        case.facts.drivers.evidence,
    )


def ptx_problem(case: Case) -> tuple[str, Evidence] | None:
    """Why the driver would not JIT the PTX; None where it does."""
    driver = case.deployment.driver
    if driver is None or case.written is None or case.written <= driver.max_ptx:
        return None
    branch = case.facts.drivers.branch_for(case.written)
    since = f"R{branch} is the first that does" if branch else "no branch known does"
    return (
        f"driver {driver.text} (CUDA {driver.cuda}) takes PTX up to {driver.max_ptx}, not "
        f"{case.written} (error 222; {since})",
        driver.evidence,
    )


def _loads_on_driver(case: Case) -> tuple[str, Evidence] | None:
    problems = []
    for kept, problem in ((case.request.cubin, cubin_problem), (case.request.ptx, ptx_problem)):
        found = problem(case) if kept else None
        if kept and found is None:
            return None
        if found is not None:
            problems.append(found)
    return problems[-1] if problems else None


def _driver_supports_gpu(case: Case) -> tuple[str, Evidence] | None:
    driver, last = case.deployment.driver, case.facts.drivers.last_before_sm_75
    gpu = case.deployment.gpu
    if driver is None or gpu is None or gpu.number >= 75 or driver.branch <= last:
        return None
    return (
        f"driver {driver.text} no longer supports {gpu}: R{last} was the last branch",
        Evidence(how="inferred", source="toolchains/drivers.toml, last_before_sm_75"),
    )


def _code_runs(arch: Arch, gpu: Arch, *, cubin: bool) -> bool:
    """Whether code for `arch` runs on `gpu`, a plain number: what `sm_90a` is for is GPU 90."""
    if arch.suffix == "a":
        return arch.number == gpu.number
    if arch.suffix == "f" or not cubin:
        return arch.runs_on(gpu)
    return arch.major == gpu.major and arch.number <= gpu.number


def _runs_on_gpu(case: Case) -> tuple[str, Evidence] | None:
    gpu = case.deployment.gpu
    if gpu is None:
        return None
    bare = Arch(gpu.number)
    ptx = case.request.ptx and _code_runs(case.arch, bare, cubin=False)
    cubin = case.request.cubin and _code_runs(case.arch, bare, cubin=True)
    if ptx or cubin:
        return None
    what = "the cubin" if not case.request.ptx else "code"
    return (
        f"{what} for {case.arch} does not run on {bare} (error 209)",
        Evidence(how="measured", source="ptxas of 17 toolkits; toolchains/arch.toml"),
    )


# Name -> (what is at fault, the predicate). Order is that of a message: the first that fails is
# the one that a person is told.
PREDICATES: dict[str, tuple[str, Predicate]] = {
    "release-known": ("rust", _release_known),
    "builtins-in-tree": ("rust", _builtins_in_tree),
    "rust-src-published": ("rust", _sources),
    "llvm-tools-obtainable": ("rust", _llvm_tools),
    "tools-read-bitcode": ("rust", _tools_read_bitcode),
    "old-gpu-supported": ("rust", _old_gpu),
    "cpu-listed": ("rust", _cpu_listed),
    "ptx-published": ("rust", _ptx_published),
    "ptx-known-to-llvm": ("rust", _ptx_known_to_llvm),
    "ptx-not-below-minimum": ("rust", _ptx_not_below_minimum),
    "arch-assembled": ("cuda", _arch_assembled),
    "version-assembled": ("cuda", _version_assembled),
    "loads-on-driver": ("driver", _loads_on_driver),
    "driver-supports-gpu": ("driver", _driver_supports_gpu),
    "runs-on-gpu": ("gpu", _runs_on_gpu),
}


def exclusions(case: Case, *, subjects: frozenset[str] | None = None) -> Iterator[Exclusion]:
    """All that speaks against `case`, of the given subjects."""
    for name, (subject, predicate) in PREDICATES.items():
        if subjects is not None and subject not in subjects:
            continue
        found = predicate(case)
        if found is not None:
            yield Exclusion(subject=subject, predicate=name, sentence=found[0], evidence=found[1])
