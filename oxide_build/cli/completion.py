"""`oxide completion`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

_HELP = """Print the script that completes `oxide` in SHELL.

\b
  bash:  eval "$(oxide completion bash)"       in ~/.bashrc
  zsh:   eval "$(oxide completion zsh)"        in ~/.zshrc
  fish:  oxide completion fish | source        in ~/.config/fish/config.fish
"""


@click.command("completion", help=_HELP)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    from oxide_build.cli.main import cli

    script = get_completion_class(shell)
    if script is None:
        raise click.UsageError(f"click cannot complete in {shell}")
    click.echo(script(cli, {}, "oxide", "_OXIDE_COMPLETE").source())
