"""What ptxas says."""

from __future__ import annotations

import json

import pytest

from oxide_build.devicecode.ptxas_report import (
    assembly_record,
    read_ptxas_verbose,
    useful_lines,
)
from oxide_build.errors import ActionFailed

CUDA_13 = """\
ptxas info    : 0 bytes gmem, 16 bytes cmem[3]
ptxas info    : Compiling entry function 'pick' for 'sm_90'
ptxas info    : Function properties for pick
    64 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 10 registers, used 1 barriers, 64 bytes cumulative stack size, 2048 bytes smem
ptxas info    : Compile time = 4.845 ms
ptxas info    : Compiling entry function 'add' for 'sm_90'
ptxas info    : Function properties for add
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 14 registers, used 0 barriers, 380 bytes cmem[0], 8 bytes cmem[2]
ptxas info    : Function properties for helper
    7 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 99 registers, used 0 barriers
"""
CUDA_11 = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'add' for 'sm_80'
ptxas info    : Function properties for add
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 10 registers, 1024 bytes smem, 16 bytes lmem, 348 bytes cmem[0]
"""
PTX = ".version 7.8\n.target sm_90\n.address_size 64\n.visible .const .b8 C[4];\n.visible .entry "
ADD = PTX + "add(.param .u64 p) { ret; }"


def test_numbers_of_cuda_13() -> None:
    pick, add = read_ptxas_verbose(CUDA_13)
    assert (pick.name, pick.registers, pick.barriers, pick.shared_bytes) == ("pick", 10, 1, 2048)
    assert (pick.stack_bytes, pick.spill_stores_bytes, pick.spill_loads_bytes) == (64, 8, 12)
    assert (add.registers, add.constant_bytes) == (14, ((0, 380), (2, 8)))
    assert add.stack_bytes == 0


def test_numbers_of_cuda_11() -> None:
    (add,) = read_ptxas_verbose(CUDA_11)
    assert (add.registers, add.shared_bytes, add.local_bytes) == (10, 1024, 16)
    assert (add.constant_bytes, add.barriers) == (((0, 348),), None)


def test_chatter_is_dropped_and_everything_else_kept() -> None:
    useful = [
        "ptxas warning : Unresolved extern variable 'X' in whole program compilation",
        "ptxas a.ptx, line 6; error   : PTX .version 6.0 does not support .target sm_100",
        "ptxas a.ptx, line 53; info    : Potential out of bound access of 'Z'",
        "ptxas info    : (C7510) Potential Performance Loss: wgmma serialised",
        "ptxas fatal   : Ptx assembly aborted due to errors",
    ]
    mixed = CUDA_13 + "\n" + "\n".join(useful) + "\n" + CUDA_11
    assert useful_lines(mixed) == "\n".join(useful)
    assert useful_lines(CUDA_13) == ""


def test_record_joins_ptx_and_report() -> None:
    record = assembly_record(
        ADD, CUDA_13, label="//k:add", arch="sm_90", tools={"ptxas": "13.0", "llc": "22"}
    )
    assert json.loads(json.dumps(record)) == {
        "schema": 1,
        "label": "//k:add",
        "arch": "sm_90",
        "ptx_version": "7.8",
        "target": "sm_90",
        "entries": [
            {
                "name": "add",
                "params": [{"type": ".u64", "size_bytes": 8, "align_bytes": 8}],
                "registers": 14,
                "spill_store_bytes": 0,
                "spill_load_bytes": 0,
                "stack_bytes": 0,
                "static_shared_bytes": 0,
                "dynamic_shared": False,
                "local_bytes": 0,
                "constant_bytes": {"0": 380, "2": 8},
                "barriers": 0,
                "max_threads": None,
            }
        ],
        "constants": [{"name": "C", "size_bytes": 4, "align_bytes": 1}],
        "tools": {"llc": "22", "ptxas": "13.0"},
    }


def test_an_entry_that_ptxas_does_not_mention_was_not_assembled() -> None:
    with pytest.raises(ActionFailed, match="`other`"):
        assembly_record(PTX + "other() { }", CUDA_13, label="//k:k", arch="sm_90", tools={})
