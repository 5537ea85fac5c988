"""Entries and public symbols of a crate's IR."""

from __future__ import annotations

import pytest

from oxide_build.devicecode.entries import kernel_entries, public_symbols
from oxide_build.errors import ActionFailed

LLVM_22 = r"""
@COEF = global [16 x i8] zeroinitializer, section ".constant", align 4
@_RNvCs5dNGyLhUvc1_1k5TABLE = constant [4 x i8] c"abcd", section ".constant", align 1
@LOCAL = internal constant [4 x i8] c"abcd", section ".constant", align 1
@OTHER = global i32 0, align 4
define dso_local ptx_kernel void @add(ptr noundef %x) unnamed_addr #0 !dbg !7 {
  call void @helper(), !note !{!"define ptx_kernel void @fake() {"}
  ret void
}
define ptx_kernel void @scale(ptr %x) { ret void
}
define internal ptx_kernel void @_RNvCs5dNGyLhUvc1_1k6hidden() { ret void
}
define void @helper() { ret void
}
define internal void @_RNvCs5dNGyLhUvc1_1k4norm() { ret void
}
^19 = gv: (name: "we.ird "name")
"""

LLVM_18 = """
define void @add(ptr %x) {
  ret void
}
define void @helper() {
  ret void
}
!nvvm.annotations = !{!0, !1}
!0 = !{ptr @add, !"kernel", i32 1}
!1 = !{ptr @helper, !"maxntidx", i32 1}
"""


def test_exported_ptx_kernels_are_entries() -> None:
    assert kernel_entries(LLVM_22) == ("add", "scale")


def test_annotations_of_old_llvm_mark_entries() -> None:
    assert kernel_entries(LLVM_18) == ("add",)


def test_all_entries_and_exported_constants_are_public() -> None:
    assert public_symbols(LLVM_22, [], "//k:k") == ("add", "scale", "COEF")


def test_wanted_entries_leave_the_others_out() -> None:
    assert public_symbols(LLVM_22, ["scale", "scale"], "//k:k") == ("scale", "COEF")


@pytest.mark.parametrize(
    ("wanted", "message", "hint"),
    [
        ("scael", "exports `add`, `scale`", "did you mean `scale`?"),
        ("helper", 'not declared `extern "ptx-kernel"`', "no_mangle"),
        ("norm", 'not declared `extern "ptx-kernel"`', "no_mangle"),
        ("hidden", "is not exported", "no_mangle"),
        ("zzz", "has no entry `zzz`", "no_mangle"),
    ],
)
def test_missing_entries_say_why(wanted: str, message: str, hint: str) -> None:
    with pytest.raises(ActionFailed) as caught:
        public_symbols(LLVM_22, [wanted], "//k:k")
    assert message in caught.value.message
    assert "//k:k" in caught.value.message
    assert hint in (caught.value.hint or "")


@pytest.mark.parametrize("wanted", [[], ["add"]])
def test_a_crate_without_kernels_is_told_how_to_write_one(wanted: list[str]) -> None:
    with pytest.raises(ActionFailed, match="exports no kernel") as caught:
        public_symbols("define void @f() {\n}\n", wanted, "//k:k")
    assert '#[unsafe(no_mangle)] pub unsafe extern "ptx-kernel" fn' in (caught.value.hint or "")


def test_names_that_ptxas_refuses_are_refused() -> None:
    with pytest.raises(ActionFailed, match="ptxas refuses"):
        public_symbols('define ptx_kernel void @"a.b"() {\n}\n', [], "//k:k")
