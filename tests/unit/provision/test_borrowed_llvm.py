"""Which toolchain lends its LLVM tools to a night that was published without them."""

from __future__ import annotations

import datetime
import time
from pathlib import Path

import pytest

from oxide_build.model.toolchain import Toolchain
from oxide_build.provision.provider import Found, Missing
from oxide_build.provision.rustup import RustupProvider
from oxide_build.provision.store_use import StoreUse
from oxide_build.provision.tool_store import InstallRecord
from oxide_build.resolution.versions import RustSpec
from tests.unit.provision.fakes import FACTS, HOST, Home, make_rust

NIGHT = "nightly-2026-08-28"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    home.isolate()
    return home


def users(home: Home, name: str) -> Path:
    return home.root / "home/.rustup/toolchains" / name


def borrower(home: Home, llvm: str = "23.1.0", published: tuple[str, ...] = ()) -> Path:
    return make_rust(
        users(home, NIGHT),
        "1.100.0-nightly",
        llvm=llvm,
        date="2026-08-28",
        parts=("rust-src",),
        published=published,
    )


def lender(home: Home, date: str, llvm: str = "23.1.0", **more: tuple[str, ...]) -> Path:
    name = f"nightly-{date}"
    return make_rust(users(home, name), "1.100.0-nightly", llvm=llvm, date=date, **more)


def find(home: Home, spec: str = NIGHT) -> Found | Missing:
    return RustupProvider(home.store, home.asker, FACTS.rust).find(RustSpec.parse(spec))


def found(home: Home, spec: str = NIGHT) -> Toolchain:
    there = find(home, spec)
    assert isinstance(there, Found), there
    return there.toolchain


def test_the_tools_are_a_tree_of_their_own(home: Home) -> None:
    root, other = borrower(home), lender(home, "2026-08-29")
    toolchain = found(home)
    assert toolchain.spec == NIGHT
    assert toolchain.trees["rustc"].root == toolchain.trees["rust-src"].root == str(root)
    assert toolchain.trees["llvm"].root == str(other)
    assert toolchain.trees["llvm"].mount == "toolchain/llvm"
    assert toolchain.trees["llvm"].digest == found(home, "nightly-2026-08-29").trees["llvm"].digest
    assert toolchain.tools["llc"] == f"toolchain/llvm/lib/rustlib/{HOST}/bin/llc"
    assert toolchain.tools["rustc"] == "toolchain/rust/bin/rustc"
    assert toolchain.facts["llvm_tools_from"] == "nightly-2026-08-29"
    assert toolchain.origin == f"`{root}` with llvm-tools of nightly-2026-08-29 in `{other}`"


def test_nothing_is_borrowed_where_nothing_is_missing(home: Home) -> None:
    lender(home, "2026-08-29")
    assert "llvm_tools_from" not in found(home, "nightly-2026-08-29").facts


@pytest.mark.parametrize(
    ("writer", "readers", "chosen"),
    [
        # The same major before a newer one, whatever the date.
        ("22.1.2", {"2026-08-29": "23.1.0", "2026-04-03": "22.1.2"}, "2026-04-03"),
        # A patch that is not older before one that is.
        ("23.1.2", {"2026-08-29": "23.1.0", "2026-10-29": "23.1.4"}, "2026-10-29"),
        # The nearest in time.
        ("23.1.0", {"2026-10-29": "23.1.0", "2026-08-29": "23.1.0"}, "2026-08-29"),
        # An older patch and a newer major do where nothing else is.
        ("23.1.2", {"2026-08-29": "23.1.0"}, "2026-08-29"),
        ("23.1.2", {"2026-12-24": "24.0.0", "2026-08-27": "22.1.8"}, "2026-12-24"),
    ],
)
def test_the_best_lender_is_chosen(
    home: Home, writer: str, readers: dict[str, str], chosen: str
) -> None:
    borrower(home, writer)
    for date, llvm in readers.items():
        lender(home, date, llvm)
    toolchain = found(home)
    assert toolchain.facts["llvm_tools_from"] == f"nightly-{chosen}"
    assert toolchain.facts["llvm_tools"] == readers[chosen]
    assert toolchain.facts["llvm"] == writer


def test_an_older_llvm_never_lends(home: Home) -> None:
    borrower(home, "23.1.0")
    lender(home, "2026-08-27", "22.1.8")
    missing = find(home)
    assert isinstance(missing, Missing)
    assert (
        "was published without llvm-tools, and no toolchain here has those of LLVM 23 or newer to "
        "borrow"
    ) in missing.reason


