"""Building from a plan, without what loads and analyses a workspace or parses options."""

from __future__ import annotations

from pathlib import Path

from oxide_build.cli.guard import guarded
from oxide_build.cli.plans import plan_of
from oxide_build.cli.running import Ready, Showing, run_build
from oxide_build.errors import OxideError


def build_as_planned(argv: list[str]) -> int | None:
    """Build `argv` from the plan that an earlier build left; its exit code.

    None where there is no plan that holds: then nothing was done.
    """
    return guarded(lambda: _build(argv, Path.cwd()))


def _build(argv: list[str], start: Path) -> int | None:
    try:
        planned = plan_of(argv, start)
    except OxideError:
        # Who loads the workspace meets it again, and knows more.
        return None
    if planned is None:
        return None
    prepared, plan = planned
    showing = Showing(quiet=plan.body.quiet, as_json=plan.body.as_json)
    ready = Ready(prepared, lambda: plan.states if plan.settled else None)
    return run_build(ready, argv, start, showing)
