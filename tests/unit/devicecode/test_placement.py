"""Address spaces of `.shared` and `.constant` statics."""

from __future__ import annotations

import re

import pytest

from oxide_build.devicecode.placement import place_address_spaces, strip_target_attributes
from oxide_build.errors import ActionFailed

SA = "@_RNvCs5dNGyLhUvc1_2k12SA"
SA_22 = f'{SA} = internal global [1024 x i8] undef, section ".shared", align 16'
CAST_SA = f"addrspacecast (ptr addrspace(3) {SA} to ptr)"
COEF = '@COEF = global [16 x i8] c"0123456789abcdef", section ".constant", align 4'


def placed(ir: str) -> str:
    return place_address_spaces(ir, "//k:k").text


def refusal(ir: str) -> ActionFailed:
    with pytest.raises(ActionFailed) as caught:
        place_address_spaces(ir, "//k:k")
    assert "`//k:k`" in caught.value.message
    return caught.value


def body(*lines: str) -> str:
    return "define ptx_kernel void @k(ptr %p, i64 %i) {\n" + "\n".join(lines) + "\n}\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (SA_22, f"{SA} = internal addrspace(3) global [1024 x i8] undef, align 16"),
        (
            f'{SA} = internal global <{{ [1024 x i8] }}> undef, section ".shared", align 16',
            f"{SA} = internal addrspace(3) global <{{ [1024 x i8] }}> undef, align 16",
        ),
        (
            f"{SA} = internal hidden unnamed_addr global [4 x i8] poison, "
            'section ".shared", align 16, !guid !5, !dbg !3',
            f"{SA} = internal unnamed_addr addrspace(3) global [4 x i8] undef, align 16, "
            "!guid !5, !dbg !3",
        ),
        (
            '@X = global <{ i8, i8 }> <{ i8 undef, i8 poison }>, section ".shared", comdat #3',
            "@X = internal addrspace(3) global <{ i8, i8 }> undef #3",
        ),
        (
            '@"a.b \\22q" = dso_local global i32 undef, section ".shared", align 4',
            '@"a.b \\22q" = internal dso_local addrspace(3) global i32 undef, align 4',
        ),
        (
            '@D = internal global <{}> zeroinitializer, section ".shared", align 4',
            "@D = external addrspace(3) global [0 x i8], align 4",
        ),
        (
            '@D = internal constant [0 x i8] undef, section ".shared", align 16, !guid !1',
            "@D = external addrspace(3) global [0 x i8], align 16, !guid !1",
        ),
        (
            COEF,
            "@COEF = addrspace(4) externally_initialized global [16 x i8] "
            'c"0123456789abcdef", align 4',
        ),
        (
            '@T = internal constant [2 x i8] c"ab", section ".constant", align 1',
            '@T = internal addrspace(4) constant [2 x i8] c"ab", align 1',
        ),
    ],
)
def test_definitions(before: str, after: str) -> None:
    assert placed(before + "\n") == after + "\n"


@pytest.mark.parametrize(
    "line",
    [
        "  %1 = phi ptr [ {}, %a ], [ {}, %b ]",
        "  %2 = icmp eq ptr %p, {}",
        "  %3 = select i1 %c, ptr {}, ptr getelementptr inbounds (i8, ptr {}, i64 16)",
        "  call void @llvm.memcpy.p0.p0.i64(ptr align 16 {}, ptr align 16 %p, i64 4, i1 false)",
        "    #dbg_value(ptr {}, !11, !DIExpression(), !12)",
        "  call void @llvm.dbg.value(metadata ptr {}, metadata !1, metadata !2), !dbg !3",
        "  store ptr {}, ptr %p, align 8 ; comment " + SA,
        '  call void asm sideeffect "// ' + SA + '", "r"(ptr {}), !note !"' + SA + '"',
    ],
)
def test_every_operand_is_cast_and_nothing_else(line: str) -> None:
    ir = SA_22 + "\n" + body(line.replace("{}", SA))
    assert body(line.replace("{}", CAST_SA)) in placed(ir)


def test_quoted_names_are_found_however_they_are_spelled() -> None:
    ir = '@"a\\2Eb" = internal global i32 undef, section ".shared"\n' + body(
        "  store i32 1, ptr @a.b"
    )
    assert "store i32 1, ptr addrspacecast (ptr addrspace(3) @a.b to ptr)" in placed(ir)


def test_used_lists_are_cast() -> None:
    used = f'@llvm.used = appending global [1 x ptr] [ptr {SA}], section "llvm.metadata"\n'
    assert used.replace(SA, CAST_SA) in placed(f"{SA_22}\n{used}")


def test_dynamic_shared_statics_are_one_memory() -> None:
    result = place_address_spaces(
        '@D = internal global <{}> zeroinitializer, section ".shared", align 4\n'
        '@E = internal global <{}> zeroinitializer, section ".shared", align 8\n'
        + body("  store i32 1, ptr @E", "  %x = load float, ptr @D"),
        "//k:k",
    )
    assert "@D = external addrspace(3) global [0 x i8], align 8\n; @E is @D\n" in result.text
    assert result.text.count("addrspacecast (ptr addrspace(3) @D to ptr)") == 2
    assert [(s.name, s.uses) for s in result.dynamic_shared] == [("D", 1), ("E", 1)]
    assert result.shared == ()


def test_what_was_placed_is_told() -> None:
    result = place_address_spaces(f"{SA_22}\n{COEF}\n" + body(f"  store ptr {SA}, ptr %p"), "//k:k")
    (shared,), (constant,) = result.shared, result.constant
    assert (shared.path, shared.size_bytes, shared.align_bytes) == ("k1::SA", 1024, 16)
    assert (shared.exported, shared.uses) == (False, 1)
    assert (constant.name, constant.size_bytes, constant.exported) == ("COEF", 16, True)
    assert constant.mutable


