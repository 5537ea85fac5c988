"""What a build leaves besides outputs: a log, a cache within limits."""

from __future__ import annotations

import time

from oxide_build.cli.cache_limits import max_bytes
from oxide_build.cli.prepared import Prepared, workspace_id
from oxide_build.errors import InfrastructureError
from oxide_build.execution.event_log import EventLog
from oxide_build.execution.report import BuildReporter
from oxide_build.store.tally import Tally


def event_log(prepared: Prepared, reporter: BuildReporter) -> EventLog:
    """The log of the build that begins now; it hears what `reporter` hears."""
    name = workspace_id(prepared.root)
    return EventLog(prepared.folders.cache, name, prepared.asked, reporter)


def keep_cache_small(prepared: Prepared) -> list[str]:
    """Collect garbage if it is time, after the outputs are in place; returns lines for people.

    Without a walk over the cache in most builds. What goes wrong is told, and is no failure: the
    build is done.
    """
    limit, cache = max_bytes(prepared.cache), prepared.folders.cache
    if not Tally(cache).due(limit, time.time()):
        return []
    from oxide_build.cli.cache_words import collected
    from oxide_build.store.gc import Limits, collect_garbage

    limits = Limits(max_bytes=limit, max_age_days=prepared.cache.max_age_days)
    try:
        report = collect_garbage(cache, limits)
    except OSError as error:
        return [f"warning: the cache could not be collected: {error.strerror}"]
    except InfrastructureError as error:
        return [f"warning: the cache could not be collected: {error.message}"]
    worth_a_line = report is not None and (report.results or report.blobs or report.over)
    return [collected(report, limits)] if report is not None and worth_a_line else []
