"""The `rustup` provider: the user's toolchains as they are, others in a home of our own."""

from __future__ import annotations

import datetime
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from oxide_build.errors import ToolchainError
from oxide_build.model.toolchain import Toolchain
from oxide_build.provision.asker import Asker
from oxide_build.provision.borrowed_llvm import TOOLS, Lenders
from oxide_build.provision.provider import Found, Missing
from oxide_build.provision.reporter import FetchReporter
from oxide_build.provision.rust_candidate import Candidates
from oxide_build.provision.rust_toolchain import Place
from oxide_build.provision.rustup_install import RustupInstaller, command, layout_of
from oxide_build.provision.rustup_messages import Unavailable
from oxide_build.provision.tool_store import LENDER, ToolStore
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
        lenders = self._lenders()
        found = Candidates(self.name, lenders.places, self.facts, self.asker, lenders).find(spec)
        if isinstance(found, Found):
            return found
        rustup = self._rustup()
        if rustup is None:
            return Missing(f"`rustup` is not on PATH nor in ~/.cargo/bin; {found}")
        try:
            channel = self._channel(spec)
        except ToolchainError as error:
            return Missing(f"{found}; {error.message}")
        return Missing(found, can_fetch=True, command=self._command(spec, channel))

    def fetch(self, spec: Spec, reporter: FetchReporter) -> Toolchain:
        """Run `rustup toolchain install` in a home of our own; nothing of the user's changes.

        A night that was published without llvm-tools borrows those of another toolchain, which is
        fetched too if none here can lend them.
        """
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
                again = self._install(spec, channel, installer, reporter)
        if isinstance(again, Found):
            return again.toolchain
        raise ToolchainError(f"rustup installed `{channel}`, but {again.reason}")

    def _install(
        self, spec: RustSpec, channel: str, installer: RustupInstaller, reporter: FetchReporter
    ) -> Found | Missing:
        try:
            if self._tools_missing(spec):
                raise installer.messages(channel, spec.date).unavailable((TOOLS,))
            installer.install(channel, spec.date, reporter)
        except Unavailable as error:
            if error.components != (TOOLS,) or spec.channel != "nightly" or spec.date is None:
                raise
            lender = self._lender(spec.date, installer, reporter)
            # The night may be here already, and its lender be what was missing.
            found = self.find(spec)
            if isinstance(found, Found):
                return found
            installer.install(channel, spec.date, reporter, lender=lender)
        return self.find(spec)

    def _lender(
        self, night: datetime.date, installer: RustupInstaller, reporter: FetchReporter
    ) -> str:
        """What will lend its LLVM tools to `night`: what is here, else the nearest, fetched."""
        llvm = str(self.facts.lent_llvm(night))
        here = self._lenders().nearest(llvm, night)
        if here is not None:
            return here.spec
        said = []
        # A mirror may lack one; that it lacks two means that the network is at fault.
        for name in self.facts.lenders(night)[:2]:
            with self.store.exclusive(f"rust-rustup-{name}"):
                here = self._lenders().nearest(llvm, night)
                if here is not None:
                    return here.spec
                try:
                    installer.install(name, RustSpec.parse(name).date, reporter)
                    return name
                except ToolchainError as error:
                    said.append(error)
        reason = "; ".join(error.message for error in said) or f"nothing has LLVM {llvm}"
        raise ToolchainError(
            f"`nightly-{night}` was published without {TOOLS}, and none could be fetched to "
            f"borrow: {reason}",
            hint=said[0].hint if said else "choose another night",
        )

    def _tools_missing(self, spec: RustSpec) -> bool:
        """Whether the facts say that the night was published without llvm-tools."""
        return spec.date is not None and TOOLS in self.facts.missing.get(spec.date, ())

    def _command(self, spec: RustSpec, channel: str) -> str:
        """What a user could type to have `spec`, and what lends to it."""
        lenders = self.facts.lenders(spec.date) if spec.date is not None else ()
        if not self._tools_missing(spec) or not lenders:
            return command(channel)
        return f"{command(channel, llvm_tools=False)} && {command(lenders[0])}"

    def _lenders(self) -> Lenders:
        """Every toolchain here; each may lend to the others."""
        return Lenders((*self.users(), *self._ours()), self.facts, self.asker)

    def users(self) -> tuple[Place, ...]:
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
        return tuple(
            Place(
                layout_of(install.tree), f"`{install.tree}`", install.record.details.get(LENDER, "")
            )
            for install in installs
        )

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
        missing = self.facts.missing.get(spec.date, ()) if spec.date is not None else ()
        if set(missing) - {TOOLS}:
            raise installer.messages(channel, spec.date).unavailable(missing)
