"""A workspace of many small actions, of which it is known what each must make."""

from __future__ import annotations

import hashlib
import os
import random
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from tests.conftest import Space

NODES = 40
_BELOW = 8


@dataclass
class Graph:
    """Chains of five over sources of their own; some actions take a while, so that kills meet
    them. `sources` has what the sources hold."""

    space: Space
    sources: list[str] = field(default_factory=list)

    def write(self) -> None:
        rows = []
        for node in range(NODES):
            below = f', ":n{node - _BELOW}"' if node >= _BELOW else ""
            slow = "sleep 0.02; " if node % 5 == 0 else ""
            rows.append(
                f'[[genrule]]\nname = "n{node}"\nsrcs = ["s{node}.txt"{below}]\n'
                f'outs = ["o{node}.txt"]\nshell = "{slow}cat $(SRCS) > $(OUT)"\n'
            )
        self.space.write("g/BUILD.toml", "\n".join(rows))
        self.sources = [f"source {node}\n" * (node + 1) for node in range(NODES)]
        for node in range(NODES):
            self.space.write(f"g/s{node}.txt", self.sources[node])

    def edit(self, draw: random.Random) -> None:
        """Change three sources, so that what was there before is wrong now."""
        for node in draw.sample(range(NODES), 3):
            self.sources[node] = f"source {node} {draw.getrandbits(60)}\n" * (node + 1)
            self.space.write(f"g/s{node}.txt", self.sources[node])

    def expected(self, node: int) -> bytes:
        below = self.expected(node - _BELOW) if node >= _BELOW else b""
        return self.sources[node].encode() + below

    def file(self, node: int) -> Path:
        return self.space.root / f"oxide-out/g/o{node}.txt"

    def wrong(self) -> list[int]:
        """The nodes whose output is not there or not what it should be."""
        return [
            node
            for node in range(NODES)
            if not self.file(node).is_file() or self.file(node).read_bytes() != self.expected(node)
        ]

    def torn(self, before: Graph | None = None) -> list[int]:
        """The nodes whose output is there and is that of no state of the sources, now or before."""
        states = [self] if before is None else [self, before]
        return [
            node
            for node in range(NODES)
            if self.file(node).exists()
            and self.file(node).read_bytes() not in [state.expected(node) for state in states]
        ]


def start(space: Space, *argv: str) -> subprocess.Popen[bytes]:
    """The real command, in a process of its own."""
    environ = {
        **os.environ, **space.environ, "NO_COLOR": "1",
        "OXIDE_CACHE": str(space.cache), "OXIDE_STORE": str(space.store),
    }  # fmt: skip
    return subprocess.Popen(
        [sys.executable, "-m", "oxide_build", *argv],
        cwd=space.root,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def false_blobs(cache: Path) -> list[str]:
    """Blobs whose content is not what their name says, half-written ones among them."""
    return [
        path.name
        for path in cache.glob("blobs-v1/*/*")
        if hashlib.sha256(path.read_bytes()).hexdigest() != path.name
    ]


def leftovers(space: Space) -> list[Path]:
    """What only a running build may have."""
    return [*space.cache.glob("tmp/*"), *(space.root / "oxide-out").glob(".tmp-*")]
