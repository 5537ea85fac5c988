"""Rule files: what they must be, and what they may not do."""

from __future__ import annotations

from pathlib import Path

import pytest

from oxide_build.analysis.rule_set import RuleSet
from oxide_build.analysis.starlark_rules import RuleFailure
from oxide_build.cli.rule_files import builtin_rule_files, rule_reader
from oxide_build.content import content_root
from oxide_build.errors import DefinitionError
from oxide_build.load.files import WorkspaceFiles
from oxide_build.provision.crates import TARGET_WORDS

HEAD = 'load("@oxide//prelude.bzl", "attr", "result", "rule")\n'


def load(*own: str, **files: str) -> RuleSet:
    """A rule set of `//NAME.bzl` files given by name."""

    def read(module_id: str) -> str:
        if module_id.startswith("@oxide//"):
            return (content_root("rules") / module_id.removeprefix("@oxide//")).read_text()
        name = module_id.removeprefix("//").removesuffix(".bzl")
        if name not in files:
            raise DefinitionError(f"no rule file {module_id}")
        return files[name]

    return RuleSet.load(["core.bzl"], [f"//{name}.bzl" for name in own], read)


def one(body: str) -> RuleSet:
    return load("own", own=HEAD + body)


def test_the_built_in_rules_have_documented_attributes() -> None:
    rules = RuleSet.load(builtin_rule_files(), [], rule_reader(WorkspaceFiles(Path.cwd())))
    assert set(rules.rules) == {
        "cargo_kernel", "filegroup", "genrule", "rust_kernel", "rust_library",
    }  # fmt: skip
    for schema in rules.schemas.values():
        assert schema.doc
        for spec in schema.attrs.values():
            assert spec.doc.endswith((".", '"')), (schema.name, spec.name)
            assert spec.mandatory or spec.default is not None


def test_crates_and_the_workspaces_files_are_searched_for_the_same_words() -> None:
    rules = RuleSet.load(builtin_rule_files(), [], rule_reader(WorkspaceFiles(Path.cwd())))
    assert rules.schemas["cargo_kernel"].attrs["srcs"].scan == TARGET_WORDS


def test_an_own_rule_is_one_like_the_others() -> None:
    rules = one(
        "def _i(ctx):\n    return result()\n"
        'RULES = {"mine": rule(_i, {"n": attr.int("A number.", default = 3)}, "Doc.")}\n'
    )
    assert rules.schemas["mine"].attrs["n"].default == 3


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("X = 1\n", "must export `RULES`"),
        ("RULES = {\n", "Parse error"),
        ('RULES = {"genrule": rule(None, {}, "d")}\n', "`genrule` exists already"),
        ('RULES = {"a b": rule(None, {}, "d")}\n', "cannot be a rule's name"),
        (
            'RULES = {"m": rule(None, {"x": attr.int("d", color = 1)}, "d")}\n',
            "unknown option `color`",
        ),
        ('RULES = {"m": rule(None, {"x": attr.int("d", mandatory = 1)}, "d")}\n', "wrong type"),
        ('RULES = {"m": rule(None, {"name": attr.int("d")}, "d")}\n', "has `name` already"),
        ('RULES = {"m": rule(None, {}, "d", toolchains = ["go"])}\n', "the toolchain `go`"),
        ('load("../x.bzl", "y")\nRULES = {}\n', "cannot be loaded"),
        ('load("//missing.bzl", "y")\nRULES = {}\n', "no rule file //missing.bzl"),
        ('RULES = {"m": undefined}\n', "undefined"),
    ],
)
def test_a_wrong_rule_file_is_refused(body: str, message: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        one(body)
    assert message in str(caught.value)
    assert "own.bzl" in str(caught.value) or "//missing.bzl" in str(caught.value)


def test_rule_files_that_load_each_other_are_named() -> None:
    with pytest.raises(DefinitionError, match=r"//a.bzl -> //b.bzl -> //a.bzl"):
        load("a", a='load("//b.bzl", "x")\nRULES = {}\n', b='load("//a.bzl", "RULES")\nx = 1\n')


def test_fail_is_told_from_a_mistake() -> None:
    rules = one(
        'def _f(ctx):\n    fail("no: " + ctx.name)\n'
        "def _m(ctx):\n    return ctx.nothing\n"
        'RULES = {"f": rule(_f, {}, "d"), "m": rule(_m, {}, "d")}\n'
    )
    context = {"name": "x", "attrs": {}, "labels": [], "archs": []}
    with pytest.raises(RuleFailure) as failed:
        rules.rules["f"].file.call_rule("analyze", "f", context)
    assert failed.value.deliberate
    assert failed.value.message == "no: x"
    with pytest.raises(RuleFailure) as broke:
        rules.rules["m"].file.call_rule("analyze", "m", context)
    assert not broke.value.deliberate
    assert "//own.bzl:" in broke.value.trace


def test_endless_recursion_ends() -> None:
    rules = one(
        "def _g(n):\n    return _g(n + 1)\n"
        "def _i(ctx):\n    return _g(0)\n"
        'RULES = {"m": rule(_i, {}, "d")}\n'
    )
    context = {"name": "x", "attrs": {}, "labels": [], "archs": []}
    with pytest.raises(RuleFailure):
        rules.rules["m"].file.call_rule("analyze", "m", context)


def test_a_rule_can_do_no_io() -> None:
    for word in ("open", "print_to_file", "__import__", "exec", "getattr_os"):
        with pytest.raises(DefinitionError):
            one(f'{word}("x")\nRULES = {{}}\n')
