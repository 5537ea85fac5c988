"""What builds did, a file of JSON lines each, always kept."""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from oxide_build import __version__
from oxide_build.execution.report import ActionOutcome, BuildReporter
from oxide_build.model.action import Action

_FOLDER = "logs-v1"
_KEPT = 50
# A killed build leaves what it did until at most so long before (seconds).
_FLUSH_S = 0.5
_MESSAGE_LIMIT = 10_000


class EventLog:
    """The log of one build, and a reporter: it hears of every action and hands it on.

    The first line says what was asked for, then comes one for each action that ran, failed or was
    skipped, last the totals. Hits are counts by stage, so that ten thousand of them cost nothing.
    A disk that cannot be written ends the log, not the build.
    """

    def __init__(
        self, cache: Path, workspace: str, request: Mapping[str, Any], inner: BuildReporter
    ) -> None:
        self._inner = inner
        self._hits: Counter[str] = Counter()
        self._counts: Counter[str] = Counter()
        self._waiting: list[bytes] = []
        self._start = time.monotonic()
        self._flushed = self._start
        now_ns = time.time_ns()
        stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(now_ns // 1_000_000_000))
        self._folder = cache / _FOLDER / workspace
        self._file = self._folder / f"{stamp}.{now_ns % 1_000_000_000:09}Z-{os.getpid()}.jsonl"
        self._broken = False
        head = {"event": "begin", "schema": 1, "tool": __version__, "time_s": time.time()}
        self._put({**head, **request})

    def begin(self, total: int) -> None:
        self._inner.begin(total)

    def started(self, action: Action) -> None:
        self._inner.started(action)

    def finished(self, outcome: ActionOutcome) -> None:
        self._counts[outcome.source] += 1
        if outcome.source == "hit":
            self._hits[_stage(outcome.action)] += 1
        else:
            self._put(
                {
                    "event": outcome.source,
                    "label": str(outcome.action.label),
                    "stage": outcome.action.stage,
                    "arch": outcome.action.arch,
                    "start_s": round(outcome.start_s, 4),
                    "wall_s": round(outcome.wall_s, 4),
                    "failure": outcome.failure,
                    "message": outcome.message[:_MESSAGE_LIMIT],
                }
            )
        self._inner.finished(outcome)

    def end(self, ending: str) -> None:
        """Write the totals; `ending` is "ok", "failed" or what stopped the build."""
        self._put(
            {
                "event": "end",
                "ending": ending,
                "wall_s": round(time.monotonic() - self._start, 4),
                "counts": dict(self._counts),
                "hits": dict(self._hits),
            }
        )
        self._flush()
        logs = list(_files(self._folder))
        for old in logs[_KEPT:]:
            with contextlib.suppress(OSError):
                old.unlink()

    def _put(self, event: Mapping[str, Any]) -> None:
        self._waiting.append(msgspec.json.encode(event) + b"\n")
        if time.monotonic() - self._flushed > _FLUSH_S:
            self._flush()

    def _flush(self) -> None:
        self._flushed = time.monotonic()
        if self._broken or not self._waiting:
            return
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with open(self._file, "ab", buffering=0) as file:
                file.write(b"".join(self._waiting))
        except OSError:
            self._broken = True
        self._waiting.clear()


def read_logs(cache: Path, workspace: str) -> Iterator[Sequence[Mapping[str, Any]]]:
    """The events of each build of a workspace, the last build first; lines cut off are left out."""
    for file in _files(cache / _FOLDER / workspace):
        events = []
        with contextlib.suppress(OSError):
            for line in file.read_bytes().splitlines():
                with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError):
                    event = msgspec.json.decode(line)
                    if isinstance(event, dict) and "event" in event:
                        events.append(event)
        if events and events[0]["event"] == "begin":
            yield events


def _files(folder: Path) -> list[Path]:
    """Logs, the newest first. Their names begin with the time."""
    with contextlib.suppress(OSError):
        found = [(path.stat().st_mtime_ns, path.name, path) for path in folder.glob("*.jsonl")]
        return [path for _, _, path in sorted(found, reverse=True)]
    return []


def _stage(action: Action) -> str:
    return f"{action.stage} {action.arch}" if action.arch else action.stage
