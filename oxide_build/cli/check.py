"""`oxide check`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from oxide_build.cli.options import split

if TYPE_CHECKING:
    from oxide_build.resolution.resolver import Choice, Refusal, Resolution

_HELP = """Say whether a compiler, a CUDA toolkit, a driver and architectures go together.

Needs no workspace, no compiler and no network: it knows what was measured. Exit code 0 if every
arch can be built and loads, 6 if not. A driver is the oldest that must load the result.

\b
Examples:
  oxide check --rust nightly-2026-04-03 --cuda 12.3 --driver 545 --arch sm_90a
  oxide check --rust ">=1.95" --cuda 13.0 --driver 535 --gpu H200 --arch sm_90
  oxide check --cuda 12.3 --arch sm_100 --explain
"""


@click.command("check", help=_HELP)
@click.option("--rust", default=">=1.95", show_default=True, metavar="SPEC", help="Which rustc.")
@click.option("--cuda", default=">=12.8", show_default=True, metavar="SPEC", help="Which CUDA.")
@click.option(
    "--arch",
    "archs",
    multiple=True,
    required=True,
    metavar="ARCH",
    help="An arch to build for; repeat or separate by commas.",
)
@click.option("--driver", metavar="VERSION", help="The oldest driver that must load it (535).")
@click.option("--gpu", metavar="NAME", help="A GPU that must run it (H200, RTX 4090, sm_90).")
@click.option("--ptx", metavar="VERSION", help="Ask for this PTX version (7.8).")
@click.option("--explain", is_flag=True, help="Name every candidate and what excluded it.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")  # fmt: skip
def command(
    rust: str,
    cuda: str,
    archs: tuple[str, ...],
    driver: str | None,
    gpu: str | None,
    ptx: str | None,
    explain: bool,
    as_json: bool,
) -> int:
    from oxide_build.cli.toolchains import load_facts
    from oxide_build.errors import ToolchainError
    from oxide_build.model.arch import ArchRequest
    from oxide_build.model.ptx import PtxVersion
    from oxide_build.resolution.predicates import Deployment
    from oxide_build.resolution.resolver import Requirements, resolve_known
    from oxide_build.resolution.versions import CudaSpec, RustSpec

    facts = load_facts()
    wanted = Requirements(
        rust=RustSpec.parse(rust),
        cuda=CudaSpec.parse(cuda),
        archs=tuple(ArchRequest.parse(text) for text in split(archs)),
        deployment=Deployment(
            driver=None if driver is None else facts.drivers.of(driver),
            gpu=None if gpu is None else facts.gpus.find(gpu),
        ),
        ptx=None if ptx is None else PtxVersion.parse(ptx),
    )
    resolution = resolve_known(wanted, facts)
    if as_json:
        click.echo(json.dumps(as_record(resolution), indent=2))
    else:
        for verdict in resolution.verdicts:
            click.echo("\n".join(_lines(verdict, explain=explain)))
    return 0 if resolution.ok else ToolchainError.exit_code


def as_record(resolution: Resolution) -> dict[str, Any]:
    """A resolution for programs; `schema` changes when a field changes its meaning."""
    return {
        "schema": 1,
        "ok": resolution.ok,
        "archs": [_record(verdict) for verdict in resolution.verdicts],
    }


def _record(verdict: Choice | Refusal) -> dict[str, Any]:
    from oxide_build.resolution.resolver import Choice

    arch = str(verdict.request.arch)
    if isinstance(verdict, Choice):
        return {
            "arch": arch,
            "ok": True,
            "rust": verdict.rust.spec,
            "llvm": verdict.rust.llvm,
            "cuda": verdict.cuda.version,
            "ptx": str(verdict.ptx),
            "warnings": list(verdict.warnings),
        }
    return {
        "arch": arch,
        "ok": False,
        "reason": verdict.main,
        "changes": list(verdict.changes),
        "candidates": [
            {
                "name": name,
                "excluded_by": [
                    {
                        "subject": each.subject,
                        "predicate": each.predicate,
                        "reason": each.sentence,
                        "how": each.evidence.how,
                        "source": each.evidence.source,
                    }
                    for each in found
                ],
            }
            for name, found in verdict.excluded
        ],
    }


def _lines(verdict: Choice | Refusal, *, explain: bool) -> list[str]:
    from oxide_build.resolution.resolver import Choice

    arch = f"{verdict.request.arch!s:8}"
    if isinstance(verdict, Choice):
        rust, cuda = verdict.rust, verdict.cuda
        text = (
            f"{arch} yes: {rust.name} (LLVM {rust.llvm}) writes PTX {verdict.ptx}, "
            f"{cuda.name} takes up to {cuda.max_ptx}"
        )
        return [text, *(f"         but: {warning}" for warning in verdict.warnings)]
    lines = [f"{arch} no: {verdict.main}", f"         fix: {', or '.join(verdict.changes)}"]
    if explain:
        for name, found in verdict.excluded:
            lines.append(f"         {name}")
            lines += [f"           - {each.sentence} [{each.evidence}]" for each in found]
    return lines
