"""Files that change while a build uses them: never a wrong artifact, never a wrong result kept."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from oxide_build.cli.session import Session
from oxide_build.errors import ActionFailed
from oxide_build.execution.runner import LocalRunner
from oxide_build.execution.tool_watch import ToolWatch
from oxide_build.host.claims import claim, sweep
from oxide_build.model.action import Action, Command
from oxide_build.model.label import Label
from oxide_build.provision.file_state import Notebook
from oxide_build.provision.tool_store import ToolStore
from oxide_build.provision.trees import Part, TreePlan, digest_tree
from oxide_build.store.blobs import Blob, BlobStore
from tests.conftest import Space
from tests.correctness.graphs import false_blobs, start


def genrule(name: str, srcs: str, shell: str) -> str:
    return (
        f'[[genrule]]\nname = "{name}"\nsrcs = [{srcs}]\nouts = ["{name}.out"]\n'
        f"shell = '{shell}'\n"
    )


def test_two_actions_never_see_two_states_of_a_source(ws: Space) -> None:
    """The first one's command changes the source that the second reads as well."""
    source = ws.write("s.txt", "old\n")
    first = genrule("a", '"s.txt"', f"cat $(SRC) > $(OUT); echo new > {source}")
    second = genrule("b", '"s.txt", ":a"', "cat $(SRCS) > $(OUT)")
    ws.write("BUILD.toml", first + second)
    ran = ws.oxide("build", "//...")
    assert ran.exit_code == 4
    assert "`s.txt` changed while the build was running" in ran.stderr
    assert not (ws.root / "oxide-out/b.out").exists()
    ws.write("BUILD.toml", first.replace(f"; echo new > {source}", "") + second)
    ws.build()
    assert ws.read("oxide-out/b.out") == b"new\nnew\n"


def test_an_action_that_writes_into_its_input_harms_nobody(ws: Space) -> None:
    """An input of 1 MB is shown through a link to the cache, which root can write through."""
    make = genrule("a", "", "head -c 1500000 /dev/zero > $(OUT)")
    ws.write("BUILD.toml", make)
    ws.build()
    spoil = genrule("b", '":a"', "echo more >> $(SRC); wc -c < $(SRC) > $(OUT)")
    ws.write("BUILD.toml", make + spoil)
    (ws.root / "oxide-out/a.out").unlink()
    ran = ws.oxide("build", "//...")
    assert ran.exit_code == 4
    if os.geteuid() == 0:
        assert "`oxide-out/a.out` was overwritten while `//:b` read it" in ran.stderr
    assert false_blobs(ws.cache) == []
    assert not (ws.root / "oxide-out/b.out").exists()
    careful = genrule("b", '":a"', "cp $(SRC) x; echo more >> x; wc -c < x > $(OUT)")
    ws.write("BUILD.toml", make + careful)
    ws.build()
    assert int(ws.read("oxide-out/b.out")) == 1_500_005
    assert ws.read("oxide-out/a.out") == bytes(1_500_000)


