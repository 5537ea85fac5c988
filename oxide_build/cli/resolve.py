"""`oxide toolchain resolve`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from oxide_build.cli.options import graph_options, split

if TYPE_CHECKING:
    from oxide_build.cli.session import Session
    from oxide_build.cli.toolchains import Toolchains
    from oxide_build.model.arch import ArchRequest
    from oxide_build.model.toolchain import Toolchain
    from oxide_build.resolution.candidates import CudaCandidate, RustCandidate
    from oxide_build.resolution.case import Exclusion
    from oxide_build.resolution.resolver import Choice, Refusal

_MOST_TARGETS = 5

Candidate = TypeVar("Candidate")

_HELP = """Show what the targets of a workspace would be built with, for each arch, and why.

Fetches and compiles nothing. With --explain every pair that was passed over is named with the facts
that exclude it. Exit code 6 if some arch cannot be built.

\b
Examples:
  oxide toolchain resolve
  oxide toolchain resolve //kernels/... --arch sm_70,sm_120 --cuda ">=12" --explain
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """One arch as some targets ask for it: the verdict, and its tools (None: not here)."""

    request: ArchRequest
    targets: tuple[str, ...]
    verdict: Choice | Refusal
    passed_over: tuple[tuple[str, tuple[Exclusion, ...]], ...] = ()
    rust: Toolchain | None = None
    cuda: Toolchain | None = None


@click.command("resolve", help=_HELP)
@click.argument("patterns", nargs=-1)
@graph_options
@click.option("--driver", metavar="VERSION", help="The oldest driver that must load the result.")
@click.option("--explain", is_flag=True, help="Name every pair that was passed over, and why.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    patterns: tuple[str, ...],
    archs: tuple[str, ...],
    configs: tuple[str, ...],
    rust: str | None,
    cuda: str | None,
    offline: bool,
    driver: str | None,
    explain: bool,
    as_json: bool,
) -> int:
    from oxide_build.cli.progress import FetchProgress
    from oxide_build.cli.request import Request
    from oxide_build.cli.session import open_session
    from oxide_build.errors import ToolchainError
    from oxide_build.resolution.resolver import Choice

    request = Request(
        patterns=patterns or ("//...",),
        archs=split(archs),
        configs=split(configs),
        rust=rust,
        cuda=cuda,
        min_driver=driver,
        # Said so or not: this command looks, and gets nothing.
        offline=True,
    )
    del offline
    session = open_session(Path.cwd(), request, FetchProgress())
    found = list(_resolved(session))
    ok = all(isinstance(each.verdict, Choice) for each in found)
    if as_json:
        record = {"schema": 1, "ok": ok, "archs": [_record(each) for each in found]}
        click.echo(json.dumps(record, indent=2))
    else:
        for each in found:
            click.echo("\n".join(_lines(each, explain=explain)))
        if not found:
            click.echo("no target here is built for an arch")
    return 0 if ok else ToolchainError.exit_code


def _requests(session: Session) -> dict[ArchRequest, list[str]]:
    """What each arch is asked for, in ascending order, and by which targets."""
    found: dict[ArchRequest, list[str]] = {}
    for label in session.graph.requested:
        target = session.graph.targets[label]
        if session.rules.schemas[target.rule].per_arch:
            for request in session.requests(target):
                found.setdefault(request, []).append(label.short)
    return dict(sorted(found.items(), key=lambda item: (item[0].arch, str(item[0]))))


def _resolved(session: Session) -> Iterator[Resolved]:
    from oxide_build.resolution.resolver import Choice, judged, resolve

    toolchains = session.toolchains
    for asked, targets in _requests(session).items():
        rust, cuda = _rust(toolchains, asked), _cuda(toolchains, asked)
        wanted, facts = toolchains.requirements(asked), toolchains.facts
        (verdict,) = resolve(wanted, tuple(rust), tuple(cuda), facts).verdicts
        if isinstance(verdict, Choice):
            tried = (_up_to(verdict.rust, rust), _up_to(verdict.cuda, cuda))
            all_judged = judged(wanted, asked, *tried, facts)
            yield Resolved(
                request=asked,
                targets=tuple(targets),
                verdict=verdict,
                passed_over=tuple(
                    (name, against)
                    for name, against in all_judged
                    if against[0].predicate != "partner-found"
                ),
                rust=rust[verdict.rust](),
                cuda=cuda[verdict.cuda](),
            )
        else:
            yield Resolved(request=asked, targets=tuple(targets), verdict=verdict)


def _up_to(chosen: Candidate, candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    listed = tuple(candidates)
    return listed[: listed.index(chosen) + 1]


# Candidates in order of preference, each with the way to its toolchain if that is here.
_Here = Callable[[], "Toolchain | None"]


def _rust(toolchains: Toolchains, asked: ArchRequest) -> dict[RustCandidate, _Here]:
    from oxide_build.resolution.candidates import probed_rust, rust_candidates
    from oxide_build.resolution.versions import RustSpec

    found: dict[RustCandidate, _Here] = {}
    usual = toolchains.source.here("rust", asked.arch)
    if usual is not None:
        found[probed_rust(usual)] = lambda: usual
    for text in toolchains.source.allowed("rust", asked.arch):
        for each in rust_candidates(toolchains.facts, RustSpec.parse(text)):
            if usual is None or each.spec != usual.spec:
                found[each] = partial(toolchains.source.here_exactly, "rust", each.spec)
    return found


def _cuda(toolchains: Toolchains, asked: ArchRequest) -> dict[CudaCandidate, _Here]:
    from oxide_build.resolution.candidates import cuda_candidates, probed_cuda
    from oxide_build.resolution.versions import CudaSpec

    found: dict[CudaCandidate, _Here] = {}
    usual = toolchains.source.here("cuda", asked.arch)
    if usual is not None:
        found[probed_cuda(usual)] = lambda: usual
    for text in toolchains.source.allowed("cuda", asked.arch):
        for each in cuda_candidates(toolchains.facts, CudaSpec.parse(text)):
            if usual is None or each.version != usual.version:
                found[each] = partial(toolchains.source.here_exactly, "cuda", each.version)
    return found


def _record(found: Resolved) -> dict[str, Any]:
    from oxide_build.cli.verdicts import excluded_records, verdict_record

    where = {
        kind: None if tool is None else {"provider": tool.provider, "origin": tool.origin}
        for kind, tool in (("rust", found.rust), ("cuda", found.cuda))
    }
    return {
        **verdict_record(found.verdict),
        "targets": list(found.targets),
        "here": where,
        "passed_over": excluded_records(found.passed_over),
    }


def _lines(found: Resolved, *, explain: bool) -> list[str]:
    from oxide_build.cli.verdicts import excluded_lines, verdict_lines
    from oxide_build.resolution.resolver import Choice

    lines = verdict_lines(found.verdict, explain=explain)
    if isinstance(found.verdict, Choice):
        for name, tool in (
            (found.verdict.rust.name, found.rust),
            (found.verdict.cuda.name, found.cuda),
        ):
            at = f"{tool.provider}: {tool.origin}" if tool else "not here, the next build gets it"
            lines.append(f"         {name}: {at}")
        if explain and found.passed_over:
            lines.append("         passed over:")
            lines += excluded_lines(found.passed_over)
    shown = ", ".join(found.targets[:_MOST_TARGETS])
    more = len(found.targets) - _MOST_TARGETS
    return [*lines, f"         for {shown}" + (f" and {more} more" if more > 0 else "")]
