"""Targets that need no compiler: genrule, filegroup, rules of a workspace's own."""

from __future__ import annotations

import shutil

import pytest

from tests.conftest import Space

COPY = """\
[[filegroup]]
name = "words"
srcs = ["*.txt", "!b.txt"]

[[genrule]]
name = "joined"
srcs = [":words"]
outs = ["joined.out"]
shell = "cat $(SRCS) > $(OUT)"

[[genrule]]
name = "upper"
srcs = [":joined"]
outs = ["upper.out"]
cmd = ["tr", "a-z", "A-Z"]
"""


@pytest.fixture
def words(ws: Space) -> Space:
    ws.write("w/BUILD.toml", COPY.replace('cmd = ["tr", "a-z", "A-Z"]',
             'shell = "grep -v \'^#\' $(SRC) | tr a-z A-Z > $(OUT)"'))  # fmt: skip
    for name in "abc":
        ws.write(f"w/{name}.txt", f"{name}\n")
    return ws


def test_outputs_of_one_are_sources_of_another(words: Space) -> None:
    words.build()
    assert words.read("oxide-out/w/joined.out") == b"a\nc\n"
    assert words.read("oxide-out/w/upper.out") == b"A\nC\n"
    assert words.build().actions == {"total": 2, "ran": 0, "hit": 2, "failed": 0, "skipped": 0}


def test_a_change_that_comes_to_nothing_goes_no_further(words: Space) -> None:
    words.build()
    words.write("w/a.txt", "# note\na\n")
    assert [each["label"] for each in words.build().record["ran"]] == ["//w:joined", "//w:upper"]
    words.write("w/a.txt", "# other\na\n")
    ran = words.build()
    # `upper` ran, because its input changed, but came out the same.
    assert ran.record["outputs"] == {"written": 1, "unchanged": 1}


def test_a_file_that_a_glob_now_finds_is_used(words: Space) -> None:
    words.build()
    words.write("w/d.txt", "d\n")
    words.build()
    assert words.read("oxide-out/w/joined.out") == b"a\nc\nd\n"


def test_a_deleted_source_is_named(words: Space) -> None:
    words.write("w/BUILD.toml", '[[filegroup]]\nname = "f"\nsrcs = ["a.txt", "gone.txt"]\n')
    ran = words.oxide("build", "//...")
    assert ran.exit_code == 3
    assert "w/BUILD.toml:3" in ran.stderr
    assert "gone.txt" in ran.stderr


def test_an_action_sees_only_what_it_declares(words: Space) -> None:
    words.write("w/BUILD.toml", '[[genrule]]\nname = "g"\nsrcs = ["a.txt"]\nouts = ["o"]\n'
                'shell = "find . -type f > $(OUT)"\n')  # fmt: skip
    words.build()
    assert words.read("oxide-out/w/o").split() == [b"./w/a.txt", b"./oxide-out/w/o"] or set(
        words.read("oxide-out/w/o").split()
    ) == {b"./w/a.txt", b"./oxide-out/w/o"}


def test_a_program_that_one_makes_can_be_run_by_another(ws: Space) -> None:
    ws.write("BUILD.toml", """
[[genrule]]
name = "program"
outs = ["program"]
shell = "printf '#!/bin/sh\\necho made\\n' > $(OUT); chmod +x $(OUT)"

[[genrule]]
name = "use"
srcs = [":program"]
outs = ["used"]
cmd = ["$(SRC)"]
capture_stdout = true
""")  # fmt: skip
    ws.build()
    assert ws.read("oxide-out/used") == b"made\n"
    assert (ws.root / "oxide-out/program").stat().st_mode & 0o111
    assert not (ws.root / "oxide-out/used").stat().st_mode & 0o111


def test_an_output_that_was_not_written_is_an_error(words: Space) -> None:
    words.write("w/BUILD.toml", '[[genrule]]\nname = "g"\nouts = ["o"]\ncmd = ["true"]\n')
    ran = words.oxide("build", "//...")
    assert ran.exit_code == 4
    assert "did not write `w/o`" in ran.stderr


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('outs = ["o"]', "neither `cmd` nor `shell` is given"),
        ('outs = ["o"]\ncmd = ["a"]\nshell = "b"', "`cmd` and `shell` are both given"),
        ('outs = ["o"]\ncmd = ["cat", "$(SRC)"]', "`$(SRC)` needs exactly one file in `srcs`"),
    ],
)
def test_what_a_rule_refuses_has_the_targets_place(ws: Space, body: str, message: str) -> None:
    ws.write("w/BUILD.toml", f'\n[[genrule]]\nname = "g"\n{body}\n')
    ran = ws.oxide("build", "//...")
    assert ran.exit_code == 3
    assert f"w/BUILD.toml:2: {message}" in ran.stderr


RULE = """\
load("@oxide//prelude.bzl", "action", "attr", "command", "out_path", "output", "result", "rule")

def _shout(ctx):
    path = out_path(ctx, ctx.name + ".txt")
    return result(
        actions = [action(
            stage = "shout",
            commands = [command(["@write-file", path, ctx.attrs.text.upper()])],
            inputs = [],
            outputs = [path],
        )],
        outputs = [output(path)],
    )

RULES = {"shout": rule(_shout, {"text": attr.string("What.", mandatory = True)}, "Shouts.")}
"""


