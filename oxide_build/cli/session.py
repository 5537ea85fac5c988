"""One command's work on one workspace: wires the phases together."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from oxide_build.analysis.actions import ActionGraph
from oxide_build.analysis.analyze import analyze, toolchain_id
from oxide_build.analysis.configure import configure
from oxide_build.analysis.rule_set import RuleSet
from oxide_build.cli.crate_source import CrateSource
from oxide_build.cli.folders import Folders
from oxide_build.cli.prepared import Prepared, UsedToolchain, file_states
from oxide_build.cli.request import Request
from oxide_build.cli.rule_files import builtin_rule_files, rule_reader
from oxide_build.cli.toolchains import Toolchains, read_lock
from oxide_build.device.gpus import native_arch
from oxide_build.errors import (
    ActionFailed,
    DefinitionError,
    DeviceError,
    ToolchainError,
    UsageError,
)
from oxide_build.execution.output_tree import OutputTree
from oxide_build.execution.steps import steps_digest
from oxide_build.host.process import ProcessGroup
from oxide_build.load.files import BUILD_FILE, WorkspaceFiles
from oxide_build.load.graph import TargetGraph, load_graph
from oxide_build.load.workspace_file import find_workspace, read_workspace
from oxide_build.model.arch import ArchRequest
from oxide_build.model.digest import Digest
from oxide_build.model.label import Pattern
from oxide_build.model.target import Target
from oxide_build.model.toolchain import Toolchain
from oxide_build.model.workspace import Workspace
from oxide_build.provision.reporter import FetchReporter
from oxide_build.resolution.archs import expand_archs, with_min_ptx
from oxide_build.resolution.lock import Lock
from oxide_build.store.blobs import BlobStore
from oxide_build.store.file_states import FileStates
from oxide_build.store.keys import KeyContext


@dataclass(frozen=True, kw_only=True)
class Session:
    """A loaded workspace with its rules, its target graph and the means to go on."""

    request: Request
    workspace: Workspace
    files: WorkspaceFiles
    rules: RuleSet
    graph: TargetGraph
    folders: Folders
    processes: ProcessGroup
    toolchains: Toolchains
    crates: CrateSource
    states: FileStates = field(compare=False)
    scanned: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = field(
        default_factory=dict, compare=False
    )

    def analyse(self) -> ActionGraph:
        """The actions behind the requested targets; resolves toolchains, and may fetch them."""
        configurations = configure(
            self.graph,
            self.rules.schemas,
            self.own_archs,
            frozenset(self.request.configs),
        )
        return analyze(
            configurations,
            self.graph.requested,
            self.rules,
            self.toolchains.for_request,
            self._scan,
            lambda lock: self.crates.of(lock, self.toolchains.preferred("rust")),
        )

    def prepare(self) -> Prepared:
        """The build, ready to run: analyses, and so may fetch toolchains."""
        graph = self.analyse()
        used = self.used()
        return Prepared(
            files=self.files,
            states=self.states,
            folders=self.folders,
            graph=graph,
            context=KeyContext(
                platform=f"{platform.system()}-{platform.machine()}".lower(),
                steps=steps_digest(),
                trees={
                    (toolchain_id(toolchain), name): tree
                    for toolchain in used
                    for name, tree in toolchain.trees.items()
                },
            ),
            names={
                (toolchain_id(toolchain), name): f"{toolchain.kind} {toolchain.version}"
                for toolchain in used
                for name in toolchain.trees
            },
            toolchains=tuple(
                UsedToolchain(kind=each.kind, version=each.version, provider=each.provider)
                for each in used
            ),
            cache=self.workspace.cache,
            asked={
                "patterns": list(self.request.patterns),
                "archs": list(self.request.archs),
                "configs": list(self.request.configs),
                "rust": self.request.rust,
                "cuda": self.request.cuda,
                "workspace": self.workspace.root,
            },
            gone=self._gone,
            choice=self.request.choice,
            jobs=self.request.jobs or os.cpu_count() or 1,
            keep_going=self.request.keep_going,
            processes=self.processes,
        )

    def used(self) -> tuple[Toolchain, ...]:
        """The toolchains and crates that the analysis asked for."""
        return (*self.toolchains.used(), *self.crates.used())

    def _gone(self, text: str) -> bool:
        """Whether a label of an earlier build is no target any more, as far as this one knows."""
        package, _, name = text.removeprefix("//").partition(":")
        names = self.graph.packages.get(package)
        if names is not None:
            return name not in names
        return not self.files.exists(f"{package}/{BUILD_FILE}" if package else BUILD_FILE)

    def own_archs(self, target: Target) -> tuple[ArchRequest, ...]:
        """The archs of a target whose rule builds for a list of its own; chooses their toolchains.

        Raises `OxideError` with the target's place for one that cannot be built.
        """
        requests = self.requests(target)
        with self._placed(target):
            for request in requests:
                self.toolchains.check(request)
            self.toolchains.check_gpus(requests)
        return requests

    def requests(self, target: Target) -> tuple[ArchRequest, ...]:
        """The archs that a target or the command line asks for; whether they fit is not asked."""
        with self._placed(target):
            requests = expand_archs(
                self.request.archs or target.archs, self.toolchains.known_archs(), native_arch
            )
            return with_min_ptx(requests, target.attrs.get("min_ptx"), self.toolchains.facts.arch)

    @contextmanager
    def _placed(self, target: Target) -> Iterator[None]:
        """Errors about the archs of `target` get its place, unless they are the command line's."""
        try:
            yield
        except (UsageError, DefinitionError, DeviceError, ToolchainError) as error:
            if self.request.archs:
                raise
            kept = (DeviceError, ToolchainError)
            wrapped = type(error) if isinstance(error, kept) else DefinitionError
            raise wrapped(
                f"{target.location}: `archs` of `{target.label}`: {error.message}", hint=error.hint
            ) from None

    def _scan(self, path: str, words: tuple[str, ...]) -> tuple[str, ...]:
        data = self.files.read(path, limit_bytes=None)
        # Which actions there are depends on what was seen here: they must not read anything else.
        if Digest.of(data) != self.states.require(path):
            raise ActionFailed(
                f"`{path}` changed while the build was running", hint="run the build again"
            )
        there = tuple(word for word in words if word.encode() in data)
        self.scanned[path] = (words, there)
        return there


