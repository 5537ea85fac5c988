"""The unpacked packages as one installation."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from oxide_build.provision.rust_toolchain import RustLayout
from oxide_build.provision.trees import Part


def tidy(tree: Path) -> None:
    """Bring all libraries below `usr/`, and drop the sources of the compiler itself.

    Packages of releases before the merge of / and /usr have libraries in `lib/`. rust-src of
    Debian is the whole source of rustc, of which only `library/` is ever read: 69 of 440 MB.
    """
    for name in ("lib", "lib64"):
        if (tree / name).is_dir() and not (tree / name).is_symlink():
            _merge(tree / name, tree / "usr" / name)
    for source in tree.glob("usr/src/rustc-*"):
        for path in source.iterdir():
            if path.name == "library" or path.name.startswith(("COPYRIGHT", "LICENSE")):
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()


def layout_of(usr: Path) -> RustLayout | None:
    """Where Debian (`rustc-web`, `rustc`) and Ubuntu (`rustc-1.85`) put the parts.

    None when there is no rustc. `usr` is the root, so that the links between its folders work.
    """
    rustc = _first_file(usr, "bin/rustc", "lib/rust-*/bin/rustc", "bin/rustc-*")
    if rustc is None:
        return None
    library = _first_folder(
        usr,
        "lib/rustlib/src/rust/library",
        "lib/rust-*/lib/rustlib/src/rust/library",
        "src/rustc-*/library",
    )
    tools = sorted(usr.glob("lib/llvm-*/bin"))
    llvm = str(tools[-1].parent.relative_to(usr)) if tools else "lib/llvm"
    folders = sorted({*usr.glob("lib/*-linux-gnu*"), *usr.glob("lib/rust-*/lib")})
    search = tuple(str(folder.relative_to(usr)) for folder in folders if folder.is_dir())
    shared = tuple(Part(folder, "*.so*") for folder in search)
    return RustLayout(
        root=usr,
        rustc=rustc,
        library=library or "lib/rustlib/src/rust/library",
        rustc_libs=shared,
        llvm_root=usr,
        llvm_bin=f"{llvm}/bin",
        llvm_libs=(Part(f"{llvm}/lib", "libLLVM*"), *shared),
        search=search,
    )


def _first_file(usr: Path, *patterns: str) -> str | None:
    """The file itself, behind the links that lead to it inside `usr`."""
    base = os.path.realpath(usr)
    for pattern in patterns:
        for path in sorted(usr.glob(pattern)):
            real = os.path.realpath(path)
            if os.path.isfile(real) and real.startswith(base + "/"):
                return os.path.relpath(real, base)
    return None


def _first_folder(usr: Path, *patterns: str) -> str | None:
    for pattern in patterns:
        for path in sorted(usr.glob(pattern)):
            if path.is_dir():
                return str(path.relative_to(usr))
    return None


def _merge(source: Path, target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    for path in list(source.iterdir()):
        other = target / path.name
        if path.is_dir() and not path.is_symlink():
            _merge(path, other)
        elif not os.path.lexists(other):
            path.rename(other)
    shutil.rmtree(source)
