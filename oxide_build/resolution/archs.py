"""From the spellings of `archs` to the list of archs to build for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from oxide_build.errors import DefinitionError
from oxide_build.model.arch import Arch, ArchRequest
from oxide_build.model.ptx import PtxVersion
from oxide_build.resolution.facts import ArchFacts


def expand_archs(
    spellings: Sequence[str], known: Iterable[Arch], native: Callable[[], Arch]
) -> tuple[ArchRequest, ...]:
    """The archs that `spellings` name, in ascending order, each once.

    `all-major` is what nvcc means by it: the first arch of each major version that the tools
    know (`known`), and the oldest of all. `native` is asked for only where it is written. An arch
    named twice is built in the union of the forms. Raises `UsageError` for an unknown spelling
    and `DefinitionError` for an empty list.
    """
    found: dict[Arch, ArchRequest] = {}
    for spelling in spellings:
        for request in _expand(spelling, known, native):
            other = found.get(request.arch)
            if other is not None:
                request = replace(
                    request, ptx=request.ptx or other.ptx, cubin=request.cubin or other.cubin
                )
            found[request.arch] = request
    if not found:
        raise DefinitionError(
            "no architecture to build for",
            hint='give `archs = ["sm_90"]` to the target, to `[package]` of its BUILD.toml or to '
            "`[workspace]` of oxide.toml, or `--arch sm_90` on the command line",
        )
    return tuple(found[arch] for arch in sorted(found))


def with_min_ptx(
    requests: Sequence[ArchRequest], text: object, facts: ArchFacts
) -> tuple[ArchRequest, ...]:
    """`requests`, told to write at least the PTX version `text` ("8.0") where they would not.

    "" and None ask for nothing. Raises `UsageError` for what is no PTX version.
    """
    if not isinstance(text, str) or not text:
        return tuple(requests)
    least = PtxVersion.parse(text)

    def told(request: ArchRequest) -> ArchRequest:
        own = facts.emitted(request.arch)
        return request if own is not None and own >= least else replace(request, min_ptx=least)

    return tuple(told(request) for request in requests)


def _expand(
    spelling: str, known: Iterable[Arch], native: Callable[[], Arch]
) -> Iterable[ArchRequest]:
    if spelling == "native":
        return (ArchRequest(native()),)
    if spelling != "all-major":
        return (ArchRequest.parse(spelling),)
    plain = sorted(arch for arch in known if not arch.suffix)
    first: dict[int, Arch] = {}
    for arch in plain:
        first.setdefault(arch.major, arch)
    return tuple(ArchRequest(arch) for arch in first.values())