def open_session(start: Path, request: Request, reporter: FetchReporter) -> Session:
    """Load the workspace around `start` and the targets that `request` names.

    Raises `OxideError` for whatever is wrong with them. Reads files, starts nothing.
    """
    root = find_workspace(start)
    files = WorkspaceFiles(root)
    workspace = read_workspace(files)
    for name in request.configs:
        if name not in workspace.configs:
            known = ", ".join(sorted(workspace.configs)) or "none"
            raise UsageError(f"there is no config `{name}` in oxide.toml; there are: {known}")
    workspace = _with_config_archs(workspace, request.configs)
    requirements = replace(
        workspace.toolchain,
        rust=request.rust or workspace.toolchain.rust,
        cuda=request.cuda or workspace.toolchain.cuda,
    )
    rules = RuleSet.load(builtin_rule_files(), workspace.rules, rule_reader(files))
    package = package_of(start, workspace)
    patterns = [Pattern.parse(text, package=package) for text in request.patterns]
    graph = load_graph(files, workspace, rules.schemas, patterns)
    folders = Folders.find()
    processes = ProcessGroup()
    return Session(
        request=request,
        workspace=workspace,
        files=files,
        rules=rules,
        graph=graph,
        folders=folders,
        processes=processes,
        toolchains=Toolchains(
            requirements,
            folders.store,
            processes,
            lock=_lock(request, files),
            may_add=request.lock is not None,
            min_driver=request.min_driver or workspace.min_driver,
            gpus=workspace.gpus,
            offline=request.offline,
            reporter=reporter,
        ),
        crates=CrateSource(
            files, folders.store, processes, offline=request.offline, reporter=reporter
        ),
        states=file_states(root, folders),
    )


def _lock(request: Request, files: WorkspaceFiles) -> Lock | None:
    if request.lock is not None:
        return request.lock
    return None if request.rust or request.cuda else read_lock(files)


def clean_outputs(start: Path) -> bool:
    """Remove `oxide-out` of the workspace around `start`; returns whether there was one."""
    root = find_workspace(start)
    folders = Folders.find()
    tree = OutputTree(root, BlobStore(folders.cache), file_states(root, folders))
    return tree.clean()


def _with_config_archs(workspace: Workspace, names: Sequence[str]) -> Workspace:
    for name in names:
        if workspace.configs[name].archs:
            workspace = replace(workspace, archs=workspace.configs[name].archs)
    return workspace


def package_of(start: Path, workspace: Workspace) -> str:
    """The package path of a folder of the workspace, from which relative patterns are meant."""
    relative = start.resolve().relative_to(Path(workspace.root).resolve()).as_posix()
    return "" if relative == "." else relative
