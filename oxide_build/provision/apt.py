"""The `apt` provider: Debian's and Ubuntu's packages, fetched and unpacked but not installed.

apt runs with lists, cache and state of our own, so neither root nor the machine's package
database is needed. It is told that nothing is installed: what the machine happens to have would
otherwise be needed silently and missing after the next upgrade.
"""

from __future__ import annotations

import hashlib
import os
import pwd
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from oxide_build.errors import ToolchainError
from oxide_build.model.toolchain import Toolchain
from oxide_build.provision.apt_packages import (
    Offer,
    Package,
    llvm_major,
    offers,
    packages,
    planned,
    runtime_closure,
    rustc_names,
    source_name,
)
from oxide_build.provision.apt_tree import layout_of, tidy
from oxide_build.provision.asker import Asker
from oxide_build.provision.provider import Found, Missing
from oxide_build.provision.reporter import FetchReporter
from oxide_build.provision.rust_candidate import Candidates
from oxide_build.provision.rust_toolchain import Place, ask_llvm, ask_rustc
from oxide_build.provision.tool_store import FetchedFile, InstallRecord, ToolStore, folder_size
from oxide_build.resolution.facts import RustFacts
from oxide_build.resolution.versions import RustSpec, Spec

_PROGRAMS = ("apt-get", "apt-cache", "dpkg-deb")
_CONFIGURATION = """\
Dir::State "{folder}/state/";
Dir::State::Lists "{folder}/state/lists/";
Dir::State::status "{folder}/state/status";
Dir::Cache "{folder}/cache/";
Dir::Log "{folder}/log/";
APT::Sandbox::User "{user}";
Acquire::Languages "none";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
Acquire::IndexTargets::deb::CNF::DefaultEnabled "false";
Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled "false";
Acquire::IndexTargets::deb-src::Sources::DefaultEnabled "false";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
"""


@dataclass(frozen=True, slots=True)
class AptProvider:
    """Serves the stable releases of rustc that the distribution has."""

    store: ToolStore
    asker: Asker
    facts: RustFacts

    name: ClassVar[str] = "apt"
    kinds: ClassVar[tuple[str, ...]] = (RustSpec.kind,)

    def find(self, spec: Spec) -> Found | Missing:
        """Look in our store; what is installed in the usual way is found by `system`."""
        if not isinstance(spec, RustSpec):
            return Missing("serves rustc only")
        places = []
        for install in self.store.installs(RustSpec.kind, self.name):
            layout = layout_of(install.tree / "usr")
            if layout is not None:
                places.append(Place(layout, f"`{install.tree}`"))
        found = Candidates(self.name, tuple(places), self.facts, self.asker).find(spec)
        if isinstance(found, Found):
            return found
        if spec.channel != "stable":
            return Missing(f"packages have stable releases only, not `{spec}`")
        absent = [program for program in _PROGRAMS if self._program(program) is None]
        if absent:
            return Missing(f"`{absent[0]}` is not on PATH; {found}")
        # Debian's names; the `system` provider finds what they install.
        release = self.facts.release(spec.best(self.facts.preferred) or "")
        major = release.llvm if release else self.facts.releases[-1].llvm
        command = f"apt-get install rustc-web rust-web-src llvm-{major}"
        return Missing(found, can_fetch=True, command=command)

    def fetch(self, spec: Spec, reporter: FetchReporter) -> Toolchain:
        """Download the packages and the libraries they need, and unpack them into our store."""
        if not isinstance(spec, RustSpec):
            raise ToolchainError("apt serves rustc only")
        with self.store.exclusive(f"rust-apt-{spec}"):
            again = self.find(spec)
            if not isinstance(again, Found):
                self._install(spec, reporter)
                again = self.find(spec)
        if isinstance(again, Found):
            return again.toolchain
        raise ToolchainError(f"apt's packages for `{spec}` were unpacked, but {again.reason}")

    def _install(self, spec: RustSpec, reporter: FetchReporter) -> None:
        with self.store.staging() as folder:
            apt = _Apt(self.asker, folder, self._program)
            lists = "package lists (apt)"
            reporter.begin(lists)
            apt.update(lambda: reporter.progress(lists, folder_size(folder), None))
            reporter.done(lists, folder_size(folder / "state"), None)
            offer = apt.choose(spec, self.facts)
            wanted = apt.plan(offer, self.facts)
            what = f"{offer.rustc} {offer.version} with its sources, LLVM and libraries (apt)"
            total = sum(package.size_bytes for package in wanted)
            reporter.begin(what)
            debs = apt.download(
                wanted, lambda done: reporter.progress(what, min(done, total), total)
            )
            tree = folder / "tree"
            files = tuple(_checked(deb, package) for deb, package in zip(debs, wanted, strict=True))
            for deb in debs:
                apt.run("dpkg-deb", "-x", str(deb), str(tree))
            tidy(tree)
            layout = layout_of(tree / "usr")
            if layout is None:
                raise ToolchainError(f"{offer.rustc} {offer.version} has no rustc where expected")
            forgetting = self.asker.forgetting(folder / "memory")
            probe = ask_rustc(layout, forgetting)
            ask_llvm(layout, forgetting)
            record = InstallRecord(
                kind=RustSpec.kind,
                provider=self.name,
                version=probe.release,
                spec=probe.release,
                files=files,
                size_bytes=folder_size(tree),
                details={"package": offer.rustc, "package_version": offer.version},
            )
            self.store.publish(tree, record, f"{offer.version}-{wanted[-1].architecture}")
            for file in files:
                reporter.done(file.name, file.size_bytes or 0, file.sha256)

    def _program(self, name: str) -> str | None:
        return shutil.which(name, path=self.asker.environ.get("PATH", os.defpath))


