"""Laws of the tokenizer and of placement, on modules drawn from a hostile grammar."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oxide_build.devicecode.llvm_tokens import decode_string, encode_name, join, tokenize
from oxide_build.devicecode.names import demangle
from oxide_build.devicecode.placement import (
    Placed,
    place_address_spaces,
    strip_target_attributes,
)
from oxide_build.devicecode.ptxas_report import read_ptxas_verbose, useful_lines
from oxide_build.errors import ActionFailed

# Names that differ only by spelling, hold one another, or look like syntax.
NAMES = ["X", "X.1", "X1", "XX", 'q"X', "a b", "X;", "$X", "-X", "é", "_RNvCs1_1k1X", "0x", "@X"]
FRAGMENTS = [
    '"', 'c"', '!"', "@", '@"', "%", ";", "\n", "\\22", "\\", "{", "}", "<{", "!", "#0", "^1 = x",
    "@X", "section", ".shared", ",", "=", "$", "/*", "\0", "é", "c", "-", "0x", " ",
]  # fmt: skip


def reference(name: str) -> str:
    return "@" + encode_name(name)


@dataclass(frozen=True)
class Drawn:
    """A module with a hole `{name}` for every use of a static."""

    statics: tuple[tuple[str, str], ...]  # name, section
    lines: tuple[tuple[str, tuple[str, ...]], ...]  # template with {} holes, names

    def body(self, spell: dict[str, str]) -> str:
        filled = []
        for template, names in self.lines:
            for name in names:
                template = template.replace("{}", spell[name], 1)
            filled.append(template)
        return "define void @k() #0 {\n" + "\n".join(filled) + "\n}\n"

    def source(self) -> str:
        definitions = []
        for name, section in self.statics:
            value = "undef" if section == ".shared" else "7"
            definitions.append(
                f'{reference(name)} = internal global i32 {value}, section "{section}", align 4\n'
            )
        return "".join(definitions) + self.body({n: reference(n) for n, _ in self.statics})

    def expected_body(self) -> str:
        spaces = {".shared": 3, ".constant": 4}
        return self.body(
            {
                name: f"addrspacecast (ptr addrspace({spaces[section]}) {reference(name)} to ptr)"
                for name, section in self.statics
            }
        )


TEMPLATES = [
    "  %a = phi ptr [ {}, %x ], [ {}, %y ]",
    "  %b = icmp eq ptr {}, {}",
    "  %c = load i32, ptr getelementptr inbounds (i8, ptr {}, i64 16), align 4",
    "    #dbg_value(ptr {}, !1, !DIExpression(), !2)",
    "  call void @f(ptr {}, metadata ptr {})",
]


@st.composite
def decoys(draw: st.DrawFn) -> str:
    """Text that mentions a static where it is no code."""
    name = reference(draw(st.sampled_from(NAMES)))
    quoted = name.replace('"', "\\22") + ' section \\22.shared\\22, "'[:-1].replace('"', "\\22")
    return draw(
        st.sampled_from(
            [
                f'  ; ptr {name}, section ".shared"',
                f'  call void asm sideeffect "{quoted}", ""()',
                f'  call void @g(), !note !"{quoted}"',
                f'  %d = load i32, ptr %"{quoted}"',
                f'  %e = load i32, ptr @"not {quoted}"',
            ]
        )
    )


@st.composite
def modules(draw: st.DrawFn) -> Drawn:
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=5, unique=True))
    sections = st.sampled_from([".shared", ".constant"])
    statics = tuple((name, draw(sections)) for name in names)
    lines: list[tuple[str, tuple[str, ...]]] = []
    for _ in range(draw(st.integers(0, 6))):
        if draw(st.booleans()):
            lines.append((draw(decoys()), ()))
        else:
            template = draw(st.sampled_from(TEMPLATES))
            holes = st.tuples(*[st.sampled_from(names)] * template.count("{}"))
            lines.append((template, draw(holes)))
    return Drawn(statics, tuple(lines))


def uses(placed: Placed) -> int:
    return sum(s.uses for s in (*placed.shared, *placed.constant, *placed.dynamic_shared))


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=12).map("".join) | st.text(max_size=30))
def test_tokens_are_lossless_or_a_string_is_unterminated(source: str) -> None:
    try:
        tokens = tokenize(source)
    except ActionFailed:
        assert '"' in source
    else:
        assert join(tokens) == source


@given(st.text(max_size=12).filter(lambda name: name != ""))
def test_a_name_survives_its_spelling(name: str) -> None:
    (token,) = tokenize("@" + encode_name(name))
    assert token.name == name
    assert decode_string(f'"{encode_name(name)}"'.replace('""', '"')) == name


@given(modules())
def test_uses_are_cast_and_nothing_else_changes(drawn: Drawn) -> None:
    placed = place_address_spaces(drawn.source(), "//k:k")
    assert placed.text.endswith(drawn.expected_body())
    assert len(placed.text.removesuffix(drawn.expected_body()).splitlines()) == len(drawn.statics)


@given(modules())
def test_uses_before_are_casts_after(drawn: Drawn) -> None:
    placed = place_address_spaces(drawn.source(), "//k:k")
    assert uses(placed) == sum(len(names) for _, names in drawn.lines)
    assert placed.text.count("addrspacecast (ptr addrspace(") == uses(placed)


@given(modules())
def test_placing_twice_is_placing_once(drawn: Drawn) -> None:
    once = place_address_spaces(drawn.source(), "//k:k").text
    assert place_address_spaces(once, "//k:k") == Placed(text=once)


@given(modules())
def test_a_module_without_target_attributes_is_not_touched(drawn: Drawn) -> None:
    group = 'attributes #0 = { nounwind "a"="\\22target-cpu\\22" }\n'
    source = drawn.source() + group
    assert strip_target_attributes(source) == source
    marked = source.replace("nounwind", 'nounwind "target-cpu"="sm_70"')
    assert strip_target_attributes(marked) == source


@given(st.text(alphabet="_RNZNvtCBsE0123k$.", max_size=30) | st.text(max_size=20))
def test_demangling_is_total(symbol: str) -> None:
    for candidate in (
        symbol,
        "_R" + symbol,
        "_RNv" + symbol,
        "_ZN" + symbol + "17h0123456789abcdefE",
    ):
        assert isinstance(demangle(candidate), str)


@given(st.text(max_size=60))
def test_reading_a_log_is_total(text: str) -> None:
    assert isinstance(read_ptxas_verbose(text), tuple)
    assert useful_lines(useful_lines(text)) == useful_lines(text)


@pytest.mark.parametrize("name", NAMES)
def test_the_pool_of_names_is_spelled_as_llvm_reads_it(name: str) -> None:
    assert [t.name for t in tokenize(reference(name))] == [name]
