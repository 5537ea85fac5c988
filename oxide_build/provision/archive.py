"""The `archive` provider: toolchains that `oxide.toml` names by address and sha256."""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from oxide_build.errors import ToolchainError
from oxide_build.model.archive_source import ArchiveSource
from oxide_build.model.label import shown
from oxide_build.model.toolchain import Toolchain
from oxide_build.provision.asker import Asker
from oxide_build.provision.cuda_candidate import CudaCandidates, CudaPlace
from oxide_build.provision.cuda_probe import probe_ptxas
from oxide_build.provision.provider import Found, Missing, Refused
from oxide_build.provision.reporter import FetchReporter
from oxide_build.provision.rust_candidate import Candidates
from oxide_build.provision.rust_toolchain import Place, ask_llvm, ask_rustc, spec_of
from oxide_build.provision.rustup_install import layout_of
from oxide_build.provision.tool_store import (
    FetchedFile,
    Install,
    InstallRecord,
    ToolStore,
    folder_size,
)
from oxide_build.resolution.facts import Facts
from oxide_build.resolution.versions import CudaSpec, RustSpec, Spec


@dataclass(frozen=True, slots=True)
class ArchiveProvider:
    """Serves what a `[[toolchain.archive]]` claims to be, for machines like this one.

    `host` is what this machine is: "x86_64-linux". Of several entries that fit the first counts.
    """

    store: ToolStore
    asker: Asker
    facts: Facts
    archives: tuple[ArchiveSource, ...]
    host: str

    name: ClassVar[str] = "archive"

    @property
    def kinds(self) -> tuple[str, ...]:
        """Those that there are entries for: of others there is nothing to say."""
        return tuple(dict.fromkeys(entry.kind for entry in self.archives))

    def find(self, spec: Spec) -> Found | Missing:
        """Look in our store for what the sha256 of the entry was unpacked to."""
        entry = self._entry(spec)
        if entry is None:
            return Missing(self._none(spec))
        reason = f"{shown(entry.url)} is not here yet"
        for install in self._installs(entry):
            found = self._look(entry, spec, install)
            if isinstance(found, Found):
                return found
            reason = found
        return Missing(reason, can_fetch=True)

    def fetch(self, spec: Spec, reporter: FetchReporter) -> Toolchain:
        """Download and unpack the entry's archive, and ask what is in it.

        Raises `Refused` where that is not what the entry says.
        """
        entry = self._entry(spec)
        if entry is None:
            raise ToolchainError(self._none(spec))
        # By sha256 and not by kind: the same file may hold both, and is downloaded to one place.
        with self.store.exclusive(f"archive-{entry.sha256}"):
            known = [install.record for install in self._installs(entry)]
            for record in known:
                if entry.version not in (record.version, record.spec):
                    raise _disagreement(entry, record.spec)
            if not known:
                self._install(entry, reporter)
            again = self.find(spec)
        if isinstance(again, Found):
            return again.toolchain
        raise Refused(f"{shown(entry.file_name)} was unpacked, but {again.reason}")

    def _install(self, entry: ArchiveSource, reporter: FetchReporter) -> None:
        # Imported late: they cost 60 ms, and a warm build downloads nothing.
        from oxide_build.provision.download import Wanted, download
        from oxide_build.provision.unpack import unpack

        what = f"{entry.file_name} (archive)"
        reporter.begin(what)
        part = self.store.downloads / f"{entry.sha256}.part"
        size = download(
            Wanted(url=entry.url, sha256=entry.sha256),
            part,
            lambda done, total: reporter.progress(what, done, total),
        )
        with self.store.staging() as folder:
            tree = folder / "tree"
            unpack(part, tree, name=entry.file_name, strip_prefix=entry.strip_prefix)
            version, spec = self._asked(entry, tree, self.asker.forgetting(folder / "memory"))
            record = InstallRecord(
                kind=entry.kind,
                provider=self.name,
                version=version,
                spec=spec,
                files=(FetchedFile(entry.file_name, entry.sha256, size, entry.url),),
                size_bytes=folder_size(tree),
                details={"sha256": entry.sha256, "strip_prefix": entry.strip_prefix},
            )
            self.store.publish(tree, record, f"{spec}-{_identity(entry)}")
        # Kept until now: who was killed while unpacking, or had to correct `strip_prefix` or
        # `version`, need not download again.
        part.unlink(missing_ok=True)
        reporter.done(what, size, entry.sha256)

    def _asked(self, entry: ArchiveSource, tree: Path, asker: Asker) -> tuple[str, str]:
        """The version and the spec that the tools say; raises `Refused` if they are others."""
        try:
            if entry.kind == CudaSpec.kind:
                version = spec = self._ptxas_version(entry, tree, asker)
            else:
                version, spec = self._rustc_version(tree, asker)
        except Refused:
            raise
        except ToolchainError as error:
            raise Refused(f"{shown(entry.file_name)}: {error.message}", hint=error.hint) from error
        if entry.version not in (version, spec):
            raise _disagreement(entry, spec)
        return version, spec

    def _ptxas_version(self, entry: ArchiveSource, tree: Path, asker: Asker) -> str:
        if not (tree / "bin/ptxas").is_file():
            others = sorted(path.parent.parent.relative_to(tree) for path in tree.rglob("ptxas"))
            folder = "/".join(part for part in (entry.strip_prefix, *map(str, others[:1])) if part)
            raise ToolchainError(
                "it has no `bin/ptxas`",
                hint=f'write `strip_prefix = "{folder}"`'
                if others
                else "`strip_prefix` must name the folder that `bin` is in",
            )
        return probe_ptxas(tree / "bin/ptxas", asker).version

    def _rustc_version(self, tree: Path, asker: Asker) -> tuple[str, str]:
        layout = layout_of(tree)
        missing = layout.lacks(self.facts.rust)
        if missing:
            raise ToolchainError(
                f"it lacks {' and '.join(missing)}",
                hint="pack the folder of a toolchain that rustup installed with the components "
                "`rust-src` and `llvm-tools`; `strip_prefix` names the folder that `bin` is in",
            )
        probe = ask_rustc(layout, asker)
        ask_llvm(layout, asker)
        return probe.release, spec_of(probe)

    def _look(self, entry: ArchiveSource, spec: Spec, install: Install) -> Found | str:
        record = install.record
        if entry.version not in (record.version, record.spec):
            return _disagreement(entry, record.spec).message
        origin = f"`{install.tree}`"
        if isinstance(spec, RustSpec):
            places = (Place(layout_of(install.tree), origin),)
            return Candidates(self.name, places, self.facts.rust, self.asker).find(spec)
        toolkits = (CudaPlace(install.tree, origin),)
        return CudaCandidates(self.name, toolkits, self.facts.cuda, self.asker).find(spec)

    def _installs(self, entry: ArchiveSource) -> Iterator[Install]:
        wanted = {"sha256": entry.sha256, "strip_prefix": entry.strip_prefix}
        for install in self.store.installs(entry.kind, self.name):
            if install.record.details == wanted:
                yield install

    def _entry(self, spec: Spec) -> ArchiveSource | None:
        return next((e for e in self._mine(spec.kind) if _claims(e, spec)), None)

    def _mine(self, kind: str) -> list[ArchiveSource]:
        return [e for e in self.archives if e.kind == kind and e.host in ("", self.host)]

    def _none(self, spec: Spec) -> str:
        """Why no entry serves `spec`."""
        mine = ", ".join(entry.version for entry in self._mine(spec.kind))
        if mine:
            return f"`[[toolchain.archive]]` has {mine}"
        hosts = sorted({entry.host for entry in self.archives if entry.kind == spec.kind})
        return f"`[[toolchain.archive]]` has it for {', '.join(hosts)}, not for {self.host}"


def _claims(entry: ArchiveSource, spec: Spec) -> bool:
    """Whether the version that `entry` claims is what `spec` asks for."""
    if isinstance(spec, CudaSpec):
        return spec.matches(entry.version)
    channel, _, date = entry.version.partition("-")
    if channel not in ("nightly", "beta"):
        return spec.matches(entry.version)
    night = datetime.date.fromisoformat(date)
    return spec.channel == channel and spec.date in (None, night)


def _disagreement(entry: ArchiveSource, says: str) -> Refused:
    return Refused(
        f"{shown(entry.file_name)} holds {entry.kind} {says}, but its `[[toolchain.archive]]` says "
        f"{entry.version}",
        hint=f'write `version = "{says}"`, or the address and sha256 of {entry.version}',
    )


def _identity(entry: ArchiveSource) -> str:
    """What tells installs of one version apart: the same archive may be unpacked in two ways."""
    prefix = entry.strip_prefix
    folder = f"-{hashlib.sha256(prefix.encode()).hexdigest()[:8]}" if prefix else ""
    return entry.sha256[:16] + folder
