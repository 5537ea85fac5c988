"""What a resolution chooses from: compilers and toolkits, by what is known of them."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass

from oxide_build.model.ptx import PtxVersion
from oxide_build.model.toolchain import Toolchain
from oxide_build.resolution.fact_file import Evidence
from oxide_build.resolution.facts import Facts
from oxide_build.resolution.versions import CudaSpec, RustSpec, numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class RustCandidate:
    """A rustc with the LLVM tools that would be used with it.

    spec        what names it: "1.96.0", "nightly-2026-04-03"
    llvm        LLVM's major in rustc, None where nobody knows
    tools_llvm  that of llvm-link, opt and llc; another one's tools may be borrowed
    lacks       components that its archive does not have on that date
    """

    spec: str
    version: str
    date: datetime.date | None
    llvm: int | None
    tools_llvm: int | None
    lacks: tuple[str, ...]
    evidence: Evidence

    @property
    def name(self) -> str:
        return f"rustc {self.spec}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CudaCandidate:
    """A ptxas; `release` is its CUDA minor ("13.0")."""

    version: str
    release: str
    max_ptx: PtxVersion
    archs: frozenset[str]
    evidence: Evidence

    @property
    def name(self) -> str:
        return f"ptxas {self.version}"


_ARCHIVE = Evidence(how="documentation", source="calendar of releases, toolchains/rust.toml")
_PROBED = Evidence(how="measured", source="ptxas of the PyPI wheel, toolchains/cuda.toml")


def rust_candidates(facts: Facts, spec: RustSpec) -> tuple[RustCandidate, ...]:
    """The compilers that `spec` names and the facts know, in order of preference."""
    if spec.channel == "nightly" and spec.date is not None:
        release = facts.rust.release_of_night(spec.date)
        version = f"{release.version}.0-nightly" if release else "nightly"
        return (_rust(facts, spec.text, version, spec.date),)
    if spec.channel != "stable":
        newest = facts.rust.releases[-1].version
        return (_rust(facts, spec.text, f"{newest}.0-{spec.channel}", None),)
    # Releases by their first patch, those that were tried first.
    known = [f"{release.version}.0" for release in facts.rust.releases]
    order = dict.fromkeys([*facts.rust.preferred, *reversed(known)])
    matching = [version for version in order if spec.matches(version)]
    return tuple(_rust(facts, version, version, None) for version in matching)


def cuda_candidates(facts: Facts, spec: CudaSpec) -> tuple[CudaCandidate, ...]:
    """The toolkits that `spec` names and the facts know, in order of preference."""
    return tuple(each for each in all_cuda(facts) if _names(spec, each))


def all_cuda(facts: Facts) -> Iterator[CudaCandidate]:
    """Every toolkit that is described, in order of preference."""
    for minor in facts.cuda.preferred:
        kit = facts.cuda.toolkits[minor]
        yield CudaCandidate(
            version=kit.patch,
            release=kit.cuda,
            max_ptx=PtxVersion.parse(kit.max_ptx),
            archs=frozenset(kit.archs),
            evidence=_PROBED,
        )


def probed_rust(toolchain: Toolchain) -> RustCandidate:
    """A rustc that is here, by what it said of itself."""
    date = None
    if toolchain.spec.startswith("nightly-"):
        date = datetime.date.fromisoformat(toolchain.spec.removeprefix("nightly-"))
    return RustCandidate(
        spec=toolchain.spec,
        version=toolchain.version,
        date=date,
        llvm=int(str(toolchain.facts["llvm_major"])),
        tools_llvm=numbers(str(toolchain.facts["llvm_tools"]))[0],
        lacks=(),
        evidence=Evidence(how="measured", source=f"asked {toolchain.origin}"),
    )


def probed_cuda(toolchain: Toolchain) -> CudaCandidate:
    """A ptxas that is here, by what it said of itself."""
    return CudaCandidate(
        version=toolchain.version,
        release=str(toolchain.facts["release"]),
        max_ptx=PtxVersion.parse(str(toolchain.facts["max_ptx"])),
        archs=frozenset(toolchain.archs),
        evidence=Evidence(how="measured", source=f"asked {toolchain.origin}"),
    )


def _names(spec: CudaSpec, candidate: CudaCandidate) -> bool:
    # Patch releases of one minor do not differ in what matters here.
    return spec.matches(candidate.version) or spec.matches(candidate.release)


def _rust(facts: Facts, spec: str, version: str, date: datetime.date | None) -> RustCandidate:
    llvm = facts.rust.llvm_of(version, date)
    lacks = facts.rust.missing.get(date, ()) if date else ()
    tools = llvm
    if llvm is not None and "llvm-tools" in lacks:
        # Tools of the same or a newer LLVM read every older bitcode, never the reverse.
        newer = [r.llvm for r in facts.rust.releases if r.llvm >= llvm]
        tools = min(newer, default=None)
    return RustCandidate(
        spec=spec,
        version=version,
        date=date,
        llvm=llvm,
        tools_llvm=tools,
        lacks=tuple(lacks),
        evidence=_ARCHIVE,
    )


def release_order(release: str) -> tuple[int, ...]:
    """A key that sorts CUDA releases."""
    return numbers(release)
