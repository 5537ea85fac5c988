"""What one arch more costs, with the front end shared and with one front-end run for each arch.

    .venv/bin/python benchmarks/archs.py [--repeat 5] [--json FILE]

Builds copies of `//examples/matmul` and of all examples for 1, 3, 6 and 12 archs into caches that
hold the sysroot and nothing else, so that each build runs every other action. `per arch` forces the
other way by a comment with the word `target_feature` in each source. Prints medians of whole
commands in seconds; needs toolchains (the user's store) and a quiet machine.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from timing import seconds

REPOSITORY = Path(__file__).resolve().parent.parent
ARCHS = [
    "sm_75", "sm_80", "sm_90", "sm_86", "sm_89", "sm_100",
    "sm_120", "sm_90a", "sm_100a", "sm_103", "sm_120a", "sm_121",
]  # fmt: skip
COUNTS = (1, 3, 6, 12)
PATTERNS = ("//examples/matmul", "//examples/...")


def workspace(folder: Path, *, per_arch: bool) -> Path:
    """A copy of the examples; with the word in every source if each arch shall be compiled."""
    shutil.copytree(REPOSITORY / "examples", folder / "examples")
    shutil.copy(REPOSITORY / "oxide.toml", folder / "oxide.toml")
    if per_arch:
        for file in (folder / "examples").rglob("*.rs"):
            file.write_text(file.read_text() + "\n// target_feature\n")
    return folder


def oxide(root: Path, cache: Path, *argv: str) -> float:
    """Run the tool; seconds of the whole command."""
    command = [sys.executable, "-m", "oxide_build", "build", "-q", *argv]
    return seconds(command, root, {"OXIDE_CACHE": str(cache)})


def warm(root: Path, cache: Path) -> None:
    """Fill `cache` with the sysroot, through a kernel of no interest."""
    folder = root / "warm"
    folder.mkdir()
    (folder / "BUILD.toml").write_text('[[rust_kernel]]\nname = "w"\nsrcs = ["w.rs"]\n')
    (folder / "w.rs").write_text(
        "#![no_std]\n#![feature(abi_ptx)]\n#[unsafe(no_mangle)]\n"
        'pub unsafe extern "ptx-kernel" fn warm_up() {}\n'
    )
    oxide(root, cache, "//warm:w", "--arch", "sm_80")
    shutil.rmtree(folder)


def measure(root: Path, sysroot: Path, pattern: str, archs: list[str], repeat: int) -> float:
    """Median seconds of building `pattern` with the sysroot cached and nothing else."""
    times = []
    for _ in range(repeat):
        with tempfile.TemporaryDirectory() as folder:
            cache = Path(folder, "cache")
            shutil.copytree(sysroot, cache)
            shutil.rmtree(root / "oxide-out", ignore_errors=True)
            times.append(oxide(root, cache, pattern, "--arch", ",".join(archs)))
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        for way, per_arch in (("shared", False), ("per arch", True)):
            root = workspace(base / way, per_arch=per_arch)
            warm(root, base / "sysroot")
            for pattern in PATTERNS:
                times = [
                    measure(root, base / "sysroot", pattern, ARCHS[:count], arguments.repeat)
                    for count in COUNTS
                ]
                rows.append({"front_end": way, "pattern": pattern, "seconds": times})
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    print(f"{machine}; medians of {arguments.repeat} whole commands in seconds\n")
    print(
        "| targets | front end | "
        + " | ".join(f"{count} arch{'s'[: count > 1]}" for count in COUNTS)
        + " |"
    )
    print("|---|---|" + "---|" * len(COUNTS))
    for row in rows:
        cells = " | ".join(f"{each:.2f}" for each in row["seconds"])
        print(f"| `{row['pattern']}` | {row['front_end']} | {cells} |")
    if arguments.json:
        arguments.json.write_text(
            json.dumps({"machine": machine, "archs": COUNTS, "rows": rows}, indent=2) + "\n"
        )


if __name__ == "__main__":
    main()
