"""Two archs of one kernel may need two compilers; its libraries are compiled by both."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from oxide_build.analysis.actions import ActionGraph
from oxide_build.analysis.analyze import analyze, toolchain_id
from oxide_build.analysis.configure import configure
from oxide_build.analysis.rule_set import RuleSet
from oxide_build.cli.rule_files import builtin_rule_files, rule_reader
from oxide_build.load.files import WorkspaceFiles
from oxide_build.load.graph import load_graph
from oxide_build.load.workspace_file import load_workspace
from oxide_build.model.arch import ArchRequest
from oxide_build.model.digest import Digest
from oxide_build.model.label import Pattern
from oxide_build.model.toolchain import Toolchain, ToolTree

BUILD = """
[[rust_library]]
name = "deep"
srcs = ["deep.rs"]
[[rust_library]]
name = "near"
srcs = ["near.rs"]
deps = [":deep"]
[[rust_kernel]]
name = "one"
srcs = ["one.rs"]
deps = [":near"]
[[rust_kernel]]
name = "two"
srcs = ["two.rs"]
deps = [":near"]
"""


def tree(name: str, content: str) -> ToolTree:
    digest = Digest.of(content.encode())
    return ToolTree(name=name, mount=f"toolchain/{name}", digest=digest, root="/nowhere")


RUSTC = Toolchain(
    kind="rust",
    version="1.99.0",
    spec="1.99.0",
    provider="system",
    trees={name: tree(name, "a") for name in ("rustc", "rust-src", "llvm")},
    tools={n: n for n in ("rustc", "llvm-link", "llvm-dis", "llvm-as", "opt", "llc")},
    archs=("sm_90",),
    facts={
        "core_edition": "2024",
        "core_root": "core/lib.rs",
        "builtins_edition": "2024",
        "builtins_root": "builtins/lib.rs",
        "target_cpu_is_modifier": True,
        "llvm": "23.1.0",
    },
)
OLD_RUSTC = replace(
    RUSTC, version="1.96.0", spec="1.96.0", trees={n: tree(n, "b") for n in RUSTC.trees}
)
PTXAS = Toolchain(
    kind="cuda",
    version="13.0.88",
    spec="13.0.88",
    provider="system",
    trees={"ptxas": tree("ptxas", "c")},
    tools={"ptxas": "bin/ptxas"},
    archs=("sm_90",),
    facts={},
)


def graph_of(root: Path, *archs: str, old: str) -> ActionGraph:
    (root / "oxide.toml").write_text('[workspace]\nname = "w"\n')
    (root / "BUILD.toml").write_text(BUILD)
    for name in ("deep", "near", "one", "two"):
        (root / f"{name}.rs").write_text("#![no_std]\n")
    files = WorkspaceFiles(root)
    rules = RuleSet.load(builtin_rule_files(), (), rule_reader(files))
    graph = load_graph(files, load_workspace(root), rules.schemas, [Pattern.parse("//...")])
    requests = tuple(ArchRequest.parse(arch) for arch in archs)
    configurations = configure(graph, rules.schemas, lambda _: requests, frozenset())

    def toolchain_for(kind: str, request: ArchRequest | None) -> Toolchain:
        if kind == "cuda":
            return PTXAS
        return OLD_RUSTC if request is not None and str(request.arch) == old else RUSTC

    return analyze(
        configurations, graph.requested, rules, toolchain_for, lambda *_: (), lambda _: None
    )


def test_each_library_is_compiled_once_by_each_compiler(tmp_path: Path) -> None:
    graph = graph_of(tmp_path, "sm_61", "sm_90", "sm_100", old="sm_61")
    compiled: dict[str, list[str]] = {}
    for action in graph.actions:
        if action.stage == "compile":
            crate = action.outputs[0].rpartition("/lib")[2].removesuffix(".rmeta")
            compiled.setdefault(crate, []).append(action.tools[0][0])
    both = sorted([toolchain_id(RUSTC), toolchain_id(OLD_RUSTC)])
    assert {crate: sorted(ids) for crate, ids in compiled.items()} == dict.fromkeys(
        ("deep", "near", "one", "two"), both
    )


def test_no_action_mixes_what_two_compilers_made(tmp_path: Path) -> None:
    graph = graph_of(tmp_path, "sm_61", "sm_90", old="sm_61")
    ids = (toolchain_id(RUSTC), toolchain_id(OLD_RUSTC))
    for action in graph.actions:
        named = {name for name in ids for path in action.inputs if name in path}
        assert len(named) <= 1
        assert {name for name, _ in action.tools} & set(ids) <= named or not named


def test_an_arch_with_another_compiler_changes_no_action_of_the_others(tmp_path: Path) -> None:
    alone = graph_of(tmp_path, "sm_90", old="sm_100").actions
    assert set(alone) < set(graph_of(tmp_path, "sm_90", "sm_100", old="sm_100").actions)
