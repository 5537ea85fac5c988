"""Which symbols of a crate the outside world may ask for: kernels, and constants to fill."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from oxide_build.devicecode.ir_module import (
    FunctionHeader,
    IrModule,
    parse_function,
    parse_module,
)
from oxide_build.devicecode.ir_variable import LOCAL_LINKAGES, parse_variable
from oxide_build.devicecode.llvm_tokens import GLOBAL, significant
from oxide_build.devicecode.names import demangle, is_mangled, is_ptx_identifier
from oxide_build.devicecode.statics import CONSTANT_SECTION
from oxide_build.errors import ActionFailed

_ENTRY_HINT = 'write it as `#[unsafe(no_mangle)] pub unsafe extern "ptx-kernel" fn {name}(...)`'


def kernel_entries(ir: str) -> tuple[str, ...]:
    """Names of the kernels that a module defines and exports, in the order of the text."""
    return tuple(header.name for header in _kernels(parse_module(ir)) if _is_exported(header))


def public_symbols(ir: str, wanted: Sequence[str], label: str) -> tuple[str, ...]:
    """Names that must survive `opt -passes=internalize`, without repetition.

    These are the entries `wanted` (all of them when empty) and the exported `.constant` statics.
    A static that only has its mangled name is not exported: no host program knows that name, and
    LLVM may fold what nobody can change.
    """
    module = parse_module(ir)
    kernels = {header.name: header for header in _kernels(module)}
    entries = [name for name, header in kernels.items() if _is_exported(header)]
    if not entries and not wanted:
        raise ActionFailed(
            f"`{label}` exports no kernel",
            hint=_ENTRY_HINT.format(name="my_kernel"),
        )
    for name in wanted:
        if name not in entries:
            raise _missing_entry(module, kernels, entries, name, label)
    constants = _exported_constants(module)
    chosen = tuple(dict.fromkeys([*(wanted or entries), *constants]))
    for name in chosen:
        if not is_ptx_identifier(name):
            raise ActionFailed(
                f"`{label}` exports `{name}`, but ptxas refuses that name",
                hint="use letters, digits, `_` and `$`, and no digit in front",
            )
    return chosen


def _kernels(module: IrModule) -> list[FunctionHeader]:
    """Definitions with the calling convention `ptx_kernel` or an `nvvm.annotations` entry."""
    annotated = _annotated_kernels(module)
    headers = [parse_function(module.tokens_of(item)) for item in module.of_kind("define")]
    return [header for header in headers if header.is_kernel or header.name in annotated]


def _is_exported(header: FunctionHeader) -> bool:
    return header.linkage not in LOCAL_LINKAGES | {"available_externally"}


def _annotated_kernels(module: IrModule) -> frozenset[str]:
    """Functions marked `!{ptr @k, !"kernel", i32 1}`, as LLVM 19 and older mark kernels."""
    found = set()
    for item in module.of_kind("metadata"):
        tokens = significant(module.tokens_of(item))
        texts = [token.text for token in tokens]
        names = [token.name for token in tokens if token.kind == GLOBAL]
        for at, text in enumerate(texts):
            if text == '!"kernel"' and texts[at + 1 : at + 4] == [",", "i32", "1"]:
                found.update(names[:1])
    return frozenset(found)


def _exported_constants(module: IrModule) -> list[str]:
    names = []
    for item in module.of_kind("variable"):
        variable = parse_variable(module.tokens_of(item))
        if variable.section != CONSTANT_SECTION or variable.is_local:
            continue
        if variable.initializer is not None and not is_mangled(variable.name):
            names.append(variable.name)
    return names


def _missing_entry(
    module: IrModule,
    kernels: dict[str, FunctionHeader],
    entries: Sequence[str],
    name: str,
    label: str,
) -> ActionFailed:
    """Say why `name` is no entry: not exported, no kernel, or not there at all."""
    hint = _ENTRY_HINT.format(name=name)
    functions = [item.name for item in module.items if item.kind in ("define", "declare")]
    alike = [symbol for symbol in functions if demangle(symbol).rpartition("::")[2] == name]
    if name in kernels or any(symbol in kernels for symbol in alike):
        return ActionFailed(f"the kernel `{name}` of `{label}` is not exported", hint=hint)
    if alike:
        return ActionFailed(
            f"the function `{name}` of `{label}` is no kernel: "
            'it is not declared `extern "ptx-kernel"`',
            hint=hint,
        )
    if not entries:
        return ActionFailed(f"`{label}` has no entry `{name}`: it exports no kernel", hint=hint)
    there = ", ".join(f"`{entry}`" for entry in sorted(entries))
    nearest = difflib.get_close_matches(name, entries, n=1)
    return ActionFailed(
        f"`{label}` has no entry `{name}`; it exports {there}",
        hint=f"did you mean `{nearest[0]}`?" if nearest else hint,
    )
