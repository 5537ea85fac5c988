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
