"""The `archive` provider: what `oxide.toml` names is what is served, or nothing is."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import tarfile
import time
from collections.abc import Iterator
from dataclasses import replace
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest

from oxide_build.errors import ToolchainError
from oxide_build.model.archive_source import ArchiveSource
from oxide_build.provision.archive import ArchiveProvider
from oxide_build.provision.asker import Asker
from oxide_build.provision.file_state import Notebook
from oxide_build.provision.provider import Found, Missing, Refused
from oxide_build.provision.providers import provide, standard_providers
from oxide_build.provision.reporter import SilentReporter
from oxide_build.provision.tool_store import RECORD, ToolStore
from oxide_build.resolution.versions import CudaSpec, RustSpec, parse_spec
from tests.unit.provision.archives import Server, make_tar, serving, sha256_of, tar_member
from tests.unit.provision.fakes import FACTS, PTXAS, Home, RecordingReporter, make_rust

SPAWN = multiprocessing.get_context("spawn")
HOST = "x86_64-linux"
SPEC = CudaSpec.parse("13.0")


def ptxas(version: str = "13.0.88") -> bytes:
    minor = version.rpartition(".")[0]
    return PTXAS.format(version=version, minor=minor, ptx="9.0", status=255).encode()


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    members = (
        tar_member("top/bin/ptxas", ptxas(), mode=0o755),
        tar_member("top/share/random", os.urandom(500_000)),
        tar_member("other/x", b"x"),
    )
    with serving(make_tar(tmp_path / "tool.tar.gz", *members).read_bytes()) as running:
        yield running


def entry(server: Server, **changes: str) -> ArchiveSource:
    right = ArchiveSource(
        kind="cuda",
        version="13.0.88",
        url=server.url,
        sha256=server.sha256,
        strip_prefix="top",
    )
    return replace(right, **changes)


def provider(home: Home, *archives: ArchiveSource, host: str = HOST) -> ArchiveProvider:
    return ArchiveProvider(home.store, home.asker, FACTS, archives, host)


def installed(home: Home) -> list[str]:
    folder = home.store.root / "installs"
    return sorted(os.listdir(folder)) if folder.exists() else []


def test_an_archive_becomes_a_toolchain(home: Home, server: Server) -> None:
    mine = provider(home, entry(server))
    missing = mine.find(SPEC)
    assert isinstance(missing, Missing)
    assert missing.can_fetch
    reporter = RecordingReporter()
    toolchain = mine.fetch(SPEC, reporter)
    assert (toolchain.kind, toolchain.version, toolchain.provider) == ("cuda", "13.0.88", "archive")
    root = Path(toolchain.trees["ptxas"].root)
    assert sorted(os.listdir(root)) == ["bin", "share"]
    what, size = "tool.tar.gz (archive)", len(server.content)
    assert reporter.said[0] == ("begin", what)
    assert ("progress", what, size, size) in reporter.said
    assert reporter.said[-1] == ("done", what, size, server.sha256)
    record = json.loads((root.parent / RECORD).read_text())
    assert record["files"] == [
        {"name": "tool.tar.gz", "sha256": server.sha256, "size_bytes": size, "source": server.url}
    ]
    assert record["details"] == {"sha256": server.sha256, "strip_prefix": "top"}
    assert list(home.store.downloads.iterdir()) == []
    found = mine.find(SPEC)
    assert isinstance(found, Found)
    assert found.toolchain == toolchain
    assert mine.fetch(SPEC, reporter) == toolchain
    assert len(server.seen) == 1


def test_a_cut_download_is_continued(home: Home, server: Server) -> None:
    server.cuts = [200_000]
    assert provider(home, entry(server)).fetch(SPEC, SilentReporter()).version == "13.0.88"
    assert server.seen == [None, "bytes=200000-"]


def test_a_wrong_sha256_publishes_nothing(home: Home, server: Server) -> None:
    with pytest.raises(Refused, match=f"has the sha256 {server.sha256}"):
        provider(home, entry(server, sha256="ab" * 32)).fetch(SPEC, SilentReporter())
    assert installed(home) == []
    assert list(home.store.downloads.iterdir()) == []


def test_another_sha256_is_another_install(home: Home, server: Server, tmp_path: Path) -> None:
    provider(home, entry(server)).fetch(SPEC, SilentReporter())
    other = make_tar(tmp_path / "other.tar", tar_member("top/bin/ptxas", ptxas(), mode=0o755))
    changed = entry(server, url=f"file://{other}", sha256=sha256_of(other.read_bytes()))
    assert isinstance(provider(home, changed).find(SPEC), Missing)
    provider(home, changed).fetch(SPEC, SilentReporter())
    assert len(installed(home)) == 2
    assert isinstance(provider(home, entry(server)).find(SPEC), Found)


def test_another_prefix_is_another_install(home: Home, tmp_path: Path) -> None:
    members = [tar_member(f"{top}/bin/ptxas", ptxas(), mode=0o755) for top in ("a", "b")]
    archive = make_tar(tmp_path / "x.tar", *members)
    right = ArchiveSource(
        kind="cuda",
        version="13.0.88",
        url=f"file://{archive}",
        sha256=sha256_of(archive.read_bytes()),
        strip_prefix="a",
    )
    for each in (right, replace(right, strip_prefix="b")):
        provider(home, each).fetch(SPEC, SilentReporter())
    assert len(installed(home)) == 2


def test_a_version_that_the_tool_contradicts_is_refused(home: Home, server: Server) -> None:
    claimed = entry(server, version="13.0.99")
    with pytest.raises(Refused, match=r"holds cuda 13\.0\.88, but .* says 13\.0\.99") as caught:
        provider(home, claimed).fetch(SPEC, SilentReporter())
    assert 'version = "13.0.88"' in str(caught.value.hint)
    assert installed(home) == []
    # Corrected, the archive is not downloaded a second time; and the claim counts afterwards too.
    provider(home, entry(server)).fetch(SPEC, SilentReporter())
    assert len(server.seen) == 1
    assert isinstance(provider(home, claimed).find(SPEC), Missing)
    with pytest.raises(Refused, match=r"says 13\.0\.99"):
        provider(home, claimed).fetch(SPEC, SilentReporter())


def test_a_wrong_prefix_is_told_with_the_right_one(home: Home, server: Server) -> None:
    with pytest.raises(Refused, match="has no `bin/ptxas`") as caught:
        provider(home, entry(server, strip_prefix="")).fetch(SPEC, SilentReporter())
    assert caught.value.hint == 'write `strip_prefix = "top"`'


def test_a_hostile_archive_publishes_nothing(home: Home, tmp_path: Path) -> None:
    members = (tar_member("bin/ptxas", ptxas(), mode=0o755), tar_member("../../evil", b"x"))
    archive = make_tar(tmp_path / "x.tar", *members)
    bad = ArchiveSource(
        kind="cuda",
        version="13.0.88",
        url=f"file://{archive}",
        sha256=sha256_of(archive.read_bytes()),
    )
    with pytest.raises(Refused, match=r"`x\.tar`: `\.\./\.\./evil` has `\.\.`"):
        provider(home, bad).fetch(SPEC, SilentReporter())
    assert installed(home) == []
    assert [path.name for path in (home.store.root / "tmp").iterdir()] == ["guard"]


def test_a_tool_that_does_not_run_is_refused(home: Home, tmp_path: Path) -> None:
    archive = make_tar(tmp_path / "x.tar", tar_member("bin/ptxas", b"#!/bin/sh\n", mode=0o755))
    bad = ArchiveSource(
        kind="cuda",
        version="13.0.88",
        url=f"file://{archive}",
        sha256=sha256_of(archive.read_bytes()),
    )
    with pytest.raises(Refused, match="does not answer as ptxas does"):
        provider(home, bad).fetch(SPEC, SilentReporter())


def test_an_entry_serves_its_host_and_its_version(home: Home, server: Server) -> None:
    elsewhere = provider(home, entry(server, host="aarch64-linux"))
    missing = elsewhere.find(SPEC)
    assert missing == Missing(
        "`[[toolchain.archive]]` has it for aarch64-linux, not for x86_64-linux"
    )
    with pytest.raises(ToolchainError, match="aarch64-linux"):
        elsewhere.fetch(SPEC, SilentReporter())
    other = provider(home, entry(server)).find(CudaSpec.parse("12.9"))
    assert other == Missing("`[[toolchain.archive]]` has 13.0.88")
    assert provider(home, entry(server, host=HOST)).fetch(SPEC, SilentReporter())
    assert server.seen == [None]


@pytest.mark.parametrize(
    ("version", "spec", "serves"),
    [
        ("1.96.0", "1.96", True),
        ("1.96.0", "stable", True),
        ("1.96.0", "nightly", False),
        ("nightly-2026-04-03", "nightly", True),
        ("nightly-2026-04-03", "nightly-2026-04-03", True),
        ("nightly-2026-04-03", "nightly-2026-04-04", False),
        ("nightly-2026-04-03", ">=1.95", False),
        ("beta-2026-04-03", "beta", True),
        ("1.98.0-nightly", "nightly", True),
    ],
)
def test_a_claim_is_compared_with_what_is_asked(
    home: Home, server: Server, version: str, spec: str, serves: bool
) -> None:
    mine = provider(home, entry(server, kind="rust", version=version))
    missing = mine.find(RustSpec.parse(spec))
    assert isinstance(missing, Missing)
    assert missing.can_fetch is serves


def pack_rust(home: Home, tmp_path: Path, **parts: object) -> ArchiveSource:
    root = make_rust(tmp_path / "rust-1.96", "1.96.0", **parts)  # type: ignore[arg-type]
    with tarfile.open(tmp_path / "rust.tar.xz", "w:xz") as archive:
        archive.add(root, "rust-1.96")
    data = (tmp_path / "rust.tar.xz").read_bytes()
    return ArchiveSource(
        kind="rust",
        version="1.96.0",
        url=f"file://{tmp_path}/rust.tar.xz",
        sha256=sha256_of(data),
        strip_prefix="rust-1.96",
    )


def test_a_rust_toolchain_is_served_too(home: Home, tmp_path: Path) -> None:
    mine = provider(home, pack_rust(home, tmp_path))
    assert mine.kinds == ("rust",)
    toolchain = mine.fetch(RustSpec.parse(">=1.95"), SilentReporter())
    assert (toolchain.spec, toolchain.provider) == ("1.96.0", "archive")
    assert set(toolchain.trees) == {"rustc", "rust-src", "llvm"}


def test_a_rust_toolchain_that_lacks_a_part_is_refused(home: Home, tmp_path: Path) -> None:
    mine = provider(home, pack_rust(home, tmp_path, parts=("llvm-tools",)))
    with pytest.raises(Refused, match=r"`rust\.tar\.xz`: it lacks rust-src"):
        mine.fetch(RustSpec.parse("1.96"), SilentReporter())


def test_no_other_provider_stands_in_for_one_that_was_refused(home: Home, server: Server) -> None:
    tool = home.bin / "ptxas"
    tool.write_bytes(ptxas())
    tool.chmod(0o755)

    def ask(*archives: ArchiveSource, offline: bool = False) -> str:
        providers = standard_providers(
            ["archive", "system"],
            store_root=home.store.root,
            environ=home.environ,
            processes=home.processes,
            facts=FACTS,
            archives=archives,
            host=HOST,
        )
        found = provide("cuda", SPEC, providers, offline=offline, reporter=RecordingReporter())
        return found.provider

    assert ask() == "system"
    with pytest.raises(Refused, match="sha256"):
        ask(entry(server, sha256="ab" * 32))
    assert ask(entry(server), offline=True) == "system"
    assert ask(entry(server)) == "archive"
    assert ask(entry(server), offline=True) == "archive"


def test_without_an_entry_the_error_says_what_is_needed(home: Home) -> None:
    with pytest.raises(ToolchainError, match="serves cuda") as caught:
        provide("cuda", SPEC, [provider(home)], offline=False, reporter=SilentReporter())
    assert '`archive` needs a `[[toolchain.archive]]` with `kind = "cuda"`' in str(
        caught.value.hint
    )


def _fetch(
    home: str, mine: ArchiveSource, ready: str = "", together: Barrier | None = None
) -> None:
    """In a process of its own. `ready` is touched at the first byte, and then nothing happens."""
    store = Home(Path(home) / f"process-{os.getpid()}")
    store_root = Path(home) / "store"

    class Reporter(SilentReporter):
        def progress(self, what: str, done_bytes: int, total_bytes: int | None) -> None:
            if ready:
                Path(ready).touch()
                time.sleep(60)

    asker = Asker(
        environ=store.environ,
        processes=store.processes,
        notebook=Notebook(store_root / "state"),
    )
    served = ArchiveProvider(ToolStore(store_root), asker, FACTS, (mine,), HOST)
    if together is not None:
        together.wait()
    assert served.fetch(parse_spec(mine.kind, "13.0"), Reporter()).version == "13.0.88"


def test_two_processes_at_once_download_once(home: Home, server: Server) -> None:
    # Long enough for who holds no lock to ask as well.
    server.delay_s = 1.0
    together = SPAWN.Barrier(3)
    processes = [
        SPAWN.Process(target=_fetch, args=(str(home.root), entry(server), "", together))
        for _ in range(3)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert server.seen == [None]
    assert len(installed(home)) == 1


def test_a_process_killed_in_the_middle_is_continued(
    home: Home, server: Server, tmp_path: Path
) -> None:
    ready = tmp_path / "ready"
    process = SPAWN.Process(target=_fetch, args=(str(home.root), entry(server), str(ready)))
    process.start()
    while not ready.exists():
        assert process.is_alive()
        time.sleep(0.02)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    assert installed(home) == []
    toolchain = provider(home, entry(server)).fetch(SPEC, SilentReporter())
    assert toolchain.version == "13.0.88"
    assert len(server.seen) == 2
    assert str(server.seen[1]).startswith("bytes=")
    assert len(installed(home)) == 1
    assert list(home.store.downloads.iterdir()) == []


def test_a_process_killed_while_unpacking_need_not_download_again(
    home: Home, server: Server
) -> None:
    home.store.downloads.mkdir(parents=True)
    (home.store.downloads / f"{server.sha256}.part").write_bytes(server.content)
    provider(home, entry(server)).fetch(SPEC, SilentReporter())
    assert server.seen == []
