"""`oxide toolchain`: a group whose commands live in modules of their own."""

from __future__ import annotations

import importlib

import click

_COMMANDS = {
    "list": ("store", "list_command", "Show the toolchains in the tool's own store."),
    "install": ("store", "install_command", "Fetch a toolchain."),
    "gc": ("store", "gc_command", "Remove toolchains that nobody uses."),
    "resolve": ("resolve", "command", "Show what the targets of a workspace would be built with."),
    "lock": ("lock", "lock_command", "Write oxide.lock for this kind of host."),
    "update": ("lock", "update_command", "Choose anew and write oxide.lock."),
    "matrix": ("matrix", "command", "Show what builds for which arch, and why not."),
    "facts": ("facts", "command", "Check the facts of the tool against real compilers."),
    "bisect": ("bisect", "command", "Find the first nightly with which a target loses a property."),
}


class _Group(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        name, attribute, _ = _COMMANDS[cmd_name]
        found: click.Command = getattr(
            importlib.import_module(f"oxide_build.cli.{name}"), attribute
        )
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (*_, text) in _COMMANDS.items()])


command = _Group("toolchain", help="Work with toolchains.")
