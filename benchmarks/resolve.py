"""What resolving costs: every target of a workspace asks for its archs, as a build does.

    .venv/bin/python benchmarks/resolve.py

Prints medians in milliseconds: reading the facts, resolving 1,000 targets x 6 archs each on its own
among all known compilers and toolkits, and a refusal with its changes, which tries every release.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from oxide_build.cli.toolchains import load_facts
from oxide_build.model.arch import ArchRequest
from oxide_build.resolution.resolver import Requirements, resolve_known
from oxide_build.resolution.versions import CudaSpec, RustSpec

ARCHS = tuple(
    ArchRequest.parse(name) for name in ("sm_75", "sm_80", "sm_90", "sm_90a", "sm_100", "sm_120")
)
TARGETS, REPEAT = 1000, 5


def median_ms(work: Callable[[], object]) -> float:
    times = []
    for _ in range(REPEAT):
        start = time.perf_counter()
        work()
        times.append(1000 * (time.perf_counter() - start))
    return statistics.median(times)


def main() -> None:
    facts = load_facts()
    wanted = Requirements(rust=RustSpec.parse(">=1.95"), cuda=CudaSpec.parse(">=12.8"), archs=ARCHS)
    refused = Requirements(
        rust=RustSpec.parse("1.96"), cuda=CudaSpec.parse("12.3"), archs=(ARCHS[4],)
    )

    def all_targets() -> None:
        for _ in range(TARGETS):
            resolve_known(wanted, facts)

    rows = (
        ("reading the facts", load_facts),
        (f"{TARGETS} targets x {len(ARCHS)} archs", all_targets),
        ("one refusal with its changes", lambda: resolve_known(refused, facts)),
    )
    for name, work in rows:
        print(f"{name:32} {median_ms(work):8.1f} ms")


if __name__ == "__main__":
    main()
