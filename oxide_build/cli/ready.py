"""Getting a build ready by loading and analysing the workspace."""

from __future__ import annotations

from pathlib import Path

from oxide_build.cli.definitions import Surroundings, definitions
from oxide_build.cli.folders import Folders
from oxide_build.cli.plans import keep_plan
from oxide_build.cli.progress import FetchProgress
from oxide_build.cli.request import Request
from oxide_build.cli.running import Ready, Showing
from oxide_build.cli.session import open_session
from oxide_build.snapshot.snapshot import State


def get_ready(argv: list[str], start: Path, request: Request, showing: Showing) -> Ready:
    """The build of the command line `argv`, called in `start`. Raises `OxideError`."""
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
            keep_plan(argv, start, prepared, showing, found, session.scanned)
        return found

    return Ready(prepared, defined)