def test_an_output_that_is_replaced_as_it_is_written_is_put_right(
    ws: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another build puts its file there before this one has looked at what it wrote, and the
    machine is so busy that this takes longer than a tick of the clock of files."""
    real = BlobStore.copy_to

    def late(self: BlobStore, blob: Blob, target: str, **more: Any) -> None:
        real(self, blob, target, **more)
        Path(target).write_text("no\n")
        time.sleep(0.1)

    ws.write("BUILD.toml", genrule("a", "", "echo ok > $(OUT)"))
    monkeypatch.setattr(BlobStore, "copy_to", late)
    ws.build()
    monkeypatch.undo()
    assert ws.read("oxide-out/a.out") == b"no\n"
    ws.build()
    assert ws.read("oxide-out/a.out") == b"ok\n"


def test_an_output_that_vanishes_as_it_is_written_is_no_bug(
    ws: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = BlobStore.copy_to

    def gone(self: BlobStore, blob: Blob, target: str, **more: Any) -> None:
        real(self, blob, target, **more)
        os.unlink(target)

    ws.write("BUILD.toml", genrule("a", "", "echo ok > $(OUT)"))
    monkeypatch.setattr(BlobStore, "copy_to", gone)
    assert ws.oxide("build", "//...").exit_code == 0
    monkeypatch.undo()
    ws.build()
    assert ws.read("oxide-out/a.out") == b"ok\n"


def test_cleaning_while_a_build_writes_is_told_not_a_bug(
    ws: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    ws.write("BUILD.toml", genrule("a", "", "echo ok > $(OUT)"))
    ws.build()

    def busy(path: Path, **_: object) -> None:
        raise OSError(39, os.strerror(39))

    monkeypatch.setattr(shutil, "rmtree", busy)
    ran = ws.oxide("clean")
    monkeypatch.undo()
    assert ran.exit_code == 5
    assert "does a build run in this workspace?" in ran.stderr


HOLD = """
import sys, time
from pathlib import Path
from oxide_build.host.claims import claim
folder = claim(Path(sys.argv[1]), "action-")
print(folder.path, flush=True)
time.sleep(60)
"""


def test_a_claimed_folder_is_left_alone_until_its_process_ends(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    theirs = Path(process.stdout.readline().strip())
    mine = claim(tmp_path, "action-")
    sweep(tmp_path, "action-")
    assert theirs.is_dir()
    assert Path(mine.path).is_dir()
    process.send_signal(signal.SIGKILL)
    process.communicate()
    (theirs / "deep").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "action-link").symlink_to(tmp_path / "other")
    sweep(tmp_path, "action-")
    assert not theirs.exists()
    assert (tmp_path / "other").is_dir()
    mine.remove()
    assert not Path(mine.path).exists()


def test_builds_in_two_containers_share_a_cache(ws: Space) -> None:
    """Each counts its processes from 1, and sees none of the other's."""
    container = ["unshare", "--pid", "--fork", "--mount-proc"]
    if (
        shutil.which("unshare") is None
        or subprocess.run([*container, "true"], check=False).returncode
    ):
        pytest.skip("no process namespaces can be made here")
    shell = "for i in 1 2 3 4 5 6; do sleep 0.1; ls a > /dev/null; done; cat $(SRC) > $(OUT)"
    ws.write("a/s.txt", "s\n")
    ws.write("a/BUILD.toml", genrule("a", '"s.txt"', shell))
    other = Space(ws.root.with_name("other"), ws.cache, ws.store, ws.capture)
    shutil.copytree(ws.root, other.root)
    # Another action, so that both run.
    other.write("a/s.txt", "t\n")
    environ = {**os.environ, "OXIDE_CACHE": str(ws.cache), "OXIDE_STORE": str(ws.store)}
    running = [
        subprocess.Popen(
            [*container, sys.executable, "-m", "oxide_build", "build", "//..."],
            cwd=space.root, env=environ, stderr=subprocess.PIPE, text=True,
        )
        for space in (ws, other)
    ]  # fmt: skip
    time.sleep(0.4)
    # A third one begins while they run, and looks for what killed ones left.
    ws.write("b/BUILD.toml", genrule("b", "", "echo b > $(OUT)"))
    assert start(ws, "build", "//b").wait() == 0
    for process in running:
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
    assert ws.read("oxide-out/a/a.out") == b"s\n"
    assert other.read("oxide-out/a/a.out") == b"t\n"


def test_a_toolchain_that_changes_while_an_action_runs_is_noticed(tmp_path: Path) -> None:
    root = tmp_path / "kit"
    (root / "bin").mkdir(parents=True)
    tool = root / "bin/tool"
    tool.write_text("one")
    notebook = Notebook(ToolStore(tmp_path).state)
    plan = TreePlan(name="bin", mount="toolchain/x", root=str(root), parts=(Part("bin"),))
    time.sleep(0.05)
    tree = digest_tree(plan, notebook)
    watch = ToolWatch({("x", "bin"): tree}, tmp_path)
    action = Action(
        commands=(Command(argv=("true",)),), inputs=(), outputs=("oxide-out/o",),
        tools=(("x", "bin"),), label=Label("", "a"), stage="s",
    )  # fmt: skip
    watch.begin(action)
    watch.check(action)
    before = tool.stat()
    time.sleep(0.02)
    tool.write_text("two")
    os.utime(tool, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(ActionFailed, match="bin/tool` changed while `//:a` ran with it"):
        watch.check(action)
    # One that changed after it was hashed and before anything ran is noticed, too.
    late = ToolWatch({("x", "bin"): tree}, tmp_path)
    late.begin(action)
    with pytest.raises(ActionFailed):
        late.check(action)


@pytest.mark.network
@pytest.mark.toolchain
def test_a_kernel_that_begins_to_see_its_arch_during_the_build_is_not_built_for_all(
    rust_ws: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One front end for all archs is right only for the text that was looked at."""
    real = Session.analyse
    source = rust_ws.root / "k/twice.rs"
    before = source.read_text()
    after = before.replace("2.0", 'if cfg!(target_feature = "sm_90") { 9.0 } else { 8.0 }')

    def late(self: Session) -> Any:
        graph = real(self)
        source.write_text(after)
        return graph

    monkeypatch.setattr(Session, "analyse", late)
    ran = rust_ws.oxide("build", "//...")
    assert ran.exit_code == 4, ran.stderr
    assert "`k/twice.rs` changed while the build was running" in ran.stderr
    monkeypatch.undo()
    rust_ws.build()
    assert "0f41100000" in rust_ws.read("oxide-out/k/twice.sm_90.ptx").decode()
    assert "0f41000000" in rust_ws.read("oxide-out/k/twice.sm_80.ptx").decode()


@pytest.mark.network
@pytest.mark.toolchain
def test_a_kernel_that_is_edited_while_it_compiles_is_built_again(
    rust_ws: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = LocalRunner.run
    source = rust_ws.root / "k/twice.rs"
    before = source.read_text()

    def late(self: LocalRunner, action: Action, folder: Path) -> Any:
        if action.stage == "compile":
            source.write_text(before.replace("2.0", "3.0"))
        return real(self, action, folder)

    monkeypatch.setattr(LocalRunner, "run", late)
    rust_ws.oxide("build", "//...")
    monkeypatch.undo()
    assert "compile" in rust_ws.build().stages
    assert "0f40400000" in rust_ws.read("oxide-out/k/twice.sm_90.ptx").decode()
    source.write_text(before)
    rust_ws.build()
    assert "0f40400000" not in rust_ws.read("oxide-out/k/twice.sm_90.ptx").decode()


def test_a_process_that_builds_again_and_again_bears_with_others(ws: Space) -> None:
    """As `oxide watch` does, while somebody builds in another terminal."""
    ws.write(
        "BUILD.toml",
        "\n".join(
            genrule(f"n{n}", '"s.txt"', "sleep 0.05; cat $(SRC) > $(OUT)") for n in range(20)
        ),
    )
    for number in range(3):
        ws.write("s.txt", f"{number}\n")
        ws.build()
        open_files = [
            os.path.realpath(f"/proc/self/fd/{each}") for each in os.listdir("/proc/self/fd")
        ]
        assert [path for path in open_files if path.startswith(str(ws.cache))] == []
        ws.write("s.txt", f"other {number}\n")
        assert start(ws, "build", "//...").wait() == 0
    ws.write("s.txt", "last\n")
    assert ws.build().actions["ran"] == 20
    assert ws.build().actions["ran"] == 0
