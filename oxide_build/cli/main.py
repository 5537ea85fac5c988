"""The entry point: finds the command, shows errors, decides the exit code."""

from __future__ import annotations

import importlib
import os
from typing import Any

import click

from oxide_build import __version__
from oxide_build.cli.guard import guarded
from oxide_build.cli.messages import show_error
from oxide_build.errors import UsageError

# Commands by name: where they are and what they do. Each is imported when it is called, so that
# `oxide --version` and completion stay fast.
_COMMANDS = {
    "build": ("build", "Build targets: PTX, cubin and a record for each arch."),
    "why": ("why", "Say why a target would be built, or was built the last time."),
    "log": ("log", "Show what the last builds did."),
    "query": ("query", "Show targets, what they need, who needs them, and their actions."),
    "doctor": ("doctor", "Say what is missing on this machine and how to have it."),
    "toolchain": ("toolchain", "Work with toolchains: list, install, lock, matrix, bisect, gc."),
    "check": ("check", "Say whether compiler, CUDA, driver and archs go together."),
    "rules": ("rules", "Show the rules that a BUILD.toml may use, and their attributes."),
    "watch": ("watch", "Build again whenever a file changes."),
    "verify-reproducible": ("reproducible", "Build twice from nothing and compare every byte."),
    "cache": ("cache", "Look into the cache, check it, make room."),
    "clean": ("clean", "Remove what builds left in this workspace."),
    "version": ("version", "Show the version of oxide_build and of what it runs on."),
    "completion": ("completion", "Print the script that completes `oxide` in a shell."),
}

_HELP = """Build GPU kernels from TOML targets, once per architecture, with compilers that fit.

\b
Examples:
  oxide build //...                    build everything in the workspace
  oxide build //kernels/...            everything below a folder
  oxide build //kernels:saxpy --arch sm_90 --arch sm_100
  oxide query "deps(//kernels:saxpy)"  what a target needs
  oxide check --cuda 12.3 --arch sm_100   does this go together, and if not, why
  oxide clean                          remove oxide-out

\b
Exit codes: 0 ok, 2 usage, 3 wrong BUILD.toml or oxide.toml, 4 a compiler said no,
5 disk or network, 6 no toolchain fits, 7 GPU, 130 interrupted.
"""


class _Commands(click.Group):
    """A group whose commands live in modules of their own."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"oxide_build.cli.{_COMMANDS[cmd_name][0]}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in _COMMANDS and not args[0].startswith("-"):
            import difflib

            near = difflib.get_close_matches(args[0], _COMMANDS, n=1)
            raise click.UsageError(
                f"there is no command `{args[0]}`"
                + (f"\n\nhint: did you mean `oxide {near[0]}`?" if near else "")
            )
        return super().resolve_command(ctx, args)


@click.group(
    cls=_Commands,
    help=_HELP,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="oxide")
@click.option(
    "-C",
    "--directory",
    type=click.Path(exists=True, file_okay=False),
    help="Run as if started in this folder.",
)
def cli(directory: str | None) -> None:
    if directory is not None:
        os.chdir(directory)


def run(argv: list[str]) -> int:
    """Run the command line; returns the exit code."""
    return guarded(lambda: _run(argv))


def _run(argv: list[str]) -> int:
    try:
        result: Any = cli.main(
            args=list(argv), prog_name="oxide", standalone_mode=False, obj=tuple(argv)
        )
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.ClickException as error:
        _show_usage(error)
        return error.exit_code
    except click.exceptions.Abort:
        raise KeyboardInterrupt from None
    return result if isinstance(result, int) else 0


def _show_usage(error: click.ClickException) -> None:
    context = error.ctx if isinstance(error, click.UsageError) else None
    message, _, hint = error.format_message().partition("\n\nhint: ")
    if not hint and context is not None:
        hint = f"see `{context.command_path} --help`"
    show_error(UsageError(message.rstrip("."), hint=hint or None))
