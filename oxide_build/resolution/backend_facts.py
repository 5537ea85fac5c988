"""Codegen backends of rustc and libNVVM: `toolchains/backends.toml`, `toolchains/nvvm.toml`."""

from __future__ import annotations

import datetime
import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from oxide_build.errors import UsageError
from oxide_build.resolution.fact_file import Evidence
from oxide_build.resolution.versions import numbers

_DIALECTS = ("llvm7", "modern")
_CODEGENS = ("llc", "nvvm")

# What git itself takes for a short name of a commit.
_SHORTEST_COMMIT = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """A backend of one of `revisions` (commits and tags) is built with exactly this nightly.

    `date` is that of the first of them.
    """

    revisions: tuple[str, ...]
    date: datetime.date
    nightly: datetime.date
    evidence: Evidence

    @property
    def spec(self) -> str:
        return f"nightly-{self.nightly}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """A codegen backend of rustc.

    components        what of the nightly it needs
    codegen           "llc", or "nvvm" where everything goes through libNVVM
    nvvm_dialects     what it can write for libNVVM: "llvm7", "modern"
    min_llvm_tools    the oldest llc that it works with; 0 where it uses none
    tools_same_major  whether llc, opt and llvm-link must be of rustc's own LLVM major
    numbers           archs that it accepts, without suffixes
    pins              oldest first
    """

    name: str
    components: tuple[str, ...]
    codegen: str
    nvvm_dialects: tuple[str, ...]
    min_llvm_tools: int
    min_cuda: tuple[int, ...]
    tools_same_major: bool
    numbers: frozenset[int]
    pins: tuple[Pin, ...]
    evidence: Evidence

    def pins_of(self, revision: str | None) -> tuple[Pin, ...]:
        """All pins, or that of a revision: a tag, or a commit with at least 7 digits."""
        if revision is None:
            return self.pins
        return tuple(pin for pin in self.pins if any(_same(r, revision) for r in pin.revisions))


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendFacts:
    """All backends by name."""

    backends: Mapping[str, Backend]

    def find(self, name: str) -> Backend:
        """Raises `UsageError` with the nearest names."""
        if name in self.backends:
            return self.backends[name]
        near = difflib.get_close_matches(name, self.backends, n=1, cutoff=0.4)
        known = ", ".join(self.backends)
        raise UsageError(
            f"nothing is known of the codegen backend `{name[:40]}`",
            hint=f"did you mean {near[0]}?" if near else f"known: {known}",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Libnvvm:
    """The libNVVM of a CUDA release.

    ir_version      the NVVM IR that it wants, "1.9" or "2.0"
    reads           the newest LLVM whose bitcode it takes for sm_100 and later, None: has no reader
    foreign_layout  whether it takes rustc's data layout there
    """

    ir_version: str
    reads: int | None
    foreign_layout: bool
    evidence: Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class NvvmFacts:
    """libNVVM by CUDA release ("13.0")."""

    libraries: Mapping[str, Libnvvm]


def _same(known: str, asked: str) -> bool:
    if known == asked:
        return True
    digits = min(len(known), len(asked))
    return digits >= _SHORTEST_COMMIT and known[:digits] == asked[:digits]


def parse_backends(data: dict[str, Any]) -> BackendFacts:
    found = {}
    for row in data["backend"]:
        wrong = set(row["nvvm_dialects"]) - set(_DIALECTS) | {row["codegen"]} - set(_CODEGENS)
        if wrong:
            raise ValueError(f"`{row['name']}` has unknown words: {', '.join(sorted(wrong))}")
        found[row["name"]] = Backend(
            name=row["name"],
            components=tuple(row["components"]),
            codegen=row["codegen"],
            nvvm_dialects=tuple(row["nvvm_dialects"]),
            min_llvm_tools=row["min_llvm_tools"],
            min_cuda=numbers(row["min_cuda"]),
            tools_same_major=row["tools_same_major"],
            numbers=frozenset(row["numbers"]),
            pins=tuple(
                Pin(
                    revisions=tuple(pin["revisions"]),
                    date=pin["date"],
                    nightly=pin["nightly"],
                    evidence=Evidence.of(pin, data),
                )
                for pin in row["pin"]
            ),
            evidence=Evidence.of(row, data),
        )
    return BackendFacts(backends=found)


def parse_nvvm(data: dict[str, Any]) -> NvvmFacts:
    return NvvmFacts(
        libraries={
            release: Libnvvm(
                ir_version=row["ir_version"],
                reads=row.get("reads"),
                foreign_layout=row.get("foreign_layout", False),
                evidence=Evidence.of(row, data),
            )
            for row in data["libnvvm"]
            for release in row["cuda"]
        }
    )
