"""What the versions of rustc, of the CUDA toolkit and of the GPUs can do: `toolchains/*.toml`."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from oxide_build.model.arch import Arch
from oxide_build.model.ptx import PtxVersion
from oxide_build.resolution.backend_facts import (
    BackendFacts,
    NvvmFacts,
    parse_backends,
    parse_nvvm,
)
from oxide_build.resolution.driver_facts import DriverFacts, parse_drivers
from oxide_build.resolution.fact_file import read_facts
from oxide_build.resolution.gpu_facts import GpuFacts, parse_gpus
from oxide_build.resolution.llvm_facts import LlvmFacts, parse_llvm
from oxide_build.resolution.messages import MessageFacts, parse_messages
from oxide_build.resolution.versions import numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Since:
    """The first version of rustc for which something holds.

    `nightly` is the archive date for compilers of the nightly channel, which change in the
    middle of a release.
    """

    version: tuple[int, ...]
    nightly: datetime.date

    def holds(self, version: str, date: datetime.date | None = None) -> bool:
        """Whether it holds for rustc `version`; `date` is a nightly's archive date."""
        if date is not None and "-nightly" in version:
            return date >= self.nightly
        return numbers(version)[:2] >= self.version


@dataclass(frozen=True, slots=True, kw_only=True)
class RustRelease:
    """A release: `nightlies` are the first and last archive dates that carry its number.

    `llvm_since` is the first nightly with `llvm` where the release began with another, if known.
    """

    version: str
    llvm: int
    llvm_at_first: int
    llvm_since: datetime.date | None
    stable: datetime.date
    nightlies: tuple[datetime.date, datetime.date]


@dataclass(frozen=True, slots=True, kw_only=True)
class RustFacts:
    """What is known of rustc's releases; see toolchains/rust.toml for the sources."""

    preferred: tuple[str, ...]
    releases: tuple[RustRelease, ...]
    builtins_in_tree: Since
    builtins_path: str
    builtins_edition: str
    editions: tuple[tuple[str, Since], ...]
    target_cpu_is_modifier: Since
    drops_old_gpus: Since
    thread_index_u32: Since
    missing: Mapping[datetime.date, tuple[str, ...]]
    complete: tuple[datetime.date, ...]

    def release(self, version: str) -> RustRelease | None:
        """The release that `version` ("1.96.0", "1.96.0-nightly") belongs to."""
        wanted = numbers(version)[:2]
        return next((r for r in self.releases if numbers(r.version) == wanted), None)

    def release_of_night(self, date: datetime.date) -> RustRelease | None:
        """The release whose number the nightly of `date` carries."""
        for release in self.releases:
            if release.nightlies[0] <= date <= release.nightlies[1]:
                return release
        return None

    def llvm_of(self, version: str, date: datetime.date | None = None) -> int | None:
        """LLVM's major in rustc `version`; a nightly also needs its archive `date`.

        None for an unknown release, and for a night of a release that changed LLVM on a day that
        is not known.
        """
        nightly = "-nightly" in version
        release = self.release_of_night(date) if nightly and date else self.release(version)
        if release is None:
            return None
        if release.llvm == release.llvm_at_first or not nightly:
            return release.llvm
        if date is None or release.llvm_since is None:
            return None
        return release.llvm if date >= release.llvm_since else release.llvm_at_first

    def llvm_of_night(self, date: datetime.date) -> int | None:
        """LLVM's major in the nightly of `date`; None where nobody knows."""
        release = self.release_of_night(date)
        return None if release is None else self.llvm_of(f"{release.version}.0-nightly", date)

    def old_gpus_dropped_in(self, version: str, date: datetime.date | None = None) -> bool:
        """Whether rustc `version` refuses sm_20 to sm_62."""
        return self.drops_old_gpus.holds(version, date)

    def core_edition(self, version: str, date: datetime.date | None = None) -> str:
        """The edition of core's source; the newest known for versions that are not listed."""
        for edition, since in self.editions:
            if since.holds(version, date):
                return edition
        return self.editions[-1][0]

    def thread_index_is_i32(self, version: str, date: datetime.date | None = None) -> bool:
        """Whether `core::arch::nvptx` gives thread indices as i32 (and not u32)."""
        return not self.thread_index_u32.holds(version, date)

    def nearest_complete(self, date: datetime.date, count: int = 2) -> tuple[datetime.date, ...]:
        """The nights nearest to `date` that were seen with all components, nearest first."""
        others = [night for night in self.complete if night != date]
        return tuple(sorted(others, key=lambda night: abs((night - date).days))[:count])

    def lent_llvm(self, night: datetime.date) -> int:
        """The major of the LLVM tools that the nightly of `night` can borrow: its own or newer."""
        release = self.release_of_night(night) or self.releases[-1]
        return self.llvm_of_night(night) or release.llvm

    def lenders(self, night: datetime.date) -> tuple[str, ...]:
        """What can be fetched to lend the nightly of `night` its LLVM tools, best first.

        The same LLVM before a newer one, nightlies before releases, then what is nearest in time.
        """
        wanted = self.lent_llvm(night)
        known: list[tuple[int, bool, int, str]] = []
        for other in self.complete:
            llvm = self.llvm_of_night(other)
            if llvm is not None and other != night:
                known.append((llvm, False, abs((other - night).days), f"nightly-{other}"))
        for version in self.preferred:
            release = self.release(version)
            if release is not None:
                known.append((release.llvm, True, abs((release.stable - night).days), version))
        return tuple(name for llvm, _, _, name in sorted(known) if llvm >= wanted)


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolkit:
    """A minor release of the CUDA toolkit; `patch` is the version that was probed."""

    cuda: str
    patch: str
    max_ptx: str
    archs: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CudaFacts:
    """What is known of CUDA toolkits; see toolchains/cuda.toml for the sources."""

    preferred: tuple[str, ...]
    toolkits: Mapping[str, Toolkit]
    wheels: tuple[tuple[tuple[int, ...], str], ...]

    @property
    def preferred_patches(self) -> tuple[str, ...]:
        """The versions to try, best first: "13.0.88", …"""
        return tuple(self.toolkits[minor].patch for minor in self.preferred)

    def toolkit(self, version: str) -> Toolkit | None:
        """The minor release that `version` ("13.0", "13.0.88") belongs to."""
        return self.toolkits.get(".".join(str(n) for n in numbers(version)[:2]))

    def wheel(self, version: str) -> str:
        """The PyPI distribution that has the `ptxas` of `version`."""
        wanted = numbers(version)[:2]
        return next((name for since, name in self.wheels if since <= wanted), self.wheels[0][1])


