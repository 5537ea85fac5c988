"""The crates that the targets of one command take from outside the workspace."""

from __future__ import annotations

import os
from pathlib import Path

from oxide_build.errors import DefinitionError
from oxide_build.host.process import ProcessGroup
from oxide_build.load.files import WorkspaceFiles
from oxide_build.model.toolchain import Toolchain
from oxide_build.provision.asker import Asker
from oxide_build.provision.crates import CrateStore
from oxide_build.provision.file_state import Notebook
from oxide_build.provision.reporter import FetchReporter
from oxide_build.provision.tool_store import ToolStore

_MANIFEST = "Cargo.toml"


class CrateSource:
    """Gives each lock file its crates; each is looked at once in a command."""

    def __init__(
        self,
        files: WorkspaceFiles,
        store: Path,
        processes: ProcessGroup,
        *,
        offline: bool,
        reporter: FetchReporter,
    ) -> None:
        self._files = files
        tools = ToolStore(store)
        self._crates = CrateStore(
            store=tools,
            asker=Asker(environ=os.environ, processes=processes, notebook=Notebook(tools.state)),
            offline=offline,
            reporter=reporter,
        )
        self._found: dict[str, Toolchain | None] = {}

    def of(self, lock: str, rust: Toolchain) -> Toolchain | None:
        """The crates of the lock file at `lock`, None where all that it names is here.

        Raises `DefinitionError` and `ToolchainError`; fetches what is not in the store.
        """
        if lock not in self._found:
            folder = lock.rpartition("/")[0]
            manifest = f"{folder}/{_MANIFEST}" if folder else _MANIFEST
            data = self._files.read(lock)
            if not self._files.exists(manifest):
                raise DefinitionError(
                    f"{lock}: there is no `{_MANIFEST}` beside it",
                    hint="cargo keeps the lock file beside the manifest of the whole workspace",
                )
            self._found[lock] = self._crates.crates(data, lock, self._files.root / manifest, rust)
        return self._found[lock]

    @property
    def locks(self) -> frozenset[str]:
        """The lock files that decided which crates there are."""
        return frozenset(self._found)

    def used(self) -> tuple[Toolchain, ...]:
        """Those that were asked for so far."""
        return tuple(found for found in self._found.values() if found is not None)
