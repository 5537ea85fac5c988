"""`oxide toolchain facts`."""

from __future__ import annotations

import os
from pathlib import Path

import click

from oxide_build.cli.messages import say

_HELP = """Check the facts of the tool against real compilers and assemblers.

Without options: how much is known. With --check the rustc and the ptxas that --rust and --cuda
name are asked (and fetched if need be) and every fact that they contradict is listed; exit code 6
if there is one. With --probe the row of toolchains/cuda.toml for a ptxas that nobody has described
yet is printed.

\b
Examples:
  oxide toolchain facts --check --rust 1.96 --cuda 13.0
  oxide toolchain facts --probe /usr/local/cuda-13.6/bin/ptxas >> toolchains/cuda.toml
"""


@click.command("facts", help=_HELP)
@click.option("--check", is_flag=True, help="Ask real tools.")
@click.option("--rust", default=">=1.95", show_default=True, metavar="SPEC", help="Which rustc.")
@click.option("--cuda", default=">=12.8", show_default=True, metavar="SPEC", help="Which CUDA.")
@click.option("--probe", type=click.Path(exists=True, dir_okay=False), help="A ptxas to describe.")
@click.option("--offline", is_flag=True, help="Fetch nothing; name what is missing instead.")
def command(check: bool, rust: str, cuda: str, probe: str | None, offline: bool) -> int:
    from oxide_build.cli.toolchains import load_facts

    facts = load_facts()
    if probe is not None:
        click.echo(_described(Path(probe).absolute()), nl=False)
        return 0
    if check:
        return _check(rust, cuda, offline=offline)
    click.echo(f"rustc releases    {len(facts.rust.releases)}")
    click.echo(f"LLVM releases     {len(facts.llvm.releases)}")
    click.echo(f"CUDA toolkits     {len(facts.cuda.toolkits)}")
    click.echo(f"PTX versions      {len(facts.drivers.ptx)}")
    click.echo(f"drivers           {len(facts.drivers.paired)}")
    click.echo(f"GPUs              {len(facts.gpus.gpus)}")
    click.echo(f"codegen backends  {len(facts.backends.backends)}")
    click.echo(f"libNVVM releases  {len(facts.nvvm.libraries)}")
    click.echo(f"known messages    {len(facts.messages.messages)}")
    return 0


def _check(rust: str, cuda: str, *, offline: bool) -> int:
    from oxide_build.cli.folders import Folders
    from oxide_build.cli.progress import FetchProgress
    from oxide_build.cli.toolchains import Toolchains, load_facts
    from oxide_build.errors import ToolchainError
    from oxide_build.host.process import ProcessGroup
    from oxide_build.model.workspace import ToolchainRequirements
    from oxide_build.resolution.fact_check import check_cuda, check_rust

    facts = load_facts()
    toolchains = Toolchains(
        ToolchainRequirements(rust=rust, cuda=cuda),
        Folders.find().store,
        ProcessGroup(),
        offline=offline,
        reporter=FetchProgress(),
    )
    compiler, assembler = toolchains.preferred("rust"), toolchains.preferred("cuda")
    found = [*check_rust(compiler, facts), *check_cuda(assembler, facts)]
    for each in found:
        click.echo(str(each))
    say(
        f"asked rustc {compiler.version} and ptxas {assembler.version}: "
        + (f"{len(found)} facts disagree" if found else "all facts agree")
    )
    return ToolchainError.exit_code if found else 0


def _described(ptxas: Path) -> str:
    import tempfile

    from oxide_build.host.process import ProcessGroup
    from oxide_build.provision.asker import Asker
    from oxide_build.provision.cuda_probe import probe_ptxas
    from oxide_build.provision.file_state import Notebook
    from oxide_build.resolution.fact_check import describe_ptxas

    with tempfile.TemporaryDirectory() as folder:
        asker = Asker(environ=os.environ, processes=ProcessGroup(), notebook=Notebook(Path(folder)))
        found = probe_ptxas(ptxas, asker)
    return describe_ptxas(found.version, found.max_ptx, found.archs)
