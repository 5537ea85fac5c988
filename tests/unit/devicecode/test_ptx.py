"""Reading PTX files."""

from __future__ import annotations

import pytest

from oxide_build.devicecode.ptx import read_ptx
from oxide_build.errors import ActionFailed

HEADER = ".version 7.8\n.target sm_90, debug\n.address_size 64\n"
TEXT = (
    "// .version 1.0\n/* .entry no( */\n"
    + HEADER
    + r"""
.extern .shared .align 16 .b8 DYN[];
.visible .const .align 4 .b8 COEF[16] = {0, 0, 128, 63};
.const .align 4 .b8 HIDDEN[16];
.global .align 8 .u64 G[2] = {generic(COEF), 0};
.global .align 4 .b8 a[4], b[2][3];
.file 1 "a .entry b"
.func (.param .b32 r) helper(.param .b32 x)
{ mov.b64 %rd5, DYN; { ret; } }
.visible .entry add(
  .param .u64 .ptr .global .align 4 add_param_0,
  .param .u64 .ptr .align 1 add_param_1,
  .param .align 8 .b8 add_param_2[24],
  .param .f32 add_param_3
)
.maxntid 16, 16, 1
.minnctapersm 2
{
  .shared .align 16 .b8 B[256];
  call (y), helper, (x);
}
.entry empty() .reqntid 0x20 { ret; }
.section .debug_abbrev { .b8 1 }
"""
)


def test_header() -> None:
    module = read_ptx(TEXT)
    assert (module.version, module.target, module.options) == ("7.8", "sm_90", ("debug",))
    assert module.address_size == 64


def test_entries_and_their_parameters() -> None:
    add, empty = read_ptx(TEXT).entries
    assert [(p.type, p.size_bytes, p.align_bytes, p.pointer_space) for p in add.params] == [
        (".u64", 8, 8, "global"),
        (".u64", 8, 8, "generic"),
        (".b8", 24, 8, None),
        (".f32", 4, 4, None),
    ]
    assert add.directives == (("maxntid", (16, 16, 1)), ("minnctapersm", (2,)))
    assert (add.max_threads, add.visible) == (256, True)
    assert (empty.params, empty.max_threads, empty.visible) == ((), 32, False)


def test_dynamic_shared_memory_is_found_through_calls() -> None:
    assert [entry.dynamic_shared for entry in read_ptx(TEXT).entries] == [True, False]


def test_variables() -> None:
    module = read_ptx(TEXT)
    assert [(v.name, v.size_bytes, v.align_bytes) for v in module.constants] == [("COEF", 16, 4)]
    assert [(v.name, v.size_bytes, v.align_bytes) for v in module.extern_shared] == [("DYN", 0, 16)]
    sizes = {v.name: v.size_bytes for v in module.variables}
    assert sizes == {"DYN": 0, "COEF": 16, "HIDDEN": 16, "G": 16, "a": 4, "b": 6}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no `.version`"),
        (".version 7.8\n", "no `.target`"),
        (".version x\n.target sm_90\n", "is no version"),
        (HEADER + ".entry k() {", "cut off"),
        (HEADER + ".entry k(.param .u64 a", "cut off"),
        (HEADER + ".entry k(.param .what a) { }", "is not understood"),
        (HEADER + "\n/* x", "line 5"),
        (HEADER + '.file 1 "x\n', "line 4"),
    ],
)
def test_what_is_no_ptx_is_refused(text: str, message: str) -> None:
    with pytest.raises(ActionFailed, match=message):
        read_ptx(text)
