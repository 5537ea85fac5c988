"""Products and their architecture: `toolchains/gpus.toml`."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import Any

from oxide_build.errors import UsageError
from oxide_build.model.arch import Arch
from oxide_build.resolution.fact_file import Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """A product or, where `series` says so, a series of them ("RTX 40")."""

    name: str
    arch: Arch
    series: bool
    evidence: Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuFacts:
    """All products, in the order of the file."""

    gpus: tuple[Gpu, ...]

    def find(self, text: str) -> Arch:
        """The arch of a product (`H200`, `rtx 4090`), or an arch itself (`sm_90`, `9.0`).

        Raises `UsageError` with the nearest names.
        """
        plain = _plain(text)
        for gpu in self.gpus:
            name = _plain(gpu.name)
            # RTX 4090 and RTX 40 Ti are of the series RTX 40.
            if plain == name or (gpu.series and re.fullmatch(rf"{name}\d\d.*", plain)):
                return gpu.arch
        if found := re.fullmatch(r"(\d{1,2})\.(\d)", text.strip()):
            return Arch(int(found[1]) * 10 + int(found[2]))
        try:
            return Arch.parse(text.strip())
        except UsageError:
            pass
        names = [gpu.name for gpu in self.gpus]
        near = difflib.get_close_matches(text.upper(), names, n=3, cutoff=0.4)
        raise UsageError(
            f"nothing is known of the GPU `{text[:40]}`",
            hint=f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(names)}",
        )


def parse_gpus(data: dict[str, Any]) -> GpuFacts:
    return GpuFacts(
        gpus=tuple(
            Gpu(
                name=row["name"],
                arch=Arch.parse(row["arch"]),
                series=row.get("series", False),
                evidence=Evidence.of(row, data),
            )
            for row in data["gpu"]
        )
    )


def _plain(text: str) -> str:
    """Lower case, without blanks and the maker's names: `NVIDIA GeForce RTX 4090` -> `rtx4090`."""
    words = [w for w in text.lower().split() if w not in ("nvidia", "geforce", "tesla")]
    return "".join(words)
