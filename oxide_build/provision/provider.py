"""What a provider is: someone who has a toolchain already, or can get it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from oxide_build.errors import ToolchainError
from oxide_build.model.toolchain import Toolchain
from oxide_build.provision.reporter import FetchReporter
from oxide_build.resolution.versions import Spec


@dataclass(frozen=True, slots=True)
class Found:
    """A toolchain that fits and is here."""

    toolchain: Toolchain


@dataclass(frozen=True, slots=True)
class Missing:
    """Nothing here fits.

    reason     a clause for the list of what each provider said
    can_fetch  whether `fetch` has a chance
    command    what the user could type to get it
    """

    reason: str
    can_fetch: bool = False
    command: str | None = None


class Refused(ToolchainError):
    """What was fetched is not what was asked for: no other provider is asked in its place."""


class Provider(Protocol):
    """Finds toolchains of its `kinds` on this machine and, some of them, fetches more."""

    @property
    def name(self) -> str: ...

    @property
    def kinds(self) -> tuple[str, ...]: ...

    def find(self, spec: Spec) -> Found | Missing:
        """Look on this machine only; no network, nothing is installed."""

    def fetch(self, spec: Spec, reporter: FetchReporter) -> Toolchain:
        """Get it into the tool's own store. Raises `ToolchainError` when that fails.

        `Refused` ends the search; after any other the next provider is asked.
        """
