"""Choosing among the rustc installations that a provider sees."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass

from oxide_build.errors import ToolchainError
from oxide_build.provision.asker import Asker
from oxide_build.provision.provider import Found
from oxide_build.provision.rust_probe import RustProbe
from oxide_build.provision.rust_toolchain import RustLayout, ask_rustc, assemble
from oxide_build.resolution.facts import RustFacts
from oxide_build.resolution.versions import RustSpec, numbers


@dataclass(frozen=True, slots=True)
class Place:
    """An installation that may fit; `origin` says to people where it is from."""

    layout: RustLayout
    origin: str


@dataclass(frozen=True, slots=True)
class Candidates:
    """Installations in the order in which equals are preferred."""

    provider: str
    places: tuple[Place, ...]
    facts: RustFacts
    asker: Asker

    def find(self, spec: RustSpec) -> Found | str:
        """The best that fits, or why none does.

        Best is what `facts.preferred` names first, then the newest.
        """
        reasons: list[str] = []
        fitting: list[tuple[tuple[int, list[int], int], Place]] = []
        for place, probe in self._probed(reasons):
            if spec.matches(probe.release, date=probe.archive_date):
                fitting.append((self._rank(probe), place))
            else:
                reasons.append(f"{place.origin} is {_spelled(probe)}")
        for _, place in sorted(fitting, key=lambda pair: pair[0]):
            try:
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

    def _probed(self, reasons: list[str]) -> Iterable[tuple[Place, RustProbe]]:
        for place in self.places:
            missing = place.layout.lacks(self.facts)
            if missing:
                reasons.append(f"{place.origin} lacks {' and '.join(missing)}")
                continue
            try:
                yield place, ask_rustc(place.layout, self.asker)
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
