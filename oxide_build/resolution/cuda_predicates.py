"""What ptxas must be able to do. See `predicates.py` for their names."""

from __future__ import annotations

from oxide_build.resolution.case import Case, Problem
from oxide_build.resolution.versions import numbers


def arch_assembled(case: Case) -> Problem:
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


def version_assembled(case: Case) -> Problem:
    if case.written is None or case.written <= case.cuda.max_ptx:
        return None
    first = case.facts.drivers.cuda_for(case.written)
    return (
        f"the PTX is {case.written}, but {case.cuda.name} takes up to {case.cuda.max_ptx} "
        f"(CUDA {first} is the first that takes it)",
        case.cuda.evidence,
    )
