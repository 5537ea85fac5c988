"""What codegen backends and libNVVM need. See `predicates.py` for their names."""

from __future__ import annotations

from oxide_build.resolution.case import Case, Problem
from oxide_build.resolution.fact_file import Evidence
from oxide_build.resolution.versions import numbers


def pinned(case: Case) -> Problem:
    backend, rust = case.route.backend, case.rust
    if backend is None:
        return None
    pins = backend.pins_of(case.route.revision)
    if any(pin.nightly == rust.date and "-nightly" in rust.version for pin in pins):
        return None
    if not pins:
        return (
            f"nothing is known of revision {case.route.revision} of {backend.name}: not which "
            "nightly it pins",
            backend.evidence,
        )
    pin = pins[-1]
    which = f"{backend.name} at {case.route.revision}" if case.route.revision else backend.name
    return (
        f"{which} works with {pin.spec} only, not with {rust.name}: it is compiled against that "
        "night's private crates",
        pin.evidence,
    )


def components(case: Case) -> Problem:
    backend = case.route.backend
    if backend is None:
        return None
    # Tools can be borrowed, and another predicate looks after that.
    gone = [c for c in backend.components if c in case.rust.lacks and c != "llvm-tools"]
    if not gone:
        return None
    return (
        f"{case.rust.name} was published without {' and '.join(gone)}, which {backend.name} needs",
        Evidence(how="measured", source="toolchains/rust.toml, missing"),
    )


def tools_floor(case: Case) -> Problem:
    backend, tools = case.route.backend, case.rust.tools_llvm
    if backend is None or tools is None or case.route.through_nvvm:
        return None
    if tools >= backend.min_llvm_tools:
        return None
    return (
        f"{backend.name} needs llc of LLVM {backend.min_llvm_tools} or later, and the tools of "
        f"{case.rust.name} are of LLVM {tools}",
        backend.evidence,
    )


def tools_same_major(case: Case) -> Problem:
    backend, rust = case.route.backend, case.rust
    if backend is None or not backend.tools_same_major or case.route.through_nvvm:
        return None
    if rust.tools_llvm is None or rust.llvm is None or rust.tools_llvm == rust.llvm:
        return None
    return (
        f"{backend.name} takes llc and opt of LLVM {rust.tools_llvm} without a word, and they "
        f"write other code than those of {rust.name} (LLVM {rust.llvm})",
        backend.evidence,
    )


def cuda_floor(case: Case) -> Problem:
    backend = case.route.backend
    if backend is None or numbers(case.cuda.release) >= backend.min_cuda:
        return None
    floor = ".".join(map(str, backend.min_cuda))
    return f"{backend.name} needs CUDA {floor} or later, not {case.cuda.release}", backend.evidence


def arch_accepted(case: Case) -> Problem:
    backend = case.route.backend
    if backend is None or case.arch.number in backend.numbers:
        return None
    known = ", ".join(f"sm_{number}" for number in sorted(backend.numbers))
    return f"{backend.name} does not take {case.arch}: it knows {known}", backend.evidence


def nvvm_described(case: Case) -> Problem:
    if not case.route.through_nvvm or case.cuda.release in case.facts.nvvm.libraries:
        return None
    return (
        f"nothing is known of the libNVVM of CUDA {case.cuda.release}",
        Evidence(how="inferred", source="toolchains/nvvm.toml"),
    )


def nvvm_ir_version(case: Case) -> Problem:
    library = case.facts.nvvm.libraries.get(case.cuda.release)
    if not case.route.through_nvvm or library is None or library.ir_version == "2.0":
        return None
    return (
        f"the libNVVM of CUDA {case.cuda.release} reads NVVM IR {library.ir_version}, and what "
        "is written is 2.0 (CUDA 12.0 is the first that reads it)",
        library.evidence,
    )


def nvvm_dialect(case: Case) -> Problem:
    library = case.facts.nvvm.libraries.get(case.cuda.release)
    if not case.route.through_nvvm or library is None:
        return None
    # rustc itself writes what its LLVM writes: opaque pointers, since LLVM 15.
    backend = case.route.backend
    writes = ("modern",) if backend is None else backend.nvvm_dialects
    who = case.rust.name if backend is None else backend.name
    if case.arch.number < 100 and "llvm7" not in writes:
        return (
            f"libNVVM reads only the typed pointers of LLVM 7 for {case.arch}, which {who} does "
            "not write",
            library.evidence,
        )
    if case.arch.number >= 100 and "modern" not in writes:
        return (
            f"for {case.arch} libNVVM wants the IR of a modern LLVM, and {who} writes that of "
            "LLVM 7",
            library.evidence if backend is None else backend.evidence,
        )
    if case.arch.number >= 100 and library.reads is None:
        return (
            f"the libNVVM of CUDA {case.cuda.release} has no reader for {case.arch}: CUDA 12.8 is "
            "the first that has",
            library.evidence,
        )
    return None


def nvvm_reads_bitcode(case: Case) -> Problem:
    library = case.facts.nvvm.libraries.get(case.cuda.release)
    if not case.route.through_nvvm or case.route.backend is not None or library is None:
        return None
    writer = case.rust.llvm
    if case.arch.number < 100 or library.reads is None or writer is None:
        return None
    if writer <= library.reads:
        return None
    return (
        f"the libNVVM of CUDA {case.cuda.release} reads bitcode up to LLVM {library.reads}, and "
        f"{case.rust.name} writes that of LLVM {writer}",
        library.evidence,
    )


def nvvm_data_layout(case: Case) -> Problem:
    library = case.facts.nvvm.libraries.get(case.cuda.release)
    if not case.route.through_nvvm or case.route.backend is not None or library is None:
        return None
    if case.arch.number < 100 or library.reads is None or library.foreign_layout:
        return None
    return (
        f"the libNVVM of CUDA {case.cuda.release} refuses rustc's data layout for {case.arch}",
        library.evidence,
    )


def nvvm_ptx_fixed(case: Case) -> Problem:
    # A lowest version is met by the newest.
    if not case.route.through_nvvm or case.ptx is None or case.ptx == case.cuda.max_ptx:
        return None
    return (
        f"libNVVM of CUDA {case.cuda.release} always writes PTX {case.cuda.max_ptx}; there is no "
        f"way to {case.ptx}",
        Evidence(how="measured", source="toolchains/nvvm.toml"),
    )
