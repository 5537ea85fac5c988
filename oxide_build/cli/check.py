"""`oxide check`."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from oxide_build.cli.options import split

if TYPE_CHECKING:
    from oxide_build.cli.prove import Proof
    from oxide_build.resolution.case import Route
    from oxide_build.resolution.driver_facts import Driver
    from oxide_build.resolution.resolver import Resolution

_HELP = """Say whether a compiler, a CUDA toolkit, a driver and architectures go together.

Needs no workspace, no compiler and no network: it knows what was measured. Exit code 0 if every
arch can be built and loads, 6 if not. A driver is the oldest that must load the result.

\b
Examples:
  oxide check --rust nightly-2026-04-03 --cuda 12.3 --driver 545 --arch sm_90a
  oxide check --rust ">=1.95" --cuda 13.0 --driver 535 --gpu H200 --arch sm_90
  oxide check --cuda 12.3 --arch sm_100 --explain
  oxide check --backend cuda-oxide --revision 4514af2c --cuda 12.8 --arch sm_90
  oxide check --arch 90-virtual --driver 535 --prove
  oxide check //kernels/... --driver 535 --prove

With --prove the ptxas of the driver's CUDA release is fetched and asked to assemble the PTX: a
smallest one, or what the PATTERNS of a workspace build to.
"""


@click.command("check", help=_HELP)
@click.argument("patterns", nargs=-1)
@click.option(
    "--rust",
    metavar="SPEC",
    help="Which rustc.  [default: >=1.95, or the night that the backend pins]",
)
@click.option("--cuda", default=">=12.8", show_default=True, metavar="SPEC", help="Which CUDA.")
@click.option(
    "--arch",
    "archs",
    multiple=True,
    metavar="ARCH",
    help="An arch to build for; repeat or separate by commas.",
)
@click.option("--driver", metavar="VERSION", help="The oldest driver that must load it (535).")
@click.option("--gpu", metavar="NAME", help="A GPU that must run it (H200, RTX 4090, sm_90).")
@click.option("--backend", metavar="NAME", help="A codegen backend (cuda-oxide, rust-cuda).")
@click.option("--revision", metavar="COMMIT", help="Which revision of the backend.")
@click.option("--nvvm", is_flag=True, help="Through libNVVM, as LTO-IR needs it, not llc.")
@click.option("--ptx", metavar="VERSION", help="Ask for this PTX version (7.8).")
@click.option("--explain", is_flag=True, help="Name every candidate and what excluded it.")
@click.option("--prove", is_flag=True, help="Ask the ptxas of the driver's CUDA release.")
@click.option("--offline", is_flag=True, help="Fetch nothing for a proof.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    patterns: tuple[str, ...],
    rust: str | None,
    cuda: str,
    archs: tuple[str, ...],
    driver: str | None,
    gpu: str | None,
    backend: str | None,
    revision: str | None,
    nvvm: bool,
    ptx: str | None,
    explain: bool,
    prove: bool,
    offline: bool,
    as_json: bool,
) -> int:
    if prove and driver is None:
        raise click.UsageError("`--prove` needs `--driver`: whose assembler shall prove it?")
    if patterns:
        if not prove or driver is None:
            raise click.UsageError("targets are checked by a build; here they need `--prove`")
        return _prove_targets(patterns, split(archs), driver, offline=offline)
    if not archs:
        raise click.UsageError("no arch was named\n\nhint: add `--arch sm_90`")
    from oxide_build.cli.toolchains import load_facts
    from oxide_build.cli.verdicts import as_record, verdict_lines
    from oxide_build.errors import ToolchainError
    from oxide_build.model.arch import ArchRequest
    from oxide_build.model.ptx import PtxVersion
    from oxide_build.resolution.case import Deployment, Route
    from oxide_build.resolution.resolver import Requirements, resolve_known
    from oxide_build.resolution.versions import CudaSpec, RustSpec

    if revision is not None and backend is None:
        raise click.UsageError("`--revision` is that of a backend: add `--backend NAME`")
    facts = load_facts()
    route = Route(
        backend=None if backend is None else facts.backends.find(backend),
        revision=revision,
        nvvm=nvvm,
    )
    wanted = Requirements(
        rust=RustSpec.parse(rust or _usual_rust(route)),
        cuda=CudaSpec.parse(cuda),
        archs=tuple(ArchRequest.parse(text) for text in split(archs)),
        deployment=Deployment(
            driver=None if driver is None else facts.drivers.of(driver),
            gpu=None if gpu is None else facts.gpus.find(gpu),
        ),
        ptx=None if ptx is None else PtxVersion.parse(ptx),
        route=route,
    )
    resolution = resolve_known(wanted, facts)
    texts = _smallest(resolution) if prove else {}
    proofs = _proofs(texts, wanted.deployment.driver, offline=offline)
    if as_json:
        record = {**as_record(resolution), "proofs": [asdict(proof) for proof in proofs]}
        click.echo(json.dumps(record, indent=2))
    else:
        for verdict in resolution.verdicts:
            click.echo("\n".join(verdict_lines(verdict, explain=explain)))
        _show(proofs)
    good = resolution.ok and all(proof.ok for proof in proofs)
    return 0 if good else ToolchainError.exit_code


def _usual_rust(route: Route) -> str:
    pins = route.backend.pins_of(route.revision) if route.backend else ()
    return pins[-1].spec if pins else ">=1.95"


def _smallest(resolution: Resolution) -> dict[str, str]:
    from oxide_build.cli.prove import smallest_kernel
    from oxide_build.resolution.resolver import Choice

    return {
        str(each.request.arch): smallest_kernel(str(each.ptx), each.request.arch)
        for each in resolution.verdicts
        if isinstance(each, Choice) and each.request.ptx
    }


def _prove_targets(
    patterns: tuple[str, ...], archs: tuple[str, ...], driver: str, *, offline: bool
) -> int:
    """Build the targets, then assemble every PTX of theirs with the oldest assembler."""
    from oxide_build.cli.prove import built_ptx
    from oxide_build.cli.request import Request
    from oxide_build.cli.toolchains import load_facts
    from oxide_build.errors import ToolchainError

    request = Request(patterns=patterns, archs=archs, min_driver=driver, offline=offline)
    proofs = _proofs(built_ptx(request), load_facts().drivers.of(driver), offline=offline)
    _show(proofs)
    return 0 if all(proof.ok for proof in proofs) else ToolchainError.exit_code


def _proofs(texts: dict[str, str], driver: Driver | None, *, offline: bool) -> list[Proof]:
    from oxide_build.cli.progress import FetchProgress
    from oxide_build.cli.prove import prove

    if driver is None or not texts:
        return []
    return list(prove(texts, driver, FetchProgress(), offline=offline))


def _show(proofs: list[Proof]) -> None:
    for proof in proofs:
        verdict = "takes it" if proof.ok else f"refuses it: {proof.said}"
        click.echo(f"proof: {proof.name}: ptxas {proof.ptxas} of driver {proof.driver} {verdict}")
