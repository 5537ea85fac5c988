"""The toolchains of one command: resolved when first asked for, then remembered."""

from __future__ import annotations

import difflib
import os
import platform
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

from oxide_build.content import content_root
from oxide_build.errors import ToolchainError
from oxide_build.host.process import ProcessGroup
from oxide_build.load.files import WorkspaceFiles
from oxide_build.model.arch import Arch, ArchRequest
from oxide_build.model.toolchain import Toolchain
from oxide_build.model.workspace import ToolchainRequirements
from oxide_build.provision.providers import provide, standard_providers
from oxide_build.provision.reporter import FetchReporter
from oxide_build.provision.store_use import StoreUse
from oxide_build.provision.tool_store import ToolStore
from oxide_build.resolution.candidates import probed_cuda, probed_rust
from oxide_build.resolution.case import Case, Deployment
from oxide_build.resolution.facts import Facts
from oxide_build.resolution.lock import LOCK_FILE, Lock
from oxide_build.resolution.predicates import exclusions
from oxide_build.resolution.resolver import Requirements, changes
from oxide_build.resolution.versions import CudaSpec, RustSpec, parse_spec

_WHO = {"rust": "rustc", "cuda": "ptxas"}


class Toolchains:
    """Gives each (kind, arch) its toolchain; today one toolchain a kind serves all archs."""

    def __init__(
        self,
        requirements: ToolchainRequirements,
        store: Path,
        processes: ProcessGroup,
        *,
        offline: bool,
        reporter: FetchReporter,
        lock: Lock | None = None,
        min_driver: str | None = None,
    ) -> None:
        self._requirements = requirements
        self._store = store
        self._processes = processes
        self._offline = offline
        self._reporter = reporter
        self._lock = lock
        self._min_driver = min_driver
        self._found: dict[str, Toolchain] = {}
        self._checked: set[ArchRequest] = set()

    @cached_property
    def _facts(self) -> Facts:
        return load_facts()

    def for_arch(self, kind: str, arch: Arch | None) -> Toolchain:
        """The toolchain of `kind`; raises `ToolchainError` where it does not know `arch`.

        The check matters: rustc and llc take an unknown arch with a warning, exit 0 and write
        PTX that no assembler accepts.
        """
        toolchain = self._get(kind)
        if arch is not None and str(arch) not in toolchain.archs:
            raise _unknown_arch(toolchain, arch)
        return toolchain

    def check(self, request: ArchRequest) -> None:
        """Raise `ToolchainError` where what is built for `request` could not be assembled or
        would not load on the deployment floor; nothing has been compiled then.

        It is asked with what the tools said of themselves, not with what is tabulated.
        """
        if request in self._checked:
            return
        rust, cuda = self.for_arch("rust", request.arch), self.for_arch("cuda", request.arch)
        facts = self._facts
        deployment = Deployment(
            driver=None if self._min_driver is None else facts.drivers.of(self._min_driver)
        )
        case = Case(
            request=request,
            rust=probed_rust(rust),
            cuda=probed_cuda(cuda),
            deployment=deployment,
            ptx=None,
            facts=facts,
        )
        found = next(exclusions(case, subjects=frozenset({"cuda", "driver"})), None)
        if found is not None:
            wanted = Requirements(
                rust=RustSpec.parse(self._requirements.rust),
                cuda=CudaSpec.parse(self._requirements.cuda),
                archs=(request,),
                deployment=deployment,
            )
            raise ToolchainError(found.sentence, hint=", or ".join(changes(wanted, request, facts)))
        self._checked.add(request)

    def known_archs(self) -> Iterable[Arch]:
        """Archs that both rustc and ptxas accept; resolved only if somebody iterates."""
        cuda = set(self._get("cuda").archs)
        for name in self._get("rust").archs:
            if name in cuda:
                yield Arch.parse(name)

    def used(self) -> tuple[Toolchain, ...]:
        """Those that were asked for so far."""
        return tuple(self._found.values())

    def _get(self, kind: str) -> Toolchain:
        if kind not in self._found:
            requirement = getattr(self._requirements, kind)
            entry = None if self._lock is None else self._lock.find(kind, host())
            if entry is not None:
                entry.check_fresh(requirement)
            providers = standard_providers(
                self._requirements.providers if entry is None else (entry.provider,),
                store_root=self._store,
                environ=os.environ,
                processes=self._processes,
                facts=self._facts,
            )
            found = provide(
                kind,
                parse_spec(kind, entry.spec if entry else requirement),
                providers,
                offline=self._offline,
                reporter=self._reporter,
            )
            if entry is not None:
                entry.check_same(found)
            StoreUse(ToolStore(self._store)).note(found)
            self._found[kind] = found
        return self._found[kind]


def host() -> str:
    """The kind of machine that tools run on: "x86_64-linux"."""
    return f"{platform.machine()}-{platform.system()}".lower()


def read_lock(files: WorkspaceFiles) -> Lock | None:
    """The workspace's `oxide.lock`, None where there is none; raises `DefinitionError`."""
    return Lock.parse(files.read(LOCK_FILE)) if files.exists(LOCK_FILE) else None


def load_facts() -> Facts:
    """The facts that come with the tool. Takes about 2 ms."""
    return Facts.from_toml(
        {file.name: file.read_bytes() for file in content_root("toolchains").glob("*.toml")}
    )


def _unknown_arch(toolchain: Toolchain, arch: Arch) -> ToolchainError:
    name = _WHO[toolchain.kind]
    near = difflib.get_close_matches(str(arch), toolchain.archs, n=3, cutoff=0.5)
    known = ", ".join(toolchain.archs)
    hint = f"it knows {known}"
    if near:
        hint = f"did you mean {' or '.join(near)}? {hint}"
    return ToolchainError(
        f"{name} {toolchain.version} ({toolchain.provider}) does not know the arch `{arch}`",
        hint=f"{hint}; another `{toolchain.kind}` in `[toolchain]` of oxide.toml may know more",
    )
