"""The `rustup` provider, with a rustup of a few lines of shell."""

from __future__ import annotations

import datetime
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from oxide_build.errors import ToolchainError
from oxide_build.provision.provider import Found, Missing
from oxide_build.provision.reporter import SilentReporter
from oxide_build.provision.rustup import RustupProvider
from oxide_build.provision.tool_store import RECORD
from oxide_build.resolution.versions import RustSpec
from tests.unit.provision.fakes import FACTS, Home, RecordingReporter, make_rust, script

# Installs a copy of $FAKE_TOOLCHAIN, as rustup would: below RUSTUP_HOME, settings too.
RUSTUP = """#!/bin/sh
printf '%s\\n' "$*" "home=$RUSTUP_HOME" "mirror=$RUSTUP_DIST_SERVER" "chain=$RUSTUP_TOOLCHAIN" \\
  > {log}
mkdir -p "$RUSTUP_HOME/toolchains"
echo 'version = "12"' > "$RUSTUP_HOME/settings.toml"
cp -R {toolchain} "$RUSTUP_HOME/toolchains/$3-x86_64-unknown-linux-gnu"
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    home.isolate()
    return home


def provider(home: Home) -> RustupProvider:
    return RustupProvider(home.store, home.asker, FACTS.rust)


def users(home: Home, name: str) -> Path:
    return home.root / "home/.rustup/toolchains" / name


def with_rustup(home: Home, release: str = "1.96.0", date: str = "2026-05-28") -> Path:
    toolchain = make_rust(home.root / "download", release, date=date)
    log = home.root / "log"
    script(home.bin / "rustup", RUSTUP.format(log=log, toolchain=toolchain))
    return log


def snapshot(folder: Path) -> dict[str, tuple[int, bytes]]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in files}


def test_an_installed_toolchain_that_fits_is_used_as_it_is(home: Home) -> None:
    root = make_rust(users(home, "1.96.0-x86_64-unknown-linux-gnu"))
    before = snapshot(root)
    found = provider(home).find(RustSpec.parse(">=1.95"))
    assert isinstance(found, Found)
    toolchain = found.toolchain
    assert (toolchain.version, toolchain.spec, toolchain.provider) == ("1.96.0", "1.96.0", "rustup")
    assert set(toolchain.trees) == {"rustc", "rust-src", "llvm"}
    assert {tree.mount for tree in toolchain.trees.values()} == {"toolchain/rust"}
    assert toolchain.tools["rustc"] == "toolchain/rust/bin/rustc"
    host = toolchain.facts["host"]
    assert toolchain.tools["llc"] == f"toolchain/rust/lib/rustlib/{host}/bin/llc"
    assert toolchain.archs == ("sm_70", "sm_90", "sm_100a")
    library = "toolchain/rust/lib/rustlib/src/rust/library"
    assert toolchain.facts == {
        "host": "x86_64-unknown-linux-gnu",
        "release": "1.96.0",
        "channel": "stable",
        "commit_date": "2026-05-25",
        "llvm": "22.1.2",
        "llvm_major": 22,
        "llvm_tools": "22.1.2",
        "core_root": f"{library}/core/src/lib.rs",
        "core_edition": "2024",
        "builtins_root": f"{library}/compiler-builtins/compiler-builtins/src/lib.rs",
        "builtins_edition": "2024",
        "bootstrap": True,
        "target_cpu_is_modifier": False,
        "thread_index_i32": False,
        "default_cpu": "sm_70",
    }
    assert snapshot(root) == before


def test_only_what_compiling_reads_is_in_the_tree(home: Home) -> None:
    root = make_rust(users(home, "1.96.0-x86_64-unknown-linux-gnu"))
    spec = RustSpec.parse("1.96.0")

    def digests() -> dict[str, object]:
        found = provider(home).find(spec)
        assert isinstance(found, Found)
        return {name: tree.digest for name, tree in found.toolchain.trees.items()}

    before = digests()
    library = root / "lib/rustlib/src/rust/library"
    (library / "alloc/src/lib.rs").write_text("// changed\n")
    assert digests() == before
    (library / "compiler-builtins/libm/src/math/mod.rs").write_text("// changed\n")
    after = digests()
    assert {name for name in before if before[name] != after[name]} == {"rust-src"}


def test_a_nightly_is_known_by_the_date_of_its_manifest(home: Home) -> None:
    make_rust(
        users(home, "nightly-x86_64"), "1.97.0-nightly", date="2026-05-20", commit_date="2026-05-19"
    )
    found = provider(home).find(RustSpec.parse("nightly-2026-05-20"))
    assert isinstance(found, Found)
    assert found.toolchain.spec == "nightly-2026-05-20"
    assert found.toolchain.facts["bootstrap"] is False
    missing = provider(home).find(RustSpec.parse("nightly-2026-05-21"))
    assert isinstance(missing, Missing)
    assert "is 1.97.0-nightly (2026-05-20)" in missing.reason


@pytest.mark.parametrize("parts", [("rust-src",), ("llvm-tools",), ()])
def test_a_toolchain_without_a_component_is_not_used(home: Home, parts: tuple[str, ...]) -> None:
    make_rust(users(home, "stable"), parts=parts)
    missing = provider(home).find(RustSpec.parse("stable"))
    assert isinstance(missing, Missing)
    lacking = [part for part in ("rust-src", "llvm-tools") if part not in parts]
    assert f"lacks {' and '.join(lacking)}" in missing.reason
    assert home.processes.ran == []


def test_the_preferred_release_is_chosen_then_the_newest(home: Home) -> None:
    for number, release in enumerate(("1.103.0", "1.104.0", "1.96.0")):
        make_rust(users(home, f"t{number}"), release)
    chosen = []
    for text in (">=1.95", ">=1.97"):
        found = provider(home).find(RustSpec.parse(text))
        assert isinstance(found, Found)
        chosen.append(found.toolchain.version)
    assert chosen == ["1.96.0", "1.104.0"]


def test_one_that_does_not_run_does_not_hide_one_that_does(home: Home) -> None:
    script(make_rust(users(home, "a")) / "bin/rustc", "#!/bin/sh\necho broken >&2; exit 3\n")
    make_rust(users(home, "b"))
    found = provider(home).find(RustSpec.parse("1.96"))
    assert isinstance(found, Found)
    assert found.toolchain.origin.endswith("/b`")


def test_fetching_leaves_the_users_rustup_alone(home: Home) -> None:
    make_rust(users(home, "stable"), "1.95.0", parts=())
    (home.root / "home/.rustup/settings.toml").write_text('default_toolchain = "stable"\n')
    before = snapshot(home.root / "home")
    log = with_rustup(home)
    home.environ.update(RUSTUP_DIST_SERVER="https://mirror.example", RUSTUP_TOOLCHAIN="beta")
    reporter = RecordingReporter()
    toolchain = provider(home).fetch(RustSpec.parse("1.96.0"), reporter)
    said, private, mirror, chain = log.read_text().splitlines()
    assert said == (
        "toolchain install 1.96.0 --profile minimal -c rust-src -c llvm-tools --no-self-update"
    )
    assert private.startswith(f"home={home.root / 'store/tmp'}")
    assert mirror == "mirror=https://mirror.example"
    assert chain == "chain="
    assert toolchain.version == "1.96.0"
    assert snapshot(home.root / "home") == before
    assert reporter.said[0][0] == "begin"
    assert reporter.said[-1][0] == "done"


def test_what_was_fetched_is_recorded_and_found_again(home: Home) -> None:
    with_rustup(home)
    fetched = provider(home).fetch(RustSpec.parse(">=1.95,<2"), SilentReporter())
    (install,) = (home.root / "store/installs").iterdir()
    assert install.name == "rust-rustup-1.96.0-x86_64-unknown-linux-gnu"
    record = json.loads((install / RECORD).read_text())
    assert record["provider"] == "rustup"
    assert record["version"] == "1.96.0"
    assert [file["name"] for file in record["files"]] == [
        "channel-manifest.toml",
        "rust-src.tar.xz",
        "rustc.tar.gz",
    ]
    assert record["files"][1]["sha256"] == "abc123"
    (home.bin / "rustup").unlink()
    found = provider(home).find(RustSpec.parse("1.96.0"))
    assert isinstance(found, Found)
    assert found.toolchain == fetched


def test_a_component_that_is_unavailable_is_named_with_nights_that_have_it(home: Home) -> None:
    message = (
        "error: component 'rust-src' for target 'x86_64-unknown-linux-gnu' is unavailable for "
        "download for channel 'nightly-2026-04-04'"
    )
    script(home.bin / "rustup", f'#!/bin/sh\necho "{message}" >&2\nexit 1\n')
    with pytest.raises(ToolchainError) as caught:
        provider(home).fetch(RustSpec.parse("nightly-2026-04-04"), SilentReporter())
    assert caught.value.message == "rustup has no `rust-src` for `nightly-2026-04-04`"
    assert caught.value.hint is not None
    assert "`nightly-2026-04-03`" in caught.value.hint
    assert not list((home.root / "store/tmp").glob("*/"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1.85", "too old"),
        ("nightly-2025-03-02", "too old"),
        (">=1.900", "no release of rustc that oxide_build knows"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_fetched(
    home: Home, text: str, message: str
) -> None:
    log = with_rustup(home)
    with pytest.raises(ToolchainError, match=message) as caught:
        provider(home).fetch(RustSpec.parse(text), SilentReporter())
    assert caught.value.hint
    assert not log.exists()


def test_a_night_that_is_known_to_lack_rust_src_is_refused(home: Home) -> None:
    log = with_rustup(home)
    night = datetime.date(2026, 8, 28)
    facts = replace(FACTS.rust, missing={night: ("rust-src", "llvm-tools")})
    with pytest.raises(ToolchainError, match="has no `rust-src` and `llvm-tools` for"):
        RustupProvider(home.store, home.asker, facts).fetch(
            RustSpec.parse(f"nightly-{night}"), SilentReporter()
        )
    assert not log.exists()


def test_other_failures_show_what_rustup_said(home: Home) -> None:
    script(
        home.bin / "rustup", "#!/bin/sh\necho 'error: could not download: no route' >&2\nexit 1\n"
    )
    with pytest.raises(ToolchainError, match="could not download: no route"):
        provider(home).fetch(RustSpec.parse("1.96.0"), SilentReporter())


def test_without_rustup_the_reason_says_so(home: Home) -> None:
    missing = provider(home).find(RustSpec.parse("1.96.0"))
    assert isinstance(missing, Missing)
    assert not missing.can_fetch
    assert "`rustup` is not on PATH" in missing.reason


def test_rustup_is_found_in_cargo_home(home: Home) -> None:
    script(home.root / "home/.cargo/bin/rustup", "#!/bin/sh\n")
    missing = provider(home).find(RustSpec.parse("1.96.0"))
    assert isinstance(missing, Missing)
    assert missing.can_fetch
    assert missing.command is not None
    assert missing.command.startswith("rustup toolchain install 1.96.0 ")


def test_bootstrap_in_the_users_shell_does_not_reach_the_probe(home: Home) -> None:
    make_rust(users(home, "a"))
    home.environ["RUSTC_BOOTSTRAP"] = "1"
    assert isinstance(provider(home).find(RustSpec.parse("1.96")), Found)


def test_two_names_of_one_folder_count_once(home: Home) -> None:
    root = make_rust(users(home, "stable"), "1.95.0")
    os.symlink(root, users(home, "1.95.0"))
    missing = provider(home).find(RustSpec.parse("1.96.0"))
    assert isinstance(missing, Missing)
    assert missing.reason.count("is 1.95.0") == 1
