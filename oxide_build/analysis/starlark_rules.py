"""Rule files: loaded once, then called like functions from plain values to plain values."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import starlark

from oxide_build.errors import DefinitionError
from oxide_build.model.label import shown

# How deep a rule may call and how long one call may take. Starlark has no `while` and no
# recursion, but nested loops over large ranges can still run for ever.
_CALL_DEPTH = 200
_CALL_LIMIT_S = 60.0

BUILTIN = "@oxide//"

# The functions through which the engine reaches a rule file: a Starlark function cannot be handed
# to Python, so an adapter module calls it by name.
_ADAPTER = """
load("{module}", {loads})

def _attr(a):
    return dict(a.more, kind = a.kind, doc = a.doc)

def schemas():
    return {{
        name: dict(
            doc = r.doc,
            per_arch = r.per_arch,
            toolchains = r.toolchains,
            lockfile = r.lockfile,
            attrs = {{key: _attr(value) for key, value in r.attrs.items()}},
        )
        for name, r in {rules}.items()
    }}

def toolchains():
    return {toolchains}.keys()

def _struct(value):
    return struct(**value)

def _context(ctx):
    attrs = dict(ctx["attrs"])
    for key in ctx["labels"]:
        one = attrs[key]
        attrs[key] = [_struct(p) for p in one] if type(one) == "list" else _struct(one)
    archs = [_struct(a) for a in ctx["archs"]]
    return struct(**dict(ctx, attrs = struct(**attrs), archs = archs))

def analyze(name, ctx):
    return json.encode({rules}[name].implementation(_context(json.decode(ctx))))

def prepare(kind, ctx):
    return json.encode({toolchains}[kind].implementation(_struct(json.decode(ctx))))
"""


@dataclass(frozen=True, slots=True)
class RuleFailure(Exception):
    """A rule called `fail(message)`, or broke; `trace` is Starlark's account of the place."""

    message: str
    trace: str
    deliberate: bool


class RuleFile:
    """One evaluated rule file, reached through its adapter."""

    def __init__(self, module_id: str, adapter: starlark.FrozenModule) -> None:
        self.module_id = module_id
        self._adapter = adapter

    def call_rule(self, function: str, name: str, context: Mapping[str, object]) -> Any:
        """Call `analyze` or `prepare` of the adapter; raises `RuleFailure`.

        Values go as one JSON text each way: turning each into an object of the other language by
        itself takes three times as long.
        """
        return msgspec.json.decode(self.call(function, name, msgspec.json.encode(context).decode()))

    def call(self, function: str, *args: object) -> Any:
        """Call a function of the adapter; raises `RuleFailure`."""
        deadline = time.monotonic() + _CALL_LIMIT_S
        options = starlark.EvalOptions(
            check_cancelled=lambda: time.monotonic() > deadline, max_callstack_size=_CALL_DEPTH
        )
        try:
            return self._adapter.call_with(options, function, *args).value
        except starlark.StarlarkError as error:
            raise _failure(str(error)) from None


class RuleFiles:
    """Rule files by module id; a file is evaluated when it is first needed.

    `read` returns the text of a module id (`@oxide//rust.bzl`, `//build/my.bzl`) or raises
    `DefinitionError`.
    """

    def __init__(self, read: Callable[[str], str]) -> None:
        self._read = read
        self._frozen: dict[str, starlark.FrozenModule] = {}
        self._loading: list[str] = []
        self._globals = starlark.Globals.extended_by(
            [starlark.LibraryExtension.StructType, starlark.LibraryExtension.Json]
        )

    def load(self, module_id: str) -> RuleFile:
        """Evaluate a rule file and what it loads; raises `DefinitionError`."""
        text = self._read(module_id)
        exports = [name for name in ("RULES", "TOOLCHAINS") if re.search(rf"(?m)^{name} *=", text)]
        if not exports:
            raise DefinitionError(
                f"{module_id}: a rule file must export `RULES`, but this one does not",
                hint='write `RULES = {"my_rule": rule(…)}` at its end',
            )
        adapter = _ADAPTER.format(
            module=module_id,
            loads=", ".join(f'"{name}"' for name in exports),
            rules="RULES" if "RULES" in exports else "{}",
            toolchains="TOOLCHAINS" if "TOOLCHAINS" in exports else "{}",
        )
        frozen = self._evaluate(f"{module_id} (adapter)", adapter)
        return RuleFile(module_id, frozen)

    def _evaluate(self, name: str, text: str) -> starlark.FrozenModule:
        module = starlark.Module()
        try:
            tree = starlark.parse(name, text)
            starlark.eval(module, tree, self._globals, starlark.FileLoader(self._load))
        except starlark.StarlarkError as error:
            raise DefinitionError(f"{name}: {str(error).strip()}") from None
        return module.freeze()

    def _load(self, module_id: str) -> starlark.FrozenModule:
        if module_id in self._frozen:
            return self._frozen[module_id]
        if not module_id.startswith(("//", BUILTIN)):
            raise DefinitionError(
                f"{shown(module_id)} cannot be loaded",
                hint=f'write "//path/file.bzl" for a file of the workspace, "{BUILTIN}prelude.bzl" '
                "for one of oxide_build",
            )
        if module_id in self._loading:
            cycle = [*self._loading[self._loading.index(module_id) :], module_id]
            raise DefinitionError(f"rule files load each other: {' -> '.join(cycle)}")
        self._loading.append(module_id)
        try:
            self._frozen[module_id] = self._evaluate(module_id, self._read(module_id))
        finally:
            self._loading.pop()
        return self._frozen[module_id]


def plain(value: object) -> object:
    """`value` with tuples as lists and read-only mappings as dicts, as Starlark takes them."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def _failure(text: str) -> RuleFailure:
    found = re.search(r"^error: fail: (.*?)\n *--> ", text, re.MULTILINE | re.DOTALL)
    if found is not None:
        return RuleFailure(found[1].strip(), text.strip(), True)
    last = re.search(r"^error: (.*?)(?:\n *--> |\Z)", text, re.MULTILINE | re.DOTALL)
    return RuleFailure(last[1].strip() if last else text.strip(), text.strip(), False)
