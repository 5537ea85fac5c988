"""What rustc and its LLVM must be able to do. See `predicates.py` for their names."""

from __future__ import annotations

from oxide_build.resolution.case import Case, Problem
from oxide_build.resolution.fact_file import Evidence


def release_known(case: Case) -> Problem:
    if case.rust.llvm is not None:
        return None
    return f"nothing is known of {case.rust.name}: not which LLVM it has", case.rust.evidence


def builtins_in_tree(case: Case) -> Problem:
    # A backend compiles for the host triple, with the host's own core.
    if case.route.backend is not None:
        return None
    if case.facts.rust.builtins_in_tree.holds(case.rust.version, case.rust.date):
        return None
    return (
        f"the rust-src of {case.rust.name} has no compiler_builtins, which core needs "
        "(1.89 and nightly-2025-06-23 are the first)",
        Evidence(how="measured", source="toolchains/rust.toml, builtins"),
    )


def sources(case: Case) -> Problem:
    if "rust-src" not in case.rust.lacks:
        return None
    source = "toolchains/rust.toml, missing"
    return (
        f"{case.rust.name} was published without rust-src, of which core is built",
        Evidence(how="measured", source=source),
    )


def llvm_tools(case: Case) -> Problem:
    if "llvm-tools" not in case.rust.lacks or case.rust.tools_llvm is not None:
        return None
    if case.route.through_nvvm:
        return None
    return (
        f"{case.rust.name} was published without llvm-tools, and none of the same LLVM "
        f"({case.rust.llvm}) or a newer one can be borrowed",
        Evidence(how="measured", source="toolchains/rust.toml, missing"),
    )


def tools_read_bitcode(case: Case) -> Problem:
    writer, reader = case.rust.llvm, case.rust.tools_llvm
    if writer is None or reader is None or reader >= writer or case.route.through_nvvm:
        return None
    return (
        f"the LLVM tools are of LLVM {reader}, which does not read the bitcode of "
        f"{case.rust.name} (LLVM {writer})",
        Evidence(how="measured", source="every pair of LLVM 18 to 23"),
    )


def old_gpu(case: Case) -> Problem:
    dropped = case.facts.rust.old_gpus_dropped_in(case.rust.version, case.rust.date)
    if not dropped or case.arch.number >= 70 or case.route.backend is not None:
        return None
    return (
        f"{case.rust.name} refuses {case.arch}: rustc 1.97 dropped everything before sm_70",
        Evidence(how="measured", source="toolchains/rust.toml, drops_old_gpus"),
    )


def cpu_listed(case: Case) -> Problem:
    if case.route.through_nvvm:
        return None
    # Of the two that look at it, rustc's own LLVM and that of llc, the older decides; a backend has
    # rustc compile for the host.
    own = case.rust.llvm if case.route.backend is None else None
    for major in {own, case.rust.tools_llvm} - {None}:
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


def ptx_published(case: Case) -> Problem:
    drivers = case.facts.drivers
    if case.told is None or case.told in drivers.published:
        return None
    return f"there never was a PTX {case.told}", drivers.ptx[-1].evidence


def ptx_known_to_llvm(case: Case) -> Problem:
    llvm = case.facts.llvm.of(case.rust.tools_llvm or 0)
    if case.told is None or llvm is None or case.told <= llvm.max_ptx or case.route.through_nvvm:
        return None
    return (
        f"LLVM {llvm.major} of {case.rust.name} writes PTX up to {llvm.max_ptx} and would ignore "
        f"+{case.told.feature}",
        llvm.evidence,
    )


def ptx_not_below_minimum(case: Case) -> Problem:
    minimum = case.facts.arch.minimum(case.arch)
    llvm = case.facts.llvm.of(case.rust.tools_llvm or 0)
    if case.told is None or minimum is None or case.told >= minimum or case.route.through_nvvm:
        return None
    does = {
        "aborts": "ends with an error",
        "raises": f"writes {minimum} without a word",
        "obeys": "writes it, and ptxas refuses it",
    }[llvm.below_minimum if llvm else "aborts"]
    return (
        f"{case.arch} needs at least PTX {minimum}, so {case.told} cannot be had: llc {does}",
        Evidence(how="measured", source="toolchains/arch.toml, min_ptx"),
    )
