"""The `rustup` provider: the user's toolchains as they are, others in a home of our own."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from oxide_build.errors import ToolchainError
from oxide_build.model.toolchain import Toolchain
from oxide_build.provision.asker import Asker
from oxide_build.provision.provider import Found, Missing
from oxide_build.provision.reporter import FetchReporter
from oxide_build.provision.rust_candidate import Candidates, Place
from oxide_build.provision.rustup_install import RustupInstaller, command, layout_of
from oxide_build.provision.tool_store import ToolStore
from oxide_build.resolution.facts import RustFacts
from oxide_build.resolution.versions import RustSpec, Spec, numbers


@dataclass(frozen=True, slots=True)
class RustupProvider:
    """Serves every stable release, beta and nightly that rustup can install."""

    store: ToolStore
    asker: Asker
    facts: RustFacts

    name: ClassVar[str] = "rustup"
    kinds: ClassVar[tuple[str, ...]] = (RustSpec.kind,)

    def find(self, spec: Spec) -> Found | Missing:
        """Look in the user's RUSTUP_HOME, whose folders are read, and in our store."""
        if not isinstance(spec, RustSpec):
            return Missing("serves rustc only")
        places = (*self._users(), *self._ours())
        found = Candidates(self.name, places, self.facts, self.asker).find(spec)
        if isinstance(found, Found):
            return found
        rustup = self._rustup()
        if rustup is None:
            return Missing(f"`rustup` is not on PATH nor in ~/.cargo/bin; {found}")
        try:
            channel = self._channel(spec)
        except ToolchainError as error:
            return Missing(f"{found}; {error.message}")
        return Missing(found, can_fetch=True, command=command(channel))

    def fetch(self, spec: Spec, reporter: FetchReporter) -> Toolchain:
        """Run `rustup toolchain install` in a home of our own; nothing of the user's changes."""
        rustup = self._rustup()
        if not isinstance(spec, RustSpec) or rustup is None:
            raise ToolchainError("`rustup` is not on PATH nor in ~/.cargo/bin")
        channel = self._channel(spec)
        installer = RustupInstaller(
            rustup=rustup,
            provider=self.name,
            store=self.store,
            asker=self.asker,
            facts=self.facts,
        )
        self._refuse_incomplete(spec, channel, installer)
        with self.store.exclusive(f"rust-rustup-{channel}"):
            again = self.find(spec)
            if not isinstance(again, Found):
                installer.install(channel, spec.date, reporter)
                again = self.find(spec)
        if isinstance(again, Found):
            return again.toolchain
        raise ToolchainError(f"rustup installed `{channel}`, but {again.reason}")

    def _users(self) -> tuple[Place, ...]:
        """The user's toolchains; two names of one folder count once."""
        environ = self.asker.environ
        home = environ.get("RUSTUP_HOME") or os.path.join(environ.get("HOME", "/"), ".rustup")
        try:
            names = sorted(os.listdir(os.path.join(home, "toolchains")))
        except OSError:
            return ()
        folders = dict.fromkeys(
            os.path.realpath(os.path.join(home, "toolchains", name)) for name in names
        )
        return tuple(
            Place(layout_of(Path(folder)), f"`{folder}`")
            for folder in folders
            if os.path.isdir(folder)
        )

    def _ours(self) -> tuple[Place, ...]:
        installs = self.store.installs(RustSpec.kind, self.name)
        return tuple(Place(layout_of(install.tree), f"`{install.tree}`") for install in installs)

    def _rustup(self) -> str | None:
        environ = self.asker.environ
        on_path = shutil.which("rustup", path=environ.get("PATH", os.defpath))
        if on_path is not None:
            return on_path
        cargo = environ.get("CARGO_HOME") or os.path.join(environ.get("HOME", "/"), ".cargo")
        return shutil.which("rustup", path=os.path.join(cargo, "bin"))

    def _channel(self, spec: RustSpec) -> str:
        """What to call it towards rustup; raises `ToolchainError` when there is none to name."""
        if spec.channel != "stable" or spec.range is None or spec.range.exact:
            return str(spec)
        known = [
            f"{release.version}.0"
            for release in reversed(self.facts.releases)
            if self.facts.builtins_in_tree.holds(release.version)
        ]
        best = spec.best((*self.facts.preferred, *known))
        if best is None:
            raise ToolchainError(
                f"no release of rustc that oxide_build knows is in `{spec}`",
                hint="name one release, like `1.96.0`",
            )
        return best

    def _refuse_incomplete(self, spec: RustSpec, channel: str, installer: RustupInstaller) -> None:
        """Refuse what the facts say cannot be installed, before anything is downloaded."""
        since = self.facts.builtins_in_tree
        old = spec.date < since.nightly if spec.date else numbers(channel)[:2] < since.version
        if old and (spec.date is not None or numbers(channel)):
            raise ToolchainError(
                f"rustc `{channel}` is too old: its rust-src has no compiler_builtins",
                hint=f"ask for {'.'.join(map(str, since.version))} or later, or a nightly from "
                f"{since.nightly} on",
            )
        if spec.date is not None and spec.date in self.facts.missing:
            raise installer.messages(channel, spec.date).unavailable(self.facts.missing[spec.date])
