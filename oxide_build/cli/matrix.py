"""`oxide toolchain matrix`."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from oxide_build.cli.options import split

if TYPE_CHECKING:
    from oxide_build.resolution.matrix import Matrix

_HELP = """Show which archs each pair of rustc and CUDA builds for, and why not.

\b
Examples:
  oxide toolchain matrix
  oxide toolchain matrix --rust ">=1.95" --cuda ">=12" --driver 535
  oxide toolchain matrix --html matrix.html
"""

_ARCHS = "61,70,75,80,86,89,90,90a,100,100f,103,110,120,121"
_MARKS = {"rust": "r", "cuda": "c", "driver": "d", "gpu": "g"}

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>
:root {{ color-scheme: light dark; font: 14px/1.4 system-ui, sans-serif; }}
body {{ margin: 2rem; }} h1 {{ font-size: 1.3rem; }}
table {{ border-collapse: collapse; }}
th {{ position: sticky; top: 0; background: Canvas; padding: .2rem .5rem; text-align: left; }}
td {{ border: 1px solid color-mix(in srgb, CanvasText 15%, Canvas); padding: 0; }}
td.c {{ width: 3.2rem; height: 1.6rem; text-align: center; cursor: default; }}
td.l {{ padding: .2rem .6rem; white-space: nowrap; border: 0; }}
tr.first td {{ border-top: 2px solid CanvasText; }}
.yes {{ background: #2e7d3233; }} .rust {{ background: #c6282833; }}
.cuda {{ background: #ef6c0033; }} .driver {{ background: #6a1b9a33; }}
td.c:hover, td.c:focus {{ outline: 2px solid Highlight; outline-offset: -2px; }}
#why {{ position: sticky; bottom: 0; left: 0; background: Canvas; padding: .8rem 0 2rem;
  margin: 0; min-height: 3.2rem; }}
.key span {{ padding: .1rem .6rem; margin-right: .6rem; }}
</style></head><body><h1>{title}</h1>
<p class="key"><span class="yes">✓ builds</span><span class="rust">r: rustc or its LLVM</span>
<span class="cuda">c: CUDA's ptxas</span><span class="driver">d: the driver</span></p>
<table><thead><tr><th>rustc</th><th>LLVM</th><th>CUDA</th>{heads}</tr></thead><tbody>
{rows}
</tbody></table><p id="why" aria-live="polite">Point at a cell, or step through them with Tab.</p>
<script>
const why = document.getElementById("why");
for (const cell of document.querySelectorAll("td.c"))
  for (const event of ["mouseenter", "focus"])
    cell.addEventListener(event, () => {{ why.textContent = cell.title; }});
</script></body></html>
"""


@click.command("matrix", help=_HELP)
@click.option("--rust", default=">=1.89", show_default=True, metavar="SPEC", help="Which rustc.")
@click.option("--cuda", default=">=11", show_default=True, metavar="SPEC", help="Which CUDA.")
@click.option("--arch", "archs", multiple=True, metavar="ARCH", help="Columns.")
@click.option("--driver", metavar="VERSION", help="The oldest driver that must load the result.")
@click.option("--html", "page", type=click.Path(dir_okay=False), help="Write a page to this file.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    rust: str,
    cuda: str,
    archs: tuple[str, ...],
    driver: str | None,
    page: str | None,
    as_json: bool,
) -> int:
    from oxide_build.cli.toolchains import load_facts
    from oxide_build.model.arch import Arch
    from oxide_build.resolution.candidates import (
        cuda_candidates,
        release_order,
        rust_candidates,
    )
    from oxide_build.resolution.case import Deployment
    from oxide_build.resolution.matrix import matrix
    from oxide_build.resolution.versions import CudaSpec, RustSpec, numbers

    facts = load_facts()
    compilers = rust_candidates(facts, RustSpec.parse(rust))
    kits = cuda_candidates(facts, CudaSpec.parse(cuda))
    # A minor release is one row: patches do not differ.
    minors = {numbers(each.version)[:2]: each for each in reversed(compilers)}
    found = matrix(
        [minors[minor] for minor in sorted(minors)],
        sorted(kits, key=lambda each: release_order(each.release)),
        [Arch.parse(text) for text in split(archs or (_ARCHS,))],
        Deployment(driver=facts.drivers.of(driver) if driver else None),
        facts,
    )
    if not found.rows:
        raise click.UsageError("nothing that is known matches both requirements")
    if page is not None:
        Path(page).write_text(as_page(found), encoding="utf-8")
    if as_json:
        click.echo(json.dumps(found.as_record(), indent=2))
    elif page is None:
        click.echo("\n".join(as_text(found)))
    return 0


def as_text(found: Matrix) -> list[str]:
    """A table; equal neighbouring rows of one rustc are joined."""
    lines = [
        f"{'rustc':22} {'CUDA':13} " + " ".join(f"{arch!s:>7}" for arch in found.archs),
    ]
    groups: list[tuple[str, list[str], str]] = []
    for row in found.rows:
        marks = ["✓" if cell is None else _MARKS[cell.subject] for cell in row.cells]
        name = f"{row.rust.spec} (LLVM {row.rust.llvm})"
        cells = " ".join(f"{mark:>7}" for mark in marks)
        if groups and groups[-1][0] == name and groups[-1][2] == cells:
            groups[-1][1].append(row.cuda.release)
        else:
            groups.append((name, [row.cuda.release], cells))
    previous = ""
    for name, releases, cells in groups:
        span = releases[0] if len(releases) == 1 else f"{releases[0]} … {releases[-1]}"
        lines.append(f"{'' if name == previous else name:22} {span:13} {cells}")
        previous = name
    lines.append("")
    lines.append("✓ builds   r rustc or its LLVM   c CUDA's ptxas   d driver; why: `oxide check`")
    return lines


def as_page(found: Matrix) -> str:
    """A page without anything from elsewhere: hover or Tab shows why."""
    title = "What builds for which architecture" + (
        f", loading on driver {found.driver}" if found.driver else ""
    )
    rows = []
    previous = ""
    for row in found.rows:
        first = row.rust.spec != previous
        previous = row.rust.spec
        cells = []
        for arch, cell in zip(found.archs, row.cells, strict=True):
            what = f"rustc {row.rust.spec}, CUDA {row.cuda.release}, {arch}: "
            why = "builds" if cell is None else f"{cell.sentence} [{cell.evidence}]"
            kind, mark = ("yes", "✓") if cell is None else (cell.subject, _MARKS[cell.subject])
            text = html.escape(what + why, quote=True)
            cells.append(f'<td class="c {kind}" tabindex="0" title="{text}">{mark}</td>')
        label = f"<b>{html.escape(row.rust.spec)}</b>" if first else ""
        llvm = str(row.rust.llvm) if first else ""
        rows.append(
            f'<tr class="{"first" if first else ""}"><td class="l">{label}</td>'
            f'<td class="l">{llvm}</td><td class="l">{html.escape(row.cuda.release)}</td>'
            f"{''.join(cells)}</tr>"
        )
    heads = "".join(f"<th>{arch}</th>" for arch in found.archs)
    return _PAGE.format(title=html.escape(title), heads=heads, rows="\n".join(rows))
