"""Whether a ptxas takes a PTX, predicted from facts: the three suffix rules, minimum, ceiling."""

from __future__ import annotations

from oxide_build.model.arch import Arch
from oxide_build.model.ptx import PtxVersion
from oxide_build.resolution.facts import Facts

# Toolkits that take a target from a lower version than all others (toolchains/arch.toml).
_EARLY = {
    ("13.0", Arch(88)): PtxVersion(7, 3),
    ("12.8", Arch(100, "f")): PtxVersion(8, 6),
    ("12.8", Arch(101, "f")): PtxVersion(8, 6),
    ("12.8", Arch(120, "f")): PtxVersion(8, 7),
}
# 13.0 gave this GPU another name, and its ptxas takes the old one in a `.target` only.
_RENAMED = {Arch(101, "a"): Arch(110, "a")}


def refused(facts: Facts, cuda: str, version: PtxVersion, target: Arch, arch: Arch) -> str | None:
    """Why the ptxas of CUDA `cuda` refuses PTX of `.version` and `.target` for `-arch`.

    None where it takes it. Source: 15,313 pairs of 17 toolkits, no exception; targets with a suffix
    that the toolkit does not list are not among them. Raises `KeyError` for a toolkit that is not
    described.
    """
    kit = facts.cuda.toolkits[cuda]
    ceiling = PtxVersion.parse(kit.max_ptx)
    if str(arch) not in kit.archs:
        return f"ptxas {cuda} does not know {arch}"
    known = facts.drivers.published | facts.drivers.unpublished
    if version > ceiling or version not in known:
        return f"ptxas {cuda} does not take PTX {version}"
    minimum = _EARLY.get((cuda, target), facts.arch.minimum(target))
    if minimum is None or version < minimum:
        return f"{target} needs PTX {minimum}"
    if not target.runs_on(arch) and _RENAMED.get(target) != arch:
        return f"code for {target} does not run on {arch}"
    return None
