"""One layered graph of trivial actions, written for several build tools.

Node i reads a source of its own and the output of the node one layer below, and concatenates
them: the work is nothing, so that what is measured is the tool. Nodes lie in packages of 100, in 10
layers.

    .venv/bin/python benchmarks/graphs.py FOLDER NODES      # writes FOLDER/{oxide,ninja,make,bazel}
"""

from __future__ import annotations

import sys
from pathlib import Path

PER_PACKAGE = 100
LAYERS = 10


def package(node: int) -> str:
    return f"p{node // PER_PACKAGE:04d}"


def below(node: int, nodes: int) -> int | None:
    """The node whose output `node` reads; None in the first layer."""
    width = nodes // LAYERS
    return node - width if node >= width else None


def sources(folder: Path, nodes: int) -> None:
    for node in range(nodes):
        file = folder / package(node) / f"s{node}.txt"
        if node % PER_PACKAGE == 0:
            file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"source {node}\n" * 8)


def write_oxide(folder: Path, nodes: int) -> None:
    sources(folder, nodes)
    (folder / "oxide.toml").write_text('[workspace]\nname = "graph"\n')
    for first in range(0, nodes, PER_PACKAGE):
        rows = []
        for node in range(first, min(first + PER_PACKAGE, nodes)):
            other = below(node, nodes)
            dep = f', "//{package(other)}:o{other}"' if other is not None else ""
            rows.append(
                f'[[genrule]]\nname = "o{node}"\nsrcs = ["s{node}.txt"{dep}]\n'
                f'outs = ["o{node}.txt"]\ncmd = ["cat", "$(SRCS)"]\ncapture_stdout = true\n'
            )
        (folder / package(first) / "BUILD.toml").write_text("\n".join(rows))


def write_ninja(folder: Path, nodes: int) -> None:
    sources(folder / "src", nodes)
    rows = ["rule cp\n  command = cat $in > $out\n"]
    for node in range(nodes):
        rows.append(f"build {_flat(node)}: cp {_inputs(node, nodes)}\n")
    (folder / "build.ninja").write_text("".join(rows))


def write_make(folder: Path, nodes: int) -> None:
    sources(folder / "src", nodes)
    rows = ["all: " + " ".join(_flat(node) for node in range(nodes)) + "\n"]
    for node in range(nodes):
        rows.append(f"{_flat(node)}: {_inputs(node, nodes)}\n\t@cat $^ > $@\n")
        if node % PER_PACKAGE == 0:
            (folder / "out" / package(node)).mkdir(parents=True)
    (folder / "Makefile").write_text("".join(rows))


def write_bazel(folder: Path, nodes: int) -> None:
    sources(folder, nodes)
    (folder / "WORKSPACE").write_text("")
    (folder / "BUILD").write_text("")
    (folder / "defs.bzl").write_text(_BAZEL_RULE)
    for first in range(0, nodes, PER_PACKAGE):
        rows = [_BAZEL_HEAD]
        for node in range(first, min(first + PER_PACKAGE, nodes)):
            other = below(node, nodes)
            dep = f', "//{package(other)}:o{other}"' if other is not None else ""
            rows.append(f'cp(name = "o{node}", srcs = ["s{node}.txt"{dep}])\n')
        (folder / package(first) / "BUILD").write_text("".join(rows))


_BAZEL_RULE = """
def _cp(ctx):
    out = ctx.actions.declare_file(ctx.label.name + ".txt")
    ctx.actions.run_shell(
        inputs = ctx.files.srcs,
        outputs = [out],
        arguments = [out.path] + [f.path for f in ctx.files.srcs],
        command = "o=$1; shift; cat \\"$@\\" > $o",
    )
    return [DefaultInfo(files = depset([out]))]

cp = rule(implementation = _cp, attrs = {"srcs": attr.label_list(allow_files = True)})
"""

_BAZEL_HEAD = """\
load("//:defs.bzl", "cp")
package(default_visibility = ["//visibility:public"])
"""

WRITERS = {"oxide": write_oxide, "ninja": write_ninja, "make": write_make, "bazel": write_bazel}


def _flat(node: int) -> str:
    return f"out/{package(node)}/o{node}.txt"


def _inputs(node: int, nodes: int) -> str:
    other = below(node, nodes)
    own = f"src/{package(node)}/s{node}.txt"
    return own if other is None else f"{own} {_flat(other)}"


if __name__ == "__main__":
    for name, write in WRITERS.items():
        (Path(sys.argv[1]) / name).mkdir(parents=True)
        write(Path(sys.argv[1]) / name, int(sys.argv[2]))
