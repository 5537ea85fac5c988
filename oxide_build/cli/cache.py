"""`oxide cache`: what lies in the cache, whether it is right, and making room."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from oxide_build.cli.messages import say

if TYPE_CHECKING:
    from oxide_build.store.gc import Limits
    from oxide_build.store.inventory import Inventory

_CLEAR_HELP = """Remove everything in the cache, and nothing that is not the tool's.

Builds may run: they make again what they miss. `oxide-out` of workspaces stays.
"""

_DAY_S = 86_400
# Days, and how that is said.
_AGES = (
    (1.0, "within 1 day"), (7.0, "within 7 days"), (30.0, "within 30 days"),
    (float("inf"), "longer ago"),
)  # fmt: skip

_STATS_HELP = """Show how much lies in the cache, how old it is, its limits, and how often the last
builds found what they needed, by stage and arch."""
_VERIFY_HELP = """Read every blob and every result and compare them with what they should be.

Exit code 5 if something is wrong. A build checks what it reads by itself; this is for disks that
are not trusted any more.
"""
_GC_HELP = """Remove what was not used for long, and what is over the size limit, oldest use first.

Builds do it by themselves when the size limit is exceeded, and once a day. What was used within the
last hour stays, since a build that runs may be relying on it.
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

    cache, limits, now = Folders.find().cache, _limits(), time.time()
    found = take_inventory(cache, now)
    ages = _bytes_by_age(found, now)
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
            "bytes_used_within": ages,
            "stages": {stage: {"hits": h, "ran": r} for stage, (h, r) in rates.items()},
        }
        click.echo(json.dumps(record, indent=2))
        return 0
    click.echo(f"{cache}")
    click.echo(
        f"  {len(found.results)} results, {len(found.blobs)} blobs, {size(found.size_bytes)}"
    )
    click.echo(f"  at most {size(limits.max_bytes)}, {limits.max_age_days:g} days unused")
    used = ", ".join(f"{size(ages[name])} {name}" for name in ages if ages[name])
    click.echo(f"  last used: {used or 'never'}")
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
        with _explained(cache):
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
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def gc_command(
    max_size: str | None, max_age_days: float | None, dry_run: bool, as_json: bool
) -> int:
    from oxide_build.cli.cache_words import collected
    from oxide_build.cli.folders import Folders
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
    cache = Folders.find().cache
    with _explained(cache):
        report = collect_garbage(cache, limits, dry_run=dry_run)
    if report is None:
        say("another process is collecting already")
        return 0
    if as_json:
        click.echo(json.dumps({"schema": 1, "dry_run": dry_run, **asdict(report)}, indent=2))
    say(collected(report, limits, dry_run=dry_run))
    return 0


@command.command("clear", help=_CLEAR_HELP)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def clear_command(as_json: bool) -> int:
    from oxide_build.cli.folders import Folders
    from oxide_build.cli.progress import size
    from oxide_build.store.clearing import clear

    cache = Folders.find().cache
    with _explained(cache):
        done = clear(cache)
    if as_json:
        click.echo(json.dumps({"schema": 1, **asdict(done)}, indent=2))
    rest = f", except `{'`, `'.join(done.left[:3])}`, which is not ours" if done.left else ""
    say(f"cleared {cache}{rest}: {done.results} results, {size(done.size_bytes)} in files")
    return 0


@contextmanager
def _explained(cache: Path) -> Iterator[None]:
    from oxide_build.errors import InfrastructureError

    try:
        yield
    except OSError as error:
        raise InfrastructureError(
            f"the cache `{cache}` could not be changed: {error.strerror or error}"
        ) from error


def _bytes_by_age(found: Inventory, now: float) -> dict[str, int]:
    """Bytes of blobs by when a result that names them was last used; those without one last."""
    used: dict[str, float] = {}
    for stored in found.results:
        for output in stored.result.outputs:
            used[output.sha256] = max(stored.used_s, used.get(output.sha256, 0.0))
    ages = dict.fromkeys((*(name for _, name in _AGES), "by no result"), 0)
    for name, (size_bytes, _) in found.blobs.items():
        days = (now - used[name]) / _DAY_S if name in used else 0.0
        age = next(text for limit, text in _AGES if days < limit)
        ages[age if name in used else "by no result"] += size_bytes
    return ages


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
