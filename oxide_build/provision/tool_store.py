"""The tool's own store of fetched tools, shared by all workspaces of a user.

Layout below the root:

    installs/NAME/        one fetched toolchain, `oxide-install.json` and `tree/`
    locks/NAME.lock       held while NAME is being fetched
    downloads/SHA256.part archives that are not unpacked yet (`download.py`)
    tmp/RANDOM/           half-made installs; `tmp/RANDOM.lock` is held by the one who makes it
    state/                what probing and hashing found, by file state (`file_state.py`)

An install appears by one rename and is never changed afterwards, so readers need no lock.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oxide_build.errors import InfrastructureError
from oxide_build.host.files import write_atomic

if TYPE_CHECKING:
    from filelock import FileLock

RECORD = "oxide-install.json"
# In the details of an install: the spec of the install whose LLVM tools it borrows.
LENDER = "llvm_tools_from"
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class FetchedFile:
    """One downloaded file.

    `size_bytes` is None where the client does not say. `source` is its address, if known.
    """

    name: str
    sha256: str
    size_bytes: int | None
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallRecord:
    """What was fetched, from where, and what every downloaded file was.

    kind, provider, version, spec   as in `Toolchain`
    details                         what the provider wants to remember
    """

    kind: str
    provider: str
    version: str
    spec: str
    files: tuple[FetchedFile, ...]
    size_bytes: int
    details: dict[str, str]


@dataclass(frozen=True, slots=True)
class Install:
    """A finished install: `tree` is the folder of its files."""

    name: str
    record: InstallRecord
    tree: Path


class ToolStore:
    """The store at `root`, which need not exist yet. Safe with several processes at once."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def state(self) -> Path:
        return self.root / "state"

    @property
    def downloads(self) -> Path:
        return self.root / "downloads"

    def installs(self, kind: str, provider: str) -> tuple[Install, ...]:
        """Finished installs of that kind by that provider, in order of their names."""
        found = []
        folder = self.root / "installs"
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            for name in sorted(os.listdir(folder)):
                if name.startswith(f"{kind}-{provider}-"):
                    install = self._read(name)
                    if install is not None:
                        found.append(install)
        return tuple(found)

    def all_installs(self) -> tuple[Install, ...]:
        """Every finished install, in order of their names."""
        folder = self.root / "installs"
        names = sorted(os.listdir(folder)) if folder.is_dir() else []
        found = (self._read(name) for name in names)
        return tuple(install for install in found if install is not None)

    @contextlib.contextmanager
    def exclusive(self, name: str) -> Iterator[None]:
        """Hold the lock of `name`; waits for the process that has it."""
        lock = _file_lock(self.root / "locks" / f"{_plain(name)}.lock")
        with _explained(self.root):
            lock.acquire()
        try:
            yield
        finally:
            lock.release()

    @contextlib.contextmanager
    def staging(self) -> Iterator[Path]:
        """A private empty folder on the store's file system, gone afterwards.

        Folders that a killed process left are removed on the way.
        """
        parent = self.root / "tmp"
        with _explained(self.root):
            parent.mkdir(parents=True, exist_ok=True)
            # One at a time here: a lock file that exists but is not held yet looks left over.
            with _file_lock(parent / "guard"):
                _sweep(parent)
                folder = parent / secrets.token_hex(8)
                lock = _file_lock(folder.with_suffix(".lock"))
                lock.acquire()
            folder.mkdir()
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            with contextlib.suppress(OSError):
                os.unlink(folder.with_suffix(".lock"))
            lock.release()

    def publish(self, tree: Path, record: InstallRecord, name: str) -> Install:
        """Make `tree`, a folder inside `staging()`, the install `kind-provider-name`.

        If it is there already, that one is kept and returned: both were made from the same
        request, and someone may be using it.
        """
        full = _plain(f"{record.kind}-{record.provider}-{name}")
        final = self.root / "installs" / full
        whole = tree.parent / f"{tree.name}.install"
        with _explained(self.root):
            whole.mkdir()
            os.rename(tree, whole / "tree")
            text = json.dumps({"format": _FORMAT, **asdict(record)}, indent=2)
            write_atomic(whole / RECORD, text.encode() + b"\n")
            final.parent.mkdir(parents=True, exist_ok=True)
            try:
                os.rename(whole, final)
            except OSError:
                if self._read(full) is None:
                    raise
        install = self._read(full)
        if install is None:
            raise InfrastructureError(
                f"`{final}` is not an install of oxide_build",
                hint=f"remove it: `rm -rf {final}`",
            )
        return install

    def _read(self, name: str) -> Install | None:
        folder = self.root / "installs" / name
        try:
            data: dict[str, Any] = json.loads((folder / RECORD).read_bytes())
            if data.pop("format") != _FORMAT:
                return None
            data["files"] = tuple(FetchedFile(**file) for file in data["files"])
            record = InstallRecord(**data)
        except (OSError, ValueError, KeyError, TypeError):
            return None
        tree = folder / "tree"
        return Install(name, record, tree) if tree.is_dir() else None


def folder_size(folder: Path) -> int:
    """Bytes in the files below `folder`; files that vanish meanwhile count nothing."""
    total = 0
    pending = [str(folder)]
    while pending:
        with contextlib.suppress(OSError), os.scandir(pending.pop()) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
                    else:
                        total += entry.stat(follow_symlinks=False).st_size
    return total


def _sweep(parent: Path) -> None:
    """Remove what processes that are gone left in `parent`."""
    from filelock import Timeout

    for path in parent.glob("*.lock"):
        lock = _file_lock(path)
        with contextlib.suppress(Timeout, OSError):
            lock.acquire(timeout=0)
            shutil.rmtree(path.with_suffix(""), ignore_errors=True)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
            lock.release()
    # A folder without a lock: its owner was swept above while a child of it still wrote.
    for path in parent.iterdir():
        if path.is_dir() and not path.with_suffix(".lock").exists():
            shutil.rmtree(path, ignore_errors=True)


def _file_lock(path: Path) -> FileLock:
    # Imported late: it costs 50 ms, and a warm build takes no lock here.
    from filelock import FileLock

    path.parent.mkdir(parents=True, exist_ok=True)
    return FileLock(path)


@contextlib.contextmanager
def _explained(root: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InfrastructureError(
            f"the tool store `{root}` could not be written: {error.strerror or error}"
            + (f" (`{error.filename}`)" if error.filename else ""),
            hint="make room or give permission, or choose another folder for it",
        ) from error


def _plain(name: str) -> str:
    """`name` as one path component."""
    return re.sub(r"[^A-Za-z0-9._+~-]", "_", name).lstrip(".") or "_"
