"""PTX versions and the drivers that take them: `toolchains/ptx.toml`, `toolchains/drivers.toml`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from oxide_build.errors import UsageError
from oxide_build.model.ptx import PtxVersion
from oxide_build.resolution.fact_file import Evidence
from oxide_build.resolution.versions import numbers

_DRIVER = re.compile(r"[rR]?(\d{3})(?:\.\d{1,4}){0,2}\Z", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class PtxRelease:
    """A version of PTX, the CUDA release that has it first, and that release's driver branch."""

    version: PtxVersion
    cuda: str
    branch: int | None
    evidence: Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Driver:
    """What a driver can do.

    text     as it was asked for
    cuda     the CUDA release of its own ("12.2")
    max_ptx  what its JIT takes: what the ptxas of that release takes
    """

    text: str
    branch: int
    version: tuple[int, ...]
    cuda: str
    max_ptx: PtxVersion
    evidence: Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverFacts:
    """Drivers, and the PTX versions that they and toolkits know.

    ptx     ascending
    unpublished  versions that ptxas takes although no manual has them
    paired  CUDA release -> the first driver that came with it
    floors  CUDA major -> the oldest driver that loads its cubins
    """

    ptx: tuple[PtxRelease, ...]
    paired: Mapping[str, str]
    floors: Mapping[int, str]
    last_before_sm_75: int
    unpublished: frozenset[PtxVersion]
    evidence: Evidence

    def of(self, text: str) -> Driver:
        """The driver `535`, `535.54.03` or `R535`.

        A branch between two that came with a CUDA release is taken for the older one. Raises
        `UsageError` for what is no driver, or is older than all that are known.
        """
        found = _DRIVER.match(text.strip())
        if found is None:
            raise UsageError(
                f"`{text[:40]}` is not a driver version", hint="write it as `535` or `535.54.03`"
            )
        branch = int(found[1])
        known = [each for each in self.ptx if each.branch is not None and each.branch <= branch]
        if not known:
            raise UsageError(f"nothing is known of driver `{text}`")
        newest = max(known, key=lambda each: (each.branch or 0, each.version))
        inferred = newest.branch != branch
        return Driver(
            text=text.strip(),
            branch=branch,
            version=numbers(text.strip().lstrip("rR")),
            cuda=newest.cuda,
            max_ptx=newest.version,
            evidence=Evidence(how="inferred", source=f"no row for {branch}; R{newest.branch} below")
            if inferred
            else newest.evidence,
        )

    def branch_for(self, version: PtxVersion) -> int | None:
        """The oldest branch whose JIT takes `version`; None where that is not known."""
        return next((r.branch for r in self.ptx if r.version >= version and r.branch), None)

    def cuda_for(self, version: PtxVersion) -> str | None:
        """The first CUDA release whose ptxas takes `version`."""
        return next((r.cuda for r in self.ptx if r.version >= version), None)

    @property
    def published(self) -> frozenset[PtxVersion]:
        return frozenset(each.version for each in self.ptx)


def parse_drivers(ptx: dict[str, Any], drivers: dict[str, Any]) -> DriverFacts:
    rows = [
        PtxRelease(
            version=PtxVersion.parse(row["version"]),
            cuda=row["cuda"],
            branch=row.get("branch"),
            evidence=Evidence.of(row, ptx),
        )
        for row in ptx["ptx"]
    ]
    return DriverFacts(
        ptx=tuple(sorted(rows, key=lambda row: row.version)),
        paired={row["cuda"]: row["version"] for row in drivers["driver"]},
        floors={int(major): text for major, text in drivers["minor_floor"].items()},
        last_before_sm_75=drivers["last_before_sm_75"]["branch"],
        unpublished=frozenset(map(PtxVersion.parse, ptx["unpublished"]["versions"])),
        evidence=Evidence.of(drivers, drivers),
    )
