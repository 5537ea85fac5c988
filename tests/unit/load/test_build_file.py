"""Attributes become what rules get."""

from __future__ import annotations

import pytest

from oxide_build.model.label import Label
from oxide_build.model.target import Location, Select
from tests.unit.load.conftest import Loading


def lib(space: Loading, *lines: str) -> str:
    space.write("k/BUILD.toml", "\n".join(["[[lib]]", 'name = "k"', *lines, ""]))
    return "//k"


def test_every_kind_of_attribute_is_read(space: Loading) -> None:
    space.write("k/a.rs")
    space.write("k/b.rs")
    target = space.target(
        lib(
            space,
            'srcs = ["*.rs"]',
            'main = "a.rs"',
            "deps = []",
            'flags = ["-q", "-q"]',
            'mode = "slow"',
            "count = -3",
            'env = { A = "1", default = "2" }',
            'outs = ["x/y.txt"]',
        )
    )
    assert target.attrs == {
        "srcs": ("k/a.rs", "k/b.rs"),
        "main": "k/a.rs",
        "deps": (),
        "runtime": None,
        "flags": ("-q", "-q"),
        "mode": "slow",
        "count": -3,
        "env": {"A": "1", "default": "2"},
        "outs": ("x/y.txt",),
    }
    assert target.location == Location("k/BUILD.toml", 1)
    assert target.attr_lines["count"] == 8


def test_defaults_are_filled_in(space: Loading) -> None:
    attrs = space.target(lib(space)).attrs
    assert (attrs["flags"], attrs["mode"], attrs["count"]) == (("-v",), "fast", 1)
    assert (attrs["srcs"], attrs["env"], attrs["runtime"]) == ((), {}, None)


def test_labels_in_defaults_are_dependencies(space: Loading) -> None:
    space.write("base/BUILD.toml", '[[lib]]\nname = "base"\n')
    space.write("k/BUILD.toml", '[[with_default]]\nname = "k"\n')
    assert space.target("//k").deps == (Label("base", "base"),)


def test_every_attribute_may_be_a_select(space: Loading) -> None:
    space.write(
        "k/BUILD.toml",
        '[[lib]]\nname = "a"\n[[lib]]\nname = "b"\n[[lib]]\nname = "k"\n'
        'deps = { ">=sm_90" = [":b"], default = [":a"] }\ncount.debug = 1\n'
        'count.default = 2\n[lib.mode]\nsm_90a = "x"\ndefault = "y"\n',
    )
    target = space.target("//k")
    a, b = Label("k", "a"), Label("k", "b")
    assert target.attrs["deps"] == Select(((">=sm_90", (b,)), ("default", (a,))))
    assert target.attrs["count"] == Select((("debug", 1), ("default", 2)))
    assert target.attrs["mode"] == Select((("sm_90a", "x"), ("default", "y")))
    assert target.deps == (b, a)


def test_archs_come_from_the_nearest_place(space: Loading) -> None:
    space.write("a/BUILD.toml", '[[kernel]]\nname = "a"\n[[lib]]\nname = "lib"\n')
    space.write(
        "b/BUILD.toml",
        '[package]\narchs = ["80-real"]\n[[kernel]]\nname = "b"\n'
        '[[kernel]]\nname = "own"\narchs = ["native"]\n',
    )
    targets = space.load().targets
    archs = {str(label): target.archs for label, target in targets.items()}
    assert archs == {
        "//a:a": ("sm_90",),
        "//a:lib": (),
        "//b:b": ("80-real",),
        "//b:own": ("native",),
    }


def test_targets_keep_the_order_of_the_file(space: Loading) -> None:
    space.write(
        "k/BUILD.toml",
        '[[lib]]\nname = "z"\n[[kernel]]\nname = "m"\n[[lib]]\nname = "a"\n',
    )
    assert [label.name for label in space.load().requested] == ["z", "m", "a"]


def test_an_array_of_inline_tables_is_the_same(space: Loading) -> None:
    space.write("k/BUILD.toml", 'lib = [\n  { name = "a" },\n  { name = "b", x = 1 },\n]\n')
    assert space.error().startswith("k/BUILD.toml:3: `//k:b` has an unknown attribute `x`")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("srcs = { default = 3 }", "BUILD.toml:3: `srcs` of `//k:k` must be a list of files"),
        ("count = true", "must be an integer, but a boolean was given"),
        ("count = 9223372036854775808", "does not fit into 64 bits"),
        ("count = 2020-01-01", "but a date or time was given"),
        ("mode = [[]]", "must be a string, but a list was given"),
        ('flags = ["a\\u0000b"]', "has a NUL character"),
        ('env = "A=1"', "must be a table of strings, but a string was given"),
        ('env = { A = { default = "x" } }', "must be a table of strings, but `A` is a table"),
        ('main = "*.rs"', "there is no file `*.rs` in the package"),
        ('runtime = "k"', "`k` is not a label"),
        ("name = 3", "this key or table is already there"),
        ('archs = ["sm_90"]', "`archs` of `//k:k` says nothing"),
    ],
)
def test_wrong_values_are_named(space: Loading, line: str, said: str) -> None:
    assert said in space.error(lib(space, line))


def test_errors_are_in_the_order_of_lines(space: Loading) -> None:
    lib(space, "zzz = 1", 'srcs = ["no.rs"]', "count = []", 'deps = [":no"]', "aaa = 1")
    message = space.error()
    places = [line.split(":")[1] for line in message.splitlines() if "BUILD.toml:" in line]
    assert places == ["3", "4", "5", "6", "7"]
    assert message == space.error()
