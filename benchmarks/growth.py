"""Loading and analysing large workspaces, cold: seconds and memory for each size.

    .venv/bin/python benchmarks/growth.py [--folder DIR] [--sizes 10000,kernels,100000]

Each size is a process of its own without snapshot and plan: it loads every package, analyses every
target and drops the graph. `kernels` are 10,000 Rust kernels for six archs, which share one file.
Memory is the peak of the process; that of an empty workspace is taken off for the share of a
target. Needs toolchains (the user's store) and a quiet machine.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import archs
import graphs

_CHILD = """
import gc, json, resource, sys, time
start = time.perf_counter()
gc.set_threshold(200_000, 20, 20)  # as `entry.run` does
from pathlib import Path
from oxide_build.cli.progress import FetchProgress
from oxide_build.cli.request import Request
from oxide_build.cli.session import open_session

session = open_session(Path.cwd(), Request(patterns=("//...",)), FetchProgress())
graph = session.analyse()
print(json.dumps({
    "seconds": time.perf_counter() - start,
    "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    "actions": len(graph.actions),
    "targets": len(graph.outputs),
}))
sys.stdout.flush()
import os
os._exit(0)
"""

_KERNEL = """#![no_std]
#![feature(abi_ptx)]
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn k() {}
"""


def write_kernels(folder: Path, count: int) -> None:
    names = ", ".join(f'"{arch}"' for arch in archs.ARCHS[:6])
    (folder / "oxide.toml").write_text(f'[workspace]\nname = "kernels"\narchs = [{names}]\n')
    for package in range(count // 100):
        place = folder / f"p{package:04d}"
        place.mkdir()
        rows = [f'[[rust_kernel]]\nname = "k{n}"\nsrcs = ["k.rs"]\n' for n in range(100)]
        (place / "BUILD.toml").write_text("\n".join(rows))
        (place / "k.rs").write_text(_KERNEL)


def measure(folder: Path) -> dict[str, float]:
    environ = {**os.environ, "OXIDE_CACHE": str(folder / "cache")}
    workspace = folder / "ws"
    done = subprocess.run(
        [sys.executable, "-c", _CHILD], cwd=workspace, env=environ, check=True, capture_output=True
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="10000,kernels,100000")
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}\n")
    print("| workspace | targets | actions | seconds | peak (MB) | a target (KB) |")
    print("|---|---|---|---|---|---|")
    empty = 0.0
    for size in ("1", *options.sizes.split(",")):
        with tempfile.TemporaryDirectory(dir=options.folder) as name:
            folder = Path(name)
            (folder / "ws").mkdir()
            if size == "kernels":
                write_kernels(folder / "ws", 10_000)
            else:
                graphs.write_oxide(folder / "ws", max(int(size), graphs.LAYERS))
            found = measure(folder)
        empty = empty or found["peak_bytes"]
        share = (found["peak_bytes"] - empty) / found["targets"] / 1000
        print(
            f"| {size} | {found['targets']:,} | {found['actions']:,} | {found['seconds']:.2f} "
            f"| {found['peak_bytes'] / 1e6:.0f} | {share:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
