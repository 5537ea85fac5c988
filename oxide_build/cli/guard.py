"""From exceptions to exit codes, for every way into the tool."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TypeVar

from oxide_build.cli.messages import say, show_error
from oxide_build.errors import OxideError

_INTERRUPTED = 130
_BUG = 70


_T = TypeVar("_T")


def guarded(call: Callable[[], _T]) -> _T | int:
    """What `call` returns, or the exit code for what it raised, which is shown."""
    try:
        return call()
    except OxideError as error:
        show_error(error)
        return error.exit_code
    except KeyboardInterrupt:
        say("interrupted; the next build goes on from here")
        return _INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has had enough; keep Python from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception:
        import traceback

        say(traceback.format_exc())
        say("this is a bug in oxide_build: please report it with the lines above")
        return _BUG
