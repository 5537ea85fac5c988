"""Which archs each pair of rustc and CUDA builds for: the picture of what fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from oxide_build.model.arch import Arch, ArchRequest
from oxide_build.resolution.candidates import CudaCandidate, RustCandidate
from oxide_build.resolution.case import Case, Deployment, Exclusion
from oxide_build.resolution.facts import Facts
from oxide_build.resolution.predicates import exclusions


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One pair; `cells` has for each arch the first thing that speaks against it, or None."""

    rust: RustCandidate
    cuda: CudaCandidate
    cells: tuple[Exclusion | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """Rows in the order of the candidates, columns in the order of `archs`."""

    archs: tuple[Arch, ...]
    rows: tuple[Row, ...]
    driver: str | None

    def as_record(self) -> dict[str, Any]:
        """For programs; `schema` changes when a field changes its meaning."""
        return {
            "schema": 1,
            "driver": self.driver,
            "archs": [str(arch) for arch in self.archs],
            "rows": [
                {
                    "rust": row.rust.spec,
                    "llvm": row.rust.llvm,
                    "cuda": row.cuda.release,
                    "cells": [
                        None
                        if cell is None
                        else {
                            "predicate": cell.predicate,
                            "reason": cell.sentence,
                            "evidence": str(cell.evidence),
                        }
                        for cell in row.cells
                    ],
                }
                for row in self.rows
            ],
        }


def matrix(
    rust: Sequence[RustCandidate],
    cuda: Sequence[CudaCandidate],
    archs: Sequence[Arch],
    deployment: Deployment,
    facts: Facts,
) -> Matrix:
    """O(rust x cuda x archs), about 20 µs a cell."""

    def cell(one: RustCandidate, other: CudaCandidate, arch: Arch) -> Exclusion | None:
        case = Case(
            request=ArchRequest(arch),
            rust=one,
            cuda=other,
            deployment=deployment,
            ptx=None,
            facts=facts,
        )
        return next(exclusions(case), None)

    return Matrix(
        archs=tuple(archs),
        rows=tuple(
            Row(rust=one, cuda=other, cells=tuple(cell(one, other, arch) for arch in archs))
            for one in rust
            for other in cuda
        ),
        driver=deployment.driver.text if deployment.driver else None,
    )
