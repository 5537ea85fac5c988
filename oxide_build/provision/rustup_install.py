"""Running `rustup toolchain install` in a home of our own, and what a toolchain of rustup is."""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from oxide_build.errors import ToolchainError
from oxide_build.provision.asker import Asker
from oxide_build.provision.reporter import FetchReporter
from oxide_build.provision.rust_probe import manifest_of
from oxide_build.provision.rust_toolchain import RustLayout, ask_llvm, ask_rustc, spec_of
from oxide_build.provision.rustup_messages import DEFAULT_SERVER, RustupMessages
from oxide_build.provision.tool_store import (
    LENDER,
    FetchedFile,
    InstallRecord,
    ToolStore,
    folder_size,
)
from oxide_build.provision.trees import Part
from oxide_build.resolution.facts import RustFacts
from oxide_build.resolution.versions import RustSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class RustupInstaller:
    """Gets toolchains with the program `rustup` into `store`, for the provider `provider`."""

    rustup: str
    provider: str
    store: ToolStore
    asker: Asker
    facts: RustFacts

    def install(
        self,
        channel: str,
        date: datetime.date | None,
        reporter: FetchReporter,
        *,
        lender: str = "",
    ) -> None:
        """Fetch and publish `channel`, about 300 MB to download and 600 to 900 MB on disk.

        With `lender`, the toolchain that will lend them, it comes without LLVM's tools. Raises
        `Unavailable` where a component is missing, before anything is downloaded, and
        `ToolchainError` for everything else. What came before a failure is thrown away.
        """
        parts = "rust-src" if lender else "rust-src and llvm-tools"
        what = f"rustc {channel} with {parts} (rustup)"
        reporter.begin(what)
        with self.store.staging() as folder:
            home = folder / "home"
            home.mkdir()
            done = self.asker.processes.run(
                [self.rustup, *arguments(channel, llvm_tools=not lender)],
                cwd=folder,
                env=_private_environment(self.asker.environ, home),
                on_tick=lambda: reporter.progress(what, folder_size(home), None),
            )
            if not done.ok:
                raise self.messages(channel, date).failure(done)
            toolchains = sorted((home / "toolchains").iterdir())
            if len(toolchains) != 1:
                raise ToolchainError(f"rustup installed `{channel}` to another place than told")
            size = self._publish(toolchains[0], folder, lender)
        reporter.done(what, size, None)

    def messages(self, channel: str, date: datetime.date | None) -> RustupMessages:
        """The errors of installing `channel`."""
        return RustupMessages(
            channel=channel,
            date=date,
            server=self.asker.environ.get("RUSTUP_DIST_SERVER") or DEFAULT_SERVER,
            command=command(channel),
            facts=self.facts,
        )

    def _publish(self, toolchain: Path, folder: Path, lender: str) -> int:
        """Ask the toolchain what it is and move it to its place; its size in bytes."""
        layout = layout_of(toolchain)
        forgetting = self.asker.forgetting(folder / "state")
        probe = ask_rustc(layout, forgetting)
        details = {"toolchain": toolchain.name, "host": probe.host}
        if lender:
            details[LENDER] = lender
        else:
            ask_llvm(layout, forgetting)
        size = folder_size(toolchain)
        self.store.publish(
            toolchain,
            InstallRecord(
                kind=RustSpec.kind,
                provider=self.provider,
                version=probe.release,
                spec=spec_of(probe),
                files=_fetched_files(toolchain),
                size_bytes=size,
                details=details,
            ),
            f"{spec_of(probe)}-{probe.host}",
        )
        return size


def arguments(channel: str, *, llvm_tools: bool = True) -> tuple[str, ...]:
    """What rustup is told to install all that a build needs."""
    components = ("-c", "rust-src", *(("-c", "llvm-tools") if llvm_tools else ()))
    return (
        "toolchain",
        "install",
        channel,
        "--profile",
        "minimal",
        *components,
        "--no-self-update",
    )


def command(channel: str, *, llvm_tools: bool = True) -> str:
    """The same as a user types it."""
    return f"rustup {' '.join(arguments(channel, llvm_tools=llvm_tools))}"


def layout_of(root: Path) -> RustLayout:
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
