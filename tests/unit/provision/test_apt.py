"""The `apt` provider, with apt's programs made of shell."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from oxide_build.errors import ToolchainError
from oxide_build.provision.apt import AptProvider
from oxide_build.provision.apt_tree import layout_of, tidy
from oxide_build.provision.provider import Found, Missing
from oxide_build.provision.reporter import SilentReporter
from oxide_build.provision.tool_store import RECORD
from oxide_build.resolution.versions import RustSpec
from tests.unit.provision.fakes import (
    FACTS,
    RUSTC,
    Home,
    RecordingReporter,
    make_llvm,
    make_sources,
    script,
)

APT_GET = """#!/bin/sh
[ "$1" = -c ] || exit 7
echo "$3" >> {log}
cat "$2" > {log}.conf
case "$3" in
  update) ;;
  install) cat {data}/uris ;;
  download) cp {data}/debs/*.deb . ;;
esac
"""
APT_CACHE = """#!/bin/sh
[ "$1" = -c ] || exit 7
case "$3" in
  pkgnames) echo rustc-web; echo rustc-doc ;;
  madison) cat {data}/madison ;;
  show) cat {data}/show ;;
esac
"""
DPKG_DEB = '#!/bin/sh\nname=$(sed -n 1p "$2")\nmkdir -p "$3"\ncp -R {data}/trees/$name/. "$3"\n'
VERSION = "1.96.0+dfsg1-1~deb12u2"
PACKAGES = {
    "rustc-web": (VERSION, "libllvm22, libstd-rust-web-dev, gcc, libc6"),
    "libstd-rust-web-dev": (VERSION, "libllvm22"),
    "rust-web-src": (VERSION, ""),
    "libllvm22": ("1:22.1.8-1", "libc6, libtinfo6"),
    "libtinfo6": ("6.4-4", "libc6"),
    "llvm-22": ("1:22.1.8-1", "libllvm22"),
    "gcc": ("12", "libc6"),
    "libc6": ("2.36", ""),
}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    home.isolate()
    return home


def with_apt(home: Home, *, madison: str | None = None, damaged: str = "") -> Path:
    """apt's programs and a mirror; returns the log of what apt-get was told."""
    data, log = home.root / "mirror", home.root / "apt.log"
    trees, debs = data / "trees", data / "debs"
    usr = trees / "rustc-web/usr"
    script(
        usr / "bin/rustc",
        RUSTC.format(release="1.96.0", commit_date="2026-05-25", llvm="22.1.8"),
    )
    (usr / "lib/rustlib/src").mkdir(parents=True)
    library = trees / "rust-web-src/usr/src/rustc-1.96.0/library"
    make_sources(library)
    (library.parent / "compiler").mkdir()
    (library.parent / "compiler/big.rs").write_text("x")
    (trees / "rust-web-src/usr/lib/rustlib/src").mkdir(parents=True)
    (trees / "rust-web-src/usr/lib/rustlib/src/rust").symlink_to("../../../src/rustc-1.96.0")
    make_llvm(trees / "llvm-22/usr/lib/llvm-22/bin", "22.1.8")
    for name, folder in (("libllvm22", "usr/lib"), ("libtinfo6", "lib")):
        libs = trees / name / folder / "x86_64-linux-gnu"
        libs.mkdir(parents=True)
        (libs / f"{name}.so.1").write_text(name)
        (libs / f"{name}.so").symlink_to(f"{name}.so.1")
    stanzas, uris = [], []
    debs.mkdir()
    for name, (version, depends) in PACKAGES.items():
        content = f"{name}\n".encode()
        shown = b"other" if name == damaged else content
        file = f"{name}_{version.replace(':', '%3a')}_amd64.deb"
        (debs / file).write_bytes(content)
        uris.append(f"'http://mirror.example/{file}' {file} {len(content)} SHA256:00")
        stanzas.append(
            f"Package: {name}\nVersion: {version}\nArchitecture: amd64\nDepends: {depends}\n"
            f"Size: {len(content)}\nSHA256: {hashlib.sha256(shown).hexdigest()}"
        )
    (data / "uris").write_text("\n".join(uris) + "\n")
    (data / "show").write_text("\n\n".join(stanzas) + "\n")
    offered = "".join(
        f" {name} | {VERSION} | http://mirror.example bookworm/main amd64 Packages\n"
        for name in ("rustc-web", "rust-web-src")
    )
    (data / "madison").write_text(offered if madison is None else madison)
    script(home.bin / "apt-get", APT_GET.format(data=data, log=log))
    script(home.bin / "apt-cache", APT_CACHE.format(data=data))
    script(home.bin / "dpkg-deb", DPKG_DEB.format(data=data))
    return log


def provider(home: Home) -> AptProvider:
    return AptProvider(home.store, home.asker, FACTS.rust)


def test_packages_become_a_toolchain(home: Home) -> None:
    with_apt(home)
    reporter = RecordingReporter()
    toolchain = provider(home).fetch(RustSpec.parse(">=1.95"), reporter)
    assert (toolchain.version, toolchain.provider) == ("1.96.0", "apt")
    assert toolchain.tools["rustc"] == "toolchain/rust/bin/rustc"
    assert toolchain.tools["opt"] == "toolchain/rust/lib/llvm-22/bin/opt"
    library = "toolchain/rust/lib/rustlib/src/rust/library"
    assert toolchain.facts["core_root"] == f"{library}/core/src/lib.rs"
    assert toolchain.env == (("LD_LIBRARY_PATH", "toolchain/rust/lib/x86_64-linux-gnu"),)
    usr = Path(toolchain.trees["rustc"].root)
    assert usr.name == "usr"
    assert (usr / "lib/x86_64-linux-gnu/libtinfo6.so").is_file()
    assert not (usr / "src/rustc-1.96.0/compiler").exists()
    found = provider(home).find(RustSpec.parse("1.96.0"))
    assert isinstance(found, Found)
    assert found.toolchain == toolchain
    assert ("done", "rustc-web_1.96.0+dfsg1-1~deb12u2_amd64.deb") in {s[:2] for s in reporter.said}


def test_every_package_is_recorded_with_its_sha256(home: Home) -> None:
    with_apt(home)
    provider(home).fetch(RustSpec.parse("1.96"), SilentReporter())
    (install,) = (home.root / "store/installs").iterdir()
    record = json.loads((install / RECORD).read_text())
    assert [file["source"].partition("=")[0] for file in record["files"]] == [
        "libllvm22",
        "libtinfo6",
        "llvm-22",
        "rust-web-src",
        "rustc-web",
    ]
    for file in record["files"]:
        name = file["source"].partition("=")[0]
        assert file["sha256"] == hashlib.sha256(f"{name}\n".encode()).hexdigest()


def test_apt_touches_nothing_of_the_machine(home: Home) -> None:
    log = with_apt(home)
    provider(home).fetch(RustSpec.parse("1.96"), SilentReporter())
    assert log.read_text().split() == ["update", "install", "install", "download"]
    configuration = Path(f"{log}.conf").read_text()
    private = str(home.root / "store/tmp")
    for key in ("Dir::State", "Dir::State::Lists", "Dir::State::status", "Dir::Cache", "Dir::Log"):
        assert f'{key} "{private}' in configuration
    assert "#clear APT::Update::Post-Invoke;" in configuration


def test_a_damaged_package_is_refused(home: Home) -> None:
    with_apt(home, damaged="libllvm22")
    with pytest.raises(ToolchainError, match="but the package list says"):
        provider(home).fetch(RustSpec.parse("1.96"), SilentReporter())
    assert not (home.root / "store/installs").exists()


def test_what_the_distribution_has_is_said(home: Home) -> None:
    madison = (
        " rustc-web | 1.85.0+dfsg3-1 | http://x bookworm/main amd64 Packages\n"
        "rust-web-src | 1.85.0+dfsg3-1 | http://x bookworm/main amd64 Packages\n"
    )
    with_apt(home, madison=madison)
    with pytest.raises(
        ToolchainError, match=r"no package is a rustc `>=1\.80` .*: rustc-web 1\.85\.0"
    ):
        provider(home).fetch(RustSpec.parse(">=1.80"), SilentReporter())


def test_a_failure_of_apt_shows_its_errors(home: Home) -> None:
    with_apt(home)
    script(home.bin / "apt-get", "#!/bin/sh\necho 'E: Failed to fetch lists' >&2\nexit 100\n")
    with pytest.raises(ToolchainError, match="`apt-get update` failed: Failed to fetch lists"):
        provider(home).fetch(RustSpec.parse("1.96"), SilentReporter())


def test_nightlies_are_not_packaged(home: Home) -> None:
    with_apt(home)
    missing = provider(home).find(RustSpec.parse("nightly"))
    assert isinstance(missing, Missing)
    assert not missing.can_fetch


def test_without_apt_the_reason_says_so(home: Home) -> None:
    missing = provider(home).find(RustSpec.parse("1.96"))
    assert isinstance(missing, Missing)
    assert not missing.can_fetch
    assert "`apt-get` is not on PATH" in missing.reason


def test_ubuntus_layout_is_known(tmp_path: Path) -> None:
    usr = tmp_path / "usr"
    script(usr / "lib/rust-1.89/bin/rustc", "#!/bin/sh\n")
    (usr / "bin").mkdir()
    (usr / "bin/rustc-1.89").symlink_to("../lib/rust-1.89/bin/rustc")
    make_sources(usr / "src/rustc-1.89.0/library")
    make_llvm(usr / "lib/llvm-20/bin")
    layout = layout_of(usr)
    assert layout is not None
    assert layout.rustc == "lib/rust-1.89/bin/rustc"
    assert layout.library == "src/rustc-1.89.0/library"
    assert layout.llvm_bin == "lib/llvm-20/bin"
    assert layout.lacks(FACTS.rust) == ()


def test_a_tree_without_rustc_has_no_layout(tmp_path: Path) -> None:
    assert layout_of(tmp_path) is None


def test_libraries_outside_usr_are_brought_in(tmp_path: Path) -> None:
    files = {"lib/x/a.so": "lib", "usr/lib/x/a.so": "usr", "lib/x/b.so": "lib", "lib64/c.so": "64"}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    tidy(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["usr"]
    assert (tmp_path / "usr/lib64/c.so").read_text() == "64"
    assert (tmp_path / "usr/lib/x/a.so").read_text() == "usr"
    assert (tmp_path / "usr/lib/x/b.so").read_text() == "lib"
