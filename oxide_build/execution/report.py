"""What a build tells the outside while it runs, and what it was in the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from oxide_build.model.action import Action
from oxide_build.model.label import Label


class BuildReporter(Protocol):
    """Hears of the build's events, always in the thread that runs the build."""

    def begin(self, total: int) -> None:
        """`total` actions are needed; how many of them must run is not known yet."""

    def started(self, action: Action) -> None:
        """The action was not in the cache and runs now."""

    def finished(self, outcome: ActionOutcome) -> None:
        """The action is done: hit, ran, failed or skipped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionOutcome:
    """How one action ended.

    source   "hit" (from the cache), "ran", "failed", or "skipped" (something it needs failed)
    message  what its tools said, with colours; a hit repeats the warnings of the run
    start_s, wall_s  seconds since the build began, and how long it ran
    """

    action: Action
    source: str
    message: str = ""
    failure: str | None = None
    hint: str | None = None
    start_s: float = 0.0
    wall_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildReport:
    """What a whole build did.

    written    outputs that had to be put into `oxide-out`; `unchanged` were right already
    removed    what lay there and nothing makes any more
    outputs    for each requested target the paths of its outputs
    complete   the targets whose outputs are all there
    """

    outcomes: Sequence[ActionOutcome]
    outputs: Mapping[Label, Sequence[str]]
    complete: frozenset[Label]
    notes: Mapping[Label, Mapping[str, str]] = field(default_factory=dict)
    written: int = 0
    unchanged: int = 0
    removed: Sequence[str] = ()
    wall_s: float = 0.0

    def count(self, source: str) -> int:
        """How many actions ended so."""
        return sum(1 for outcome in self.outcomes if outcome.source == source)

    def again(self) -> BuildReport:
        """What the same build would report if nothing changed: all hits, nothing written."""
        hits = (
            replace(each, source="hit", start_s=0.0, wall_s=0.0) if each.source == "ran" else each
            for each in self.outcomes
        )
        return replace(
            self,
            outcomes=tuple(hits),
            written=0,
            unchanged=self.written + self.unchanged,
            removed=(),
        )

    @property
    def failures(self) -> list[ActionOutcome]:
        return [outcome for outcome in self.outcomes if outcome.source == "failed"]
