"""`oxide.lock`: exactly which toolchains a workspace is built with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tomli

from oxide_build.errors import DefinitionError, ToolchainError
from oxide_build.model.toolchain import Toolchain

LOCK_FILE = "oxide.lock"
_VERSION = 1
_TEXTS = ("kind", "host", "requirement", "provider", "spec", "version")

_HEAD = """\
# Made by `oxide toolchain lock`; check it in. A build uses exactly these toolchains or fails.
# `oxide toolchain update` chooses anew.

version = 1
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedToolchain:
    """One toolchain for one kind of host ("x86_64-linux").

    `requirement` is what `[toolchain]` said when it was chosen; another one makes the lock stale.
    `trees` has the digest of the files of each part, so the same name with other content fails.
    """

    kind: str
    host: str
    requirement: str
    provider: str
    spec: str
    version: str
    trees: Mapping[str, str]

    def check_fresh(self, requirement: str) -> None:
        """Raise `ToolchainError` where `requirement` is not what this was locked for."""
        if requirement != self.requirement:
            raise ToolchainError(
                f"`{LOCK_FILE}` is stale: {self.kind} was locked for `{self.requirement}`, but "
                f"`[toolchain]` asks for `{requirement}`",
                hint="run `oxide toolchain update`, or put the requirement back",
            )

    def check_same(self, found: Toolchain) -> None:
        """Raise `ToolchainError` where `found` is not the toolchain that was locked."""
        now = {name: str(tree.digest) for name, tree in found.trees.items()}
        if found.version == self.version and now == dict(self.trees):
            return
        different = [name for name in self.trees if now.get(name) != self.trees[name]]
        what = f"version {found.version} instead of {self.version}"
        if found.version == self.version:
            name = different[0] if different else "its parts"
            what = (
                f"its {name} has other files: {now.get(name, 'nothing')} instead of "
                f"{self.trees.get(name, 'nothing')}"
            )
        raise ToolchainError(
            f"the {self.kind} toolchain of {self.provider} is not the one in `{LOCK_FILE}`: {what}",
            hint=f"{found.origin or 'the installation'} was changed, or the archive was: install "
            "it anew, or accept it with `oxide toolchain update`",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """All entries, at most one for each (kind, host)."""

    toolchains: tuple[LockedToolchain, ...] = ()

    def find(self, kind: str, host: str) -> LockedToolchain | None:
        """The entry for `kind` on `host`.

        Raises `ToolchainError` where the file has `kind` for other hosts only: choosing something
        unlocked without a word is what a lock is to prevent.
        """
        same = [each for each in self.toolchains if each.kind == kind]
        found = next((each for each in same if each.host == host), None)
        if found is None and same:
            hosts = ", ".join(each.host for each in same)
            raise ToolchainError(
                f"`{LOCK_FILE}` has the {kind} toolchain for {hosts}, but not for {host}",
                hint="run `oxide toolchain lock` on such a machine and check the file in",
            )
        return found

    def with_entry(self, entry: LockedToolchain) -> Lock:
        """This lock with `entry` in the place of the one for the same kind and host."""
        others = [e for e in self.toolchains if (e.kind, e.host) != (entry.kind, entry.host)]
        return Lock(toolchains=tuple(sorted([*others, entry], key=lambda e: (e.kind, e.host))))

    def text(self) -> str:
        """The file's content: the same lock gives the same bytes."""
        blocks = [_HEAD]
        for each in self.toolchains:
            lines = ["[[toolchain]]"]
            lines += [f"{key} = {_quoted(getattr(each, key))}" for key in _TEXTS]
            lines += ["", "[toolchain.trees]"]
            lines += [
                f"{_quoted(name)} = {_quoted(each.trees[name])}" for name in sorted(each.trees)
            ]
            blocks.append("\n".join(lines) + "\n")
        return "\n".join(blocks)

    @classmethod
    def parse(cls, data: bytes) -> Lock:
        """Read a file's content; raises `DefinitionError`."""
        try:
            values = tomli.loads(data.decode("utf-8"))
        except (tomli.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
            raise _wrong(f"{error}") from None
        if values.get("version") != _VERSION:
            raise _wrong(
                f"its version is {values.get('version')!r}, and this tool reads {_VERSION}"
            )
        rows = values.get("toolchain", [])
        if not isinstance(rows, list):
            raise _wrong("`toolchain` is no array of tables")
        entries = tuple(_entry(row) for row in rows)
        if len({(each.kind, each.host) for each in entries}) < len(entries):
            raise _wrong("it has two toolchains of one kind for one host")
        return cls(toolchains=entries)


def locked(found: Toolchain, *, requirement: str, host: str) -> LockedToolchain:
    """The entry that pins `found`."""
    return LockedToolchain(
        kind=found.kind,
        host=host,
        requirement=requirement,
        provider=found.provider,
        spec=found.spec,
        version=found.version,
        trees={name: str(tree.digest) for name, tree in found.trees.items()},
    )


def changes(before: Lock, after: Lock) -> Sequence[str]:
    """What differs, a line each: `rust (x86_64-linux): 1.95.0 -> 1.96.0`."""
    lines = []
    old = {(each.kind, each.host): each for each in before.toolchains}
    for each in after.toolchains:
        was = old.get((each.kind, each.host))
        if was == each:
            continue
        new = f"{each.version} ({each.provider})"
        then = f"{was.version} ({was.provider})" if was else "nothing"
        lines.append(f"{each.kind} ({each.host}): {then} -> {new}")
    return lines


def _entry(row: Any) -> LockedToolchain:
    if not isinstance(row, dict) or set(row) != {*_TEXTS, "trees"}:
        raise _wrong(f"a `[[toolchain]]` must have exactly {', '.join(_TEXTS)} and trees")
    trees = row["trees"]
    texts = [row[key] for key in _TEXTS]
    if not isinstance(trees, dict) or not all(
        isinstance(text, str) and text.isprintable() for text in [*texts, *trees.values()]
    ):
        raise _wrong("its values must be strings on one line")
    return LockedToolchain(**{key: row[key] for key in _TEXTS}, trees=dict(trees))


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _wrong(what: str) -> DefinitionError:
    return DefinitionError(
        f"{LOCK_FILE} cannot be read: {what}",
        hint="it is made by `oxide toolchain lock`: take it from version control, or remove it and "
        "lock again",
    )
