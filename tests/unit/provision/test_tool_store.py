"""The store of fetched tools: nothing half-made is ever seen, and nothing is left over."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from pathlib import Path

import pytest

from oxide_build.errors import InfrastructureError
from oxide_build.provision.tool_store import (
    RECORD,
    FetchedFile,
    InstallRecord,
    ToolStore,
    folder_size,
)

SPAWN = multiprocessing.get_context("spawn")


def record(version: str = "1.0") -> InstallRecord:
    return InstallRecord(
        kind="cuda",
        provider="pypi",
        version=version,
        spec=version,
        files=(FetchedFile("a.whl", "ab" * 32, 3, "a==1"),),
        size_bytes=5,
        details={"folder": "x"},
    )


def install(store: ToolStore, text: str = "tool", name: str = "1.0") -> Path:
    with store.staging() as folder:
        (folder / "tree").mkdir()
        (folder / "tree/ptxas").write_text(text)
        return store.publish(folder / "tree", record(), name).tree


def test_an_install_is_read_back_with_its_record(tmp_path: Path) -> None:
    store = ToolStore(tmp_path / "s")
    tree = install(store)
    (found,) = store.installs("cuda", "pypi")
    assert found.record == record()
    assert found.tree == tree
    assert (tree / "ptxas").read_text() == "tool"
    assert store.installs("rust", "pypi") == ()


def test_the_first_of_two_equal_installs_is_kept(tmp_path: Path) -> None:
    store = ToolStore(tmp_path)
    install(store, "first")
    assert (install(store, "second") / "ptxas").read_text() == "first"


def test_an_unfinished_install_is_not_seen(tmp_path: Path) -> None:
    store = ToolStore(tmp_path)
    tree = install(store)
    (tree.parent / RECORD).write_text('{"format": 1')
    assert store.installs("cuda", "pypi") == ()
    with pytest.raises(InfrastructureError, match="could not be written") as caught:
        install(store)
    assert caught.value.hint is not None


def test_names_stay_inside_the_store(tmp_path: Path) -> None:
    store = ToolStore(tmp_path / "s")
    tree = install(store, name="../../../etc/x")
    assert tree.resolve().parent.parent == tmp_path / "s/installs"


def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    store = ToolStore(tmp_path)

    def fail() -> None:
        with store.staging() as folder:
            (folder / "half").write_text("x")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert [path.name for path in (tmp_path / "tmp").iterdir()] == ["guard"]


def _stage_and_wait(root: str, ready: str) -> None:
    with ToolStore(Path(root)).staging() as folder:
        (folder / "half").write_text("x")
        Path(ready).write_text(str(folder))
        time.sleep(60)


def test_what_a_killed_process_left_is_removed_and_a_living_one_keeps_its_folder(
    tmp_path: Path,
) -> None:
    started = []
    for name in ("dead", "alive"):
        ready = tmp_path / name
        process = SPAWN.Process(target=_stage_and_wait, args=(str(tmp_path / "s"), str(ready)))
        process.start()
        while not ready.exists() or not ready.read_text():
            time.sleep(0.02)
        started.append((process, Path(ready.read_text())))
    (dead, dead_folder), (alive, alive_folder) = started
    assert dead.pid is not None
    os.kill(dead.pid, signal.SIGKILL)
    dead.join()
    try:
        assert dead_folder.exists()
        with ToolStore(tmp_path / "s").staging():
            assert not dead_folder.exists()
            assert (alive_folder / "half").exists()
    finally:
        alive.kill()
        alive.join()


def _install_once(root: str, log: str, number: int) -> None:
    store = ToolStore(Path(root))
    with store.exclusive("cuda-pypi-1.0"):
        if not store.installs("cuda", "pypi"):
            time.sleep(0.2)
            install(store, f"by {number}")
            with open(log, "a") as file:
                file.write(f"{number}\n")


def test_two_processes_at_once_install_once(tmp_path: Path) -> None:
    log = tmp_path / "log"
    processes = [
        SPAWN.Process(target=_install_once, args=(str(tmp_path / "s"), str(log), number))
        for number in range(3)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert len(log.read_text().split()) == 1


def test_a_store_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "s").write_text("a file")
    store = ToolStore(tmp_path / "s")
    assert store.installs("cuda", "pypi") == ()
    with pytest.raises(InfrastructureError, match="tool store") as caught, store.staging():
        pass
    assert str(tmp_path / "s") in caught.value.message


def test_sizes_count_files_below(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/c").write_bytes(b"12345")
    (tmp_path / "a/d").write_bytes(b"123")
    assert folder_size(tmp_path) == 8
    assert folder_size(tmp_path / "absent") == 0
