"""A toolchain: the files of some tools, what they are called and what they can do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from oxide_build.model.digest import Digest

# In a folder of crates: cargo's configuration for reading them, with the placeholder in the place
# of the folder itself.
CRATES_CONFIG = "config.toml"
CRATES_PLACEHOLDER = "{crates}"

Fact = str | int | bool | tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolTree:
    """The part of an installation that one kind of action may read.

    `digest` covers the relative paths, contents and execute bits of the part's files, so two
    machines with the same installation agree on it. `root` is where it lies on this machine and
    is not identity, nor is `memory`, the name under which the states of its files are remembered.
    `mount` is the relative path under which an action's folder shows `root`.
    """

    name: str
    mount: str
    digest: Digest
    root: str = field(compare=False)
    memory: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolchain:
    """Tools of one kind that belong together.

    kind        "rust" (rustc, core's source, LLVM tools of rustc's LLVM) or "cuda" (ptxas)
    version     "1.96.0", "1.96.0-nightly", "13.0.88"
    spec        the shortest requirement that names exactly this: "nightly-2026-04-03", "13.0.88"
    provider    "archive", "rustup", "apt", "pypi" or "system"
    origin      for people: where it was found or fetched; not identity
    trees       name -> files; rules name the trees that an action reads
    tools       name -> path relative to an action's folder (`toolchain/rust/bin/rustc`)
    archs       spellings that the tools accept (`sm_90a`); what they do not list does not build
    facts       what rules may ask: "host", "llvm", "edition_core", …
    env         environment variables that the tools need, path values relative to the folder
    """

    kind: str
    version: str
    spec: str
    provider: str
    trees: Mapping[str, ToolTree]
    tools: Mapping[str, str]
    archs: tuple[str, ...]
    facts: Mapping[str, Fact]
    env: tuple[tuple[str, str], ...] = ()
    origin: str = field(default="", compare=False)
