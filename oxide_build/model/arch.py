"""GPU architectures and what code built for one of them runs on."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from oxide_build.errors import UsageError
from oxide_build.model.label import shown
from oxide_build.model.ptx import PtxVersion

# Families of the `f` suffix. Source: ptxas 12.9 to 13.5, every (target, arch) pair assembled; see
# toolchains/arch.toml. A number absent here has no family.
_FAMILY = {100: 100, 103: 100, 107: 100, 110: 110, 101: 110, 120: 120, 121: 120}

_SPELLING = re.compile(r"(?:sm_|compute_)?([1-9][0-9]{1,2})([af]?)(-real|-virtual)?\Z")


@dataclass(frozen=True, slots=True, order=True)
class Arch:
    """One architecture as ptxas spells it: `sm_90`, `sm_90a`, `sm_100f`.

    `number` is ten times the major plus the minor compute capability. `suffix` is "" (runs on
    this number and above), "f" (within the family, this number and above) or "a" (only here).
    """

    number: int
    suffix: str = ""

    def __str__(self) -> str:
        return f"sm_{self.number}{self.suffix}"

    @property
    def family(self) -> int | None:
        """The number that names the family, or None where the hardware has none."""
        return _FAMILY.get(self.number)

    @property
    def family_arch(self) -> Arch | None:
        """The `f` arch whose code runs on the whole family: `sm_101f` for `sm_110`."""
        members = [number for number, family in _FAMILY.items() if family == self.family]
        return Arch(min(members), "f") if members else None

    @property
    def major(self) -> int:
        return self.number // 10

    def runs_on(self, device: Arch) -> bool:
        """Whether PTX for this arch can be assembled for `device`.

        Source: the three suffix rules, seen to hold for all pairs of 17 toolkits.
        """
        if self.suffix == "a":
            return self == device
        if self.suffix == "f":
            same = self.family is not None and self.family == device.family
            return same and device.number >= self.number
        return device.number >= self.number

    @classmethod
    def parse(cls, text: str) -> Arch:
        """Read `sm_90a`, `90a` or `compute_90`; raises `UsageError`."""
        request = ArchRequest.parse(text)
        return request.arch


@dataclass(frozen=True, slots=True)
class ArchRequest:
    """An arch and which forms of it are wanted, as CMake's `80-real` and `90-virtual` say it.

    Both forms are always built, because a PTX that was never assembled is not a build result;
    the flags say which of them become outputs. `min_ptx` is set where the code needs a newer PTX
    version than the arch.
    """

    arch: Arch
    cubin: bool = field(default=True, kw_only=True)
    ptx: bool = field(default=True, kw_only=True)
    min_ptx: PtxVersion | None = field(default=None, kw_only=True)

    @classmethod
    def parse(cls, text: str) -> ArchRequest:
        """Read `sm_90a`, `90a`, `80-real` or `90-virtual`; raises `UsageError`."""
        found = _SPELLING.match(text)
        if found is None:
            raise UsageError(
                f"{shown(text)} is not a GPU architecture",
                hint="write `sm_90`, `sm_90a`, `sm_100f`, `90`, `80-real` (cubin only), "
                "`90-virtual` (PTX only), `all-major` or `native`",
            )
        arch = Arch(int(found[1]), found[2])
        if arch.suffix == "f" and arch.family is None:
            raise UsageError(
                f"`{arch}` does not exist: compute capability {arch.major}.{arch.number % 10} "
                "has no family",
                hint=f"write `sm_{arch.number}` or, for this GPU alone, `sm_{arch.number}a`",
            )
        return cls(arch, cubin=found[3] != "-virtual", ptx=found[3] != "-real")
