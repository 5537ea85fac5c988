"""Whether toolchains stay what their digests say while actions run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from oxide_build.errors import ActionFailed
from oxide_build.model.action import Action
from oxide_build.model.toolchain import ToolTree

if TYPE_CHECKING:
    from oxide_build.provision.file_state import State


@dataclass(frozen=True, slots=True)
class ToolWatch:
    """Looks at the files of toolchains before and after actions; safe in any thread.

    `store` remembers what they were when they were hashed.

    Those that the machine has are not ours: `rustup update` may replace one at any time, and what a
    half-replaced compiler writes must not be kept under the old one's digest.
    """

    trees: Mapping[tuple[str, str], ToolTree]
    store: Path
    _states: dict[tuple[str, str], Mapping[str, State]] = field(default_factory=dict)

    def begin(self, action: Action) -> None:
        """Look at the tools of `action` before it runs; only the first time costs anything."""
        # Imported late: a build whose actions are hits looks at no tool.
        from oxide_build.provision.file_state import Notebook
        from oxide_build.provision.tool_store import ToolStore
        from oxide_build.provision.trees import remembered_states

        notebook = Notebook(ToolStore(self.store).state)
        for tool in action.tools:
            if tool not in self._states:
                # Two threads may do this at once, and find the same.
                self._states[tool] = remembered_states(self.trees[tool], notebook)

    def check(self, action: Action) -> None:
        """After it ran: raises `ActionFailed` where a tool is another one now. A stat a file."""
        from oxide_build.provision.file_state import state_of

        for tool in action.tools:
            for path, state in self._states[tool].items():
                if state_of(path) != state:
                    raise ActionFailed(
                        f"`{path}` changed while `{action.label}` ran with it",
                        hint="when the toolchain is complete again, run the build again",
                    )
