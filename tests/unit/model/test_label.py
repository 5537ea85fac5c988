"""Labels and patterns, as in Bazel."""

from __future__ import annotations

import pytest

from oxide_build.errors import UsageError
from oxide_build.model.label import Label, Pattern, shown


@pytest.mark.parametrize(
    ("text", "label", "short"),
    [
        ("//a/b:c", Label("a/b", "c"), "//a/b:c"),
        ("//a/b", Label("a/b", "b"), "//a/b"),
        ("//a/b:b", Label("a/b", "b"), "//a/b"),
        (":c", Label("here", "c"), "//here:c"),
        ("//:c", Label("", "c"), "//:c"),
        ("//a:sub/file.rs", Label("a", "sub/file.rs"), "//a:sub/file.rs"),
    ],
)
def test_labels_are_read(text: str, label: Label, short: str) -> None:
    assert Label.parse(text, package="here") == label
    assert label.short == short


@pytest.mark.parametrize(
    "text",
    ["", "a", "a:b", "/a:b", "//", "//a:", ":", "//a:b:c", "//a//b", "///a", "//a/", "//../a",
     "//a/../b", "//.a", "//a:../b", "//a:/b", "//a:b/", "//a:b//c", "//a:.b", "//a:b\n", "//a\n",
     "//a/...", "//a:all", "//a:*", "//a:__pkg__", "//a:b c", "//ä", "@r//a", "-//a",
     "//" + "a" * 1001, "//a:" + "b" * 201],
)  # fmt: skip
def test_what_is_no_label_is_refused_in_a_short_message(text: str) -> None:
    with pytest.raises(UsageError) as raised:
        Label.parse(text, package="here")
    assert len(raised.value.message) < 300
    assert raised.value.message.isprintable()
    assert raised.value.hint


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("//a:b", Pattern("a", "b")),
        ("//a", Pattern("a", "a")),
        ("//...", Pattern("", None, recursive=True)),
        ("//a/...", Pattern("a", None, recursive=True)),
        ("//a:all", Pattern("a", None)),
        ("//a:*", Pattern("a", None)),
        ("-//a/b/...", Pattern("a/b", None, recursive=True, negative=True)),
        ("...", Pattern("p", None, recursive=True)),
        ("x/...", Pattern("p/x", None, recursive=True)),
        (":c", Pattern("p", "c")),
        (":all", Pattern("p", None)),
        ("x:c", Pattern("p/x", "c")),
        ("x", Pattern("p/x", "x")),
        ("-:c", Pattern("p", "c", negative=True)),
    ],
)
def test_patterns_are_read(text: str, pattern: Pattern) -> None:
    assert Pattern.parse(text, package="p") == pattern
    assert Pattern.parse(str(pattern)) == pattern


@pytest.mark.parametrize(
    "text",
    ["", "-", "--//a", "///...", "//a//...", "//a///...", "//../...", "/...", "//.../a", "//....",
     "//a...", "../...", "../x", "//a/...:all", "//:", "/etc/passwd", "//a/./...", "x\n"],
)  # fmt: skip
def test_what_is_no_pattern_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        Pattern.parse(text)


@pytest.mark.parametrize(
    ("text", "label", "matches"),
    [
        ("//a/...", "//a:x", True),
        ("//a/...", "//a/b/c:x", True),
        ("//a/...", "//ab:x", False),
        ("//...", "//:x", True),
        ("//a:all", "//a/b:x", False),
        ("//a:x", "//a:y", False),
        ("-//a/...", "//a/b:x", True),
    ],
)
def test_patterns_match(text: str, label: str, matches: bool) -> None:
    assert Pattern.parse(text).matches(Label.parse(label, package="")) is matches


def test_what_is_shown_is_short_and_printable() -> None:
    assert shown("a`b\n\x1b[31m\ud800") == "`a'b\\n\\x1b[31m\\ud800`"
    assert shown("") == '`""`'
    assert len(shown("x" * 1000)) == 82
