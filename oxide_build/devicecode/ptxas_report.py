"""What `ptxas -v` says about the code it made, and the record kept of an assembly.

The wording is that of CUDA 11.7 to 13.x. Release 12 began to say how many barriers are used; the
rest of the line is a list whose parts come and go.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from oxide_build.devicecode.ptx import PtxEntry, read_ptx
from oxide_build.errors import ActionFailed

RECORD_SCHEMA = 1

_ENTRY = re.compile(r"Compiling entry function '(?P<name>[^']+)' for '(?P<arch>[^']+)'")
_PROPERTIES = re.compile(r"Function properties for '?(?P<name>[^'\s]+)'?")
_FRAME = re.compile(
    r"\s*(?P<stack>\d+) bytes stack frame, (?P<stores>\d+) bytes spill stores, "
    r"(?P<loads>\d+) bytes spill loads"
)
_USED = re.compile(r"Used (?P<registers>\d+) registers(?P<rest>.*)")
_BARRIERS = re.compile(r"used (\d+) barriers")
_MEMORY = re.compile(r"(\d+)(?:\+(\d+))? bytes (smem|lmem|cmem\[(\d+)\])")
_INFO = re.compile(r"\s*ptxas info\s*:\s*(?P<text>.*)")
# `(C7510) Potential Performance Loss: ...` is advice to the author, not a progress report.
_ADVICE = re.compile(r"\(C\d+\)|Potential ")


@dataclass(frozen=True, kw_only=True, slots=True)
class EntryResources:
    """What one thread or block of an entry takes; `constant_bytes` is by bank number.

    `barriers` is None where ptxas is too old to tell.
    """

    name: str
    registers: int
    stack_bytes: int = 0
    spill_stores_bytes: int = 0
    spill_loads_bytes: int = 0
    shared_bytes: int = 0
    local_bytes: int = 0
    constant_bytes: tuple[tuple[int, int], ...] = ()
    barriers: int | None = None


def read_ptxas_verbose(text: str) -> tuple[EntryResources, ...]:
    """The entries that `ptxas -v` reported, in its order; device functions are left out."""
    reports: list[EntryResources] = []
    entry: str | None = None
    function: str | None = None
    frames: dict[str, tuple[int, int, int]] = {}
    for line in text.splitlines():
        if found := _ENTRY.search(line):
            entry = function = found["name"]
        elif found := _PROPERTIES.search(line):
            function = found["name"]
        elif found := _FRAME.match(line):
            if function is not None:
                frames[function] = (int(found["stack"]), int(found["stores"]), int(found["loads"]))
        elif (found := _USED.search(line)) and entry is not None:
            stack, stores, loads = frames.get(entry, (0, 0, 0))
            reports.append(
                _resources(entry, int(found["registers"]), found["rest"], stack, stores, loads)
            )
            entry = None
    return tuple(reports)


def useful_lines(stderr: str) -> str:
    """The warnings, errors and advice of ptxas, without its `ptxas info` reports."""
    kept = []
    for line in stderr.splitlines():
        info = _INFO.match(line)
        if info is not None and not _ADVICE.match(info["text"]):
            continue
        if _FRAME.match(line) or not line.strip():
            continue
        kept.append(line.rstrip())
    return "\n".join(kept)


def assembly_record(
    ptx: str, ptxas_log: str, *, label: str, arch: str, tools: Mapping[str, str]
) -> dict[str, Any]:
    """A JSON-able account of one assembly: what the PTX declares and what ptxas made of it.

    Raises `ActionFailed` for an entry that ptxas did not report: it was never assembled.
    """
    module = read_ptx(ptx)
    reports = {report.name: report for report in read_ptxas_verbose(ptxas_log)}
    for entry in module.entries:
        if entry.name not in reports:
            raise ActionFailed(
                f"`{label}` for {arch}: ptxas says nothing about the entry `{entry.name}`",
                hint="its log must come from `ptxas -v` on this very PTX",
            )
    return {
        "schema": RECORD_SCHEMA,
        "label": label,
        "arch": arch,
        "ptx_version": module.version,
        "target": module.target,
        "entries": [_entry_record(entry, reports[entry.name]) for entry in module.entries],
        "constants": [
            {"name": c.name, "size_bytes": c.size_bytes, "align_bytes": c.align_bytes}
            for c in module.constants
        ],
        "tools": dict(sorted(tools.items())),
    }


def _resources(
    name: str, registers: int, rest: str, stack: int, stores: int, loads: int
) -> EntryResources:
    memory: dict[str, int] = {}
    banks: dict[int, int] = {}
    for size, padding, kind, bank in _MEMORY.findall(rest):
        size_bytes = int(size) + int(padding or 0)
        if bank:
            banks[int(bank)] = size_bytes
        else:
            memory[kind] = size_bytes
    barriers = _BARRIERS.search(rest)
    return EntryResources(
        name=name,
        registers=registers,
        stack_bytes=stack,
        spill_stores_bytes=stores,
        spill_loads_bytes=loads,
        shared_bytes=memory.get("smem", 0),
        local_bytes=memory.get("lmem", 0),
        constant_bytes=tuple(sorted(banks.items())),
        barriers=None if barriers is None else int(barriers[1]),
    )


def _entry_record(entry: PtxEntry, used: EntryResources) -> dict[str, Any]:
    return {
        "name": entry.name,
        "params": [
            {"type": p.type, "size_bytes": p.size_bytes, "align_bytes": p.align_bytes}
            for p in entry.params
        ],
        "registers": used.registers,
        "spill_store_bytes": used.spill_stores_bytes,
        "spill_load_bytes": used.spill_loads_bytes,
        "stack_bytes": used.stack_bytes,
        "static_shared_bytes": used.shared_bytes,
        "dynamic_shared": entry.dynamic_shared,
        "local_bytes": used.local_bytes,
        "constant_bytes": {str(bank): size for bank, size in used.constant_bytes},
        "barriers": used.barriers,
        "max_threads": entry.max_threads,
    }
