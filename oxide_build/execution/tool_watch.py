"""Whether toolchains stay what their digests say while actions run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from oxide_build.errors import ActionFailed
from oxide_build.model.action import Action
from oxide_build.model.toolchain import ToolTree
from oxide_build.provision.file_state import Notebook, State, state_of
from oxide_build.provision.trees import remembered_states


@dataclass(frozen=True, slots=True)
class ToolWatch:
    """Looks at the files of toolchains before and after actions; safe in any thread.

    Those that the machine has are not ours: `rustup update` may replace one at any time, and what a
    half-replaced compiler writes must not be kept under the old one's digest.
    """

    trees: Mapping[tuple[str, str], ToolTree]
    notebook: Notebook
    _states: dict[tuple[str, str], Mapping[str, State]] = field(default_factory=dict)

    def begin(self, action: Action) -> None:
        """Look at the tools of `action` before it runs; only the first time costs anything."""
        for tool in action.tools:
            if tool not in self._states:
                # Two threads may do this at once, and find the same.
                self._states[tool] = remembered_states(self.trees[tool], self.notebook)

    def check(self, action: Action) -> None:
        """After it ran: raises `ActionFailed` where a tool is another one now. A stat a file."""
        for tool in action.tools:
            for path, state in self._states[tool].items():
                if state_of(path) != state:
                    raise ActionFailed(
                        f"`{path}` changed while `{action.label}` ran with it",
                        hint="when the toolchain is complete again, run the build again",
                    )
