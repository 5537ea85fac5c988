"""What the tool takes beside the compilers that it runs, with one job at a time.

    .venv/bin/python benchmarks/overhead.py [--repeat 5] [--json FILE]

Builds the examples for one arch and for six into caches that hold the sysroot and nothing else,
and 1,000 trivial actions (`cat`). Prints medians in seconds:

    whole          the whole command
    theirs         from the start of each process to its end, as the tool itself waits for them
    our steps      the stages that are Python of ours, such as placing address spaces
    getting ready  the whole command with `--dry-run`: Python's start, loading, analysis, keys
    rest           what is left: folders for actions, the cache, `oxide-out`

Needs toolchains (the user's store) and a quiet machine.
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
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import archs
import graphs
from timing import seconds

# Runs the tool and tells how long its processes took, in a file.
_CHILD = """
import json, os, sys, time
from oxide_build import entry
from oxide_build.execution import steps
from oxide_build.host import process

def timed(function, spent):
    def call(*args, **kwargs):
        start = time.perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            spent.append(time.perf_counter() - start)
    return call

processes, stepped = [], []
process.ProcessGroup.run = timed(process.ProcessGroup.run, processes)
steps.run_step = timed(steps.run_step, stepped)
code = entry.run(sys.argv[2:])
with open(sys.argv[1], "w") as file:
    json.dump([sum(processes), len(processes), sum(stepped)], file)
os._exit(code)
"""


@dataclass(frozen=True)
class Run:
    """Seconds of the whole command and of its parts, and how many processes it ran."""

    whole: float
    theirs: float
    processes: int
    steps: float
    ready: float

    @property
    def rest(self) -> float:
        return self.whole - self.theirs - self.steps - self.ready


def once(root: Path, cache: Path, *argv: str) -> Run:
    environ = {"OXIDE_CACHE": str(cache)}
    shutil.rmtree(root / "oxide-out", ignore_errors=True)
    command = [sys.executable, "-m", "oxide_build", "build", "-q", "--dry-run", *argv]
    ready = seconds(command, root, environ)
    with tempfile.NamedTemporaryFile() as said:
        command = [sys.executable, "-c", _CHILD, said.name, "build", "-q", "--jobs", "1", *argv]
        whole = seconds(command, root, environ)
        theirs, processes, steps = json.loads(Path(said.name).read_bytes())
    return Run(whole, theirs, processes, steps, ready)


def examples(base: Path, count: int) -> Run:
    with tempfile.TemporaryDirectory(dir=base) as folder:
        cache = Path(folder, "cache")
        shutil.copytree(base / "sysroot", cache)
        return once(base / "ws", cache, "//examples/...", "--arch", ",".join(archs.ARCHS[:count]))


def trivial(base: Path) -> Run:
    with tempfile.TemporaryDirectory(dir=base) as folder:
        return once(base / "graph", Path(folder, "cache"), "//...")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="where to build, such as /dev/shm")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        base = Path(name)
        (base / "ws").mkdir()
        root = archs.workspace(base / "ws", per_arch=False)
        archs.warm(root, base / "sysroot")
        (base / "graph").mkdir()
        graphs.write_oxide(base / "graph", 1000)
        runs = {
            "examples, 1 arch": lambda: examples(base, 1),
            "examples, 6 archs": lambda: examples(base, 6),
            "examples, 12 archs": lambda: examples(base, 12),
            "1,000 x `cat`": lambda: trivial(base),
        }
        found: dict[str, list[Run]] = {what: [] for what in runs}
        for _ in range(options.repeat):
            for what, run in runs.items():
                found[what].append(run())
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}\n")
    print(
        "| what | processes | whole | theirs | our steps | getting ready | the rest | a process |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for what, each in found.items():
        whole, theirs, steps, ready, rest = (
            statistics.median(getattr(run, name) for run in each)
            for name in ("whole", "theirs", "steps", "ready", "rest")
        )
        print(
            f"| {what} | {each[0].processes} | {whole:.2f} | {theirs:.2f} | {steps:.2f} "
            f"| {ready:.2f} | {rest:.2f} | {1000 * rest / each[0].processes:.1f} ms |"
        )
    if options.json:
        record = {what: [asdict(run) for run in each] for what, each in found.items()}
        options.json.write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
