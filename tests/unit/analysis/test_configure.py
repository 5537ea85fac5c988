"""Which archs are analysed together, and what those without an arch see of the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from oxide_build.analysis.actions import ActionGraph
from oxide_build.analysis.analyze import analyze
from oxide_build.analysis.configure import Configuration, configure
from oxide_build.analysis.rule_set import RuleSet
from oxide_build.content import content_root
from oxide_build.errors import DefinitionError
from oxide_build.load.files import WorkspaceFiles
from oxide_build.load.graph import load_graph
from oxide_build.load.workspace_file import load_workspace
from oxide_build.model.arch import Arch, ArchRequest
from oxide_build.model.label import Pattern
from oxide_build.model.target import Target
from oxide_build.model.toolchain import Toolchain

# `many` builds for archs of its own and tells its word; `one` has none and takes words.
RULES = """
load("@oxide//prelude.bzl", "attr", "result", "rule")

def _many(ctx):
    return result(word = ctx.attrs.word, notes = {"archs": ",".join([a.name for a in ctx.archs])})

def _one(ctx):
    return result(notes = {"words": ",".join([dep.word for dep in ctx.attrs.deps])})

RULES = {
    "many": rule(_many, {"word": attr.string("Word.", mandatory = True)}, "Many.", per_arch = True),
    "one": rule(_one, {"deps": attr.label_list("Deps.", default = [])}, "One."),
}
"""
ONE = '[[one]]\nname = "o"\ndeps = [":m"]\n'


def read(module_id: str) -> str:
    if module_id == "//r.bzl":
        return RULES
    return (content_root("rules") / module_id.removeprefix("@oxide//")).read_text()


def own_archs(target: Target) -> tuple[ArchRequest, ...]:
    return tuple(ArchRequest.parse(text) for text in target.archs)


def no_toolchain(kind: str, arch: Arch | None) -> Toolchain:
    raise AssertionError(f"nobody asked for {kind}")


def run(root: Path, build: str) -> tuple[list[Configuration], ActionGraph]:
    (root / "oxide.toml").write_text('[workspace]\nname = "t"\nrules = ["//r.bzl"]\n')
    (root / "BUILD.toml").write_text(build)
    rules = RuleSet.load(["core.bzl"], ["//r.bzl"], read)
    graph = load_graph(
        WorkspaceFiles(root), load_workspace(root), rules.schemas, [Pattern.parse("//...")]
    )
    found = configure(graph, rules.schemas, own_archs, frozenset())
    return found, analyze(
        found, graph.requested, rules, no_toolchain, lambda path, words: (), lambda lock: None
    )


def many(word: str) -> str:
    return f'[[many]]\nname = "m"\narchs = ["80", "90", "100"]\n{word}\n'


def test_archs_that_see_the_same_are_analysed_once(tmp_path: Path) -> None:
    found, graph = run(tmp_path, many('word = "same"') + ONE)
    (kernel,) = [each for each in found if each.target.label.name == "m"]
    assert [str(arch) for arch in kernel.archs] == ["sm_80", "sm_90", "sm_100"]
    assert kernel.config == ""
    words = {str(label): notes.get("words") for label, notes in graph.notes.items()}
    assert words["//:o"] == "same"


def test_asking_for_one_arch_more_changes_no_other_configuration(tmp_path: Path) -> None:
    selected = many('[many.word]\n">=sm_90" = "new"\ndefault = "old"')
    before, _ = run(tmp_path, selected)
    after, _ = run(tmp_path, selected.replace('"100"]', '"100", "120", "75"]'))
    assert len({each.config for each in before}) == 2
    assert {each.config for each in before} == {each.config for each in after}


def test_providers_that_differ_between_archs_are_no_use_to_who_has_none(tmp_path: Path) -> None:
    selected = many('[many.word]\n">=sm_90" = "new"\ndefault = "old"')
    with pytest.raises(DefinitionError) as caught:
        run(tmp_path, ONE + selected)
    assert "BUILD.toml:1: `//:m` differs between its archs, so `//:o`" in caught.value.message
    assert "drop its `select` on the arch" in str(caught.value)
