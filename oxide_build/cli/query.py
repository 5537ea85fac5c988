"""`oxide query`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from oxide_build.cli.options import graph_options, split

if TYPE_CHECKING:
    from oxide_build.cli.session import Session
    from oxide_build.model.label import Label

_HELP = """Show targets and what binds them.

\b
EXPRESSION is one of
  PATTERN                  the targets of a pattern
  deps(PATTERN)            these and everything that they need
  rdeps(UNIVERSE, PATTERN) those of UNIVERSE that need a target of PATTERN, and it

\b
Examples:
  oxide query //...
  oxide query "deps(//kernels:saxpy)"
  oxide query "rdeps(//..., //examples/oxide_device)"
  oxide query //kernels:saxpy --output actions
"""

_CALL = re.compile(r"\s*(deps|rdeps)\s*\(([^()]*)\)\s*\Z")


@click.command("query", help=_HELP)
@click.argument("expression")
@graph_options
@click.option(
    "--output",
    type=click.Choice(["label", "json", "actions"]),
    default="label",
    show_default=True,
    help="Labels; targets with rule, place and attributes; or actions with stage, arch and notes.",
)
def command(
    expression: str,
    archs: tuple[str, ...],
    configs: tuple[str, ...],
    rust: str | None,
    cuda: str | None,
    offline: bool,
    output: str,
) -> int:
    from oxide_build.cli.progress import FetchProgress
    from oxide_build.cli.request import Request
    from oxide_build.cli.session import open_session

    function, universe, wanted = _read(expression)
    request = Request(
        patterns=(universe,) if function == "rdeps" else (wanted,),
        archs=split(archs),
        configs=split(configs),
        rust=rust,
        cuda=cuda,
        offline=offline,
    )
    session = open_session(Path.cwd(), request, FetchProgress())
    labels = _select(session, function, wanted)
    if output == "label":
        for label in labels:
            click.echo(str(label))
    elif output == "json":
        click.echo(json.dumps([_target(session, label) for label in labels], indent=2))
    else:
        click.echo(json.dumps(_actions(session, labels), indent=2))
    return 0


def _read(expression: str) -> tuple[str, str, str]:
    """Function ("", "deps" or "rdeps"), universe and pattern of an expression."""
    found = _CALL.match(expression)
    if found is None:
        if "(" in expression:
            raise click.UsageError(f"cannot read {expression!r}; see `oxide query --help`")
        return "", "", expression.strip()
    arguments = [part.strip().strip("'\"") for part in found[2].split(",")]
    if len(arguments) != (2 if found[1] == "rdeps" else 1) or not all(arguments):
        wanted = "two patterns" if found[1] == "rdeps" else "one pattern"
        raise click.UsageError(f"`{found[1]}` takes {wanted}, but `{expression}` was given")
    return found[1], arguments[0] if found[1] == "rdeps" else "", arguments[-1]


def _select(session: Session, function: str, wanted: str) -> list[Label]:
    from oxide_build.cli.session import package_of
    from oxide_build.errors import UsageError
    from oxide_build.load.graph import dependents
    from oxide_build.model.label import Pattern

    graph = session.graph
    if function == "":
        return list(graph.requested)
    if function == "deps":
        return sorted(graph.targets)
    pattern = Pattern.parse(wanted, package=package_of(Path.cwd(), session.workspace))
    users = dependents(graph)
    stack = [label for label in graph.targets if pattern.matches(label)]
    if not stack:
        raise UsageError(f"nothing in the universe needs or is `{pattern}`")
    found: set[Label] = set()
    while stack:
        label = stack.pop()
        if label not in found:
            found.add(label)
            stack.extend(users.get(label, ()))
    return sorted(found & set(graph.requested))


def _target(session: Session, label: Label) -> dict[str, Any]:
    target = session.graph.targets[label]
    return {
        "label": str(label),
        "rule": target.rule,
        "place": str(target.location),
        "archs": list(target.archs),
        "deps": [str(dep) for dep in target.deps],
        "visibility": list(target.visibility),
        "attrs": {key: _plain(value) for key, value in target.attrs.items()},
    }


def _plain(value: object) -> object:
    from oxide_build.model.label import Label
    from oxide_build.model.target import Select

    if isinstance(value, Select):
        return {"select": {condition: _plain(item) for condition, item in value.branches}}
    if isinstance(value, Label):
        return str(value)
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value


def _actions(session: Session, labels: list[Label]) -> dict[str, Any]:
    graph = session.analyse()
    shown = set(labels)
    return {
        "notes": {
            str(label): dict(graph.notes[label]) for label in labels if graph.notes.get(label)
        },
        "actions": [
            {
                "label": str(action.label),
                "stage": action.stage,
                "arch": action.arch,
                "commands": [list(each.argv) for each in action.commands],
                "inputs": list(action.inputs),
                "outputs": list(action.outputs),
                "env": dict(action.env),
            }
            for action in graph.actions
            if action.label in shown or action.label.package == "toolchain"
        ],
    }
