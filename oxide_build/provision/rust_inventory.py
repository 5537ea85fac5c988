"""Every rustc on this machine: what it is and what it lacks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from oxide_build.errors import ToolchainError
from oxide_build.provision.asker import Asker
from oxide_build.provision.rust_probe import TARGET
from oxide_build.provision.rust_toolchain import Place, RustLayout, ask_llvm, ask_rustc
from oxide_build.provision.rustup import RustupProvider
from oxide_build.provision.rustup_install import layout_of
from oxide_build.provision.system import SystemProvider
from oxide_build.provision.tool_store import ToolStore
from oxide_build.resolution.facts import Facts, RustFacts
from oxide_build.resolution.versions import RustSpec, numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class InstalledRust:
    """One installation.

    name     as rustup calls it ("nightly-2026-04-03-x86_64-unknown-linux-gnu"), else its folder
    owner    "rustup", "store" or "system"
    version  "1.96.0-nightly"; "" where it does not run, which `failure` explains
    llvm     that of rustc, `tools_llvm` that of its llc; "" where there is none
    lacks    parts that a build needs
    backends whether rustc-dev is there, of which codegen backends are built
    std      whether the prebuilt core for nvptx64 is there; nothing needs it
    """

    name: str
    owner: str
    root: str
    version: str
    llvm: str
    tools_llvm: str
    lacks: tuple[str, ...]
    backends: bool
    std: bool
    failure: str = ""

    @property
    def tools_too_old(self) -> bool:
        """Whether its LLVM tools cannot read what its rustc writes."""
        if not (self.llvm and self.tools_llvm):
            return False
        return numbers(self.tools_llvm)[0] < numbers(self.llvm)[0]


def installed_rusts(store: ToolStore, asker: Asker, facts: Facts) -> Iterator[InstalledRust]:
    """The user's rustup toolchains, those of `store`, and the system's; two processes each, once.

    Whoever has never run one before may see rustc start; later it is remembered by file state.
    """
    rustup = RustupProvider(store, asker, facts.rust)
    for place in rustup.users():
        yield _looked_at(place.layout, place.layout.root.name, "rustup", asker, facts.rust)
    for provider in ("rustup", "archive"):
        for install in store.installs(RustSpec.kind, provider):
            layout = layout_of(install.tree)
            yield _looked_at(layout, install.name, "store", asker, facts.rust)
    system = SystemProvider(asker, facts)
    found = system.rust()
    if isinstance(found, Place):
        root = str(found.layout.root / found.layout.rustc)
        yield _looked_at(found.layout, root, "system", asker, facts.rust)


def _looked_at(
    layout: RustLayout, name: str, owner: str, asker: Asker, facts: RustFacts
) -> InstalledRust:
    lacks = layout.lacks(facts)
    version = llvm = tools = failure = ""
    try:
        if "rustc" not in lacks:
            probe = ask_rustc(layout, asker)
            version, llvm = probe.release, probe.llvm
        if "llvm-tools" not in lacks:
            tools = ask_llvm(layout, asker)
    except ToolchainError as error:
        failure = error.message
    libraries = layout.root / "lib/rustlib"
    return InstalledRust(
        name=name,
        owner=owner,
        root=str(layout.root),
        version=version,
        llvm=llvm,
        tools_llvm=tools,
        lacks=lacks,
        backends=_has_component(libraries, "rustc-dev"),
        std=any((libraries / TARGET / "lib").glob("libcore-*.rlib")),
        failure=failure,
    )


def _has_component(libraries: Path, name: str) -> bool:
    """Whether rustup's list of installed components has `name`; False where there is no list."""
    try:
        listed = (libraries / "components").read_text(encoding="utf-8").split()
    except OSError:
        return False
    return any(each == name or each.startswith(f"{name}-") for each in listed)
