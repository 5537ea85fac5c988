"""The one door for subprocesses."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from oxide_build.errors import InfrastructureError

# How long a child may take to end after each signal before the next, harder one.
_GRACE_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """How a process ended. `returncode` is minus the signal number where one ended it."""

    argv: tuple[str, ...]
    returncode: int
    stdout: bytes
    stderr: bytes
    wall_s: float

    @property
    def ok(self) -> bool:
        return self.returncode == 0

    @property
    def text(self) -> str:
        """Standard output, decoded and stripped."""
        return self.stdout.decode("utf-8", "replace").strip()


class ProcessGroup:
    """Every process started through one `ProcessGroup` can be stopped together.

    Each child leads a session of its own, so that Ctrl-C reaches only this program, which then
    decides. Safe to use from several threads.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._stopping = False

    def run(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        timeout_s: float | None = None,
        on_tick: Callable[[], None] | None = None,
    ) -> Completed:
        """Run `argv` to its end and return how it ended; a failure is not an exception.

        A relative `argv[0]` with a slash is taken from `cwd`. `on_tick` is called about twice a
        second meanwhile. Raises `InfrastructureError` when it cannot be started or outlives
        `timeout_s`, and `KeyboardInterrupt` when the group is being stopped.
        """
        start = time.monotonic()
        with self._lock:
            if self._stopping:
                raise KeyboardInterrupt
            try:
                process = subprocess.Popen(
                    list(argv),
                    cwd=cwd,
                    env=dict(env),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    start_new_session=True,
                )
            except OSError as error:
                raise InfrastructureError(
                    f"could not start `{argv[0]}`: {error.strerror or error}"
                ) from error
            self._running.add(process)
        try:
            out, err = self._wait(argv[0], process, start, timeout_s, on_tick)
        except BaseException:
            _end(process)
            raise
        finally:
            with self._lock:
                self._running.discard(process)
        if self._stopping:
            raise KeyboardInterrupt
        return Completed(
            argv=tuple(argv),
            returncode=process.returncode,
            stdout=out,
            stderr=err,
            wall_s=time.monotonic() - start,
        )

    def stop(self) -> None:
        """Start nothing more; interrupt, terminate, then kill what runs."""
        with self._lock:
            self._stopping = True
            running = list(self._running)
        for process in running:
            _end(process)

    @staticmethod
    def _wait(
        name: str,
        process: subprocess.Popen[bytes],
        start: float,
        timeout_s: float | None,
        on_tick: Callable[[], None] | None,
    ) -> tuple[bytes, bytes]:
        if timeout_s is None and on_tick is None:
            return process.communicate()
        while True:
            try:
                return process.communicate(timeout=0.5)
            except subprocess.TimeoutExpired:
                if on_tick is not None:
                    on_tick()
                if timeout_s is not None and time.monotonic() - start > timeout_s:
                    raise InfrastructureError(
                        f"`{name}` did not end within {timeout_s:g} s"
                    ) from None


def alive(pid: int) -> bool:
    """Whether a process of that number exists, whosever it is."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a child and all that it started: asked twice, then killed."""
    for signum in (signal.SIGINT, signal.SIGTERM):
        if process.poll() is not None:
            break
        _signal_group(process, signum)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=_GRACE_S)
    # Even where the child itself has ended: what a shell started in the background ignores SIGINT,
    # and holds our pipes open.
    _signal_group(process, signal.SIGKILL)


def _signal_group(process: subprocess.Popen[bytes], signum: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signum)
