"""The scanner finds what tomli finds, on the right lines."""

from __future__ import annotations

from typing import Any

import tomli
from hypothesis import given
from hypothesis import strategies as st

from oxide_build.load.toml_lines import TomlLines, deepest_line, scan_lines

DOCUMENT = '''# first
title.short = 1  # a dotted key
[[rule]]  # [[not.one]]
name = "x # no comment"
srcs = [
  "a", # ] "b",
  """several
  ]lines""", 'c',

  "d",
]
"quoted\\u0041.key" = {"sm_90" = ["x"],
  default = [ "a",
   "b"], }
[rule.choice]
default = 1979-05-27 07:32:00
">=sm_80" = 3
[[rule]]
name = 'y'
[[rule.inner.deep]]
text = """"""""
last = \'\'\'
\\'\'\'\'\''''


def test_every_kind_of_statement_has_its_line() -> None:
    lines = scan_lines(DOCUMENT)
    assert tomli.loads(DOCUMENT)
    expected = {
        ("title",): 2,
        ("title", "short"): 2,
        ("rule",): 3,
        ("rule", 0): 3,
        ("rule", 0, "name"): 4,
        ("rule", 0, "srcs"): 5,
        ("rule", 0, "quotedA.key"): 12,
        ("rule", 0, "quotedA.key", "sm_90"): 12,
        ("rule", 0, "quotedA.key", "default"): 13,
        ("rule", 0, "choice"): 15,
        ("rule", 0, "choice", "default"): 16,
        ("rule", 0, "choice", ">=sm_80"): 17,
        ("rule", 1): 18,
        ("rule", 1, "name"): 19,
        ("rule", 1, "inner"): 20,
        ("rule", 1, "inner", "deep"): 20,
        ("rule", 1, "inner", "deep", 0): 20,
        ("rule", 1, "inner", "deep", 0, "text"): 21,
        ("rule", 1, "inner", "deep", 0, "last"): 22,
    }
    assert lines.keys == expected


def test_elements_of_a_list_have_lines_of_their_own() -> None:
    lines = scan_lines(DOCUMENT)
    assert [lines.line("rule", 0, "srcs", index) for index in range(4)] == [6, 7, 8, 10]


def test_what_is_unknown_is_at_the_nearest_thing_around_it() -> None:
    lines = scan_lines(DOCUMENT)
    assert lines.line("rule", 0, "srcs", 99) == 5
    assert lines.line("rule", 1, "missing") == 18
    assert lines.line("elsewhere") == 0


def test_windows_line_ends_count_once() -> None:
    assert scan_lines("a = 1\r\n[[t]]\r\nb = [\r\n1,\r\n2]\r\n").line("t", 0, "b", 1) == 5


def test_deep_nesting_is_found_in_any_text() -> None:
    assert deepest_line('a = "[[[["\nb = [[\n[[', 3) == 3
    assert deepest_line("a = []]]]\nb = []", 1) == 0


# Words that look like syntax. Newlines make strings and lists span lines.
_WORDS = st.sampled_from(
    ["a", "b-c", "sm_90", "", '"', "'", "#", "[[x]]", "]", "}", "=", ",", "x = 1", "\\", "ü", "\n"]
)
_TEXTS = st.lists(_WORDS, max_size=4).map("".join)
_STRINGS = st.tuples(_TEXTS, st.sampled_from(['"', '"""', "'", "'''"])).map(
    lambda pair: _quoted(*pair)
)
_GAPS = st.sampled_from(["", " ", "\n", " # ] } \" ' [[\n", "\r\n"])
_VALUES: st.SearchStrategy[str] = st.recursive(
    st.one_of(_STRINGS, st.sampled_from(["1", "true", "-1.5e3", "1979-05-27 07:32:00"])),
    lambda inner: st.lists(st.tuples(_GAPS, inner, _GAPS), max_size=3).map(
        lambda items: "[" + ",".join("".join(item) for item in items) + "]"
    ),
    max_leaves=5,
)
_STATEMENTS = st.tuples(_TEXTS, _VALUES, st.sampled_from(["", " # x", "\n", "\r\n# [[y]]"]))


def _quoted(text: str, quote: str) -> str:
    if "'" in quote and ("'" in text or ("\n" in text and len(quote) == 1)):
        quote = '"'
    if "'" in quote:
        return quote + text + quote
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return quote + (escaped.replace("\n", "\\n") if len(quote) == 1 else escaped) + quote


@given(st.lists(st.lists(_STATEMENTS, max_size=4), max_size=3))
def test_each_key_that_tomli_reads_is_on_its_line(tables: list[list[tuple[str, str, str]]]) -> None:
    text, expected = "", {}
    for index, statements in enumerate(tables):
        expected["rule", index] = text.count("\n") + 1
        text += "[[ rule ]]\n"
        for key, value, end in {statement[0]: statement for statement in statements}.values():
            expected["rule", index, key] = text.count("\n") + 1
            text += f"{_quoted(key, chr(34))} = {value}{end}\n"
    document: dict[str, Any] = tomli.loads(text)
    lines: TomlLines = scan_lines(text)
    for index, table in enumerate(document.get("rule", ())):
        for key in table:
            assert lines.keys["rule", index, key] == expected["rule", index, key]
    assert {path for path in lines.keys if len(path) > 1} == set(expected)
