"""The rows of `toolchains/*.toml` for a release that nobody has described yet."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from oxide_build.resolution.versions import numbers

_WIDTH = 99


def describe_ptxas(version: str, max_ptx: str, archs: Sequence[str]) -> str:
    """The row of `cuda.toml` for a ptxas that was asked; archs in its own order."""
    minor = ".".join(str(number) for number in numbers(version)[:2])
    lines = ["[[toolkit]]", f'cuda = "{minor}"', f'patch = "{version}"', f'max_ptx = "{max_ptx}"']
    return "\n".join([*lines, *_listed("archs", archs)]) + "\n"


def describe_llc(major: int, max_ptx: str, cpus: Sequence[str], below_minimum: str) -> str:
    """The row of `llvm.toml` for an llc that was asked."""
    lines = ["[[llvm]]", f"major = {major}", f'max_ptx = "{max_ptx}"']
    lines += [f'below_minimum = "{below_minimum}"']
    return "\n".join([*lines, *_listed("cpus", cpus)]) + "\n"


def describe_rustc(release: str, llvm: str, date: str, cpus: Sequence[str]) -> str:
    """The row of `rust.toml` for a rustc that was asked; what it cannot know is to be looked up."""
    minor = ".".join(str(number) for number in numbers(release)[:2])
    night = f" of nightly-{date}" if "-nightly" in release and date else ""
    oldest = min((int(cpu[3:].rstrip("af")) for cpu in cpus), default=0)
    lines = [
        "[[release]]",
        f'version = "{minor}"',
        f"llvm = {numbers(llvm)[0]}  # asked{night}; a release may begin with another",
        "# to be looked up: the date of the stable release, the first and last nightly with its",
        "# number, and llvm_at_first and llvm_since where LLVM changed on the way",
        "# stable = 2000-01-01",
        "# nightlies = [2000-01-01, 2000-02-11]",
        f"# asked: {len(cpus)} cpus from sm_{oldest}; llvm.toml has them if rustc drops none",
    ]
    return "\n".join(lines) + "\n"


def _listed(key: str, values: Sequence[str]) -> Iterator[str]:
    """`key = [ … ]` over as many lines as it takes."""
    yield f"{key} = ["
    line = " "
    for value in values:
        word = f" {json.dumps(value)},"
        if len(line) + len(word) > _WIDTH:
            yield line
            line = " "
        line += word
    yield line
    yield "]"
