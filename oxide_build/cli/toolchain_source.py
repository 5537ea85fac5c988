"""Where the toolchains of one command come from: requirements, the lock, and the providers."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from pathlib import Path

from oxide_build.errors import ToolchainError
from oxide_build.host.process import ProcessGroup
from oxide_build.model.arch import Arch
from oxide_build.model.toolchain import Toolchain
from oxide_build.model.workspace import ToolchainRequirements
from oxide_build.provision.providers import provide, standard_providers
from oxide_build.provision.reporter import FetchReporter
from oxide_build.provision.store_use import StoreUse
from oxide_build.provision.tool_store import ToolStore
from oxide_build.resolution.facts import Facts
from oxide_build.resolution.lock import LOCK_FILE, Lock, LockedToolchain
from oxide_build.resolution.versions import parse_spec


class ToolchainSource:
    """Gets toolchains by kind; each is looked for once in a command.

    With a lock nothing but what it names is given out, and what is found is compared with it.
    `may_add` is for who writes the lock: what it does not name yet is found as without one.
    """

    def __init__(
        self,
        requirements: ToolchainRequirements,
        store: Path,
        processes: ProcessGroup,
        *,
        facts: Callable[[], Facts],
        offline: bool,
        reporter: FetchReporter,
        lock: Lock | None = None,
        may_add: bool = False,
    ) -> None:
        self.requirements = requirements
        self.lock = lock
        self._may_add = may_add
        self._store = ToolStore(store)
        self._processes = processes
        self._facts = facts
        self._offline = offline
        self._reporter = reporter
        self._found: dict[tuple[str, str], Toolchain] = {}

    def preferred(self, kind: str) -> Toolchain:
        """What the workspace asks for; raises `ToolchainError` where there is none."""
        entry = None if self.lock is None else self.lock.find(kind, host(), None)
        return self._get(kind, entry, getattr(self.requirements, kind))

    def locked_for(self, kind: str, arch: Arch) -> Toolchain:
        """What the lock names for `arch`, which is the preferred one if it has no other."""
        entry = None if self.lock is None else self.lock.find(kind, host(), str(arch))
        return self._get(kind, entry, getattr(self.requirements, kind))

    def exactly(self, kind: str, spec: str, why: str) -> Toolchain:
        """Another one than the preferred, where an arch needs it: `why` says so in errors.

        Raises `ToolchainError` where there is a lock: it would have named it.
        """
        if self.lock is not None and not self._may_add:
            raise ToolchainError(
                f"{why}, and `{LOCK_FILE}` names no other for it",
                hint=f"run `oxide toolchain lock`: {kind} {spec} does it",
            )
        try:
            return self._get(kind, None, spec)
        except ToolchainError as error:
            raise ToolchainError(
                f"{why}; {kind} {spec} does it, but {error.message}", hint=error.hint
            ) from error

    def allowed(self, kind: str, arch: Arch) -> tuple[str, ...]:
        """The requirements that a toolchain for `arch` may meet: the lock's, if there is one."""
        entry = None if self.lock is None else self.lock.find(kind, host(), str(arch))
        return (getattr(self.requirements, kind) if entry is None else entry.spec,)

    def here(self, kind: str, arch: Arch) -> Toolchain | None:
        """What serves `arch` if it is on this machine; for a source that is offline."""
        try:
            return self.locked_for(kind, arch)
        except ToolchainError:
            return None

    def here_exactly(self, kind: str, spec: str) -> Toolchain | None:
        """The toolchain of that very version if it is on this machine."""
        try:
            return self._get(kind, None, spec)
        except ToolchainError:
            return None

    def used(self) -> tuple[Toolchain, ...]:
        """Those that were asked for so far."""
        return tuple(self._found.values())

    def packages(self, toolchain: Toolchain) -> dict[str, str]:
        """Name -> sha256 of every file that was downloaded for it; {} where it was found here."""
        records = StoreUse(self._store).records_of(toolchain)
        return {file.name: file.sha256 for record in records for file in record.files}

    def _get(self, kind: str, entry: LockedToolchain | None, requirement: str) -> Toolchain:
        wanted = requirement if entry is None else entry.spec
        if (kind, wanted) in self._found:
            return self._found[kind, wanted]
        if entry is not None:
            entry.check_fresh(getattr(self.requirements, kind))
        providers = standard_providers(
            self.requirements.providers if entry is None else (entry.provider,),
            store_root=self._store.root,
            environ=os.environ,
            processes=self._processes,
            facts=self._facts(),
            archives=self.requirements.archives,
            host=host(),
        )
        found = provide(
            kind,
            parse_spec(kind, wanted),
            providers,
            offline=self._offline,
            reporter=self._reporter,
        )
        if entry is not None:
            entry.check_same(found, self.packages(found))
        StoreUse(self._store).note(found)
        self._found[kind, wanted] = found
        return found


def host() -> str:
    """The kind of machine that tools run on: "x86_64-linux"."""
    return f"{platform.machine()}-{platform.system()}".lower()
