"""Built-in steps: what actions do besides running tools, by name.

Each works on the files of one action's folder, is a pure function of them and of its arguments,
and imports nothing that a remote worker would have to have installed.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from oxide_build import devicecode
from oxide_build.devicecode.entries import public_symbols
from oxide_build.devicecode.placement import place_address_spaces, strip_target_attributes
from oxide_build.devicecode.ptxas_report import assembly_record, useful_lines
from oxide_build.errors import ActionFailed, InfrastructureError
from oxide_build.execution import cargo_steps
from oxide_build.execution.dep_info import undeclared_reads
from oxide_build.model.action import WRITE_FILE, Action

# The files of this package whose code the steps are.
_OWN = ("steps.py", "dep_info.py", "cargo_steps.py")

Step = Callable[[Path, Sequence[str], Action], str]


def run_step(folder: Path, argv: Sequence[str], action: Action) -> str:
    """Run the step that `argv[0]` names in `folder`; returns what the user should see.

    Raises `ActionFailed` for what the step finds wrong.
    """
    step = STEPS.get(argv[0])
    if step is None:
        raise ActionFailed(
            f"`{argv[0]}` is no built-in step", hint=f"there are {', '.join(sorted(STEPS))}"
        )
    return step(folder, argv[1:], action)


def steps_digest() -> str:
    """SHA-256 of the code of all steps: editing a step makes its results new."""
    digest = hashlib.sha256()
    code = Path(devicecode.__file__).parent
    own = (Path(__file__).with_name(name) for name in _OWN)
    for file in sorted([*code.glob("*.py"), *own]):
        data = file.read_bytes()
        digest.update(f"{file.name}\0{len(data)}\0".encode())
        digest.update(data)
    return digest.hexdigest()


def _write_file(folder: Path, args: Sequence[str], action: Action) -> str:
    path, content = args
    (folder / path).write_text(content, encoding="utf-8", errors="surrogateescape")
    return ""


def _copy(folder: Path, args: Sequence[str], action: Action) -> str:
    source, target = args
    place = folder / target
    if place.exists():
        raise ActionFailed(
            f"`{target}` is both a source and generated (`{source}`) in `{action.label}`",
            hint="rename the one or the other",
        )
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(folder / source, place)
    return ""


def _public_symbols(folder: Path, args: Sequence[str], action: Action) -> str:
    module, target, label, *entries = args
    names = public_symbols(_read(folder / module), entries, label)
    (folder / target).write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
    return ""


def _place(folder: Path, args: Sequence[str], action: Action) -> str:
    module, target, label = args
    placed = place_address_spaces(_read(folder / module), label)
    text = strip_target_attributes(placed.text)
    (folder / target).write_text(text, encoding="utf-8", errors="surrogateescape")
    return ""


def _check_dep_info(folder: Path, args: Sequence[str], action: Action) -> str:
    file, attribute = args
    # Generated sources were copied beside the others.
    copied = (c.argv[2] for c in action.commands if c.argv[0] == "@copy")
    allowed = {*action.inputs, *copied}
    undeclared = undeclared_reads(_read(folder / file), allowed, str(folder))
    if undeclared:
        names = ", ".join(f"`{path}`" for path in undeclared)
        raise ActionFailed(
            f"`{action.label}` reads {names}, which it does not declare",
            hint=f"add the file to `srcs` (Rust) or `{attribute}` (anything else) of the target",
        )
    return ""


def _assembly_record(folder: Path, args: Sequence[str], action: Action) -> str:
    ptx, log, target, label, arch, *pairs = args
    tools = dict(pair.split("=", 1) for pair in pairs)
    said = _read(folder / log)
    record = assembly_record(_read(folder / ptx), said, label=label, arch=arch, tools=tools)
    (folder / target).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    return useful_lines(said)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        raise InfrastructureError(f"could not read `{path.name}`: {error.strerror}") from error


STEPS: Mapping[str, Step] = {
    WRITE_FILE: _write_file,
    "@copy": _copy,
    "@public-symbols": _public_symbols,
    "@place-address-spaces": _place,
    "@check-dep-info": _check_dep_info,
    "@assembly-record": _assembly_record,
    "@cargo-prepare": cargo_steps.prepare,
    "@pack": cargo_steps.pack,
    "@unpack": cargo_steps.unpack,
    "@cargo-bitcode": cargo_steps.bitcode,
}
