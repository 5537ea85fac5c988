"""`oxide toolchain facts`."""

from __future__ import annotations

import os
from pathlib import Path

import click

from oxide_build.cli.messages import say

_HELP = """Check the facts of the tool against real compilers and assemblers.

Without options: how much is known. With --check the rustc and the ptxas that --rust and --cuda
name are asked (and fetched if need be) and every fact that they contradict is listed; exit code 6
if there is one. With --probe the row for a ptxas, rustc or llc that nobody has described yet is
printed: of toolchains/cuda.toml, rust.toml or llvm.toml.

\b
Examples:
  oxide toolchain facts --check --rust 1.96 --cuda 13.0
  oxide toolchain facts --probe /usr/local/cuda-13.6/bin/ptxas >> toolchains/cuda.toml
  oxide toolchain facts --probe ~/.rustup/toolchains/nightly-2026-11-20-…/bin/rustc
"""


@click.command("facts", help=_HELP)
@click.option("--check", is_flag=True, help="Ask real tools.")
@click.option("--rust", default=">=1.95", show_default=True, metavar="SPEC", help="Which rustc.")
@click.option("--cuda", default=">=12.8", show_default=True, metavar="SPEC", help="Which CUDA.")
@click.option("--probe", type=click.Path(exists=True, dir_okay=False), help="A tool to describe.")
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
    from oxide_build.provision.asker import Asker
    from oxide_build.provision.assembler_check import check_assembling
    from oxide_build.provision.file_state import Notebook
    from oxide_build.provision.tool_store import ToolStore
    from oxide_build.resolution.fact_check import check_cuda, check_rust

    facts = load_facts()
    store = Folders.find().store
    asker = Asker(
        environ=os.environ,
        processes=ProcessGroup(),
        notebook=Notebook(ToolStore(store).state),
    )
    toolchains = Toolchains(
        ToolchainRequirements(rust=rust, cuda=cuda),
        store,
        asker.processes,
        offline=offline,
        reporter=FetchProgress(),
    )
    compiler, assembler = toolchains.preferred("rust"), toolchains.preferred("cuda")
    found = [
        *check_rust(compiler, facts),
        *check_cuda(assembler, facts),
        *check_assembling(assembler, facts, asker),
    ]
    for each in found:
        click.echo(str(each))
    say(
        f"asked rustc {compiler.version} and ptxas {assembler.version}: "
        + (f"{len(found)} facts disagree" if found else "all facts agree")
    )
    return ToolchainError.exit_code if found else 0


def _described(tool: Path) -> str:
    """The row for `tool`, by what its `--version` says it is."""
    import tempfile

    from oxide_build.errors import UsageError
    from oxide_build.host.process import ProcessGroup
    from oxide_build.provision.asker import Asker
    from oxide_build.provision.cuda_probe import probe_ptxas
    from oxide_build.provision.file_state import Notebook
    from oxide_build.provision.llc_probe import probe_llc
    from oxide_build.provision.rust_probe import probe_rustc
    from oxide_build.resolution.fact_rows import describe_llc, describe_ptxas, describe_rustc

    with tempfile.TemporaryDirectory() as folder:
        asker = Asker(environ=os.environ, processes=ProcessGroup(), notebook=Notebook(Path(folder)))
        argv = [str(tool), "--version"]
        done = asker.processes.run(argv, cwd=Path(folder), env=os.environ, timeout_s=60)
        if "Cuda compilation tools" in done.text:
            ptxas = probe_ptxas(tool, asker)
            return describe_ptxas(ptxas.version, ptxas.max_ptx, ptxas.archs)
        if done.text.startswith("rustc "):
            rustc = probe_rustc(tool, (), asker)
            return describe_rustc(rustc.release, rustc.llvm, rustc.date, rustc.cpus)
        if "LLVM version" in done.text:
            llc = probe_llc(tool, asker)
            return describe_llc(llc.major, llc.max_ptx, llc.cpus, llc.below_minimum)
    raise UsageError(
        f"`{tool}` is none of ptxas, rustc and llc",
        hint="name the program itself, not a folder or a wrapper",
    )
