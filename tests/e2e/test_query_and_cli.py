"""`query`, and how the command line answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from oxide_build import __version__
from tests.conftest import Space

CHAIN = """\
[[filegroup]]
name = "a"
srcs = ["a.txt"]
[[filegroup]]
name = "b"
srcs = [":a"]
[[filegroup]]
name = "c"
srcs = [":b"]
[[filegroup]]
name = "alone"
srcs = ["a.txt"]
"""


@pytest.fixture
def chain(ws: Space) -> Space:
    ws.write("p/BUILD.toml", CHAIN)
    ws.write("p/a.txt", "a")
    return ws


@pytest.mark.parametrize(
    ("expression", "labels"),
    [
        ("//p:b", ["//p:b"]),
        ("//...", ["//p:a", "//p:alone", "//p:b", "//p:c"]),
        ("deps(//p:c)", ["//p:a", "//p:b", "//p:c"]),
        ("rdeps(//..., //p:b)", ["//p:b", "//p:c"]),
        (" rdeps( //p:all , //p:alone ) ", ["//p:alone"]),
    ],
)
def test_query_lists_labels(chain: Space, expression: str, labels: list[str]) -> None:
    ran = chain.oxide("query", expression)
    assert sorted(ran.stdout.split()) == labels, ran.stderr


def test_query_shows_targets_as_json(chain: Space) -> None:
    (found,) = json.loads(chain.oxide("query", "//p:b", "--output", "json").stdout)
    assert found["rule"] == "filegroup"
    assert found["place"] == "p/BUILD.toml:4"
    assert found["deps"] == ["//p:a"]


@pytest.mark.parametrize("expression", ["deps(//p:a", "deps(//p:a, //p:b)", "rdeps(//...)", "x(y)"])
def test_a_bad_expression_is_a_usage_error(chain: Space, expression: str) -> None:
    assert chain.oxide("query", expression).exit_code == 2


def test_a_command_that_does_not_exist_suggests_one_that_does(ws: Space) -> None:
    ran = ws.oxide("biuld")
    assert ran.exit_code == 2
    assert "did you mean `oxide build`?" in ran.stderr


def test_a_wrong_option_names_the_help(ws: Space) -> None:
    ran = ws.oxide("build", "--nope")
    assert ran.exit_code == 2
    assert "hint: see `oxide build --help`" in ran.stderr


@pytest.mark.parametrize("command", ["build", "query", "rules", "clean", "version", "completion"])
def test_every_command_explains_itself(ws: Space, command: str) -> None:
    ran = ws.oxide(command, "--help")
    assert ran.exit_code == 0
    assert len(ran.stdout.splitlines()) > 4


def test_rules_are_listed_and_explained(ws: Space) -> None:
    assert "rust_kernel" in ws.oxide("rules").stdout
    page = ws.oxide("rules", "rust_kernel").stdout
    assert "compile_data  (list of files, globs and labels)" in page
    assert "mandatory" in page
    ran = ws.oxide("rules", "rust_kernle")
    assert ran.exit_code == 2
    assert "did you mean `rust_kernel`?" in ran.stderr


def test_the_reference_in_docs_is_what_the_tool_prints(
    ws: Space, repository: Path, pytestconfig: pytest.Config
) -> None:
    reference = repository / "docs" / "rules-reference.md"
    printed = (
        "# Rules\n\nMade by `oxide rules --markdown`.\n\n" + ws.oxide("rules", "--markdown").stdout
    )
    if pytestconfig.getoption("--update-golden"):
        reference.write_text(printed)
    assert reference.read_text() == printed


def test_the_version_is_the_packages(ws: Space) -> None:
    assert ws.oxide("--version").stdout.strip() == f"oxide, version {__version__}"
    assert json.loads(ws.oxide("version", "--json").stdout)["oxide_build"] == __version__


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(ws: Space, shell: str) -> None:
    assert "_OXIDE_COMPLETE" in ws.oxide("completion", shell).stdout


def test_outside_a_workspace_the_way_out_is_said(ws: Space) -> None:
    (ws.root / "oxide.toml").unlink()
    ran = ws.oxide("build", "//...")
    assert ran.exit_code == 2
    assert "oxide.toml" in ran.stderr


def test_a_bug_says_that_it_is_one(ws: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr("oxide_build.cli.session.find_workspace", broken)
    ran = ws.oxide("build", "//...")
    assert ran.exit_code == 70
    assert "boom" in ran.stderr
    assert "this is a bug in oxide_build" in ran.stderr


def test_the_profile_is_a_trace(chain: Space) -> None:
    chain.write("p/BUILD.toml", '[[genrule]]\nname = "g"\nouts = ["o"]\nshell = "echo > $(OUT)"\n')
    assert chain.oxide("build", "//p:g", "--profile", "trace.json").exit_code == 0
    (event,) = json.loads((chain.root / "trace.json").read_text())
    assert event["name"] == "//p:g genrule"
    assert event["args"]["source"] == "ran"
