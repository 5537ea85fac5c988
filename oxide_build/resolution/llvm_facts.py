"""What LLVM's NVPTX backend knows: `toolchains/llvm.toml`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from oxide_build.model.ptx import PtxVersion
from oxide_build.resolution.fact_file import Evidence

_BELOW = ("obeys", "raises", "aborts")


@dataclass(frozen=True, slots=True, kw_only=True)
class LlvmRelease:
    """A major release. `below_minimum` is what a `+ptxNN` below the cpu's minimum does: see
    toolchains/llvm.toml."""

    major: int
    max_ptx: PtxVersion
    cpus: frozenset[str]
    below_minimum: str
    evidence: Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class LlvmFacts:
    """Releases by major version."""

    releases: Mapping[int, LlvmRelease]

    def of(self, major: int) -> LlvmRelease | None:
        return self.releases.get(major)

    def first_with(self, cpu: str) -> int | None:
        """The lowest major that knows `cpu`."""
        return min((m for m, each in self.releases.items() if cpu in each.cpus), default=None)


def parse_llvm(data: dict[str, Any]) -> LlvmFacts:
    releases = {}
    for row in data["llvm"]:
        if row["below_minimum"] not in _BELOW:
            raise ValueError(f"`below_minimum` of {row['major']} is none of {', '.join(_BELOW)}")
        releases[row["major"]] = LlvmRelease(
            major=row["major"],
            max_ptx=PtxVersion.parse(row["max_ptx"]),
            cpus=frozenset(row["cpus"]),
            below_minimum=row["below_minimum"],
            evidence=Evidence.of(row, data),
        )
    return LlvmFacts(releases=releases)
