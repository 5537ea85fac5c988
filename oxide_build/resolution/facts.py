"""What the versions of rustc, of the CUDA toolkit and of the GPUs can do: `toolchains/*.toml`."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import tomli

from oxide_build.errors import DefinitionError
from oxide_build.resolution.versions import numbers

T = TypeVar("T")


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
    """A release: `nightlies` are the first and last archive dates that carry its number."""

    version: str
    llvm: int
    llvm_at_first: int
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchFacts:
    """What GPU architectures need; see toolchains/arch.toml for the sources."""

    min_ptx: Mapping[str, str]
    families: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """All facts of `toolchains/`."""

    rust: RustFacts
    cuda: CudaFacts
    arch: ArchFacts

    @classmethod
    def from_toml(cls, files: Mapping[str, bytes]) -> Facts:
        """Read `rust.toml`, `cuda.toml` and `arch.toml`; raises `DefinitionError`."""
        return cls(
            rust=_read(files, "rust.toml", _rust),
            cuda=_read(files, "cuda.toml", _cuda),
            arch=_read(files, "arch.toml", _arch),
        )


def _read(files: Mapping[str, bytes], name: str, parse: Callable[[dict[str, Any]], T]) -> T:
    """Parse one file; whatever is wrong with it is said with its name."""
    if name not in files:
        raise DefinitionError(f"toolchains/{name} is missing", hint="install oxide-build again")
    try:
        return parse(tomli.loads(files[name].decode("utf-8")))
    except KeyError as error:
        raise DefinitionError(f"toolchains/{name}: the key {error} is missing") from error
    except (ValueError, TypeError, AttributeError) as error:
        raise DefinitionError(f"toolchains/{name}: {error}") from error


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
