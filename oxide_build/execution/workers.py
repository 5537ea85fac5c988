"""Threads that run actions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ParamSpec

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor
    from types import TracebackType

_P = ParamSpec("_P")


class Workers:
    """At most `jobs` threads; none, nor their import, as long as there is nothing to do.

    Leaving the block waits for all that was handed in.
    """

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._pool: ThreadPoolExecutor | None = None

    def submit(self, call: Callable[_P, None], *args: _P.args, **named: _P.kwargs) -> None:
        if self._pool is None:
            from concurrent.futures import ThreadPoolExecutor

            self._pool = ThreadPoolExecutor(self._jobs, "oxide-action")
        self._pool.submit(call, *args, **named)

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True)