def test_a_lender_needs_no_sources_and_must_run(home: Home) -> None:
    borrower(home)
    lender(home, "2026-10-29", parts=("llvm-tools",))
    broken = lender(home, "2026-08-29")
    (broken / f"lib/rustlib/{HOST}/bin/llc").write_text("#!/bin/sh\nexit 1\n")
    assert found(home).facts["llvm_tools_from"] == "nightly-2026-10-29"


def test_what_was_published_is_fetched_and_not_borrowed(home: Home) -> None:
    """Else two machines would have other tools in one release."""
    borrower(home, published=("llvm-tools",))
    lender(home, "2026-08-29")
    missing = find(home)
    assert isinstance(missing, Missing)
    assert f"`{users(home, NIGHT)}` lacks llvm-tools" in missing.reason


def test_a_toolchain_that_is_not_rustups_borrows_nothing(home: Home) -> None:
    root = borrower(home)
    lender(home, "2026-08-29")
    (root / "lib/rustlib/multirust-channel-manifest.toml").unlink()
    assert isinstance(find(home), Missing)


def test_one_with_all_parts_is_preferred(home: Home) -> None:
    borrower(home)
    lender(home, "2026-07-15")
    assert found(home, "nightly").spec == "nightly-2026-07-15"


def test_the_lender_that_was_chosen_stays(home: Home) -> None:
    with home.store.staging() as folder:
        tree = borrower(home).rename(folder / "t")
        home.store.publish(
            tree,
            InstallRecord(
                kind="rust",
                provider="rustup",
                version="1.100.0-nightly",
                spec=NIGHT,
                files=(),
                size_bytes=1,
                details={"llvm_tools_from": "nightly-2026-10-29"},
            ),
            NIGHT,
        )
    lender(home, "2026-10-29")
    before = found(home)
    lender(home, "2026-08-29")
    after = found(home)
    assert after == before
    assert after.facts["llvm_tools_from"] == "nightly-2026-10-29"


def test_warm_no_process_is_started(home: Home) -> None:
    borrower(home)
    lender(home, "2026-08-29")
    time.sleep(0.05)
    before = found(home)
    home.processes.ran.clear()
    assert found(home) == before
    assert home.processes.ran == []


def test_the_command_names_both(home: Home) -> None:
    (home.bin / "rustup").write_text("#!/bin/sh\n")
    (home.bin / "rustup").chmod(0o755)
    missing = find(home)
    assert isinstance(missing, Missing)
    assert missing.command is not None
    first, second = missing.command.split(" && ")
    assert first == f"rustup toolchain install {NIGHT} --profile minimal -c rust-src " + (
        "--no-self-update"
    )
    assert second.startswith("rustup toolchain install nightly-2026-08-29 ")
    assert "-c llvm-tools" in second


@pytest.mark.parametrize(
    ("night", "llvm", "first"),
    [
        ("2026-08-28", 23, "nightly-2026-08-29"),
        ("2026-04-20", 22, "nightly-2026-04-03"),
        # Its own LLVM is 20 or 21, nobody knows; 21 reads both.
        ("2025-08-20", 21, "nightly-2025-12-15"),
        ("2025-07-01", 20, "nightly-2025-06-23"),
        ("2025-08-04", 21, "nightly-2025-12-15"),
        ("2030-01-01", 23, "nightly-2026-10-29"),
    ],
)
def test_the_facts_name_what_to_fetch(night: str, llvm: int, first: str) -> None:
    date = datetime.date.fromisoformat(night)
    assert FACTS.rust.lent_llvm(date) == llvm
    assert FACTS.rust.lenders(date)[0] == first


def test_gc_keeps_the_lender_of_what_is_kept(home: Home) -> None:
    for spec, lent in ((NIGHT, "nightly-2026-10-29"), ("nightly-2026-10-29", ""), ("1.96.0", "")):
        with home.store.staging() as folder:
            (folder / "t").mkdir()
            record = InstallRecord(
                kind="rust",
                provider="rustup",
                version="1",
                spec=spec,
                files=(),
                size_bytes=1,
                details={"llvm_tools_from": lent} if lent else {},
            )
            home.store.publish(folder / "t", record, spec)
    gone = StoreUse(home.store).remove_idle(
        keep_days=-1, keep={("rust", "rustup", NIGHT)}, dry_run=False
    )
    assert [entry.install.record.spec for entry in gone] == ["1.96.0"]
    assert len(home.store.all_installs()) == 2
