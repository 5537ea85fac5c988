"""What a command line asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oxide_build.resolution.lock import Lock


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the command line asks for.

    `archs` (spellings) replace those of the targets; `rust`, `cuda` and `min_driver` replace what
    `oxide.toml` requires. Who asks for another `rust` or `cuda` is not held to `oxide.lock`; `lock`
    is for who writes that file: it replaces what is read, and what it does not name may be added.
    """

    patterns: tuple[str, ...]
    archs: tuple[str, ...] = ()
    configs: tuple[str, ...] = ()
    rust: str | None = None
    cuda: str | None = None
    min_driver: str | None = None
    offline: bool = False
    jobs: int = 0
    keep_going: bool = False
    lock: Lock | None = None

    @property
    def choice(self) -> str:
        """What chooses among the outputs of the same targets; "" where nothing does."""
        asked = [f"--arch {arch}" for arch in sorted(self.archs)]
        return " ".join([*asked, *(f"--config {name}" for name in sorted(self.configs))])
