"""`oxide rules`."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from pathlib import Path

import click

from oxide_build.model.target import AttrSpec, RuleSchema

_HELP = """Show the rules that a BUILD.toml here may use, the workspace's own among them.

\b
Examples:
  oxide rules                  names, a line each
  oxide rules rust_kernel      the attributes of one rule
  oxide rules --markdown       all of them as a document
"""

_KINDS = {
    "string": "string",
    "bool": "true or false",
    "int": "integer",
    "string_list": "list of strings",
    "string_map": "table of strings",
    "label": "label",
    "label_list": "list of labels",
    "source": "file or label",
    "source_list": "list of files, globs and labels",
    "output_list": "list of file names",
}


@click.command("rules", help=_HELP)
@click.argument("name", required=False)
@click.option("--markdown", is_flag=True, help="Print a document.")
def command(name: str | None, markdown: bool) -> int:
    from oxide_build.cli.rule_files import load_rules

    schemas = load_rules(Path.cwd()).schemas
    if name is not None and name not in schemas:
        near = difflib.get_close_matches(name, schemas, n=1)
        hint = f"did you mean `{near[0]}`?" if near else f"there are {', '.join(schemas)}"
        raise click.UsageError(f"there is no rule `{name}`\n\nhint: {hint}")
    chosen = schemas if name is None else {name: schemas[name]}
    if markdown:
        click.echo("\n\n".join("\n".join(_document(schema)) for schema in chosen.values()))
    elif name is not None:
        click.echo("\n".join(_page(schemas[name])))
    else:
        for schema in chosen.values():
            click.echo(f"{schema.name:16} {schema.doc.partition(chr(10))[0]}")
    return 0


def _page(schema: RuleSchema) -> Iterator[str]:
    yield f"[[{schema.name}]]"
    yield ""
    yield schema.doc
    for spec in schema.attrs.values():
        yield ""
        yield f"{spec.name}  ({_kind(spec)}{_default(spec)})"
        yield f"    {spec.doc}"
        if spec.refuse:
            yield f"    Refused: {', '.join(spec.refuse)}"


def _document(schema: RuleSchema) -> Iterator[str]:
    yield f"## `{schema.name}`"
    yield ""
    yield schema.doc
    yield ""
    yield "| attribute | type | meaning |"
    yield "|---|---|---|"
    for spec in schema.attrs.values():
        text = " ".join(spec.doc.split()).replace("|", "\\|")
        yield f"| `{spec.name}` | {_kind(spec)}{_default(spec)} | {text} |"
    for spec in schema.attrs.values():
        if spec.refuse:
            yield ""
            yield f"Refused in `{spec.name}`:"
            yield ""
            yield "| flag | because |"
            yield "|---|---|"
            for flag, reason in spec.refuse.items():
                yield f"| `{flag}` | {reason} |"


def _kind(spec: AttrSpec) -> str:
    return "one of " + ", ".join(spec.values) if spec.values else _KINDS[spec.kind]


def _default(spec: AttrSpec) -> str:
    if spec.mandatory:
        return ", mandatory"
    if spec.default in (None, "", (), {}):
        return ""
    shown = str(spec.default).lower() if isinstance(spec.default, bool) else spec.default
    return f", default {shown}"
