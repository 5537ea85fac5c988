"""One kernel whose result is cached, through the whole command, beside compiler caches.

    .venv/bin/python benchmarks/hits.py [--repeat 20] [--nvcc FILE] [--rustc FILE] [--folder DIR]

The source changes between two contents, so that every build finds something changed and its result
in the cache. oxide_build builds `//examples/matmul` for one arch to PTX and cubin, its whole graph;
ccache and sccache each serve one call of `nvcc -c` for the same kernel in CUDA C++, sccache one
of `rustc` too. Rounds are interleaved. Prints medians in seconds; what is not there is named.
Needs a quiet machine.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import archs
from timing import seconds

_CUDA = Path(__file__).parent / "device" / "matmul.cu"


@dataclass
class Peer:
    """A command, the source that it reads, and a way to see that its cache answered."""

    name: str
    folder: Path
    source: Path
    argv: list[str]
    environ: dict[str, str]

    def build(self, content: int) -> float:
        """Give the source one of two contents and build; seconds of the whole command."""
        text = self.source.read_text().partition("\n// content")[0]
        self.source.write_text(f"{text}\n// content {content}\n")
        return seconds(self.argv, self.folder, self.environ)


def oxide(base: Path) -> Peer:
    root = base / "oxide"
    root.mkdir()
    archs.workspace(root, per_arch=False)
    source = root / "examples/matmul/matmul.rs"
    argv = [str(Path(sys.executable).with_name("oxide"))]
    argv += ["build", "-q", "//examples/matmul", "--arch", "sm_90"]
    return Peer("oxide build", root, source, argv, {"OXIDE_CACHE": str(base / "cache")})


def nvcc(base: Path, cache: str, compiler: str) -> Peer:
    folder = base / f"{cache}-nvcc"
    folder.mkdir()
    source = Path(shutil.copy(_CUDA, folder / "k.cu"))
    # Not `-cubin`: ccache does not keep it.
    argv = [cache, compiler, "-O3", "-arch=sm_90", "-c", "k.cu", "-o", "k.o"]
    return Peer(f"{cache} nvcc", folder, source, argv, _caches(base))


def rustc(base: Path, compiler: str) -> Peer:
    folder = base / "sccache-rustc"
    folder.mkdir()
    source = folder / "k.rs"
    (folder / "out").mkdir()
    source.write_text("#![no_std]\npub fn f(x: f32) -> f32 { x * 2.0 }\n")
    argv = ["sccache", compiler, "--crate-name", "k", "--crate-type", "rlib", "--edition", "2021"]
    argv += ["-O", "--emit", "link,dep-info", "--out-dir", "out", "k.rs"]
    return Peer("sccache rustc", folder, source, argv, _caches(base))


def _caches(base: Path) -> dict[str, str]:
    return {
        "CCACHE_DIR": str(base / "ccache"),
        "SCCACHE_DIR": str(base / "sccache"),
        "SCCACHE_SERVER_UDS": str(base / "sccache.sock"),
    }


def peers(base: Path, options: argparse.Namespace) -> list[Callable[[], Peer]]:
    """The peers that are there; the others are named."""
    found: list[Callable[[], Peer]] = [lambda: oxide(base)]
    for cache, compiler, make in (
        ("ccache", options.nvcc, lambda: nvcc(base, "ccache", options.nvcc)),
        ("sccache", options.nvcc, lambda: nvcc(base, "sccache", options.nvcc)),
        ("sccache", options.rustc, lambda: rustc(base, options.rustc)),
    ):
        missing = [name for name in (cache, compiler) if not name or shutil.which(name) is None]
        if missing:
            print(f"{cache} {compiler}: not there, left out")
        else:
            found.append(make)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--rustc", default="rustc")
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}\n")
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        measured = [make() for make in peers(Path(name), options)]
        misses = {peer.name: peer.build(0) for peer in measured}
        times: dict[str, list[float]] = {peer.name: [] for peer in measured}
        for peer in measured:
            peer.build(1)
        for number in range(options.repeat):
            for peer in measured:
                times[peer.name].append(peer.build(number % 2))
        environ = {**os.environ, **_caches(Path(name))}
        if any("sccache" in peer.name for peer in measured):
            said = subprocess.run(
                ["sccache", "--stop-server"], env=environ, capture_output=True, text=True
            ).stdout
            counts = [line for line in said.splitlines() if line.startswith("Cache hits  ")]
            print(f"sccache says: {' '.join(counts[0].split()) if counts else 'nothing'}")
    print("| command | first | hit | to ours |")
    print("|---|---|---|---|")
    ours = statistics.median(times["oxide build"])
    for name, measured_s in times.items():
        hit = statistics.median(measured_s)
        print(f"| {name} | {misses[name]:.2f} | {hit:.3f} | {hit / ours:.2f} |")


if __name__ == "__main__":
    main()
