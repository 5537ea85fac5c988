"""What must hold for a kernel to be built for an arch and to load where it is meant to.

Each predicate looks at one case and gives the reason why it does not fit, or None. All of them are
in `PREDICATES`; the facts behind them are in `toolchains/`, and `docs/predicates.md` has the table.
"""

from __future__ import annotations

from collections.abc import Iterator

from oxide_build.resolution import backend_predicates as backend
from oxide_build.resolution import cuda_predicates as cuda
from oxide_build.resolution import driver_predicates as driver
from oxide_build.resolution import rust_predicates as rust
from oxide_build.resolution.case import Case, Exclusion, Predicate

# Name -> (what is at fault, the predicate). Order is that of a message: the first that fails is
# the one that a person is told.
PREDICATES: dict[str, tuple[str, Predicate]] = {
    "backend-pinned": ("rust", backend.pinned),
    "release-known": ("rust", rust.release_known),
    "builtins-in-tree": ("rust", rust.builtins_in_tree),
    "rust-src-published": ("rust", rust.sources),
    "backend-components-published": ("rust", backend.components),
    "llvm-tools-obtainable": ("rust", rust.llvm_tools),
    "tools-read-bitcode": ("rust", rust.tools_read_bitcode),
    "backend-tools-floor": ("rust", backend.tools_floor),
    "backend-tools-same-major": ("rust", backend.tools_same_major),
    "old-gpu-supported": ("rust", rust.old_gpu),
    "backend-arch-accepted": ("rust", backend.arch_accepted),
    "cpu-listed": ("rust", rust.cpu_listed),
    "ptx-published": ("rust", rust.ptx_published),
    "ptx-known-to-llvm": ("rust", rust.ptx_known_to_llvm),
    "ptx-not-below-minimum": ("rust", rust.ptx_not_below_minimum),
    "backend-cuda-floor": ("cuda", backend.cuda_floor),
    "nvvm-described": ("cuda", backend.nvvm_described),
    "nvvm-ir-version": ("cuda", backend.nvvm_ir_version),
    "nvvm-dialect": ("cuda", backend.nvvm_dialect),
    "nvvm-reads-bitcode": ("cuda", backend.nvvm_reads_bitcode),
    "nvvm-data-layout": ("cuda", backend.nvvm_data_layout),
    "nvvm-ptx-fixed": ("cuda", backend.nvvm_ptx_fixed),
    "arch-assembled": ("cuda", cuda.arch_assembled),
    "version-assembled": ("cuda", cuda.version_assembled),
    "loads-on-driver": ("driver", driver.loads_on_driver),
    "driver-knows-gpu": ("driver", driver.driver_knows_gpu),
    "driver-supports-gpu": ("driver", driver.driver_supports_gpu),
    "runs-on-gpu": ("gpu", driver.runs_on_gpu),
}


def exclusions(case: Case, *, subjects: frozenset[str] | None = None) -> Iterator[Exclusion]:
    """All that speaks against `case`, of the given subjects."""
    for name, (subject, predicate) in PREDICATES.items():
        if subjects is not None and subject not in subjects:
            continue
        found = predicate(case)
        if found is not None:
            yield Exclusion(subject=subject, predicate=name, sentence=found[0], evidence=found[1])
