"""What apt prints, and the libraries that are fetched."""

from __future__ import annotations

from oxide_build.provision.apt_packages import (
    llvm_major,
    offers,
    packages,
    planned,
    runtime_closure,
    rustc_names,
)

MADISON = """\
 rustc-web | 1.96.0+dfsg1-1~deb12u2 | http://deb.example/security bookworm/main amd64 Packages
 rustc-web | 1.85.0+dfsg3-1~deb12u3 | http://deb.example/debian bookworm/main amd64 Packages
rust-web-src | 1.96.0+dfsg1-1~deb12u2 | http://deb.example/security bookworm/main amd64 Packages
     rustc | 1.63.0+dfsg1-2 | http://deb.example/debian bookworm/main amd64 Packages
     rustc | 1.63.0+dfsg1-2 | http://deb.example/debian bookworm/main Sources
  rust-src | 1.63.0+dfsg1-2 | http://deb.example/debian bookworm/main amd64 Packages
rustc-1.89 | 1.89.0+dfsg0ubuntu1-1 | http://archive.example/ubuntu questing/main amd64 Packages
rust-1.89-src | 1.89.0+dfsg0ubuntu1-1 | http://archive.example/ubuntu questing/main amd64 Packages
"""

URIS = "\n".join(
    [
        "Reading package lists...",
        "'http://deb.example/pool/libllvm22_22.1.8-1%7edeb12u1_amd64.deb' "
        "libllvm22_1%3a22.1.8-1~deb12u1_amd64.deb 29378692 SHA256:aa",
        "'http://deb.example/pool/rustc-web_1.96.0%2bdfsg1_amd64.deb' "
        "rustc-web_1.96.0+dfsg1_amd64.deb 4450500 ",
    ]
)


def stanza(name: str, depends: str = "", provides: str = "") -> str:
    lines = [f"Package: {name}", "Version: 1", "Architecture: amd64", "Size: 10", "SHA256: ab"]
    lines += [f"Depends: {depends}"] if depends else []
    lines += [f"Provides: {provides}"] if provides else []
    return "\n".join([*lines, "Description: text", " more: text"])


def test_debians_and_ubuntus_names_are_found() -> None:
    names = "rustc rustc-web rustc-1.89 rustc-1.89-doc rustc-web-dbgsym rustc-mips"
    assert rustc_names(names) == ("rustc", "rustc-1.89", "rustc-web")


def test_only_versions_with_their_sources_are_offered() -> None:
    assert [(o.rustc, o.source, o.release) for o in offers(MADISON)] == [
        ("rustc-web", "rust-web-src", "1.96.0"),
        ("rustc", "rust-src", "1.63.0"),
        ("rustc-1.89", "rust-1.89-src", "1.89.0"),
    ]


def test_plans_are_read_with_epochs() -> None:
    requests = planned(URIS)
    assert requests == ("libllvm22=1:22.1.8-1~deb12u1", "rustc-web=1.96.0+dfsg1")
    assert llvm_major(requests, None) == 22


def test_llvm_is_what_the_compiler_is_linked_with() -> None:
    assert llvm_major(["libllvm19=1", "libllvm22=1"], 19) == 19
    assert llvm_major(["libllvm17t64=1"], 22) == 17
    assert llvm_major(["libc6=1"], 22) == 22
    assert llvm_major([], None) is None


def test_libraries_are_followed_but_not_what_links_host_programs() -> None:
    known = packages(
        "\n\n".join(
            [
                stanza("rustc-web", "libc6 (>= 2.34), libstd-rust-web-dev (= 1), gcc | clang"),
                stanza("libstd-rust-web-dev", "libstd-rust-web-1.96 (= 1)"),
                stanza("libstd-rust-web-1.96", "libllvm22 (>= 1), zlib1g"),
                stanza("libllvm22", "libedit2 | libedit-other, libz3-virtual:any"),
                stanza("libz3-4", "libgone", provides="libz3-virtual (= 4)"),
                stanza("llvm-22", "llvm-22-runtime, llvm-22-linker-tools, libcurl4, libllvm22"),
                stanza("llvm-22-runtime"),
                stanza("llvm-22-linker-tools"),
                stanza("libcurl4", "libssl3"),
                *map(stanza, ("libedit2", "zlib1g", "libc6", "gcc", "libssl3", "rust-web-src")),
            ]
        )
    )
    chosen = runtime_closure(("rustc-web", "rust-web-src", "llvm-22"), known)
    assert [package.name for package in chosen] == [
        "libedit2",
        "libllvm22",
        "libstd-rust-web-1.96",
        "libz3-4",
        "llvm-22",
        "llvm-22-runtime",
        "rust-web-src",
        "rustc-web",
        "zlib1g",
    ]
