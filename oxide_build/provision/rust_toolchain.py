"""From an installation of rustc and LLVM to a `Toolchain`."""

from __future__ import annotations

import glob
import os
from dataclasses import dataclass
from pathlib import Path

from oxide_build.errors import ToolchainError
from oxide_build.model.toolchain import Toolchain
from oxide_build.provision.asker import Asker
from oxide_build.provision.rust_probe import RustProbe, probe_llvm, probe_rustc
from oxide_build.provision.trees import Part, TreePlan, digest_tree
from oxide_build.resolution.facts import RustFacts
from oxide_build.resolution.versions import RustSpec, numbers

LLVM_TOOLS = ("llvm-link", "opt", "llc", "llvm-dis", "llvm-as")
RUST_MOUNT = "toolchain/rust"
LLVM_MOUNT = "toolchain/llvm"

# What rustc reads when it compiles core and compiler_builtins for nvptx64, by its dep-info:
# core's source includes the two others by path, compiler_builtins includes libm.
_SOURCE_FOLDERS = (
    "core/src",
    "compiler-builtins/compiler-builtins/src",
    "compiler-builtins/libm/src",
    "portable-simd/crates/core_simd/src",
    "stdarch/crates/core_arch/src",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RustLayout:
    """Where the parts of an installation lie; paths are relative to `root` or `llvm_root`.

    rustc        the compiler itself, no wrapper
    library      rust-src's `library` folder
    rustc_libs   shared libraries that rustc needs
    llvm_root    the same as `root` where both come as one
    llvm_bin     folder of the LLVM tools
    llvm_libs    shared libraries that they need
    search       folders that must be in LD_LIBRARY_PATH, below `root`
    llvm_from    the toolchain that lends the LLVM tools ("nightly-2026-08-29"), "" for none
    """

    root: Path
    rustc: str
    library: str
    rustc_libs: tuple[Part, ...]
    llvm_root: Path
    llvm_bin: str
    llvm_libs: tuple[Part, ...]
    search: tuple[str, ...] = ()
    llvm_from: str = ""

    @property
    def cargo(self) -> str | None:
        """Where cargo lies if it came with rustc; Debian's is a package of its own."""
        path = f"{self.rustc.rpartition('/')[0]}/cargo"
        return path if (self.root / path).is_file() else None

    @property
    def llvm_mount(self) -> str:
        return RUST_MOUNT if self.llvm_root == self.root else LLVM_MOUNT

    def lacks(self, facts: RustFacts) -> tuple[str, ...]:
        """What is missing, as people call it: "rust-src", "llvm-tools"; a few stats."""
        missing = []
        if not (self.root / self.rustc).is_file():
            missing.append("rustc")
        if not (self.root / self.library / "core/src/lib.rs").is_file():
            missing.append("rust-src")
        elif not (self.root / self.library / facts.builtins_path).is_file():
            missing.append("compiler_builtins in rust-src")
        if not all((self.llvm_root / self.llvm_bin / tool).is_file() for tool in LLVM_TOOLS):
            missing.append("llvm-tools")
        return tuple(missing)


@dataclass(frozen=True, slots=True)
class Place:
    """An installation that may fit; `origin` says to people where it is from.

    `lender` names the toolchain whose LLVM tools were chosen when it was fetched, "" for none.
    """

    layout: RustLayout
    origin: str
    lender: str = ""


def ask_rustc(layout: RustLayout, asker: Asker) -> RustProbe:
    """What the layout's rustc says of itself."""
    libraries = [
        Path(path)
        for part in layout.rustc_libs
        for path in glob.glob(str(layout.root / part.folder / part.pattern))
        if path.rpartition("/")[2].startswith(("librustc_driver", "libLLVM"))
    ]
    return probe_rustc(
        layout.root / layout.rustc, tuple(sorted(libraries)), _with_search(layout, asker)
    )


def ask_llvm(layout: RustLayout, asker: Asker) -> str:
    """The version of the layout's LLVM tools."""
    llc = layout.llvm_root / layout.llvm_bin / "llc"
    return probe_llvm(llc, _with_search(layout, asker))


def assemble(
    layout: RustLayout, *, provider: str, origin: str, facts: RustFacts, asker: Asker
) -> Toolchain:
    """Ask the tools and hash the files, or recall both.

    Raises `ToolchainError` when the tools do not run, do not belong together or lack a part.
    """
    missing = layout.lacks(facts)
    if missing:
        raise ToolchainError(
            f"`{layout.root}` lacks {', '.join(missing)}",
            hint="install it with these parts, or name another provider in `oxide.toml`",
        )
    probe = ask_rustc(layout, asker)
    llvm_tools = ask_llvm(layout, asker)
    _match_llvm(layout, probe, llvm_tools)
    trees = (digest_tree(plan, asker.notebook) for plan in plans(layout, probe))
    bin_folder = f"{layout.llvm_mount}/{layout.llvm_bin}"
    search = ":".join(f"{RUST_MOUNT}/{folder}" for folder in layout.search)
    date = probe.archive_date
    library = f"{RUST_MOUNT}/{layout.library}"
    return Toolchain(
        kind=RustSpec.kind,
        version=probe.release,
        spec=spec_of(probe),
        provider=provider,
        origin=origin,
        trees={tree.name: tree for tree in trees},
        tools={
            "rustc": f"{RUST_MOUNT}/{layout.rustc}",
            **{tool: f"{bin_folder}/{tool}" for tool in LLVM_TOOLS},
            **({} if layout.cargo is None else {"cargo": f"{RUST_MOUNT}/{layout.cargo}"}),
        },
        archs=probe.cpus,
        facts={
            "host": probe.host,
            "release": probe.release,
            "channel": probe.channel,
            "commit_date": probe.commit_date,
            "llvm": probe.llvm,
            "llvm_major": numbers(probe.llvm)[0],
            "llvm_tools": llvm_tools,
            "core_root": f"{library}/core/src/lib.rs",
            "core_edition": probe.edition or facts.core_edition(probe.release, date),
            "builtins_root": f"{library}/{facts.builtins_path}",
            "builtins_edition": facts.builtins_edition,
            "bootstrap": probe.channel != "nightly",
            "target_cpu_is_modifier": facts.target_cpu_is_modifier.holds(probe.release, date),
            "thread_index_i32": facts.thread_index_is_i32(probe.release, date),
            "default_cpu": probe.default_cpu,
            **({"llvm_tools_from": layout.llvm_from} if layout.llvm_from else {}),
        },
        env=(("LD_LIBRARY_PATH", search),) if search else (),
    )


def spec_of(probe: RustProbe) -> str:
    """The shortest requirement that names exactly this compiler."""
    if probe.channel == "stable" or probe.archive_date is None:
        return probe.release
    return f"{probe.channel}-{probe.archive_date}"


def plans(layout: RustLayout, probe: RustProbe) -> tuple[TreePlan, ...]:
    """The trees "rustc", "rust-src" and "llvm"; "cargo" where it is, with std for this machine."""
    folder, _, name = layout.rustc.rpartition("/")
    prefix = os.path.relpath(probe.sysroot, os.path.realpath(layout.root))
    backends = os.path.normpath(f"{prefix}/lib/rustlib/{probe.host}/codegen-backends")
    std = os.path.normpath(f"{prefix}/lib/rustlib/{probe.host}/lib")
    cargo = TreePlan(
        name="cargo",
        mount=RUST_MOUNT,
        root=str(layout.root),
        parts=(Part(folder, "cargo"), Part(std, deep=True)),
    )
    return (
        *((cargo,) if layout.cargo is not None else ()),
        TreePlan(
            name="rustc",
            mount=RUST_MOUNT,
            root=str(layout.root),
            parts=(Part(folder, name), *layout.rustc_libs, Part(backends, deep=True)),
        ),
        TreePlan(
            name="rust-src",
            mount=RUST_MOUNT,
            root=str(layout.root),
            parts=tuple(Part(f"{layout.library}/{sub}", deep=True) for sub in _SOURCE_FOLDERS),
        ),
        TreePlan(
            name="llvm",
            mount=layout.llvm_mount,
            root=str(layout.llvm_root),
            parts=(*(Part(layout.llvm_bin, tool) for tool in LLVM_TOOLS), *layout.llvm_libs),
        ),
    )


def _match_llvm(layout: RustLayout, probe: RustProbe, llvm_tools: str) -> None:
    """Refuse tools of another LLVM; borrowed ones may be newer, which was chosen knowingly."""
    theirs, ours = numbers(llvm_tools)[0], numbers(probe.llvm)[0]
    if theirs == ours or (layout.llvm_from and theirs > ours):
        return
    raise ToolchainError(
        f"rustc {probe.release} writes bitcode of LLVM {probe.llvm}, but "
        f"`{layout.llvm_root / layout.llvm_bin}` has LLVM {llvm_tools}",
        hint=f"install the tools of LLVM {ours}",
    )


def _with_search(layout: RustLayout, asker: Asker) -> Asker:
    return asker.with_libraries(str(layout.root / folder) for folder in layout.search)
