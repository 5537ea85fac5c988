"""Killed and doubled: no wrong artifact ever, and the next build is right."""

from __future__ import annotations

import copy
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from oxide_build.provision.tool_store import ToolStore
from tests.conftest import Space
from tests.correctness.graphs import NODES, Graph, false_blobs, leftovers, start
from tests.e2e.test_cache import age

# How often each scene is killed: a few in every run, with `--slow` 360 more.
KILLS = [pytest.param(4, id="few"), pytest.param(60, id="many", marks=pytest.mark.slow)]


@pytest.fixture
def graph(ws: Space) -> Graph:
    made = Graph(ws)
    made.write()
    return made


def remove(*paths: Path) -> None:
    for path in paths:
        shutil.rmtree(path, ignore_errors=True)


# What is killed, and what happens before each kill.
SCENES: dict[str, tuple[tuple[str, ...], Callable[[Graph, random.Random], object]]] = {
    "build": (("build", "//..."), lambda g, _: remove(g.space.cache, g.space.root / "oxide-out")),
    "build on": (("build", "//..."), lambda g, draw: g.edit(draw)),
    "restore": (("build", "//..."), lambda g, _: remove(g.space.root / "oxide-out")),
    "clean": (("clean",), lambda *_: None),
    "gc": (("cache", "gc", "--max-age-days", "0"), lambda g, _: age(g.space, 2)),
}


@pytest.mark.parametrize("kills", KILLS)
@pytest.mark.parametrize("scene", SCENES)
def test_a_kill_at_any_moment_leaves_nothing_wrong(graph: Graph, kills: int, scene: str) -> None:
    argv, before = SCENES[scene]
    space = graph.space
    seed = random.randrange(1 << 30)
    draw = random.Random(seed)
    space.build()
    before(graph, draw)
    begun = time.monotonic()
    process = start(space, *argv)
    _, err = process.communicate()
    assert process.returncode == 0, err.decode()
    usual = time.monotonic() - begun
    assert space.build().actions["ran"] == (NODES if scene == "gc" else 0)
    killed = 0
    for number in range(kills):
        place = f"seed {seed}, kill {number}"
        old = copy.deepcopy(graph.sources)
        before(graph, draw)
        process = start(space, *argv)
        # Spread over the time that the command usually takes, so that the first ones surely hit.
        time.sleep(usual * (number + draw.random()) / kills)
        killed += process.poll() is None
        process.kill()
        process.communicate()
        assert graph.torn(Graph(space, old)) == [], place
        assert false_blobs(space.cache) == [], place
        ran = space.oxide("build", "//...")
        assert ran.exit_code == 0, f"{place}\n{ran.stderr}"
        assert graph.wrong() == [], place
        assert leftovers(space) == [], place
    assert killed, f"seed {seed}: each command ended before it was killed"
    assert space.build().actions["ran"] == 0, f"seed {seed}"


STORE = """
import sys
from pathlib import Path
from oxide_build.provision.store_use import StoreUse
from oxide_build.provision.tool_store import InstallRecord, ToolStore
store = ToolStore(Path(sys.argv[1]))
while True:
    for number in range(12):
        name = f"{number:03}"
        with store.exclusive(name), store.staging() as folder:
            tree = folder / "tree"
            tree.mkdir()
            for file in range(20):
                (tree / f"{file}").write_text(name * 100)
            record = InstallRecord(kind="cuda", provider="pypi", version=name, spec=name,
                                   files=(), size_bytes=1, details={})
            store.publish(tree, record, name)
    for _ in StoreUse(store).remove_idle(keep_days=0, keep=(), dry_run=False):
        pass
"""


@pytest.mark.parametrize("kills", KILLS)
def test_a_killed_install_or_gc_of_toolchains_leaves_whole_ones(tmp_path: Path, kills: int) -> None:
    draw = random.Random(seed := random.randrange(1 << 30))
    root = tmp_path / "store"
    seen = 0
    for number in range(kills):
        place = f"seed {seed}, kill {number}"
        process = subprocess.Popen([sys.executable, "-c", STORE, str(root)])
        time.sleep(draw.uniform(0.15, 0.6))
        process.kill()
        process.wait()
        for name in (root / "installs").glob("*") if root.exists() else ():
            # Everything there is an install: none is there in part.
            assert name.name in {each.name for each in ToolStore(root).all_installs()}, place
        for install in ToolStore(root).installs("cuda", "pypi"):
            seen += 1
            files = sorted(install.tree.iterdir())
            assert len(files) == 20, place
            assert all(f.read_text() == install.record.version * 100 for f in files), place
        with ToolStore(root).staging() as folder:
            assert [p for p in folder.parent.iterdir() if p.is_dir()] == [folder], place
    assert seen, f"seed {seed}: nothing was ever installed"


def finish(running: list[subprocess.Popen[bytes]]) -> None:
    for process in running:
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err.decode()


def test_eight_builds_at_once_in_one_workspace(graph: Graph) -> None:
    for _ in range(2):
        finish([start(graph.space, "build", "//...") for _ in range(8)])
        assert graph.wrong() == []
        assert leftovers(graph.space) == []
        assert graph.space.build().actions["ran"] == 0
        graph.edit(random.Random(1))


def test_eight_builds_of_different_targets_in_one_workspace(graph: Graph) -> None:
    finish([start(graph.space, "build", *(f"//g:n{n}" for n in range(i, 40, 8))) for i in range(8)])
    assert graph.wrong() == []
    again = graph.space.build()
    assert again.actions["ran"] == 0
    # None of them forgot what another one has put there.
    graph.space.write("g/BUILD.toml", '[[filegroup]]\nname = "f"\nsrcs = ["s0.txt"]\n')
    graph.space.build()
    assert not (graph.space.root / "oxide-out/g").exists()


@pytest.mark.parametrize("same", [True, False], ids=["the same", "edited"])
def test_eight_workspaces_over_one_cache(graph: Graph, same: bool) -> None:
    graphs = []
    for number in range(8):
        root = graph.space.root.with_name(f"ws{number}")
        shutil.copytree(graph.space.root, root)
        space = Space(root, graph.space.cache, graph.space.store, graph.space.capture)
        graphs.append(Graph(space, list(graph.sources)))
        if not same:
            graphs[-1].edit(random.Random(number))
    finish([start(each.space, "build", "//...") for each in graphs])
    for each in graphs:
        assert each.wrong() == []
        assert each.space.build().actions["ran"] == 0
    assert false_blobs(graph.space.cache) == []
    assert leftovers(graph.space) == []