class _Apt:
    """apt with private folders below `folder`."""

    def __init__(self, asker: Asker, folder: Path, program: Callable[[str], str | None]) -> None:
        self._asker = asker
        self._folder = folder
        self._program = program
        for name in ("state/lists/partial", "cache/archives/partial", "log", "debs"):
            (folder / name).mkdir(parents=True)
        (folder / "state/status").touch()
        self._configuration = folder / "apt.conf"
        text = _CONFIGURATION.format(folder=folder, user=_user())
        self._configuration.write_text(text, "utf-8")

    def run(self, program: str, *arguments: str, on_tick: Callable[[], None] | None = None) -> str:
        """Run one of apt's programs in `debs/`; raises `ToolchainError` with what it complained."""
        path = self._program(program)
        if path is None:
            raise ToolchainError(f"`{program}` is not on PATH")
        private = () if program == "dpkg-deb" else ("-c", str(self._configuration))
        done = self._asker.processes.run(
            [path, *private, *arguments],
            cwd=self._folder / "debs",
            env={**self._asker.environ, "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"},
            on_tick=on_tick,
        )
        if not done.ok:
            lines = done.stderr.decode("utf-8", "replace").splitlines()
            errors = [line[2:].strip() for line in lines if line.startswith("E:")] or lines[-3:]
            raise ToolchainError(
                f"`{program} {arguments[0]}` failed: {'; '.join(errors[:3])}",
                hint="see whether `apt-get update` works on this machine",
            )
        return done.stdout.decode("utf-8", "replace")

    def update(self, on_tick: Callable[[], None]) -> None:
        """Fetch the package lists of the machine's own sources."""
        self.run("apt-get", "update", on_tick=on_tick)

    def choose(self, spec: RustSpec, facts: RustFacts) -> Offer:
        """The offer that fits and that `facts.preferred` names first, else the newest."""
        names = rustc_names(self.run("apt-cache", "pkgnames", "rustc"))
        if not names:
            raise ToolchainError("the package sources of this machine have no rustc")
        sources = [source_name(name) for name in names]
        found = offers(self.run("apt-cache", "madison", *names, *sources))
        fitting = [
            offer
            for offer in found
            if offer.release
            and spec.matches(offer.release)
            and facts.builtins_in_tree.holds(offer.release)
        ]
        if not fitting:
            have = ", ".join(f"{o.rustc} {o.release}" for o in found) or "none with its sources"
            raise ToolchainError(f"no package is a rustc `{spec}` that can build core: {have}")
        best = spec.best(facts.preferred)
        newest = max(fitting, key=lambda o: [int(n) for n in o.release.split(".")])
        preferred = [offer for offer in fitting if offer.release == best]
        return (preferred or [newest])[0]

    def plan(self, offer: Offer, facts: RustFacts) -> tuple[Package, ...]:
        """The packages to fetch for `offer`: with the LLVM that it is linked with."""
        roots = [f"{offer.rustc}={offer.version}", f"{offer.source}={offer.version}"]
        release = facts.release(offer.release)
        major = llvm_major(self._planned(roots), release.llvm if release else None)
        if major is None:
            raise ToolchainError(f"it is not known which LLVM {offer.rustc} {offer.version} has")
        requests = self._planned([*roots, f"llvm-{major}"])
        known = packages(self.run("apt-cache", "show", *requests))
        return runtime_closure((offer.rustc, offer.source, f"llvm-{major}"), known)

    def download(
        self, wanted: tuple[Package, ...], on_progress: Callable[[int], None]
    ) -> tuple[Path, ...]:
        """Fetch the packages' files, which apt checks; in the order of `wanted`."""
        folder = self._folder / "debs"
        self.run(
            "apt-get",
            "download",
            *(package.request for package in wanted),
            on_tick=lambda: on_progress(folder_size(folder)),
        )
        debs = []
        for package in wanted:
            found = list(folder.glob(f"{package.name}_*_{package.architecture}.deb"))
            if len(found) != 1:
                raise ToolchainError(f"`apt-get download` did not fetch `{package.request}`")
            debs.append(found[0])
        return tuple(debs)

    def _planned(self, requests: list[str]) -> tuple[str, ...]:
        options = ("install", "--print-uris", "-y", "--no-install-recommends")
        return planned(self.run("apt-get", *options, *requests))


def _checked(deb: Path, package: Package) -> FetchedFile:
    with open(deb, "rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    if sha256 != package.sha256:
        raise ToolchainError(
            f"`{deb.name}` has sha256 {sha256}, but the package list says {package.sha256}",
            hint="a mirror or proxy serves a damaged file: try again later",
        )
    return FetchedFile(deb.name, sha256, deb.stat().st_size, package.request)


def _user() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return "root"
