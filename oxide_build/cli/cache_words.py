"""What is said of the cache, by builds and by `oxide cache`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oxide_build.cli.progress import size

if TYPE_CHECKING:
    from oxide_build.store.gc import GcReport, Limits


def collected(report: GcReport, limits: Limits, *, dry_run: bool = False) -> str:
    """What a collection did, in one line."""
    line = (
        f"cache: {'would remove' if dry_run else 'removed'} {report.results} results and "
        f"{report.blobs} blobs, {size(report.freed_bytes)}; {size(report.left_bytes)} of "
        f"{size(limits.max_bytes)} left"
    )
    return f"{line}, all of it used or made within the last hour" if report.over else line
