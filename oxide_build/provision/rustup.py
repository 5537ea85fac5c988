"""The `rustup` provider: the user's toolchains as they are, others in a home of our own."""

from __future__ import annotations

import datetime
import hashlib
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from oxide_build.errors import ToolchainError
from oxide_build.host.process import Completed
from oxide_build.model.toolchain import Toolchain
from oxide_build.provision.asker import Asker
from oxide_build.provision.provider import Found, Missing
from oxide_build.provision.reporter import FetchReporter
from oxide_build.provision.rust_candidate import Candidates, Place
from oxide_build.provision.rust_probe import manifest_of
from oxide_build.provision.rust_toolchain import RustLayout, ask_llvm, ask_rustc, spec_of
from oxide_build.provision.tool_store import FetchedFile, InstallRecord, ToolStore, folder_size
from oxide_build.provision.trees import Part
from oxide_build.resolution.facts import RustFacts
from oxide_build.resolution.versions import RustSpec, Spec, numbers

_ARGUMENTS = ("--profile", "minimal", "-c", "rust-src", "-c", "llvm-tools", "--no-self-update")


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
        command = f"rustup toolchain install {channel} {' '.join(_ARGUMENTS)}"
        return Missing(found, can_fetch=True, command=command)

    def fetch(self, spec: Spec, reporter: FetchReporter) -> Toolchain:
        """Run `rustup toolchain install` in a home of our own; nothing of the user's changes."""
        rustup = self._rustup()
        if not isinstance(spec, RustSpec) or rustup is None:
            raise ToolchainError("`rustup` is not on PATH nor in ~/.cargo/bin")
        channel = self._channel(spec)
        self._refuse_incomplete(spec, channel)
        with self.store.exclusive(f"rust-rustup-{channel}"):
            again = self.find(spec)
            if not isinstance(again, Found):
                self._install(rustup, channel, spec.date, reporter)
                again = self.find(spec)
        if isinstance(again, Found):
            return again.toolchain
        raise ToolchainError(f"rustup installed `{channel}`, but {again.reason}")

    def _install(
        self, rustup: str, channel: str, date: datetime.date | None, reporter: FetchReporter
    ) -> None:
        what = f"rustc {channel} with rust-src and llvm-tools (rustup)"
        reporter.begin(what)
        with self.store.staging() as folder:
            home = folder / "home"
            home.mkdir()
            done = self.asker.processes.run(
                [rustup, "toolchain", "install", channel, *_ARGUMENTS],
                cwd=folder,
                env=_private_environment(self.asker.environ, home),
                on_tick=lambda: reporter.progress(what, folder_size(home), None),
            )
            if not done.ok:
                raise self._failure(channel, date, done)
            toolchains = sorted((home / "toolchains").iterdir())
            if len(toolchains) != 1:
                raise ToolchainError(f"rustup installed `{channel}` to another place than told")
            layout = _layout(toolchains[0])
            forgetting = self.asker.forgetting(folder / "state")
            probe = ask_rustc(layout, forgetting)
            ask_llvm(layout, forgetting)
            size = folder_size(toolchains[0])
            self.store.publish(
                toolchains[0],
                InstallRecord(
                    kind=RustSpec.kind,
                    provider=self.name,
                    version=probe.release,
                    spec=spec_of(probe),
                    files=_fetched_files(toolchains[0]),
                    size_bytes=size,
                    details={"toolchain": toolchains[0].name, "host": probe.host},
                ),
                f"{spec_of(probe)}-{probe.host}",
            )
        reporter.done(what, size, None)

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
            Place(_layout(Path(folder)), f"`{folder}`")
            for folder in folders
            if os.path.isdir(folder)
        )

    def _ours(self) -> tuple[Place, ...]:
        installs = self.store.installs(RustSpec.kind, self.name)
        return tuple(Place(_layout(install.tree), f"`{install.tree}`") for install in installs)

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

    def _refuse_incomplete(self, spec: RustSpec, channel: str) -> None:
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
            raise self._unavailable(channel, spec.date, self.facts.missing[spec.date])

    def _failure(self, channel: str, date: datetime.date | None, done: Completed) -> ToolchainError:
        text = done.stderr.decode("utf-8", "replace")
        gone = re.findall(r"component '([^']+)'.*? (?:is|are) unavailable for download", text)
        if gone:
            return self._unavailable(channel, date, tuple(dict.fromkeys(gone)))
        lines = [
            line.strip() for line in text.splitlines() if re.match(r"(error|caused by)\b", line)
        ]
        reason = "; ".join(lines[:3]) or text.strip()[-300:] or f"status {done.returncode}"
        return ToolchainError(
            f"rustup could not install `{channel}`: {reason}",
            hint=f"try it by hand: `rustup toolchain install {channel} {' '.join(_ARGUMENTS)}`",
        )

    def _unavailable(
        self, channel: str, date: datetime.date | None, components: tuple[str, ...]
    ) -> ToolchainError:
        near = self.facts.nearest_complete(date) if date is not None else ()
        names = " and ".join(f"`nightly-{night}`" for night in near)
        parts = " and ".join(f"`{component}`" for component in components)
        return ToolchainError(
            f"rustup has no {parts} for `{channel}`",
            hint=f"{names} were seen with all components"
            if near
            else "choose another date: not every component is built every night",
        )


def _layout(root: Path) -> RustLayout:
    """The layout that every toolchain of rustup has."""
    bins = sorted(root.glob("lib/rustlib/*/bin/llc"))
    host = bins[0].parent.parent.name if bins else ""
    return RustLayout(
        root=root,
        rustc="bin/rustc",
        library="lib/rustlib/src/rust/library",
        rustc_libs=(Part("lib", "*.so*"),),
        llvm_root=root,
        llvm_bin=f"lib/rustlib/{host}/bin",
        llvm_libs=(Part(f"lib/rustlib/{host}/lib", "libLLVM*"), Part("lib", "libLLVM*")),
    )


def _private_environment(environ: Mapping[str, str], home: Path) -> dict[str, str]:
    """The user's environment (mirrors, proxies, certificates) with a RUSTUP_HOME of ours."""
    env = {**environ, "RUSTUP_HOME": str(home)}
    env.pop("RUSTUP_TOOLCHAIN", None)
    return env


def _fetched_files(toolchain: Path) -> tuple[FetchedFile, ...]:
    """The archives of the installed components, by the manifest that rustup checked them with."""
    import tomli

    manifest_path = manifest_of(toolchain)
    config_path = toolchain / "lib/rustlib/multirust-config.toml"
    try:
        raw = manifest_path.read_bytes()
        manifest = tomli.loads(raw.decode("utf-8"))
        components = tomli.loads(config_path.read_text("utf-8"))["components"]
        files = [FetchedFile("channel-manifest.toml", hashlib.sha256(raw).hexdigest(), len(raw))]
        for component in components:
            target = component.get("target", "*")
            row = manifest["pkg"][component["pkg"]]["target"][target]
            url, sha256 = row.get("xz_url", row.get("url")), row.get("xz_hash", row.get("hash"))
            files.append(FetchedFile(url.rpartition("/")[2], sha256, None, url))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ToolchainError(
            f"rustup's manifest in `{toolchain}` is not readable: {error!r}"
        ) from error
    return tuple(files)