def test_a_workspace_may_have_rules_of_its_own(ws: Space) -> None:
    ws.write("oxide.toml", '[workspace]\nname = "test"\nrules = ["//build/shout.bzl"]\n')
    ws.write("build/shout.bzl", RULE)
    ws.write("BUILD.toml", '[[shout]]\nname = "hello"\ntext = "hello"\n')
    ws.build()
    assert ws.read("oxide-out/hello.txt") == b"HELLO"
    ws.write("build/shout.bzl", RULE.replace(".upper()", ".title()"))
    ws.build()
    assert ws.read("oxide-out/hello.txt") == b"Hello"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return 1", "did not return `result(…)`"),
        ('return result(outputs = [output("../x")])', "is not a plain relative path"),
        ('return result(outputs = [output("src/x")])', "does not lie below `oxide-out/`"),
        ("return result(actions = [1])", "was not made by `action(…)`"),
        ("return ctx.attrs.nothing", "the mistake is in `//build/bad.bzl`"),
        ('return result(actions = [action(stage = "s", commands = [command(["true"])], '
         'inputs = ["oxide-out/nobody"], outputs = [out_path(ctx, "o")])])',
         "reads `oxide-out/nobody`, which no action makes"),
        ('return result(actions = [action(stage = "s", commands = [command(["/bin/true"])], '
         'inputs = [out_path(ctx, "o")], outputs = [out_path(ctx, "o")])], '
         'outputs = [output(out_path(ctx, "o"))])', "wait for each other"),
    ],
)  # fmt: skip
def test_what_a_bad_rule_returns_is_its_authors_error(ws: Space, body: str, message: str) -> None:
    ws.write("oxide.toml", '[workspace]\nname = "test"\nrules = ["//build/bad.bzl"]\n')
    ws.write(
        "build/bad.bzl",
        'load("@oxide//prelude.bzl", "action", "command", "out_path", "output", "result", "rule")\n'
        f'def _i(ctx):\n    {body}\nRULES = {{"bad": rule(_i, {{}}, "d")}}\n',
    )
    ws.write("BUILD.toml", '[[bad]]\nname = "b"\n')
    ran = ws.oxide("build", "//...")
    assert ran.exit_code == 3
    assert message in ran.stderr


def test_nothing_is_written_through_a_link_in_oxide_out(words: Space, tmp_path_factory) -> None:  # type: ignore[no-untyped-def]
    outside = tmp_path_factory.mktemp("outside")
    (words.root / "oxide-out").symlink_to(outside)
    ran = words.oxide("build", "//...")
    assert ran.exit_code == 5
    assert "`oxide-out` is a symbolic link" in ran.stderr
    assert not list(outside.iterdir())
    assert words.oxide("clean").exit_code == 5


def test_clean_removes_outputs_and_nothing_else(words: Space) -> None:
    words.build()
    assert words.oxide("clean").exit_code == 0
    assert not (words.root / "oxide-out").exists()
    assert (words.root / "w/a.txt").exists()
    assert words.build().actions["ran"] == 0


def test_a_directory_in_the_place_of_an_output_gives_way(words: Space) -> None:
    words.build()
    (words.root / "oxide-out/w/upper.out").unlink()
    words.write("oxide-out/w/upper.out/x", "x")
    words.build()
    assert words.read("oxide-out/w/upper.out") == b"A\nC\n"


def test_a_target_that_depends_on_a_config(ws: Space) -> None:
    ws.write("oxide.toml", '[workspace]\nname = "t"\n[config.loud]\ndescription = "l"\n')
    ws.write("BUILD.toml", '[[genrule]]\nname = "g"\nouts = ["o"]\n[genrule.shell]\n'
             'loud = "echo A > $(OUT)"\ndefault = "echo a > $(OUT)"\n')  # fmt: skip
    (quiet,) = ws.build().record["targets"]["//:g"]["outputs"]
    (loud,) = ws.build("//...", "--config", "loud").record["targets"]["//:g"]["outputs"]
    assert (ws.read(quiet), ws.read(loud)) == (b"a\n", b"A\n")
    assert ws.oxide("build", "--config", "louder").exit_code == 2


@pytest.mark.skipif(shutil.which("sh") is None, reason="no shell")
def test_patterns_are_relative_to_the_folder_and_can_be_taken_away(words: Space) -> None:
    words.write(
        "w/deep/BUILD.toml", '[[genrule]]\nname = "deep"\nouts = ["o"]\nshell = "echo > $(OUT)"\n'
    )
    assert set(words.oxide("build", "--json", cwd="w/deep").record["targets"]) == {"//w/deep:deep"}
    ran = words.oxide("build", "--json", "--", "//...", "-//w/deep/...")
    assert "//w/deep:deep" not in ran.record["targets"]
    assert "//w:upper" in ran.record["targets"]


def test_two_targets_that_make_one_file_are_both_named(ws: Space) -> None:
    ws.write("oxide.toml", '[workspace]\nname = "test"\nrules = ["//build/shout.bzl"]\n')
    ws.write("build/shout.bzl", RULE.replace('ctx.name + ".txt"', '"same.txt"'))
    ws.write("BUILD.toml", '[[shout]]\nname = "a"\ntext = "a"\n[[shout]]\nname = "b"\ntext = "b"\n')
    ran = ws.oxide("build", "//...")
    assert ran.exit_code == 3
    assert "BUILD.toml:4: `//:b` and `//:a` both make `oxide-out/same.txt`" in ran.stderr