def test_constants_may_be_used_in_initialisers() -> None:
    ir = f"{COEF}\n@G = internal constant [1 x ptr] [ptr @COEF], align 8\n"
    assert "[ptr addrspacecast (ptr addrspace(4) @COEF to ptr)]" in placed(ir)


@pytest.mark.parametrize(
    ("ir", "words"),
    [
        ('@X = internal global [4 x i8] c"abcd", section ".shared"', "cannot be initialised"),
        ('@X = internal global [4 x i8] zeroinitializer, section ".shared"', "MaybeUninit"),
        (
            '@X = internal global <{ i8, i8 }> <{ i8 1, i8 undef }>, section ".shared"',
            "cannot be initialised",
        ),
        (
            '@X = internal global <{ i8, [4 x i8] }> <{ i8 4, [4 x i8] undef }>, section ".shared"',
            "cannot be initialised",
        ),
        ('@X = internal constant [4 x i8] undef, section ".shared"', "is immutable"),
        ('@X = external global [4 x i8], section ".shared"', "never defined"),
        ('@X = internal thread_local global i8 undef, section ".shared"', "thread-local"),
        ('@X = internal addrspace(1) global i8 undef, section ".shared"', "address space 1"),
        ('@a.b = internal global <{}> zeroinitializer, section ".shared"', "ptxas refuses"),
        ('@a.b = global i8 1, section ".constant"', "ptxas refuses"),
        ('@X = global <{}> zeroinitializer, section ".constant"', "has no bytes"),
        ('@X = internal global i8 undef, section ".share"', '"\\.shared"'),
        ('@X = internal global i8 undef, section "shared"', '"\\.shared"'),
        ('@X = internal global i8 undef, section "__shared__"', '"\\.shared"'),
        ('@X = internal global i8 0, section ".const"', '"\\.constant"'),
        ('@X = internal global i8 0, section ".constant.x"', '"\\.constant"'),
        ('define void @f() section ".shared" {\n}', "only statics"),
        (SA_22 + f"\n@Y = internal global ptr {SA}, align 8", "static `Y`"),
        (SA_22 + f"\n@Y = alias i8, ptr {SA}", "alias `Y`"),
        (
            '@A = internal constant [65536 x i8] zeroinitializer, section ".constant"\n'
            '@B = internal constant [1 x i8] zeroinitializer, section ".constant"',
            "65537 bytes, but constant memory has 65536",
        ),
    ],
)
def test_what_cannot_be_placed_is_refused(ir: str, words: str) -> None:
    assert re.search(words, str(refusal(ir + "\n")))


def test_a_use_in_an_initialiser_names_both_statics() -> None:
    message = refusal(SA_22 + f"\n@_RNvC1k1P = internal global ptr {SA}\n").message
    assert "k1::SA" in message
    assert "k::P" in message


@pytest.mark.parametrize(
    "lines",
    [
        ["  store float 1.0, ptr @COEF, align 4"],
        ["  store volatile i32 1, ptr getelementptr inbounds (i8, ptr @COEF, i64 4), align 4"],
        ["  %o = atomicrmw add ptr @COEF, i32 1 seq_cst"],
        ["  %o = cmpxchg weak ptr @COEF, i32 1, i32 2 seq_cst seq_cst"],
        ["  tail call void @llvm.memcpy.p0.p0.i64(ptr align 4 @COEF, ptr %p, i64 4, i1 false)"],
        ["  call void @llvm.memset.p0.i64(ptr @COEF, i8 0, i64 4, i1 false)"],
        [
            "  %a = getelementptr inbounds nuw [4 x float], ptr @COEF, i64 0, i64 %i",
            "  %b = getelementptr i8, ptr %a, i64 1",
            "  store <{ i8, i8 }> <{ i8 1, i8 2 }>, ptr %b",
        ],
    ],
)
def test_writes_to_constant_memory_are_refused(lines: list[str]) -> None:
    error = refusal(f"{COEF}\n" + body(*lines))
    assert "`k`" in error.message
    assert "`COEF`" in error.message


def test_reads_of_constant_memory_are_fine() -> None:
    assert "addrspace(4) @COEF" in placed(
        f"{COEF}\n"
        + body(
            "  %a = getelementptr float, ptr @COEF, i64 %i",
            "  %v = load float, ptr %a",
            "  store ptr %a, ptr %p",
            "  store ptr @COEF, ptr %p",
            "  call void @llvm.memcpy.p0.p0.i64(ptr %p, ptr @COEF, i64 4, i1 false)",
        )
    )


@pytest.mark.parametrize("section", [".text", "llvm.metadata", ".rodata.cst4", ".data", ".bss"])
def test_other_sections_are_left_alone(section: str) -> None:
    ir = f'@X = internal global i8 0, section "{section}"\n'
    assert placed(ir) == ir


def test_target_attributes_go_and_their_look_alikes_stay() -> None:
    ir = (
        '@s = constant [26 x i8] c"attributes #0 = { \\22target-cpu"\n'
        'attributes #0 = { nounwind "target-cpu"="sm_70" "target-features"="+ptx70" "a"="b" }\n'
        'attributes #1 = { "tune-cpu"="x" }\nattributes #2 = { "a"="target-cpu" }\n'
        '!0 = !{!"\\22target-cpu\\22=\\22sm_70\\22"}\n'
    )
    stripped = ir.replace(' "target-cpu"="sm_70" "target-features"="+ptx70"', "")
    assert strip_target_attributes(ir) == stripped.replace(' "tune-cpu"="x"', "")
