"""What a build leaves besides outputs: a log, a cache within limits."""

from __future__ import annotations

from pathlib import Path

from oxide_build.cli.cache_limits import limits_of
from oxide_build.cli.session import Session, workspace_id
from oxide_build.execution.event_log import EventLog
from oxide_build.execution.report import BuildReporter
from oxide_build.store.gc import GcReport, add_size, collect_garbage


def event_log(session: Session, reporter: BuildReporter) -> EventLog:
    """The log of the build that begins now; it hears what `reporter` hears."""
    request = session.request
    asked = {
        "patterns": list(request.patterns),
        "archs": list(request.archs),
        "configs": list(request.configs),
        "rust": request.rust,
        "cuda": request.cuda,
        "workspace": session.workspace.root,
    }
    name = workspace_id(Path(session.workspace.root))
    return EventLog(session.folders.cache, name, asked, reporter)


def keep_cache_small(session: Session) -> GcReport | None:
    """Collect garbage if what the builds of this session added made the cache too large."""
    limits = limits_of(session.workspace.cache)
    if add_size(session.folders.cache, sum(session.added_bytes)) <= limits.max_bytes:
        return None
    return collect_garbage(session.folders.cache, limits)
