"""The real rustup, asked by the provider, against a distribution server of our own.

No network is needed; the toolchains are a few shell scripts.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from oxide_build.errors import ToolchainError
from oxide_build.host.process import ProcessGroup
from oxide_build.model.toolchain import Toolchain
from oxide_build.provision.asker import Asker
from oxide_build.provision.file_state import Notebook
from oxide_build.provision.provider import Found
from oxide_build.provision.reporter import SilentReporter
from oxide_build.provision.rustup import RustupProvider
from oxide_build.provision.rustup_install import arguments
from oxide_build.provision.tool_store import RECORD, ToolStore
from oxide_build.resolution.versions import RustSpec
from tests.dist_server import HOST, PACKAGES, DistServer, Release, serving
from tests.unit.provision.fakes import FACTS, script

RUSTUP = shutil.which("rustup") or shutil.which("rustup", path=Path.home() / ".cargo/bin")

pytestmark = pytest.mark.skipif(RUSTUP is None, reason="there is no `rustup` on this machine")

STABLE = Release(channel="1.96.0", date="2026-05-28", release="1.96.0")


@dataclass
class Machine:
    """A machine whose rustup knows the server alone; each start of it writes its pid."""

    root: Path
    server: DistServer
    environ: dict[str, str] = field(default_factory=dict)
    processes: ProcessGroup = field(default_factory=ProcessGroup)

    def __post_init__(self) -> None:
        script(
            self.root / "bin/rustup",
            f'#!/bin/sh\necho $$ >> "{self.root}/pids"\nexec "{RUSTUP}" "$@"\n',
        )
        self.environ.update(self.server.environ(self.root / "home"))
        self.environ["PATH"] = f"{self.root / 'bin'}:/usr/bin:/bin"

    @property
    def store(self) -> Path:
        return self.root / "store"

    @property
    def provider(self) -> RustupProvider:
        store = ToolStore(self.store)
        asker = Asker(
            environ=self.environ, processes=self.processes, notebook=Notebook(store.state)
        )
        return RustupProvider(store, asker, FACTS.rust)

    def fetch(self, spec: str) -> Toolchain:
        return self.provider.fetch(RustSpec.parse(spec), SilentReporter())

    def refused(self, spec: str) -> tuple[str, str]:
        """The message and the hint of a fetch that must fail and leave nothing."""
        with pytest.raises(ToolchainError) as caught:
            self.fetch(spec)
        self.assert_clean()
        assert caught.value.hint is not None
        return caught.value.message, caught.value.hint

    @property
    def installs(self) -> list[str]:
        folder = self.store / "installs"
        return sorted(os.listdir(folder)) if folder.is_dir() else []

    @property
    def half_made(self) -> list[str]:
        return sorted(name for name in os.listdir(self.store / "tmp") if name != "guard")

    def assert_clean(self) -> None:
        assert self.installs == []
        assert self.half_made == []

    @property
    def pids(self) -> list[int]:
        return [int(line) for line in (self.root / "pids").read_text().split()]


@pytest.fixture
def server() -> Iterator[DistServer]:
    with serving() as server:
        yield server


@pytest.fixture
def machine(tmp_path: Path, server: DistServer) -> Machine:
    return Machine(tmp_path / "machine", server)


def night(date: str = "2026-06-15", **more: tuple[str, ...]) -> Release:
    return Release(channel="nightly", date=date, release="1.98.0-nightly", **more)  # type: ignore[arg-type]


def test_what_is_published_is_installed_found_and_recorded(machine: Machine) -> None:
    machine.server.publish(STABLE)
    toolchain = machine.fetch("1.96.0")
    assert (toolchain.version, toolchain.spec) == ("1.96.0", "1.96.0")
    assert toolchain.archs == ("sm_70", "sm_90", "sm_100a")
    assert toolchain.facts["host"] == HOST
    assert machine.installs == [f"rust-rustup-1.96.0-{HOST}"]
    assert machine.half_made == []
    record = json.loads((machine.store / "installs" / machine.installs[0] / RECORD).read_text())
    served = {
        path.rpartition("/")[2]: hashlib.sha256(machine.server.files[path]).hexdigest()
        for path in map(STABLE.archive_path, PACKAGES)
    }
    manifest, *archives = record["files"]
    assert manifest["name"] == "channel-manifest.toml"
    assert {file["name"]: file["sha256"] for file in archives} == served
    assert all(file["source"].endswith(f"/dist/2026-05-28/{file['name']}") for file in archives)
    found = machine.provider.find(RustSpec.parse("1.96"))
    assert isinstance(found, Found)
    assert found.toolchain == toolchain
    assert not (machine.root / "home/.rustup").exists()


def test_a_night_is_named_by_its_date(machine: Machine) -> None:
    machine.server.publish(night())
    assert machine.fetch("nightly-2026-06-15").spec == "nightly-2026-06-15"


@pytest.mark.parametrize(
    "release",
    [
        night(unavailable=("rust-src",)),
        night(absent=("rust-src",)),
        night(unavailable=("rustc",)),
    ],
    ids=["rust-src unavailable", "rust-src absent", "rustc unavailable"],
)
def test_a_missing_component_is_named_before_anything_is_downloaded(
    machine: Machine, release: Release
) -> None:
    machine.server.publish(release)
    message, hint = machine.refused("nightly-2026-06-15")
    (package,) = release.absent + release.unavailable
    assert message == f"rustup has no `{package}` for `nightly-2026-06-15`"
    assert hint == "`nightly-2026-05-20` and `nightly-2026-07-15` were seen with all components"
    assert not [path for path in machine.server.asked if path.endswith(".gz")]


def test_several_missing_components_are_all_named(machine: Machine) -> None:
    machine.server.publish(night(unavailable=("rust-src", "llvm-tools-preview")))
    message, _ = machine.refused("nightly-2026-06-15")
    assert message.startswith("rustup has no `")
    assert "`rust-src`" in message
    assert "`llvm-tools`" in message
    assert message.endswith("` for `nightly-2026-06-15`")


def test_an_archive_with_another_digest_is_refused(machine: Machine) -> None:
    machine.server.publish(STABLE)
    path = STABLE.archive_path("rustc")
    expected = hashlib.sha256(machine.server.files[path]).hexdigest()
    machine.server.files[path] = STABLE.archive("cargo")
    got = hashlib.sha256(machine.server.files[path]).hexdigest()
    message, hint = machine.refused("1.96.0")
    assert message == (
        f"`{machine.server.url}/{path}` is not the file that the release says: sha256 {got} "
        f"instead of {expected}"
    )
    assert "try again later" in hint
    assert "RUSTUP_DIST_SERVER" in hint


def test_a_manifest_with_another_digest_is_refused(machine: Machine) -> None:
    machine.server.publish(STABLE)
    machine.server.files[STABLE.manifest_path] += b"# altered\n"
    message, hint = machine.refused("1.96.0")
    assert f"`{machine.server.url}/{STABLE.manifest_path}` is not the file" in message
    assert "RUSTUP_DIST_SERVER" in hint


def test_a_broken_manifest_is_said_to_be_one(machine: Machine) -> None:
    machine.server.publish(STABLE)
    broken = b'manifest-version = "2"\ndate = 7\n'
    digest = hashlib.sha256(broken).hexdigest()
    machine.server.files[STABLE.manifest_path] = broken
    machine.server.files[f"{STABLE.manifest_path}.sha256"] = f"{digest}  x\n".encode()
    message, hint = machine.refused("1.96.0")
    assert message.startswith(f"the manifest of `1.96.0` on {machine.server.url} is broken: ")
    assert str(machine.store) not in message
    assert "RUSTUP_DIST_SERVER" in hint


def test_a_date_without_a_release_names_nights_that_have_one(machine: Machine) -> None:
    machine.server.publish(night())
    message, hint = machine.refused("nightly-2026-04-04")
    assert message == f"there is no `nightly-2026-04-04` on {machine.server.url}"
    assert hint.startswith("not every night has a release: `nightly-2026-04-03` and ")


def test_a_release_that_is_not_out_is_said_to_be_missing(machine: Machine) -> None:
    message, hint = machine.refused("1.97.0")
    assert message == f"there is no rustc `1.97.0` on {machine.server.url}"
    assert "1.96.0" in hint


def test_an_archive_that_is_gone_is_named(machine: Machine) -> None:
    machine.server.publish(STABLE)
    path = STABLE.archive_path("rust-src")
    del machine.server.files[path]
    message, _ = machine.refused("1.96.0")
    assert (
        message == f"`{machine.server.url}/{path}` could not be downloaded: the server answered 404"
    )


def test_a_server_that_does_not_answer_is_named_with_the_way_round(machine: Machine) -> None:
    machine.environ["RUSTUP_DIST_SERVER"] = "http://127.0.0.1:1"
    message, hint = machine.refused("1.96.0")
    assert message.startswith("`http://127.0.0.1:1/dist/channel-rust-1.96.0.toml.sha256` could")
    assert "Connection refused" in message
    assert "without a way to http://127.0.0.1:1, set `RUSTUP_DIST_SERVER`" in hint


def test_a_connection_that_was_cut_leaves_nothing_and_can_be_tried_again(
    machine: Machine,
) -> None:
    machine.server.publish(STABLE)
    path = STABLE.archive_path("rustc")
    machine.server.cut.add(path)
    message, hint = machine.refused("1.96.0")
    assert message.startswith(f"`{machine.server.url}/{path}` could not be downloaded: ")
    assert "end of file before message length reached" in message
    assert str(machine.store) not in message
    assert hint.startswith("nothing of it was kept: run the same command again")
    machine.server.cut.clear()
    assert machine.fetch("1.96.0").version == "1.96.0"
    assert len(machine.installs) == 1
    assert machine.half_made == []


def test_a_rustup_that_was_killed_leaves_nothing_and_can_be_tried_again(
    machine: Machine,
) -> None:
    machine.server.publish(STABLE)
    machine.server.held.add(STABLE.archive_path("rustc"))

    def kill() -> None:
        machine.server.reached.wait(60)
        os.kill(machine.pids[-1], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    message, hint = machine.refused("1.96.0")
    killer.join()
    assert message == "rustup was ended by SIGKILL while it installed `1.96.0`"
    assert "nothing of it was kept: run the same command again" in hint
    assert "memory" in hint
    machine.server.held.clear()
    assert machine.fetch("1.96.0").version == "1.96.0"


def test_an_oxide_that_was_interrupted_leaves_nothing(machine: Machine) -> None:
    machine.server.publish(STABLE)
    machine.server.held.add(STABLE.archive_path("rustc"))

    def stop() -> None:
        machine.server.reached.wait(60)
        machine.processes.stop()

    stopper = threading.Thread(target=stop)
    stopper.start()
    with pytest.raises(KeyboardInterrupt):
        machine.fetch("1.96.0")
    stopper.join()
    machine.assert_clean()
    with pytest.raises(ProcessLookupError):
        os.kill(machine.pids[-1], 0)


WITHOUT_TOOLS = Release(
    channel="nightly",
    date="2026-08-28",
    release="1.100.0-nightly",
    llvm="23.1.0",
    unavailable=("llvm-tools-preview",),
)
NEXT = Release(channel="nightly", date="2026-08-29", release="1.100.0-nightly", llvm="23.1.0")


def assert_borrowed(machine: Machine, toolchain: Toolchain, lender: str) -> None:
    assert toolchain.facts["llvm_tools_from"] == lender
    (own,) = (name for name in machine.installs if toolchain.spec in name)
    (other,) = (name for name in machine.installs if lender in name)
    assert toolchain.trees["rustc"].root == str(machine.store / "installs" / own / "tree")
    assert toolchain.trees["llvm"].root == str(machine.store / "installs" / other / "tree")
    assert machine.half_made == []


def test_a_night_without_llvm_tools_is_installed_with_the_next(machine: Machine) -> None:
    for release in (WITHOUT_TOOLS, NEXT):
        machine.server.publish(release)
    toolchain = machine.fetch("nightly-2026-08-28")
    assert toolchain.spec == "nightly-2026-08-28"
    assert_borrowed(machine, toolchain, "nightly-2026-08-29")
    asked = len(machine.server.asked)
    assert machine.fetch("nightly-2026-08-28") == toolchain
    assert len(machine.server.asked) == asked


def test_a_night_that_the_facts_do_not_know_borrows_too(machine: Machine) -> None:
    machine.server.publish(NEXT)
    unknown = replace(WITHOUT_TOOLS, date="2026-08-30")
    machine.server.publish(unknown)
    toolchain = machine.fetch("nightly-2026-08-30")
    assert_borrowed(machine, toolchain, "nightly-2026-08-29")


def test_what_is_here_lends_before_anything_is_fetched_to(machine: Machine) -> None:
    other = replace(NEXT, date="2026-10-29", llvm="23.1.4")
    for release in (WITHOUT_TOOLS, NEXT, other):
        machine.server.publish(release)
    machine.fetch("nightly-2026-10-29")
    assert_borrowed(machine, machine.fetch("nightly-2026-08-28"), "nightly-2026-10-29")
    # And goes on lending, so that the toolchain stays what it is.
    machine.fetch("nightly-2026-08-29")
    assert_borrowed(machine, machine.fetch("nightly-2026-08-28"), "nightly-2026-10-29")


def test_an_older_llvm_does_not_lend(machine: Machine) -> None:
    for release in (STABLE, WITHOUT_TOOLS, NEXT):
        machine.server.publish(release)
    machine.fetch("1.96.0")
    assert_borrowed(machine, machine.fetch("nightly-2026-08-28"), "nightly-2026-08-29")


def test_a_lender_that_is_gone_is_fetched_alone(machine: Machine) -> None:
    for release in (WITHOUT_TOOLS, NEXT):
        machine.server.publish(release)
    before = machine.fetch("nightly-2026-08-28")
    (gone,) = (name for name in machine.installs if "08-29" in name)
    shutil.rmtree(machine.store / "installs" / gone)
    machine.server.asked.clear()
    assert machine.fetch("nightly-2026-08-28") == before
    archives = [path for path in machine.server.asked if path.endswith(".gz")]
    assert archives
    assert all(path.startswith("dist/2026-08-29/") for path in archives)


def test_the_second_nearest_lends_where_the_nearest_is_not_on_the_mirror(machine: Machine) -> None:
    machine.server.publish(WITHOUT_TOOLS)
    machine.server.publish(replace(NEXT, date="2026-10-29"))
    assert_borrowed(machine, machine.fetch("nightly-2026-08-28"), "nightly-2026-10-29")


def test_without_anyone_to_lend_nothing_is_fetched(machine: Machine) -> None:
    machine.server.publish(WITHOUT_TOOLS)
    message, hint = machine.refused("nightly-2026-08-28")
    assert message == (
        "`nightly-2026-08-28` was published without llvm-tools, and none could be fetched to "
        f"borrow: there is no `nightly-2026-08-29` on {machine.server.url}; there is no "
        f"`nightly-2026-10-29` on {machine.server.url}"
    )
    assert hint
    assert not [path for path in machine.server.asked if path.endswith(".gz")]


def test_the_users_own_night_borrows_what_is_fetched(machine: Machine) -> None:
    for release in (WITHOUT_TOOLS, NEXT):
        machine.server.publish(release)
    night = "nightly-2026-08-28"
    subprocess.run(
        ["rustup", *arguments(night, llvm_tools=False)],
        env=machine.environ,
        check=True,
        capture_output=True,
        timeout=60,
    )
    toolchain = machine.fetch(night)
    assert toolchain.trees["rustc"].root.startswith(f"{machine.root / 'home/.rustup/toolchains'}/")
    assert toolchain.facts["llvm_tools_from"] == "nightly-2026-08-29"
    assert machine.installs == [f"rust-rustup-nightly-2026-08-29-{HOST}"]


def test_what_a_killed_oxide_left_is_swept_by_the_next(machine: Machine) -> None:
    machine.server.publish(STABLE)
    machine.server.held.add(STABLE.archive_path("rustc"))
    oxide = subprocess.Popen(
        [sys.executable, "-m", "oxide_build", "toolchain", "install", "rust", "1.96.0"],
        env={
            **machine.environ,
            "OXIDE_STORE": str(machine.store),
            "PYTHONPATH": os.pathsep.join(sys.path),
        },
        cwd=machine.root,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert machine.server.reached.wait(60)
        oxide.kill()
        oxide.wait()
        assert len(machine.half_made) == 2
        machine.server.held.clear()
        # The rustup of the killed one still runs, in a folder that is taken from under it.
        assert machine.fetch("1.96.0").version == "1.96.0"
        assert len(machine.installs) == 1
        # That rustup may write for a moment more; whoever comes next sweeps what it left.
        deadline = time.monotonic() + 20
        while machine.half_made and time.monotonic() < deadline:
            with ToolStore(machine.store).staging():
                time.sleep(0.05)
        assert machine.half_made == []
    finally:
        oxide.kill()
        with contextlib.suppress(ProcessLookupError):
            os.kill(machine.pids[0], signal.SIGKILL)
