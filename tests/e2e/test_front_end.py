"""When one front-end run serves all archs, and when it must not."""

from __future__ import annotations

import pytest

from tests.conftest import Space
from tests.e2e.conftest import BUILD, KERNEL, LIBRARY, oxide_toml

pytestmark = [pytest.mark.network, pytest.mark.toolchain]

GENERATED = r"""
[[genrule]]
name = "gen"
outs = ["factor.rs"]
cmd = ["printf", "pub const FACTOR: f32 = 5.0;\\n"]
capture_stdout = true
"""

SEEING = """
pub const SEES: bool = cfg!(target_feature = "sm_90");
"""


def front_end(space: Space) -> str:
    ran = space.build()
    return str(ran.record["targets"]["//k:twice"]["front_end"])


def test_a_source_that_cannot_see_the_arch_is_compiled_once(rust_ws: Space) -> None:
    assert front_end(rust_ws) == "shared"


@pytest.mark.parametrize("rust", ["1.96.0", "nightly-2026-10-29"])
def test_a_library_that_can_see_it_is_compiled_for_each(rust_ws: Space, rust: str) -> None:
    rust_ws.write("oxide.toml", oxide_toml(rust))
    rust_ws.write("k/grid.rs", LIBRARY + SEEING)
    rust_ws.write("k/twice.rs", KERNEL.replace("*= 2.0", "*= if grid::SEES { 3.0 } else { 2.0 }"))
    ran = rust_ws.build("//k:twice")
    assert ran.record["targets"]["//k:twice"]["front_end"] == "per arch"
    stages = [each for each in ran.stages if each.startswith(("compile", "link"))]
    assert stages == ["compile sm_80"] * 2 + ["compile sm_90"] * 2 + ["link sm_80", "link sm_90"]
    old, new = (rust_ws.read(f"oxide-out/k/twice.sm_{n}.ptx").decode() for n in (80, 90))
    # 2x is x + x; 3.0 is 0f40400000.
    assert "0f40400000" not in old
    if rust.startswith("nightly"):
        # A nightly tells sources the arch; a stable compiler shows unstable features to nobody.
        assert "0f40400000" in new


def test_included_data_counts(rust_ws: Space) -> None:
    rust_ws.write("k/seeing.in", '{ cfg!(target_feature = "sm_90") }')
    rust_ws.write("k/BUILD.toml", BUILD.replace(
        'srcs = ["twice.rs"]', 'srcs = ["twice.rs"]\ncompile_data = ["seeing.in"]'))  # fmt: skip
    rust_ws.write("k/twice.rs", KERNEL + '\npub const SEES: bool = include!("seeing.in");\n')
    assert front_end(rust_ws) == "per arch"


def test_a_generated_source_has_been_seen_by_nobody(rust_ws: Space) -> None:
    build = BUILD.replace('srcs = ["twice.rs"]', 'srcs = ["twice.rs", ":gen"]')
    rust_ws.write("k/BUILD.toml", build + GENERATED)
    rust_ws.write(
        "k/twice.rs",
        KERNEL.replace("// A comment", "mod factor;\n//").replace("2.0", "factor::FACTOR"),
    )
    assert front_end(rust_ws) == "per arch"
    # 5.0 is 0f40A00000.
    assert "0f40A00000" in rust_ws.read("oxide-out/k/twice.sm_90.ptx").decode()


def test_who_has_no_arch_gets_the_files_of_all(rust_ws: Space) -> None:
    selected = '[rust_kernel.features]\n">=sm_90" = ["new"]\ndefault = []\n'
    listing = '[[genrule]]\nname = "list"\nsrcs = [":twice"]\nouts = ["list"]\n'
    shell = 'shell = "echo $(SRCS) > $(OUT)"\n'
    rust_ws.write("k/BUILD.toml", BUILD + selected + listing + shell)
    rust_ws.build("//k:list")
    assert sorted(rust_ws.read("oxide-out/k/list").decode().split()) == [
        f"oxide-out/k/twice.{arch}.{form}"
        for arch in ("sm_80", "sm_90")
        for form in ("cubin", "json", "ptx")
    ]


def test_values_selected_by_arch_are_compiled_apart(rust_ws: Space) -> None:
    rust_ws.write("k/BUILD.toml", BUILD + """
[rust_kernel.features]
">=sm_90" = ["new"]
default = []
""")  # fmt: skip
    rust_ws.write(
        "k/twice.rs", KERNEL.replace("2.0", 'if cfg!(feature = "new") { 3.0 } else { 2.0 }')
    )
    ran = rust_ws.build()
    assert ran.stages.count("link") == 2
    assert "0f40400000" not in rust_ws.read("oxide-out/k/twice.sm_80.ptx").decode()
    assert "0f40400000" in rust_ws.read("oxide-out/k/twice.sm_90.ptx").decode()
    rust_ws.write("k/BUILD.toml", (rust_ws.root / "k/BUILD.toml").read_text().replace(
        '"sm_90"]', '"sm_90", "sm_100"]'))  # fmt: skip
    assert rust_ws.build().stages == ["assemble sm_100", "codegen sm_100"]
