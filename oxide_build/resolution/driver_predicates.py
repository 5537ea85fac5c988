"""What the driver and the GPU must be able to do. See `predicates.py` for their names."""

from __future__ import annotations

from oxide_build.model.arch import Arch
from oxide_build.resolution.case import Case, Problem
from oxide_build.resolution.fact_file import Evidence
from oxide_build.resolution.versions import numbers


def cubin_problem(case: Case) -> Problem:
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


def ptx_problem(case: Case) -> Problem:
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


def loads_on_driver(case: Case) -> Problem:
    problems = []
    for kept, problem in ((case.request.cubin, cubin_problem), (case.request.ptx, ptx_problem)):
        found = problem(case) if kept else None
        if kept and found is None:
            return None
        if found is not None:
            problems.append(found)
    return problems[-1] if problems else None


def driver_supports_gpu(case: Case) -> Problem:
    driver, last = case.deployment.driver, case.facts.drivers.last_before_sm_75
    gpu = case.deployment.gpu
    if driver is None or gpu is None or gpu.number >= 75 or driver.branch <= last:
        return None
    return (
        f"driver {driver.text} no longer supports {gpu}: R{last} was the last branch",
        Evidence(how="inferred", source="toolchains/drivers.toml, last_before_sm_75"),
    )


def driver_knows_gpu(case: Case) -> Problem:
    driver, gpu = case.deployment.driver, case.deployment.gpu
    if driver is None or gpu is None:
        return None
    bare = str(Arch(gpu.number))
    # A driver that came with a CUDA release knows the GPUs that the ptxas of that release does.
    having = [kit for kit in case.facts.cuda.toolkits.values() if bare in kit.archs]
    if not having or numbers(driver.cuda) >= min(numbers(kit.cuda) for kit in having):
        return None
    first = min(having, key=lambda each: numbers(each.cuda)).cuda
    branch = numbers(case.facts.drivers.paired.get(first, ""))[:1]
    since = f"R{branch[0]}" if branch else f"that of CUDA {first}"
    return (
        f"driver {driver.text} (CUDA {driver.cuda}) is older than {bare}: {since} is the first "
        "that knows it",
        Evidence(how="inferred", source="archs of the ptxas of the driver's CUDA release"),
    )


def _code_runs(arch: Arch, gpu: Arch, *, cubin: bool) -> bool:
    """Whether code for `arch` runs on `gpu`, a plain number: what `sm_90a` is for is GPU 90."""
    if arch.suffix == "a":
        return arch.number == gpu.number
    if arch.suffix == "f" or not cubin:
        return arch.runs_on(gpu)
    return arch.major == gpu.major and arch.number <= gpu.number


def runs_on_gpu(case: Case) -> Problem:
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
