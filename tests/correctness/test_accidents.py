"""Killed, doubled, out of room: no wrong artifact ever, and the next build is right."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import Space

NODES = 40
KILLS_FAST, KILLS_SLOW = 8, 80


def write_graph(space: Space) -> None:
    """Chains of five over the sources; some actions take a while, so that kills meet them."""
    rows = []
    for node in range(NODES):
        below = f', ":n{node - 8}"' if node >= 8 else ""
        space.write(f"g/s{node}.txt", f"source {node}\n" * (node + 1))
        slow = "sleep 0.02; " if node % 5 == 0 else ""
        rows.append(
            f'[[genrule]]\nname = "n{node}"\nsrcs = ["s{node}.txt"{below}]\n'
            f'outs = ["o{node}.txt"]\nshell = "{slow}cat $(SRCS) > $(OUT)"\n'
        )
    space.write("g/BUILD.toml", "\n".join(rows))


def expected(node: int) -> bytes:
    own = f"source {node}\n".encode() * (node + 1)
    return own + (expected(node - 8) if node >= 8 else b"")


def wrong(space: Space) -> list[str]:
    """Outputs that are there and are not what they should be."""
    folder = space.root / "oxide-out/g"
    return [
        f"o{node}.txt"
        for node in range(NODES)
        if (file := folder / f"o{node}.txt").exists() and file.read_bytes() != expected(node)
    ]


def start(space: Space, *argv: str) -> subprocess.Popen[bytes]:
    environ = {**os.environ, "OXIDE_CACHE": str(space.cache), "OXIDE_STORE": str(space.store)}
    return subprocess.Popen(
        [sys.executable, "-m", "oxide_build", *argv],
        cwd=space.root,
        env=environ,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


@pytest.fixture
def graph(ws: Space) -> Space:
    write_graph(ws)
    return ws


@pytest.fixture
def kills(request: pytest.FixtureRequest) -> int:
    return KILLS_SLOW if request.config.getoption("--slow") else KILLS_FAST


def remove(path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True)


# What a killed command was doing, and what is taken away before each.
SCENES: dict[str, tuple[tuple[str, ...], Callable[[Space], None]]] = {
    "build": (("build", "//..."), lambda s: (remove(s.cache), remove(s.root / "oxide-out"))[1]),
    "go on": (("build", "//..."), lambda s: remove(s.root / "oxide-out")),
    "restore": (("build", "//..."), lambda s: remove(s.root / "oxide-out")),
    "clean": (("clean",), lambda _: None),
}


@pytest.mark.parametrize("scene", SCENES)
def test_a_kill_at_any_moment_leaves_nothing_wrong(graph: Space, kills: int, scene: str) -> None:
    argv, before = SCENES[scene]
    seed = random.randrange(1 << 30)
    draw = random.Random(seed)
    begun = time.monotonic()
    assert start(graph, *argv).wait() == 0
    usual = time.monotonic() - begun
    killed = 0
    for _ in range(kills):
        if scene == "restore" or scene == "clean":
            assert graph.oxide("build", "//...").exit_code == 0
        before(graph)
        process = start(graph, *argv)
        time.sleep(draw.uniform(0.02, usual))
        killed += process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert wrong(graph) == [], f"seed {seed}"
    assert killed
    assert graph.oxide("build", "//...").exit_code == 0
    for node in range(NODES):
        assert graph.read(f"oxide-out/g/o{node}.txt") == expected(node), f"seed {seed}"
    leftovers = [*graph.cache.glob("tmp/*"), *(graph.root / "oxide-out").glob(".tmp-*")]
    assert leftovers == [], f"seed {seed}"
    assert graph.build().actions["ran"] == 0


PUBLISH = """
import sys, time
from pathlib import Path
from oxide_build.provision.tool_store import InstallRecord, ToolStore
store = ToolStore(Path(sys.argv[1]))
for number in range(100):
    name = f"{number:03}"
    with store.exclusive(name), store.staging() as folder:
        tree = folder / "tree"
        tree.mkdir()
        for file in range(20):
            (tree / f"{file}").write_text(name * 100)
        record = InstallRecord(kind="cuda", provider="pypi", version=name, spec=name, files=(),
                               size_bytes=1, details={})
        store.publish(tree, record, name)
"""


def test_a_killed_install_is_whole_or_not_there(tmp_path: Path, kills: int) -> None:
    from oxide_build.provision.tool_store import ToolStore

    draw = random.Random(seed := random.randrange(1 << 30))
    for number in range(kills):
        root = tmp_path / f"store{number % 4}"
        process = subprocess.Popen([sys.executable, "-c", PUBLISH, str(root)])
        time.sleep(draw.uniform(0.05, 0.5))
        process.kill()
        process.wait()
        for install in ToolStore(root).installs("cuda", "pypi"):
            files = sorted(install.tree.iterdir())
            assert len(files) == 20, f"seed {seed}"
            assert all(f.read_text() == install.record.version * 100 for f in files), f"seed {seed}"
    with ToolStore(root).staging() as folder:
        assert [p for p in folder.parent.iterdir() if p.is_dir()] == [folder]


def test_eight_builds_at_once_in_one_workspace(graph: Space) -> None:
    running = [start(graph, "build", "//...") for _ in range(8)]
    for process in running:
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err.decode()
    assert wrong(graph) == []
    assert graph.build().actions["ran"] == 0


def test_eight_workspaces_over_one_cache(graph: Space) -> None:
    spaces = []
    for number in range(8):
        root = graph.root.with_name(f"ws{number}")
        shutil.copytree(graph.root, root)
        spaces.append(Space(root, graph.cache, graph.store, graph.capture))
    running = [start(space, "build", "//...") for space in spaces]
    for process in running:
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err.decode()
    for space in spaces:
        assert wrong(space) == []
        assert space.build().actions["ran"] == 0
