"""How fetching tells what it is doing."""

from __future__ import annotations

from typing import Protocol


class FetchReporter(Protocol):
    """Hears of downloads; the command line draws them. Calls come from one thread at a time."""

    def begin(self, what: str) -> None:
        """`what` is being fetched now."""

    def progress(self, what: str, done_bytes: int, total_bytes: int | None) -> None:
        """So much has arrived; None where nobody says how much will."""

    def done(self, what: str, size_bytes: int, sha256: str | None) -> None:
        """`what` is there; `sha256` of the downloaded file, where it is one file."""

    def failed(self, what: str, reason: str) -> None:
        """`what` could not be fetched; the next provider is asked."""


class SilentReporter:
    """Says nothing."""

    def begin(self, what: str) -> None:
        pass

    def progress(self, what: str, done_bytes: int, total_bytes: int | None) -> None:
        pass

    def done(self, what: str, size_bytes: int, sha256: str | None) -> None:
        pass

    def failed(self, what: str, reason: str) -> None:
        pass
