"""`oxide cache`: what lies in the cache, whether it is right, and making room."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from oxide_build.cli.messages import say

if TYPE_CHECKING:
    from oxide_build.store.gc import Limits

# What a cache folder of ours may hold; `clear` removes these and nothing else.
_PARTS = (
    "blobs-v1", "results-v1", "file-states-v1", "snapshots-v1", "history-v1", "logs-v1", "uses-v1",
    "tmp", "size-v1", "gc.lock",
)  # fmt: skip
_DAY_S = 86_400

_STATS_HELP = """Show how much lies in the cache, how old it is, its limits, and how often the last
builds found what they needed, by stage and arch."""
_VERIFY_HELP = """Read every blob and every result and compare them with what they should be.

Exit code 5 if something is wrong. A build checks what it reads by itself; this is for disks that
are not trusted any more.
"""
_GC_HELP = """Remove what was not used for long, and what is over the size limit, oldest use first.

Builds do it by themselves when the size limit is exceeded. What was used within the last hour
stays, since a build that runs may be relying on it.
"""


@click.group("cache", help="Look into the cache, check it, make room.")
def command() -> None:
    pass


@command.command("path", help="Print the folder of the cache.")
def path_command() -> int:
    from oxide_build.cli.folders import Folders

    click.echo(str(Folders.find().cache))
    return 0


@command.command("stats", help=_STATS_HELP)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def stats_command(as_json: bool) -> int:
    import time

    from oxide_build.cli.folders import Folders
    from oxide_build.cli.progress import size
    from oxide_build.store.inventory import take_inventory

    cache = Folders.find().cache
    found, limits, now = take_inventory(cache), _limits(), time.time()
    ages = Counter[str]()
    for stored in found.results:
        days = (now - stored.used_s) / _DAY_S
        ages[
            "1 day" if days < 1 else "7 days" if days < 7 else "30 days" if days < 30 else "more"
        ] += 1
    rates = hit_rates(cache)
    if as_json:
        record = {
            "schema": 1,
            "path": str(cache),
            "results": len(found.results),
            "blobs": len(found.blobs),
            "size_bytes": found.size_bytes,
            "max_bytes": limits.max_bytes,
            "max_age_days": limits.max_age_days,
            "used_within": dict(ages),
            "stages": {stage: {"hits": h, "ran": r} for stage, (h, r) in rates.items()},
        }
        click.echo(json.dumps(record, indent=2))
        return 0
    click.echo(f"{cache}")
    click.echo(
        f"  {len(found.results)} results, {len(found.blobs)} blobs, {size(found.size_bytes)}"
    )
    click.echo(f"  at most {size(limits.max_bytes)}, {limits.max_age_days:g} days unused")
    used = ", ".join(
        f"{ages[key]} within {key}" for key in ("1 day", "7 days", "30 days") if ages[key]
    )
    click.echo(
        f"  last used: {used or 'never'}" + (f", {ages['more']} before" if ages["more"] else "")
    )
    for stage, (hits, ran) in rates.items():
        click.echo(f"  {stage:24} {100 * hits / (hits + ran):5.1f} % hits of {hits + ran}")
    return 0


@command.command("verify", help=_VERIFY_HELP)
@click.option("--repair", "repairing", is_flag=True, help="Remove what is wrong.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def verify_command(repairing: bool, as_json: bool) -> int:
    from oxide_build.cli.folders import Folders
    from oxide_build.errors import InfrastructureError
    from oxide_build.store.verify import repair, verify

    cache = Folders.find().cache
    found = list(verify(cache))
    if repairing and found:
        repair(cache, found)
    if as_json:
        rows = [{"what": each.what, "how": each.how} for each in found]
        click.echo(json.dumps({"schema": 1, "ok": not found, "damages": rows}, indent=2))
    else:
        for each in found:
            click.echo(f"{each.what}: {each.how}")
        done = " and removed" if repairing else "; `--repair` removes it"
        say(f"{len(found)} things are wrong{done if found else ''}" if found else "all is right")
    return InfrastructureError.exit_code if found else 0


@command.command("gc", help=_GC_HELP)
@click.option("--max-size", metavar="SIZE", help="At most so much: 20GB, 500MB.")
@click.option("--max-age-days", type=click.FloatRange(min=0), help="Unused for at most so long.")
@click.option("--dry-run", is_flag=True, help="Remove nothing; say what would go.")
def gc_command(max_size: str | None, max_age_days: float | None, dry_run: bool) -> int:
    from dataclasses import replace

    from oxide_build.cli.folders import Folders
    from oxide_build.cli.progress import size
    from oxide_build.load.cache_table import parse_size
    from oxide_build.store.gc import collect_garbage

    limits = _limits()
    if max_size is not None:
        found = parse_size(max_size)
        if found is None:
            raise click.UsageError(
                f"`{max_size}` is no size\n\nhint: write it as `20GB` or `500MB`"
            )
        limits = replace(limits, max_bytes=found)
    if max_age_days is not None:
        limits = replace(limits, max_age_days=max_age_days)
    report = collect_garbage(Folders.find().cache, limits, dry_run=dry_run)
    if report is None:
        say("another process is collecting already")
        return 0
    would = "would remove" if dry_run else "removed"
    say(
        f"{would} {report.results} results and {report.blobs} blobs, {size(report.freed_bytes)}; "
        f"{size(report.left_bytes)} left"
    )
    return 0


@command.command("clear", help="Remove everything in the cache. Builds start from nothing.")
def clear_command() -> int:
    from oxide_build.cli.folders import Folders
    from oxide_build.errors import UsageError

    cache = Folders.find().cache
    foreign = sorted(path.name for path in cache.iterdir() if path.name not in _PARTS)
    if foreign and not any((cache / part).exists() for part in _PARTS):
        raise UsageError(
            f"`{cache}` does not look like a cache of oxide_build: it has `{foreign[0]}`",
            hint="is OXIDE_CACHE what it should be?",
        )
    for part in _PARTS:
        path = cache / part
        if path.is_dir() and not path.is_symlink():
            # Renamed first, so that nobody finds half of it.
            gone = path.with_name(f"{part}.gone")
            shutil.rmtree(gone, ignore_errors=True)
            path.rename(gone)
            shutil.rmtree(gone, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    say(f"cleared {cache}" + (f", except `{foreign[0]}`, which is not ours" if foreign else ""))
    return 0


def hit_rates(cache: Path) -> dict[str, tuple[int, int]]:
    """Hits and runs by stage and arch, over all logs that are kept."""
    from oxide_build.execution.event_log import read_logs

    hits, ran = Counter[str](), Counter[str]()
    for folder in sorted((cache / "logs-v1").glob("*")):
        for events in read_logs(cache, folder.name):
            for event in events:
                if event["event"] == "ran":
                    arch = f" {event['arch']}" if event["arch"] else ""
                    ran[f"{event['stage']}{arch}"] += 1
                elif event["event"] == "end":
                    hits.update(event["hits"])
    return {stage: (hits[stage], ran[stage]) for stage in sorted({*hits, *ran})}


def _limits() -> Limits:
    """Those of the workspace here, or the usual ones; `OXIDE_CACHE_MAX_SIZE` before either."""
    from oxide_build.cli.cache_limits import max_bytes
    from oxide_build.errors import UsageError
    from oxide_build.load.workspace_file import find_workspace, load_workspace
    from oxide_build.model.cache_settings import CacheSettings
    from oxide_build.store.gc import Limits

    try:
        settings = load_workspace(find_workspace(Path.cwd())).cache
    except UsageError:
        settings = CacheSettings()
    return Limits(max_bytes=max_bytes(settings), max_age_days=settings.max_age_days)