# ptxas takes sm_70 from PTX 5.1 on, but LLVM writes what NVIDIA documents.
_LLVM_FLOOR = {70: PtxVersion(6, 0)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchFacts:
    """What GPU architectures need; see toolchains/arch.toml for the sources."""

    min_ptx: Mapping[str, str]
    families: Mapping[str, tuple[str, ...]]

    def minimum(self, arch: Arch) -> PtxVersion | None:
        """The lowest `.version` that ptxas takes for `arch`; None where nobody has probed it."""
        text = self.min_ptx.get(str(arch))
        return None if text is None else PtxVersion.parse(text)

    def emitted(self, arch: Arch) -> PtxVersion | None:
        """The `.version` that llc writes for `arch` when it is not told one."""
        minimum = self.minimum(arch)
        return None if minimum is None else max(minimum, _LLVM_FLOOR.get(arch.number, minimum))


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """All facts of `toolchains/`."""

    rust: RustFacts
    cuda: CudaFacts
    arch: ArchFacts
    llvm: LlvmFacts
    drivers: DriverFacts
    gpus: GpuFacts
    backends: BackendFacts
    nvvm: NvvmFacts
    messages: MessageFacts

    @classmethod
    def from_toml(cls, files: Mapping[str, bytes]) -> Facts:
        """Read all files by name; raises `DefinitionError`."""
        ptx = read_facts(files, "ptx.toml", dict)
        return cls(
            rust=read_facts(files, "rust.toml", _rust),
            cuda=read_facts(files, "cuda.toml", _cuda),
            arch=read_facts(files, "arch.toml", _arch),
            llvm=read_facts(files, "llvm.toml", parse_llvm),
            drivers=read_facts(files, "drivers.toml", lambda data: parse_drivers(ptx, data)),
            gpus=read_facts(files, "gpus.toml", parse_gpus),
            backends=read_facts(files, "backends.toml", parse_backends),
            nvvm=read_facts(files, "nvvm.toml", parse_nvvm),
            messages=read_facts(files, "messages.toml", parse_messages),
        )


def _since(table: Mapping[str, Any], prefix: str = "") -> Since:
    return Since(version=numbers(table[f"{prefix}since"]), nightly=table[f"{prefix}since_nightly"])


def _rust(data: dict[str, Any]) -> RustFacts:
    releases = []
    for row in data["release"]:
        first, last = row["nightlies"]
        releases.append(
            RustRelease(
                version=row["version"],
                llvm=row["llvm"],
                llvm_at_first=row.get("llvm_at_first", row["llvm"]),
                llvm_since=row.get("llvm_since"),
                stable=row["stable"],
                nightlies=(first, last),
            )
        )
    return RustFacts(
        preferred=tuple(data["preferred"]),
        releases=tuple(releases),
        builtins_in_tree=_since(data["builtins"], "in_tree_"),
        builtins_path=data["builtins"]["source_path"],
        builtins_edition=data["builtins"]["edition"],
        editions=tuple((row["edition"], _since(row)) for row in data["core_edition"]),
        target_cpu_is_modifier=_since(data["target_cpu_is_modifier"]),
        drops_old_gpus=_since(data["drops_old_gpus"]),
        thread_index_u32=_since(data["thread_index_u32"]),
        missing={row["date"]: tuple(row["components"]) for row in data["missing"]},
        complete=tuple(data["complete"]["nightlies"]),
    )


def _cuda(data: dict[str, Any]) -> CudaFacts:
    toolkits = {
        row["cuda"]: Toolkit(
            cuda=row["cuda"],
            patch=row["patch"],
            max_ptx=row["max_ptx"],
            archs=tuple(row["archs"]),
        )
        for row in data["toolkit"]
    }
    unknown = [minor for minor in data["preferred"] if minor not in toolkits]
    if unknown:
        raise ValueError(f"`preferred` names toolkits that are not described: {unknown}")
    return CudaFacts(
        preferred=tuple(data["preferred"]),
        toolkits=toolkits,
        wheels=tuple((numbers(row["from"]), row["name"]) for row in data["wheel"]),
    )


def _arch(data: dict[str, Any]) -> ArchFacts:
    return ArchFacts(
        min_ptx=dict(data["min_ptx"]),
        families={row["name"]: tuple(row["members"]) for row in data["family"]},
    )
