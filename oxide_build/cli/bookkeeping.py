"""What a build leaves besides outputs: a log, a cache within limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oxide_build.cli.cache_limits import max_bytes
from oxide_build.cli.prepared import Prepared, workspace_id
from oxide_build.execution.event_log import EventLog
from oxide_build.execution.report import BuildReporter
from oxide_build.store.size import add_size

if TYPE_CHECKING:
    from oxide_build.store.gc import GcReport


def event_log(prepared: Prepared, reporter: BuildReporter) -> EventLog:
    """The log of the build that begins now; it hears what `reporter` hears."""
    name = workspace_id(prepared.root)
    return EventLog(prepared.folders.cache, name, prepared.asked, reporter)


def keep_cache_small(prepared: Prepared) -> GcReport | None:
    """Collect garbage if what the build added made the cache too large."""
    limit = max_bytes(prepared.cache)
    if add_size(prepared.folders.cache, sum(prepared.added_bytes)) <= limit:
        return None
    from oxide_build.store.gc import Limits, collect_garbage

    limits = Limits(max_bytes=limit, max_age_days=prepared.cache.max_age_days)
    return collect_garbage(prepared.folders.cache, limits)
