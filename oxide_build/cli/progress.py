"""What is shown while a build runs: one moving line on a terminal, plain lines elsewhere.

Nothing here prints to standard output.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from oxide_build.cli.messages import say
from oxide_build.execution.report import ActionOutcome
from oxide_build.host.terminal import styled
from oxide_build.model.action import Action

if TYPE_CHECKING:
    from rich.progress import Progress

# On a terminal the line is drawn anew at most this often (seconds).
_REFRESH_S = 0.05
# A log gets a line each time so much more has arrived.
_LOG_STEP_BYTES = 50_000_000
# … and during a build each time so much has passed (seconds).
_LOG_STEP_S = 1.0


def action_name(action: Action) -> str:
    """`//kernels:saxpy compile`, `//kernels:saxpy codegen sm_90`."""
    return f"{action.label.short} {action.stage}" + (f" {action.arch}" if action.arch else "")


def size(size_bytes: int) -> str:
    """A size as people say it: 12 kB, 94.1 MB, 20.0 GB."""
    if size_bytes < 1_000_000:
        return f"{size_bytes / 1000:.0f} kB"
    if size_bytes < 1_000_000_000:
        return f"{size_bytes / 1_000_000:.1f} MB"
    return f"{size_bytes / 1_000_000_000:.1f} GB"


def outcome_lines(outcome: ActionOutcome) -> Iterator[str]:
    """What is shown of an action that failed or whose tools said something; nothing of others."""
    if outcome.failure is not None:
        head = styled("failed:", "red", bold=True)
        yield f"{head} {action_name(outcome.action)}: {outcome.failure}"
    elif outcome.message:
        yield f"{styled('warnings:', 'yellow')} {action_name(outcome.action)}"
    if outcome.message:
        yield outcome.message.rstrip() + "\n"
    if outcome.hint:
        yield f"{styled('hint:', 'cyan', bold=True)} {outcome.hint}\n"


class StatusLine:
    """The last line of a terminal, rewritten in place; absent where nobody would see it move."""

    def __init__(self) -> None:
        self.live = sys.stderr.isatty()
        self._drawn = 0.0
        self._shown = False

    def put(self, text: str) -> None:
        """Show `text`, unless the line was drawn a moment ago."""
        now = time.monotonic()
        if not self.live or now - self._drawn < _REFRESH_S:
            return
        self._drawn = now
        self._shown = True
        columns = shutil.get_terminal_size((100, 24)).columns
        _draw(f"\r\x1b[K{text[: columns - 1]}")

    def clear(self) -> None:
        """Take the line away, before something is printed for good."""
        if self._shown:
            _draw("\r\x1b[K")
            self._shown = False


def _draw(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


class BuildProgress:
    """Shows a build: what runs, and at once what failed or warned."""

    def __init__(self, line: StatusLine, *, quiet: bool = False) -> None:
        self._line = line
        self._quiet = quiet
        self._total = 0
        self._done = 0
        self._running: dict[int, str] = {}
        self._logged = float("-inf")

    def begin(self, total: int) -> None:
        self._total, self._done = total, 0

    def started(self, action: Action) -> None:
        self._running[id(action)] = action_name(action)
        self._draw()

    def finished(self, outcome: ActionOutcome) -> None:
        self._running.pop(id(outcome.action), None)
        self._done += 1
        lines = list(outcome_lines(outcome))
        if lines:
            self._line.clear()
            for line in lines:
                say(line)
        self._draw()

    def _draw(self) -> None:
        if self._quiet:
            return
        names = list(self._running.values())
        more = f" (+{len(names) - 2})" if len(names) > 2 else ""
        text = f"[{self._done}/{self._total}] {', '.join(names[:2])}{more}"
        if self._line.live:
            self._line.put(text)
        elif names and time.monotonic() - self._logged >= _LOG_STEP_S:
            self._logged = time.monotonic()
            say(text)


class FetchProgress:
    """Shows the fetching of toolchains: a bar on a terminal, now and then a line in a log."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()
        self._bar: Progress | None = None
        self._logged = 0

    def begin(self, what: str) -> None:
        self.close()
        self._logged = 0
        if self._live:
            self._bar = _download_bar()
            self._bar.start()
            self._bar.add_task(what, total=None)
        else:
            say(f"fetching {what}")

    def progress(self, what: str, done_bytes: int, total_bytes: int | None) -> None:
        if self._bar is not None:
            (task,) = self._bar.task_ids
            self._bar.update(task, completed=done_bytes, total=total_bytes)
        elif not self._live and done_bytes - self._logged >= _LOG_STEP_BYTES:
            self._logged = done_bytes
            share = f" of {size(total_bytes)}" if total_bytes else ""
            say(f"  {what}: {size(done_bytes)}{share}")

    def done(self, what: str, size_bytes: int, sha256: str | None) -> None:
        self.close()
        say(f"fetched {what}, {size(size_bytes)}" + (f", sha256 {sha256}" if sha256 else ""))

    def failed(self, what: str, reason: str) -> None:
        self.close()
        say(f"{styled('could not fetch', 'yellow')} {what}: {reason}")

    def close(self) -> None:
        """Take the bar away; harmless when there is none."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def _download_bar() -> Progress:
    # Imported late: it costs more than a build that has nothing to do.
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TransferSpeedColumn,
    )

    return Progress(
        TextColumn("fetching {task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
