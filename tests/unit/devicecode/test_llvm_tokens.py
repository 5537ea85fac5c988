"""Tokens, items and variables of LLVM IR text."""

from __future__ import annotations

import pytest

from oxide_build.devicecode.ir_module import parse_module
from oxide_build.devicecode.ir_types import layout_of
from oxide_build.devicecode.ir_variable import GlobalVariable, parse_variable
from oxide_build.devicecode.llvm_tokens import (
    decode_string,
    encode_name,
    join,
    significant,
    split_at_commas,
    tokenize,
)
from oxide_build.errors import ActionFailed


def variable(line: str) -> GlobalVariable:
    module = parse_module(line)
    (item,) = module.of_kind("variable")
    return parse_variable(module.tokens_of(item))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('@"a \\22b"', "global"),
        ("@_R.x$y-1", "global"),
        ("@0", "global"),
        ('%"fmt::rt::Argument<\'_>"', "local"),
        ('c"a;b\\00"', "string"),
        ('"x"', "string"),
        ('!"ptr @X"', "metadata"),
        ("!nvvm.annotations", "metadata"),
        ("!0", "metadata"),
        ("#12", "attributes"),
        ("#dbg_value", "record"),
        ("$comdat", "comdat"),
        ("0x7FF8000000000000", "word"),
        ("-1", "word"),
        ("; @X to the end", "comment"),
    ],
)
def test_one_token_of_each_kind(text: str, kind: str) -> None:
    assert [(token.kind, token.text) for token in tokenize(text)] == [(kind, text)]


def test_quoted_and_plain_spellings_are_one_name() -> None:
    names = {token.name for token in significant(tokenize('@ab @"ab" @"a\\62"'))}
    assert names == {"ab"}


@pytest.mark.parametrize("name", ["ab", "a.b-c", "0", "a$b", 'q"t', "back\\slash", "é", "\x01 "])
def test_encoded_names_decode_to_themselves(name: str) -> None:
    (token,) = tokenize("@" + encode_name(name))
    assert token.kind == "global"
    assert token.name == name


def test_bytes_that_are_no_utf8_survive() -> None:
    assert encode_name(decode_string('"\\FF\\22"')) == '"\\FF\\22"'


def test_summary_lines_with_unescaped_quotes_are_one_token() -> None:
    text = '^19 = gv: (name: "we.ird "name", summaries: ()) ; guid = 1'
    source = f"@x = global i32 0\n{text}\n^20 = blockcount: 0\n"
    assert text in [token.text for token in tokenize(source)]
    assert join(tokenize(source)) == source


@pytest.mark.parametrize("text", ['"abc', 'x\n@"abc', 'c"', '!"a', '"a" "'])
def test_unterminated_strings_are_refused_with_their_line(text: str) -> None:
    with pytest.raises(ActionFailed, match=f"line {text.count(chr(10)) + 1}: a string starts here"):
        tokenize(text)


def test_commas_inside_any_bracket_do_not_split() -> None:
    parts = split_at_commas(significant(tokenize("<{ i8, i8 }> [a, b], f(x, y)")))
    assert len(parts) == 2


def test_items_end_where_their_brackets_do() -> None:
    module = parse_module(
        "; head\n@x = global i32 0\n\ndefine void @f() #0 {\n  ret void\n}\n"
        "attributes #0 = { nounwind }\n!0 = !{\n}\n%T = type { i32 }\n"
        "@a = alias i32, ptr @x\ndeclare void @g()\n"
    )
    assert [(item.kind, item.name) for item in module.items] == [
        ("variable", "x"),
        ("define", "f"),
        ("attributes", ""),
        ("metadata", ""),
        ("other", ""),
        ("alias", "a"),
        ("declare", "g"),
    ]


@pytest.mark.parametrize("text", ["define void @f() {", "}"])
def test_unbalanced_modules_are_refused(text: str) -> None:
    with pytest.raises(ActionFailed):
        parse_module(text)


def test_every_part_of_a_variable_is_read() -> None:
    read = variable(
        '@"a b" = weak_odr dso_local hidden thread_local(localexec) unnamed_addr addrspace(3) '
        'externally_initialized constant <{ ptr, [2 x i8] }> <{ ptr @y, [2 x i8] c", " }>, '
        'section ".shared", comdat($c), align 16, !dbg !3 #4'
    )
    assert read.name == "a b"
    assert read.linkage == "weak_odr"
    assert read.is_thread_local
    assert read.address_space == "3"
    assert read.keyword == "constant"
    assert read.type_text == "<{ ptr, [2 x i8] }>"
    assert read.initializer == '<{ ptr @y, [2 x i8] c", " }>'
    assert read.section == ".shared"
    assert read.align_bytes == 16
    assert read.clauses[-1] == "!dbg !3"
    assert read.attributes == "#4"


def test_a_declaration_has_no_initializer() -> None:
    read = variable("@x = external addrspace(3) global ptr addrspace(1), align 4")
    assert read.type_text == "ptr addrspace(1)"
    assert read.initializer is None


@pytest.mark.parametrize(
    ("type_text", "layout"),
    [
        ("i1", (1, 1)),
        ("i24", (4, 4)),
        ("i128", (16, 16)),
        ("ptr addrspace(1)", (8, 8)),
        ("<{}>", (0, 1)),
        ("[0 x i8]", (0, 1)),
        ("<{ [1024 x i8] }>", (1024, 1)),
        ("<{ ptr, [16 x i8] }>", (24, 1)),
        ("{ i8, double, i16 }", (24, 8)),
        ("[3 x { i8, float }]", (24, 4)),
        ("<3 x float>", (16, 16)),
        ("%T", None),
        ("{ i8, %T }", None),
    ],
)
def test_layout(type_text: str, layout: tuple[int, int] | None) -> None:
    assert layout_of(type_text) == layout
