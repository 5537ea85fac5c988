"""Which toolchains a command uses for each arch."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from oxide_build.cli.toolchain_source import ToolchainSource, host
from oxide_build.content import content_root
from oxide_build.errors import ToolchainError
from oxide_build.host.process import ProcessGroup
from oxide_build.load.files import WorkspaceFiles
from oxide_build.model.arch import Arch, ArchRequest
from oxide_build.model.toolchain import Toolchain
from oxide_build.model.workspace import ToolchainRequirements
from oxide_build.provision.reporter import FetchReporter
from oxide_build.resolution.candidates import (
    cuda_candidates,
    probed_cuda,
    probed_rust,
    rust_candidates,
)
from oxide_build.resolution.case import Case, Deployment
from oxide_build.resolution.facts import Facts
from oxide_build.resolution.lock import LOCK_FILE, Lock, LockedToolchain, locked
from oxide_build.resolution.predicates import exclusions
from oxide_build.resolution.resolver import Choice, Refusal, Requirements, resolve
from oxide_build.resolution.versions import CudaSpec, RustSpec

_WHO = {"rust": "rustc", "cuda": "ptxas"}

# A compiler and an assembler that fit together.
Pair = tuple[Toolchain, Toolchain]


class Toolchains:
    """Gives each (kind, arch) its toolchain: the preferred one wherever it fits, another one of
    those that the workspace allows where it does not, and a reason where none does."""

    def __init__(
        self,
        requirements: ToolchainRequirements,
        store: Path,
        processes: ProcessGroup,
        *,
        offline: bool,
        reporter: FetchReporter,
        lock: Lock | None = None,
        may_add: bool = False,
        min_driver: str | None = None,
        gpus: Sequence[str] = (),
    ) -> None:
        self.source = ToolchainSource(
            requirements,
            store,
            processes,
            facts=lambda: self.facts,
            offline=offline,
            reporter=reporter,
            lock=lock,
            may_add=may_add,
        )
        self._min_driver = min_driver
        self._gpus = gpus
        self._pairs: dict[ArchRequest, Pair] = {}

    @cached_property
    def facts(self) -> Facts:
        """The facts that come with the tool, read when first needed."""
        return load_facts()

    @cached_property
    def _deployment(self) -> Deployment:
        floor = self._min_driver
        return Deployment(driver=None if floor is None else self.facts.drivers.of(floor))

    def preferred(self, kind: str) -> Toolchain:
        """The one that serves whatever no arch says otherwise of."""
        return self.source.preferred(kind)

    def for_request(self, kind: str, request: ArchRequest | None) -> Toolchain:
        """The toolchain of `kind`; raises `ToolchainError` where it does not know the arch.

        The check matters: rustc and llc take an unknown arch with a warning, exit 0 and write PTX
        that no assembler accepts.
        """
        if request is None:
            return self.preferred(kind)
        pair = self._pairs.get(request)
        toolchain = self.preferred(kind) if pair is None else pair[kind == "cuda"]
        if str(request.arch) not in toolchain.archs:
            raise _unknown_arch(toolchain, request.arch)
        return toolchain

    def check(self, request: ArchRequest) -> None:
        """Choose what `request` is built with, before anything is compiled.

        Tools are judged by what they said of themselves, not by what is tabulated. Raises
        `ToolchainError` where nothing that the workspace allows could build it, assemble it or
        make it load on the deployment floor.
        """
        if request in self._pairs:
            return
        if self.source.lock is not None:
            pair = (
                self.source.locked_for("rust", request.arch),
                self.source.locked_for("cuda", request.arch),
            )
        else:
            pair = (self.preferred("rust"), self.preferred("cuda"))
        found = self._problem(request, pair)
        if found is not None:
            pair = self._another(request, pair, found)
        self._pairs[request] = pair

    def check_gpus(self, requests: Sequence[ArchRequest]) -> None:
        """Raise `ToolchainError` where a GPU of the deployment can run none of `requests`.

        They were checked before. Raises `UsageError` for a GPU that nobody knows.
        """
        for name in self._gpus:
            gpu = self.facts.gpus.find(name)
            deployment = replace(self._deployment, gpu=gpu)
            cases = (self._case(r, self._pairs[r], deployment) for r in requests)
            found = [next(exclusions(case), None) for case in cases]
            reasons = [each.sentence for each in found if each is not None]
            if len(reasons) < len(found):
                continue
            raise ToolchainError(
                f"nothing of it runs on {name} ({gpu}), which `[deploy]` names: "
                + "; ".join(dict.fromkeys(reasons)),
                hint=f"add `{gpu}` to `archs`, or take {name} out of `gpus`",
            )

    def known_archs(self) -> Iterable[Arch]:
        """Archs that both preferred tools accept; resolved only if somebody iterates."""
        cuda = set(self.preferred("cuda").archs)
        for name in self.preferred("rust").archs:
            if name in cuda:
                yield Arch.parse(name)

    def used(self) -> tuple[Toolchain, ...]:
        """Those that were asked for so far."""
        return self.source.used()

    def pair(self, request: ArchRequest) -> Pair:
        """What `check` chose for `request`."""
        return self._pairs[request]

    def requirements(self, request: ArchRequest) -> Requirements:
        """What the workspace asks for, and where results must load."""
        asked = self.source.requirements
        return Requirements(
            rust=RustSpec.parse(asked.rust),
            cuda=CudaSpec.parse(asked.cuda),
            archs=(request,),
            deployment=self._deployment,
        )

    def lock_entries(self) -> list[LockedToolchain]:
        """What pins the preferred toolchains, and those that archs need instead, as checked."""
        entries = []
        for index, kind in enumerate(("rust", "cuda")):
            served: dict[str, tuple[Toolchain, list[str]]] = {}
            for request, pair in self._pairs.items():
                archs = served.setdefault(pair[index].version, (pair[index], []))[1]
                archs.append(str(request.arch))
            usual = self.preferred(kind)
            served.pop(usual.version, None)
            for toolchain, archs in [(usual, []), *served.values()]:
                entries.append(
                    locked(
                        toolchain,
                        requirement=getattr(self.source.requirements, kind),
                        host=host(),
                        archs=sorted(set(archs)),
                        packages=self.source.packages(toolchain),
                    )
                )
        return entries

    def _problem(self, request: ArchRequest, pair: Pair) -> ToolchainError | None:
        for toolchain in pair:
            if str(request.arch) not in toolchain.archs:
                return _unknown_arch(toolchain, request.arch)
        found = next(exclusions(self._case(request, pair, self._deployment)), None)
        return None if found is None else ToolchainError(found.sentence)

    def _case(self, request: ArchRequest, pair: Pair, deployment: Deployment) -> Case:
        return Case(
            request=request,
            rust=probed_rust(pair[0]),
            cuda=probed_cuda(pair[1]),
            deployment=deployment,
            ptx=None,
            facts=self.facts,
        )

    def _another(self, request: ArchRequest, pair: Pair, problem: ToolchainError) -> Pair:
        """A pair that fits where the preferred one does not: what is here is tried first."""
        here = (probed_rust(pair[0]), probed_cuda(pair[1]))
        wanted = self.requirements(request)
        (verdict,) = resolve(
            wanted,
            (here[0], *rust_candidates(self.facts, wanted.rust)),
            (here[1], *cuda_candidates(self.facts, wanted.cuda)),
            self.facts,
        ).verdicts
        if isinstance(verdict, Refusal):
            # The last one is to drop the arch. Where that is the only one it is likely misspelt.
            changes = ", or ".join(verdict.changes)
            only = len(verdict.changes) == 1 and problem.hint
            raise ToolchainError(problem.message, hint=problem.hint if only else changes)
        chosen = self._obtained(verdict, pair, here, problem.message)
        again = self._problem(request, chosen)
        if again is not None:
            raise ToolchainError(
                again.message,
                hint="`toolchains/` says otherwise: `oxide toolchain facts --check` shows where",
            )
        return chosen

    def _obtained(self, choice: Choice, pair: Pair, here: tuple[object, object], why: str) -> Pair:
        rust, cuda = pair
        if choice.rust is not here[0]:
            rust = self.source.exactly("rust", choice.rust.spec, why)
        if choice.cuda is not here[1]:
            cuda = self.source.exactly("cuda", choice.cuda.version, why)
        return rust, cuda


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
