"""A Rust kernel from source to cubin, and what a second build does."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path

import pytest

from tests.conftest import Space
from tests.e2e.conftest import BUILD, KERNEL, LIBRARY

pytestmark = [pytest.mark.network, pytest.mark.toolchain]

ALL = [
    "assemble sm_80",
    "assemble sm_90",
    "codegen sm_80",
    "codegen sm_90",
    "compile",
    "compile",
    "link",
]


def outputs(space: Space) -> dict[str, bytes]:
    folder = space.root / "oxide-out" / "k"
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


def test_a_kernel_becomes_ptx_cubin_and_record_for_each_arch(rust_ws: Space) -> None:
    ran = rust_ws.build()
    assert ran.stages == ALL
    assert sorted(outputs(rust_ws)) == [
        f"twice.{arch}.{form}" for arch in ("sm_80", "sm_90") for form in ("cubin", "json", "ptx")
    ]
    ptx = rust_ws.read("oxide-out/k/twice.sm_90.ptx").decode()
    assert ".target sm_90" in ptx
    assert ".visible .entry twice(" in ptx
    assert rust_ws.read("oxide-out/k/twice.sm_90.cubin").startswith(b"\x7fELF")
    record = json.loads(rust_ws.read("oxide-out/k/twice.sm_90.json"))
    assert record["label"] == "//k:twice"
    assert record["ptx_version"] == "7.8"
    (entry,) = record["entries"]
    assert entry["name"] == "twice"
    assert [each["size_bytes"] for each in entry["params"]] == [8, 4]
    assert entry["registers"] > 0
    assert entry["spill_store_bytes"] == 0
    assert record["tools"]["ptxas"] == "13.0.88"
    assert record["tools"]["rustc"] == "1.96.0"


def test_a_second_build_runs_nothing(rust_ws: Space) -> None:
    rust_ws.build()
    again = rust_ws.build()
    assert again.actions["ran"] == 0
    assert again.record["outputs"] == {"written": 0, "unchanged": 6}


def test_removed_outputs_are_restored_without_running(rust_ws: Space) -> None:
    rust_ws.build()
    before = outputs(rust_ws)
    shutil.rmtree(rust_ws.root / "oxide-out")
    again = rust_ws.build()
    assert again.actions["ran"] == 0
    assert again.record["outputs"]["written"] == 6
    assert outputs(rust_ws) == before


def test_a_changed_output_is_put_right(rust_ws: Space) -> None:
    rust_ws.build()
    before = outputs(rust_ws)
    rust_ws.write("oxide-out/k/twice.sm_80.ptx", "tampered")
    again = rust_ws.build()
    assert (again.actions["ran"], again.record["outputs"]["written"]) == (0, 1)
    assert outputs(rust_ws) == before


def test_one_more_arch_runs_only_its_own_actions(rust_ws: Space) -> None:
    rust_ws.build()
    rust_ws.write("k/BUILD.toml", BUILD.replace('"sm_90"]', '"sm_90", "sm_100"]'))
    assert rust_ws.build().stages == ["assemble sm_100", "codegen sm_100"]


def test_a_touch_runs_nothing(rust_ws: Space) -> None:
    rust_ws.build()
    os.utime(rust_ws.root / "k/twice.rs")
    os.utime(rust_ws.root / "k/grid.rs", (1, 1))
    assert rust_ws.build().actions["ran"] == 0


def test_a_comment_edit_stops_after_the_compiler(rust_ws: Space) -> None:
    rust_ws.build()
    rust_ws.write("k/twice.rs", KERNEL.replace("A comment of", "The text of"))
    assert rust_ws.build().stages == ["compile"]


def test_a_comment_edit_in_a_library_stops_after_the_compiler(rust_ws: Space) -> None:
    rust_ws.write("k/grid.rs", LIBRARY + "// one\n")
    rust_ws.build()
    rust_ws.write("k/grid.rs", LIBRARY + "// two\n")
    assert "link" not in rust_ws.build().stages


def test_a_same_size_edit_with_restored_mtime_is_noticed(rust_ws: Space) -> None:
    source = rust_ws.root / "k/twice.rs"
    rust_ws.build()
    before, ptx = source.stat(), rust_ws.read("oxide-out/k/twice.sm_90.ptx")
    time.sleep(0.02)
    source.write_text(KERNEL.replace("*= 2.0", "*= 3.0"))
    os.utime(source, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert source.stat().st_size == before.st_size
    assert "compile" in rust_ws.build().stages
    assert rust_ws.read("oxide-out/k/twice.sm_90.ptx") != ptx


def test_two_folders_give_the_same_bytes(rust_ws: Space, tmp_path: Path, warm_cache: Path) -> None:
    rust_ws.build()
    other = tmp_path / "elsewhere" / "with a space"
    other.parent.mkdir()
    shutil.copytree(rust_ws.root, other, ignore=shutil.ignore_patterns("oxide-out"))
    second = Space(other, tmp_path / "other-cache", rust_ws.store, rust_ws.capture)
    shutil.copytree(warm_cache, second.cache)
    assert second.build().stages == ALL
    assert outputs(second) == outputs(rust_ws)


def test_forms_choose_what_becomes_an_output(rust_ws: Space) -> None:
    rust_ws.write("k/BUILD.toml", BUILD.replace('["sm_80", "sm_90"]', '["80-real", "90-virtual"]'))
    rust_ws.build()
    assert sorted(outputs(rust_ws)) == [
        "twice.sm_80.cubin", "twice.sm_80.json", "twice.sm_90.json", "twice.sm_90.ptx",
    ]  # fmt: skip


def test_archs_of_the_command_line_replace_the_targets(rust_ws: Space) -> None:
    ran = rust_ws.build("//k:twice", "--arch", "sm_75,sm_90a")
    assert [each for each in ran.stages if "codegen" in each] == ["codegen sm_75", "codegen sm_90a"]


def test_all_major_takes_one_arch_a_generation(rust_ws: Space) -> None:
    ran = rust_ws.build("//k:twice", "--arch", "all-major")
    assert [each.split()[1] for each in ran.stages if "codegen" in each] == [
        "sm_100", "sm_110", "sm_120", "sm_75", "sm_80", "sm_90",
    ]  # fmt: skip


def test_a_damaged_cache_is_noticed_and_mended(rust_ws: Space) -> None:
    rust_ws.build()
    before = outputs(rust_ws)
    shutil.rmtree(rust_ws.root / "oxide-out")
    for file in (rust_ws.cache / "blobs-v1").rglob("*"):
        if file.is_file() and file.stat().st_nlink == 1:
            data = bytearray(file.read_bytes())
            data[len(data) // 2] ^= 1
            file.unlink()
            file.write_bytes(data)
    assert rust_ws.build().actions["ran"] > 0
    assert outputs(rust_ws) == before


def test_a_lost_index_costs_only_time(rust_ws: Space) -> None:
    rust_ws.build()
    before = outputs(rust_ws)
    shutil.rmtree(rust_ws.cache / "results-v1")
    shutil.rmtree(rust_ws.cache / "file-states-v1")
    rust_ws.build("//k:twice", "--arch", "sm_90")
    assert outputs(rust_ws) == before


PANIC = """
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    unsafe { (64 as *mut u32).write_volatile(7) };
    loop {}
}
"""


# A bounds check on an index that nobody knows.
PANICS = KERNEL.replace(
    "unsafe { *x.add(i) *= 2.0 }", "let v = [1.0f32; 4]; unsafe { *x.add(i) = v[n as usize] }"
)


@pytest.mark.parametrize("level", ["0", "1", "2", "s", "z"])
def test_every_level_of_optimisation_assembles(rust_ws: Space, level: str) -> None:
    rust_ws.write("k/BUILD.toml", BUILD.replace('archs = ["sm_80", "sm_90"]',
                  f'archs = ["sm_90"]\nopt_level = "{level}"'))  # fmt: skip
    assert rust_ws.build("//k:twice").stages.count("assemble sm_90") == 1


@pytest.mark.parametrize("edition", ["2018", "2021", "2024"])
def test_every_edition_compiles(rust_ws: Space, edition: str) -> None:
    rust_ws.write("k/BUILD.toml", BUILD.replace('archs = ["sm_80", "sm_90"]',
                  f'archs = ["sm_90"]\nedition = "{edition}"'))  # fmt: skip
    assert rust_ws.build("//k:twice").stages.count("assemble sm_90") == 1


def test_line_information_is_the_same_in_every_folder(
    rust_ws: Space, tmp_path: Path, warm_cache: Path
) -> None:
    rust_ws.write("k/BUILD.toml", BUILD.replace('archs = ["sm_80", "sm_90"]',
                  'archs = ["sm_90"]\ndebug = true'))  # fmt: skip
    rust_ws.build()
    ptx = rust_ws.read("oxide-out/k/twice.sm_90.ptx").decode()
    assert ".loc" in ptx
    assert "twice.rs" in ptx
    assert str(rust_ws.cache) not in ptx
    assert b".debug_line" in rust_ws.read("oxide-out/k/twice.sm_90.cubin")
    other = Space(tmp_path / "other", tmp_path / "other-cache", rust_ws.store, rust_ws.capture)
    shutil.copytree(rust_ws.root, other.root, ignore=shutil.ignore_patterns("oxide-out"))
    shutil.copytree(warm_cache, other.cache)
    other.build()
    assert outputs(other) == outputs(rust_ws)


def test_features_and_cfgs_reach_the_source(rust_ws: Space) -> None:
    rust_ws.write(
        "k/BUILD.toml", BUILD + 'features = ["triple"]\ncfgs = ["fast", "level=\\"3\\""]\n'
    )
    rust_ws.write("k/twice.rs", KERNEL.replace(
        "2.0", 'if cfg!(all(feature = "triple", fast, level = "3")) { 3.0 } else { 2.0 }',
    ))  # fmt: skip
    assert "warning" not in rust_ws.build().stderr
    assert "0f40400000" in rust_ws.read("oxide-out/k/twice.sm_90.ptx").decode()


def test_a_crates_own_panic_handler_is_the_one_that_is_taken(rust_ws: Space) -> None:
    rust_ws.write("k/twice.rs", PANICS)
    rust_ws.build()
    ptx = rust_ws.read("oxide-out/k/twice.sm_90.ptx").decode()
    assert "trap;" in ptx
    rust_ws.write("k/twice.rs", PANICS + PANIC)
    rust_ws.build()
    ptx = rust_ws.read("oxide-out/k/twice.sm_90.ptx").decode()
    assert "trap;" not in ptx
    assert "[64]" in ptx or ", 7" in ptx


def test_a_panic_handler_in_a_library_is_taken(rust_ws: Space) -> None:
    rust_ws.write("k/grid.rs", LIBRARY + PANIC)
    rust_ws.write("k/twice.rs", PANICS)
    rust_ws.build()
    assert "trap;" not in rust_ws.read("oxide-out/k/twice.sm_90.ptx").decode()


def test_libraries_of_libraries_are_found(rust_ws: Space) -> None:
    rust_ws.write(
        "k/BUILD.toml", BUILD.replace('srcs = ["grid.rs"]', 'srcs = ["grid.rs"]\ndeps = ["//base"]')
    )
    rust_ws.write("base/BUILD.toml", '[[rust_library]]\nname = "base"\nsrcs = ["lib.rs"]\n')
    rust_ws.write("base/lib.rs", "#![no_std]\n#[inline(never)]\npub fn zero() -> usize { 0 }\n")
    rust_ws.write("k/grid.rs", LIBRARY.replace("as usize }", "as usize + base::zero() }"))
    assert rust_ws.build().stages.count("compile") == 3


def test_two_libraries_of_one_crate_name_are_refused(rust_ws: Space) -> None:
    rust_ws.write("base/BUILD.toml", '[[rust_library]]\nname = "grid"\nsrcs = ["lib.rs"]\n')
    rust_ws.write("base/lib.rs", "#![no_std]\n")
    rust_ws.write("k/BUILD.toml", BUILD.replace('[":grid"]', '[":grid", "//base:grid"]'))
    ran = rust_ws.oxide("build", "//...")
    assert ran.exit_code == 3
    assert "k/BUILD.toml:5: `//k:grid` and `//base:grid` in `deps`" in ran.stderr


@pytest.mark.parametrize(
    "flag",
    ["--target=x", "-o", "--emit=asm", "-Ctarget-cpu=sm_80", "-O", "-vO", "--codegen=opt-level=1",
     "--remap-path-prefix=a=b", "@args", "--extern=x", "-Zcodegen-backend=x"],
)  # fmt: skip
def test_flags_that_would_break_the_target_are_refused(rust_ws: Space, flag: str) -> None:
    rust_ws.write("k/BUILD.toml", BUILD + f'rustc_flags = ["{flag}"]\n')
    ran = rust_ws.oxide("build", "//...")
    assert ran.exit_code == 3
    assert "k/BUILD.toml:10: `rustc_flags` of `//k:twice`" in ran.stderr
