"""The crates that a `Cargo.lock` names: fetched by cargo itself, once, into the tool store.

`cargo vendor` knows every kind of source (registries, mirrors, git, credentials) and checks what
comes against the lock. What it makes is a folder of sources and the configuration that stands for
the addresses; later builds read both and need no network.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from oxide_build.errors import DefinitionError, ToolchainError
from oxide_build.model.toolchain import CRATES_CONFIG, CRATES_PLACEHOLDER, Toolchain
from oxide_build.provision.asker import Asker
from oxide_build.provision.reporter import FetchReporter
from oxide_build.provision.store_use import StoreUse
from oxide_build.provision.tool_store import (
    FetchedFile,
    Install,
    InstallRecord,
    ToolStore,
    folder_size,
)
from oxide_build.provision.trees import Part, TreePlan, digest_tree

KIND = "crates"
MOUNT = "toolchain/crates"
_PROVIDER = "cargo"
# What all files get (unix s): older than whatever cargo makes of them, so that it does not run a
# build script again for a file that came today.
_TIME_S = 500_000_000
# Source that contains the first and one of the others can ask which GPU it is compiled for. All
# have `"ptx-kernel"`; features are called `ptx80`.
TARGET_WORDS = ("target_feature", '"sm_', *(f'"ptx{digit}' for digit in range(1, 10)))
_SEES = "target_words"
# Of the lock file's digest, in names.
_SHORT = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class CrateStore:
    """Gives each lock file its crates, as a toolchain of the kind `crates`."""

    store: ToolStore
    asker: Asker
    offline: bool
    reporter: FetchReporter

    def crates(self, lock: bytes, place: str, manifest: Path, rust: Toolchain) -> Toolchain | None:
        """The crates that `lock`, the file `place` of a workspace, takes from outside of it.

        None where it takes none. `manifest` is the `Cargo.toml` beside it, `rust` has the cargo
        that fetches what is not there yet. Raises `DefinitionError` for what is no lock file, and
        `ToolchainError` where cargo says no.
        """
        packages = _external(lock, place)
        if not packages:
            return None
        name = hashlib.sha256(lock).hexdigest()
        install = self._find(name)
        if install is None:
            with self.store.exclusive(f"{KIND}-{name}"):
                install = self._find(name) or self._fetch(name, packages, place, manifest, rust)
        plan = TreePlan(
            name=KIND, mount=MOUNT, root=str(install.tree), parts=(Part("", deep=True),)
        )
        found = Toolchain(
            kind=KIND,
            version=name[:_SHORT],
            spec=name[:_SHORT],
            provider=_PROVIDER,
            origin=str(install.tree),
            trees={KIND: digest_tree(plan, self.asker.notebook)},
            tools={KIND: MOUNT},
            archs=(),
            facts={"target_words": tuple(filter(None, install.record.details[_SEES].split("\n")))},
        )
        StoreUse(self.store).note(found)
        return found

    def _find(self, name: str) -> Install | None:
        for install in self.store.installs(KIND, _PROVIDER):
            if install.record.details.get("lock_sha256") == name:
                return install
        return None

    def _fetch(
        self,
        name: str,
        packages: Sequence[FetchedFile],
        place: str,
        manifest: Path,
        rust: Toolchain,
    ) -> Install:
        count = "1 crate" if len(packages) == 1 else f"{len(packages)} crates"
        what = f"{count} of {place}"
        self.reporter.begin(what)
        with self.store.staging() as folder:
            tree = folder / "crates"
            done = self.asker.processes.run(
                [
                    str(_program(rust, "cargo")),
                    "vendor",
                    "--locked",
                    "--versioned-dirs",
                    "--respect-source-config",
                    *(("--offline",) if self.offline else ()),
                    "--manifest-path",
                    str(manifest),
                    str(tree),
                ],
                cwd=manifest.parent,
                env={**self.asker.environ, "RUSTC": str(_program(rust, "rustc"))},
                on_tick=lambda: self.reporter.progress(what, folder_size(folder), None),
            )
            if not done.ok:
                raise _refused(place, done.stderr.decode("utf-8", "replace"), offline=self.offline)
            config = done.stdout.replace(os.fsencode(tree), CRATES_PLACEHOLDER.encode())
            (tree / CRATES_CONFIG).write_bytes(config)
            _make_old(tree)
            size = folder_size(tree)
            install = self.store.publish(
                tree,
                InstallRecord(
                    kind=KIND,
                    provider=_PROVIDER,
                    version=count,
                    spec=name[:_SHORT],
                    files=tuple(packages),
                    size_bytes=size,
                    details={"lock": place, "lock_sha256": name, _SEES: "\n".join(_words(tree))},
                ),
                name[:_SHORT],
            )
        self.reporter.done(what, size, None)
        return install


def _program(rust: Toolchain, name: str) -> Path:
    """A program of `rust` where it lies on this machine; raises `ToolchainError`."""
    tree = rust.trees.get("cargo")
    if tree is None:
        raise ToolchainError(
            f"rustc {rust.version} ({rust.provider}) came without cargo",
            hint='use a toolchain of rustup: `providers = ["rustup"]` in `[toolchain]`',
        )
    return Path(tree.root, rust.tools[name].removeprefix(f"{tree.mount}/"))


def _external(lock: bytes, place: str) -> list[FetchedFile]:
    """What the lock takes from registries and repositories, with the digests that it has."""
    import tomli

    try:
        packages = tomli.loads(lock.decode("utf-8")).get("package", [])
        return [
            FetchedFile(f"{p['name']}-{p['version']}", p.get("checksum", ""), None, p["source"])
            for p in packages
            if "source" in p
        ]
    except (UnicodeDecodeError, tomli.TOMLDecodeError, KeyError, TypeError) as error:
        raise DefinitionError(
            f"{place}: this is no lock file of cargo: {error}", hint="`cargo generate-lockfile`"
        ) from None


def _words(tree: Path) -> Iterator[str]:
    """The words of `TARGET_WORDS` that occur in the crates; any file may be included by another."""
    missing = {word: word.encode() for word in TARGET_WORDS}
    for file in tree.rglob("*"):
        with contextlib.suppress(OSError):
            data = file.read_bytes()
            for word in [word for word, text in missing.items() if text in data]:
                del missing[word]
                yield word


def _make_old(tree: Path) -> None:
    for folder, _, names in os.walk(tree):
        for name in names:
            os.utime(f"{folder}/{name}", (_TIME_S, _TIME_S), follow_symlinks=False)


def _refused(place: str, said: str, *, offline: bool) -> ToolchainError:
    hint = "`cargo vendor` says the same where `Cargo.toml` lies"
    if offline:
        hint = "run the build once without `--offline`"
    elif "--locked" in said:
        hint = f"`{place}` does not fit `Cargo.toml`: run `cargo update --workspace`"
    return ToolchainError(
        f"the crates of `{place}` could not be fetched\n{said.strip()}", hint=hint
    )
