"""`oxide.lock`: exactly which toolchains a workspace is built with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
    `archs` are those that need another toolchain than the rest; the entry without any serves the
    rest. `trees` has the digest of the files of each part, so the same name with other content
    fails; `packages` the sha256 of what was downloaded, where this tool did it.
    """

    kind: str
    host: str
    requirement: str
    provider: str
    spec: str
    version: str
    archs: tuple[str, ...] = ()
    trees: Mapping[str, str]
    packages: Mapping[str, str] = field(default_factory=dict)

    def check_fresh(self, requirement: str) -> None:
        """Raise `ToolchainError` where `requirement` is not what this was locked for."""
        if requirement != self.requirement:
            raise ToolchainError(
                f"`{LOCK_FILE}` is stale: {self.kind} was locked for `{self.requirement}`, but "
                f"`[toolchain]` asks for `{requirement}`",
                hint="run `oxide toolchain update`, or put the requirement back",
            )

    def check_same(self, found: Toolchain, packages: Mapping[str, str]) -> None:
        """Raise `ToolchainError` where `found` is not the toolchain that was locked.

        `packages` are what `found` was downloaded as, {} if it was not.
        """
        now = {name: str(tree.digest) for name, tree in found.trees.items()}
        other = [n for n, sha256 in packages.items() if self.packages.get(n, sha256) != sha256]
        if found.version == self.version and now == dict(self.trees) and not other:
            return
        different = [name for name in self.trees if now.get(name) != self.trees[name]]
        what = f"version {found.version} instead of {self.version}"
        if found.version == self.version:
            name = different[0] if different else "its parts"
            what = (
                f"its {name} has other files: {now.get(name, 'nothing')} instead of "
                f"{self.trees.get(name, 'nothing')}"
            )
            if not different and other:
                what = (
                    f"`{other[0]}` was downloaded with the sha256 {packages[other[0]]} instead of "
                    f"{self.packages[other[0]]}"
                )
        raise ToolchainError(
            f"the {self.kind} toolchain of {self.provider} is not the one in `{LOCK_FILE}`: {what}",
            hint=f"{found.origin or 'the installation'} was changed, or the archive was: install "
            "it anew, or accept it with `oxide toolchain update`",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """All entries: for each (kind, host) one without archs, and others for archs of their own."""

    toolchains: tuple[LockedToolchain, ...] = ()

    def find(self, kind: str, host: str, arch: str | None) -> LockedToolchain | None:
        """The entry for `kind` on `host` that serves `arch`, or whatever has no entry of its own.

        Raises `ToolchainError` where the file has `kind` for other hosts only: choosing something
        unlocked without a word is what a lock is to prevent.
        """
        same = [each for each in self.toolchains if each.kind == kind]
        mine = [each for each in same if each.host == host]
        found = next((each for each in mine if not each.archs), None)
        found = next((each for each in mine if arch in each.archs), found)
        if found is None and same:
            hosts = ", ".join(each.host for each in same)
            raise ToolchainError(
                f"`{LOCK_FILE}` has the {kind} toolchain for {hosts}, but not for {host}",
                hint="run `oxide toolchain lock` on such a machine and check the file in",
            )
        return found

    def with_entries(self, entries: Sequence[LockedToolchain]) -> Lock:
        """This lock with `entries` in the place of all for the same kinds and hosts."""
        named = {(entry.kind, entry.host) for entry in entries}
        others = [e for e in self.toolchains if (e.kind, e.host) not in named]
        order = sorted([*others, *entries], key=lambda e: (e.kind, e.host, e.archs))
        return Lock(toolchains=tuple(order))

    def fresh(self, requirements: Mapping[str, str], host: str) -> Lock:
        """This lock without entries for `host` that were made for another requirement."""

        def stale(entry: LockedToolchain) -> bool:
            return entry.host == host and entry.requirement != requirements.get(entry.kind)

        return Lock(toolchains=tuple(each for each in self.toolchains if not stale(each)))

    def only(self, host: str) -> Lock:
        """The entries for `host`."""
        return Lock(toolchains=tuple(each for each in self.toolchains if each.host == host))

    def text(self) -> str:
        """The file's content: the same lock gives the same bytes."""
        blocks = [_HEAD]
        for each in self.toolchains:
            lines = ["[[toolchain]]"]
            lines += [f"{key} = {_quoted(getattr(each, key))}" for key in _TEXTS]
            if each.archs:
                lines.append(f"archs = [{', '.join(map(_quoted, each.archs))}]")
            for title, values in (("trees", each.trees), ("packages", each.packages)):
                if values or title == "trees":
                    lines += ["", f"[toolchain.{title}]"]
                    lines += [f"{_quoted(n)} = {_quoted(values[n])}" for n in sorted(values)]
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
        served = [(e.kind, e.host, arch) for e in entries for arch in e.archs or ("",)]
        if len(set(served)) < len(served):
            raise _wrong("it has two toolchains of one kind for one host and arch")
        return cls(toolchains=entries)


def locked(
    found: Toolchain,
    *,
    requirement: str,
    host: str,
    archs: Sequence[str] = (),
    packages: Mapping[str, str],
) -> LockedToolchain:
    """The entry that pins `found`."""
    return LockedToolchain(
        kind=found.kind,
        host=host,
        requirement=requirement,
        provider=found.provider,
        spec=found.spec,
        version=found.version,
        archs=tuple(archs),
        packages=dict(packages),
        trees={name: str(tree.digest) for name, tree in found.trees.items()},
    )


def changes(before: Lock, after: Lock) -> Sequence[str]:
    """What differs, a line each: `rust (x86_64-linux): 1.95.0 -> 1.96.0`."""
    lines = []
    old = {(each.kind, each.host, each.archs): each for each in before.toolchains}
    for each in after.toolchains:
        was = old.get((each.kind, each.host, each.archs))
        if was == each:
            continue
        new = f"{each.version} ({each.provider})"
        then = f"{was.version} ({was.provider})" if was else "nothing"
        serves = f" for {', '.join(each.archs)}" if each.archs else ""
        lines.append(f"{each.kind} ({each.host}){serves}: {then} -> {new}")
    kept = {(each.kind, each.host, each.archs) for each in after.toolchains}
    for key, each in old.items():
        if key not in kept:
            serves = f" for {', '.join(each.archs)}" if each.archs else ""
            lines.append(f"{each.kind} ({each.host}){serves}: {each.version} -> nothing")
    return lines


def _entry(row: Any) -> LockedToolchain:
    needed = {*_TEXTS, "trees"}
    if not isinstance(row, dict) or not needed <= set(row) <= {*needed, "archs", "packages"}:
        raise _wrong(
            f"a `[[toolchain]]` must have {', '.join(_TEXTS)} and trees, and may have archs and "
            "packages"
        )
    trees, packages, archs = row["trees"], row.get("packages", {}), row.get("archs", [])
    if not (isinstance(trees, dict) and isinstance(packages, dict) and isinstance(archs, list)):
        raise _wrong("trees and packages must be tables, and archs a list")
    texts = [*(row[key] for key in _TEXTS), *trees.values(), *packages.values(), *archs]
    if not all(isinstance(text, str) and text.isprintable() for text in texts):
        raise _wrong("its values must be strings on one line")
    return LockedToolchain(
        **{key: row[key] for key in _TEXTS},
        archs=tuple(archs),
        trees=dict(trees),
        packages=dict(packages),
    )


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _wrong(what: str) -> DefinitionError:
    return DefinitionError(
        f"{LOCK_FILE} cannot be read: {what}",
        hint="it is made by `oxide toolchain lock`: take it from version control, or remove it and "
        "lock again",
    )
