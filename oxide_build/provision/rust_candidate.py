"""Choosing among the rustc installations that a provider sees."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass

from oxide_build.errors import ToolchainError
from oxide_build.provision.asker import Asker
from oxide_build.provision.borrowed_llvm import Lenders
from oxide_build.provision.provider import Found
from oxide_build.provision.rust_probe import RustProbe
from oxide_build.provision.rust_toolchain import Place, ask_rustc, assemble
from oxide_build.resolution.facts import RustFacts
from oxide_build.resolution.versions import RustSpec, numbers


@dataclass(frozen=True, slots=True)
class Candidates:
    """Installations in the order in which equals are preferred.

    Without `lenders`, one that lacks LLVM's tools is not used.
    """

    provider: str
    places: tuple[Place, ...]
    facts: RustFacts
    asker: Asker
    lenders: Lenders | None = None

    def find(self, spec: RustSpec) -> Found | str:
        """The best that fits, or why none does.

        Best is what has all parts, then what `facts.preferred` names first, then the newest.
        """
        reasons: list[str] = []
        fitting: list[tuple[tuple[bool, int, list[int], int], Place, RustProbe]] = []
        for place, probe, borrows in self._probed(reasons):
            if spec.matches(probe.release, date=probe.archive_date):
                fitting.append(((borrows, *self._rank(probe)), place, probe))
            else:
                reasons.append(f"{place.origin} is {_spelled(probe)}")
        for (borrows, *_), place, probe in sorted(fitting, key=lambda each: each[0]):
            try:
                if borrows and self.lenders is not None:
                    place = self.lenders.complete(place, probe)
                return Found(
                    assemble(
                        place.layout,
                        provider=self.provider,
                        origin=place.origin,
                        facts=self.facts,
                        asker=self.asker,
                    )
                )
            except ToolchainError as error:
                reasons.append(error.message)
        return "; ".join(reasons) or "nothing is installed"

    def _probed(self, reasons: list[str]) -> Iterable[tuple[Place, RustProbe, bool]]:
        """Those that can be used, what they are, and whether they must borrow LLVM's tools."""
        for place in self.places:
            missing = place.layout.lacks(self.facts)
            if missing and not (self.lenders is not None and self.lenders.may_help(place)):
                reasons.append(f"{place.origin} lacks {' and '.join(missing)}")
                continue
            try:
                yield place, ask_rustc(place.layout, self.asker), bool(missing)
            except ToolchainError as error:
                reasons.append(error.message)

    def _rank(self, probe: RustProbe) -> tuple[int, list[int], int]:
        preferred = self.facts.preferred
        known = probe.release in preferred
        date = probe.archive_date or datetime.date.min
        return (
            preferred.index(probe.release) if known else len(preferred),
            [-number for number in numbers(probe.release)],
            -date.toordinal(),
        )


def _spelled(probe: RustProbe) -> str:
    date = probe.archive_date
    return f"{probe.release} ({date})" if date is not None else probe.release
