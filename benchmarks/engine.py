"""The engine beside its peers: nothing to do, one edit, restoring everything, building everything.

    .venv/bin/python benchmarks/engine.py [--nodes 1000,10000] [--repeat 5] [--folder DIR]

Each tool gets the same graph of trivial actions (`graphs.py`) in a folder of its own below DIR,
which is removed afterwards. Rounds are interleaved, so that what the machine does meanwhile falls
on all. Prints medians of whole commands in seconds and ratios to ninja; a peer that is not
installed is left out and named. Bazel runs with a warm server and a disk cache. Wants a quiet
machine.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import graphs
from timing import seconds

# How often the long rounds are repeated.
_LONG_REPEAT = 2


@dataclass
class Tool:
    """One tool with its folder; `restore` takes outputs away that a cache can give back."""

    name: str
    folder: Path
    argv: list[str]
    source: Callable[[int], str]
    outputs: str
    environ: dict[str, str] = field(default_factory=dict)
    caches: bool = False
    clean: list[str] | None = None

    def run(self, argv: list[str] | None = None) -> float:
        return seconds(argv or self.argv, self.folder, self.environ)

    def edit(self, number: int) -> None:
        file = self.folder / self.source(0)
        file.write_text(f"edit {number}\n")

    def take_outputs_away(self, aside: Path, number: int) -> None:
        """Not deleted: ext4 passes over inodes that were freed a moment ago, one by one."""
        if self.clean:
            self.run(self.clean)
        else:
            (self.folder / self.outputs).rename(aside / f"{self.name}-{number}")


def tools(base: Path, nodes: int) -> list[Tool]:
    found = []
    oxide = shutil.which("oxide", path=str(Path(sys.executable).parent))
    rows = [
        ("oxide", [oxide, "build", "//...", "-q"], "oxide-out", True),
        ("ninja", ["ninja", "--quiet", "-j2"], "out", False),
        ("samurai", ["samu", "-j2"], "out", False),
        ("make", ["make", "-s", "-j2"], "out", False),
        ("bazel", ["bazel", "build", "//...", f"--disk_cache={base}/bazel-cache"], "", True),
    ]
    for name, argv, outputs, caches in rows:
        if argv[0] is None or shutil.which(argv[0]) is None:
            print(f"{name}: not installed, left out", flush=True)
            continue
        kind = "ninja" if name == "samurai" else name
        folder = base / name
        folder.mkdir()
        graphs.WRITERS[kind](folder, nodes)
        found.append(
            Tool(
                name=name,
                folder=folder,
                argv=[word for word in argv if word],
                source=(lambda n, flat=kind in ("ninja", "make"): _source(n, flat=flat)),
                outputs=outputs,
                environ={"OXIDE_CACHE": str(base / "oxide-cache")},
                caches=caches,
                clean=["bazel", "clean"] if name == "bazel" else None,
            )
        )
    return found


def _source(node: int, *, flat: bool) -> str:
    return f"{'src/' if flat else ''}{graphs.package(node)}/s{node}.txt"


def measure(base: Path, nodes: int, repeat: int) -> dict[str, dict[str, float]]:
    peers = tools(base, nodes)
    aside = base / "aside"
    aside.mkdir()
    times: dict[str, dict[str, list[float]]] = {}

    def note(row: str, tool: Tool, seconds: float) -> None:
        times.setdefault(row, {}).setdefault(tool.name, []).append(seconds)

    for tool in peers:
        note("first build", tool, tool.run())
        print(f"  {tool.name} built", flush=True)
    for tool in peers:
        # Twice: what was written within the clock's tick is looked at once more.
        time.sleep(0.1)
        tool.run()
        tool.run()
    for number in range(repeat):
        for tool in peers:
            note("nothing to do", tool, tool.run())
        for tool in peers:
            tool.edit(number)
            note("one source edited", tool, tool.run())
            time.sleep(0.05)
            tool.run()
    for number in range(_LONG_REPEAT):
        for tool in peers:
            if tool.caches:
                tool.take_outputs_away(aside, number)
                note("restore everything", tool, tool.run())
                tool.run()
    if any(tool.name == "bazel" for tool in peers):
        subprocess.run(["bazel", "shutdown"], cwd=base / "bazel", capture_output=True, check=False)
    return {
        row: {name: statistics.median(values) for name, values in found.items()}
        for row, found in times.items()
    }


def table(nodes: int, rows: dict[str, dict[str, float]]) -> str:
    names = list(dict.fromkeys(name for row in rows.values() for name in row))
    lines = [f"| {nodes} actions | " + " | ".join(names) + " | oxide : ninja |"]
    lines.append("|---" * (len(names) + 2) + "|")
    for row, found in rows.items():
        cells = [f"{found[name]:.3f}" if name in found else "–" for name in names]
        ratio = found["oxide"] / found["ninja"] if "ninja" in found else None
        lines.append(f"| {row} | " + " | ".join(cells) + f" | {f'{ratio:.2f}' if ratio else '–'} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", default="1000,10000")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    record = {}
    for nodes in map(int, options.nodes.split(",")):
        with tempfile.TemporaryDirectory(dir=options.folder, prefix="engine-") as name:
            rows = measure(Path(name), nodes, options.repeat)
        record[nodes] = rows
        print("\n" + table(nodes, rows) + "\n", flush=True)
    if options.json:
        options.json.write_text(json.dumps(record, indent=2))


if __name__ == "__main__":
    main()
