"""Facts against what tools say of themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from oxide_build.model.toolchain import Toolchain
from oxide_build.resolution.facts import Facts
from oxide_build.resolution.versions import numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """A fact that a tool contradicts: where it stands, what it says, what the tool says."""

    file: str
    key: str
    fact: str
    found: str

    def __str__(self) -> str:
        return f"toolchains/{self.file}: {self.key} is {self.fact}, but the tool says {self.found}"


def check_cuda(found: Toolchain, facts: Facts) -> Iterator[Disagreement]:
    """A ptxas that was asked, against `cuda.toml`."""
    release = str(found.facts["release"])
    kit = facts.cuda.toolkit(release)
    if kit is None:
        yield Disagreement(
            file="cuda.toml", key=f"toolkit {release}", fact="not described", found="it exists"
        )
        return
    if kit.max_ptx != found.facts["max_ptx"]:
        yield Disagreement(
            file="cuda.toml",
            key=f"max_ptx of {release}",
            fact=kit.max_ptx,
            found=str(found.facts["max_ptx"]),
        )
    yield from _sets("cuda.toml", f"archs of {release}", kit.archs, found.archs)


def check_rust(found: Toolchain, facts: Facts) -> Iterator[Disagreement]:
    """A rustc that was asked, against `rust.toml` and `llvm.toml`."""
    nightly = found.spec.removeprefix("nightly-") if found.spec.startswith("nightly-") else None
    major = int(str(found.facts["llvm_major"]))
    release = facts.rust.release(found.version)
    if release is None:
        yield Disagreement(
            file="rust.toml",
            key=f"release {found.version}",
            fact="not described",
            found="it exists",
        )
    elif nightly is None and release.llvm != major:
        yield Disagreement(
            file="rust.toml",
            key=f"llvm of {release.version}",
            fact=str(release.llvm),
            found=str(major),
        )
    llvm = facts.llvm.of(major)
    if llvm is None:
        yield Disagreement(
            file="llvm.toml", key=f"llvm {major}", fact="not described", found="it exists"
        )
        return
    dropped = release is not None and numbers(release.version) >= facts.rust.drops_old_gpus.version
    expected = [cpu for cpu in llvm.cpus if not (dropped and int(cpu[3:].rstrip("af")) < 70)]
    yield from _sets("llvm.toml", f"cpus of {major}", expected, found.archs)


def _sets(file: str, key: str, fact: Sequence[str], found: Sequence[str]) -> Iterator[Disagreement]:
    missing, more = sorted(set(fact) - set(found)), sorted(set(found) - set(fact))
    if missing:
        yield Disagreement(file=file, key=key, fact=f"with {', '.join(missing)}", found="without")
    if more:
        yield Disagreement(file=file, key=key, fact=f"without {', '.join(more)}", found="with")
