"""What lies in the tool store, when it was last used, and removing what nobody uses."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from oxide_build.model.toolchain import Toolchain
from oxide_build.provision.tool_store import (
    LENDER,
    RECORD,
    Install,
    InstallRecord,
    ToolStore,
    folder_size,
)

_DAY_S = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One install; `idle_days` since a command last used it, or since it was made."""

    install: Install
    size_bytes: int
    idle_days: float


class StoreUse:
    """Uses of the installs of a store, remembered as the times of small files in its state."""

    def __init__(self, store: ToolStore) -> None:
        self._store = store
        self._folder = store.state / "used"

    def note(self, toolchain: Toolchain) -> None:
        """Remember that `toolchain` is being used now; costs a stat, and a write once a day.

        A store that cannot be written is used all the same.
        """
        for name in self._names(toolchain):
            mark = self._folder / name
            with contextlib.suppress(OSError):
                if not mark.exists() or time.time() - mark.stat().st_mtime > _DAY_S:
                    mark.parent.mkdir(parents=True, exist_ok=True)
                    mark.touch()

    def records_of(self, toolchain: Toolchain) -> tuple[InstallRecord, ...]:
        """What the parts of `toolchain` were fetched as; () where they are not this store's."""
        names = self._names(toolchain)
        return tuple(i.record for i in self._store.all_installs() if i.name in names)

    def _names(self, toolchain: Toolchain) -> tuple[str, ...]:
        """The installs that the parts of `toolchain` lie in."""
        installs = os.path.realpath(self._store.root / "installs") + "/"
        roots = (os.path.realpath(tree.root) for tree in toolchain.trees.values())
        mine = (root.removeprefix(installs) for root in roots if root.startswith(installs))
        return tuple(dict.fromkeys(root.split("/")[0] for root in mine))

    def entries(self) -> tuple[Entry, ...]:
        """Every install, those used last first. Reads the size of each: about 0.1 s a GB."""
        now = time.time()
        found = [
            Entry(
                install=install,
                size_bytes=folder_size(install.tree),
                idle_days=max(0.0, (now - self._last_used(install)) / _DAY_S),
            )
            for install in self._store.all_installs()
        ]
        return tuple(sorted(found, key=lambda entry: (entry.idle_days, entry.install.name)))

    def remove_idle(
        self, *, keep_days: float, keep: Collection[tuple[str, str, str]], dry_run: bool
    ) -> Iterator[Entry]:
        """Remove installs idle for more than `keep_days`; yields each.

        `keep` has (kind, provider, spec) of what stays in any case. An install goes in one step, so
        that nobody ever finds half of one.
        """
        entries = self.entries()
        kept = set(keep)
        for record in (entry.install.record for entry in entries):
            # What a kept toolchain borrows its LLVM tools from is a part of it.
            if (record.kind, record.provider, record.spec) in keep and LENDER in record.details:
                kept.add((record.kind, record.provider, record.details[LENDER]))
        for entry in entries:
            record = entry.install.record
            if entry.idle_days <= keep_days or (record.kind, record.provider, record.spec) in kept:
                continue
            if not dry_run:
                with self._store.staging() as folder:
                    os.rename(entry.install.tree.parent, folder / "gone")
                with contextlib.suppress(FileNotFoundError):
                    (self._folder / entry.install.name).unlink()
            yield entry

    def _last_used(self, install: Install) -> float:
        times = []
        for path in (self._folder / install.name, install.tree.parent / RECORD):
            with contextlib.suppress(OSError):
                times.append(Path(path).stat().st_mtime)
        return max(times, default=0.0)
