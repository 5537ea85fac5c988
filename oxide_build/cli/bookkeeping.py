"""What a build leaves besides outputs: a log, a record of the outputs, a cache within limits."""

from __future__ import annotations

from pathlib import Path

from oxide_build.cli.cache_limits import limits_of
from oxide_build.cli.session import Session, workspace_id
from oxide_build.execution.event_log import EventLog
from oxide_build.execution.output_record import OutputRecord
from oxide_build.execution.report import BuildReport, BuildReporter
from oxide_build.load.files import BUILD_FILE
from oxide_build.model.label import Label
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


def record_outputs(session: Session, report: BuildReport) -> list[str]:
    """Remember what the build left in `oxide-out`; returns what it removed there, because no
    target makes it any more."""
    built = {
        str(label): tuple(paths)
        for label, paths in report.outputs.items()
        if paths and label in report.complete
    }

    def gone(text: str) -> bool:
        """Whether a label of an earlier build is no target any more, as far as this one knows."""
        label = Label.parse(text, package="")
        names = session.graph.packages.get(label.package)
        if names is not None:
            return label.name not in names
        path = f"{label.package}/{BUILD_FILE}" if label.package else BUILD_FILE
        return not session.files.exists(path)

    narrowed = bool(session.request.archs or session.request.configs)
    record = OutputRecord(Path(session.workspace.root))
    return record.update(built, gone=gone, narrowed=narrowed)


def keep_cache_small(session: Session) -> GcReport | None:
    """Collect garbage if what the builds of this session added made the cache too large."""
    limits = limits_of(session.workspace.cache)
    if add_size(session.folders.cache, sum(session.added_bytes)) <= limits.max_bytes:
        return None
    return collect_garbage(session.folders.cache, limits)
