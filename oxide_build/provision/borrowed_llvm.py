"""LLVM's tools of another toolchain, for nights that were published without llvm-tools.

Tools of the same LLVM or a newer one read the bitcode that rustc writes; older ones never do.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from oxide_build.errors import ToolchainError
from oxide_build.provision.asker import Asker
from oxide_build.provision.rust_probe import RustProbe, manifest_of
from oxide_build.provision.rust_toolchain import Place, RustLayout, ask_llvm, ask_rustc, spec_of
from oxide_build.resolution.facts import RustFacts
from oxide_build.resolution.versions import numbers

TOOLS = "llvm-tools"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lender:
    """A toolchain with tools of LLVM `llvm`; `spec` names it ("nightly-2026-08-29")."""

    layout: RustLayout
    spec: str
    llvm: str
    date: datetime.date | None


@dataclass(frozen=True, slots=True)
class Lenders:
    """The toolchains here whose LLVM tools another one may borrow."""

    places: tuple[Place, ...]
    facts: RustFacts
    asker: Asker

    def may_help(self, place: Place) -> bool:
        """Whether all that `place` lacks are tools that were never published with it.

        Where they were published they are to be fetched: a release must have the same files on
        every machine. Reads rustup's manifest, less than 1 ms.
        """
        return place.layout.lacks(self.facts) == (TOOLS,) and _unpublished(place.layout)

    def complete(self, place: Place, probe: RustProbe) -> Place:
        """`place` with the tools of the best lender; raises `ToolchainError` if there is none.

        The lender that was there when `place` was fetched stays the best, so that what comes into
        the store later does not change a toolchain.
        """
        lender = self.nearest(probe.llvm, probe.archive_date, place.lender)
        if lender is None:
            raise ToolchainError(
                f"{place.origin} was published without {TOOLS}, and no toolchain here has those "
                f"of LLVM {numbers(probe.llvm)[0]} or newer to borrow"
            )
        layout = replace(
            place.layout,
            llvm_root=lender.layout.root,
            llvm_bin=lender.layout.llvm_bin,
            llvm_libs=lender.layout.llvm_libs,
            llvm_from=lender.spec,
        )
        origin = f"{place.origin} with {TOOLS} of {lender.spec} in `{lender.layout.root}`"
        return replace(place, layout=layout, origin=origin)

    def nearest(self, llvm: str, date: datetime.date | None, chosen: str = "") -> Lender | None:
        """The best lender for a rustc of LLVM `llvm` ("23.1.2", "23") and of `date`.

        Best is `chosen`, then the same major, then one that is not an older patch, then what was
        published nearest to `date`.
        """
        wanted = numbers(llvm)
        able = [each for each in self._lenders() if numbers(each.llvm)[0] >= wanted[0]]

        def rank(each: Lender) -> tuple[bool, int, bool, int, str]:
            has = numbers(each.llvm)
            apart = abs((each.date - date).days) if each.date and date else 0
            return each.spec != chosen, has[0] - wanted[0], has < wanted, apart, each.spec

        return min(able, key=rank, default=None)

    def _lenders(self) -> Iterator[Lender]:
        for place in self.places:
            # rust-src is not needed to lend, rustc is: it says which toolchain this is.
            if {TOOLS, "rustc"} & set(place.layout.lacks(self.facts)):
                continue
            try:
                probe = ask_rustc(place.layout, self.asker)
                llvm = ask_llvm(place.layout, self.asker)
            except ToolchainError:
                continue
            yield Lender(
                layout=place.layout, spec=spec_of(probe), llvm=llvm, date=probe.archive_date
            )


def _unpublished(layout: RustLayout) -> bool:
    """Whether rustup's manifest has no llvm-tools for the host of this toolchain.

    Looked up as bytes, as rustup writes them: parsing 800 KB of TOML would cost every warm build
    0.1 s. Without a manifest the toolchain is not rustup's, and nobody knows.
    """
    try:
        manifest = manifest_of(layout.root).read_bytes()
        config = (layout.root / "lib/rustlib/multirust-config.toml").read_bytes()
    except OSError:
        return False
    host = re.search(rb'^pkg = "rustc"\ntarget = "([^"]+)"', config, re.MULTILINE)
    if host is None:
        return False
    names = (b"llvm-tools", b"llvm-tools-preview")
    published = (
        b"[pkg.%s.target.%s]\navailable = true" % (name, key)
        for name in names
        for key in (host[1], b'"%s"' % host[1])
    )
    return not any(row in manifest for row in published)
