"""Getting a build ready: from the plan that an earlier one left, or by loading the workspace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from oxide_build.cli.plans import keep_plan, plan_of
from oxide_build.cli.prepared import Prepared
from oxide_build.snapshot.snapshot import State

if TYPE_CHECKING:
    from oxide_build.cli.request import Request


@dataclass(frozen=True, slots=True)
class Ready:
    """A build that can run. `definitions` gives, after it ran well, the states of all that defines
    it, None where they say nothing; it keeps a plan for the next build if there was none."""

    prepared: Prepared
    definitions: Callable[[], dict[str, State] | None]


def get_ready(argv: list[str], start: Path, request: Request) -> Ready:
    """The build of the command line `argv`, called in `start`. Raises `OxideError`."""
    planned = plan_of(argv, start)
    if planned is not None:
        prepared, plan = planned
        return Ready(prepared, lambda: plan.states if plan.settled else None)
    # Imported late: with a plan nothing is loaded, analysed or looked for.
    from oxide_build.cli.definitions import Surroundings, definitions
    from oxide_build.cli.folders import Folders
    from oxide_build.cli.progress import FetchProgress
    from oxide_build.cli.session import open_session

    around = Surroundings(Folders.find().store)
    fetching = FetchProgress()
    try:
        session = open_session(start, request, fetching)
        prepared = session.prepare()
    finally:
        fetching.close()

    def defined() -> dict[str, State] | None:
        found = definitions(session, around, prepared.graph)
        if found is not None:
            keep_plan(argv, start, prepared, found, session.scanned)
        return found

    return Ready(prepared, defined)
