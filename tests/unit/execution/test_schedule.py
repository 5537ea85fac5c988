"""The order in which actions are handed out."""

from __future__ import annotations

from oxide_build.execution.schedule import Schedule
from tests.property.test_schedule_laws import graph_of


def test_the_longest_chain_starts_first() -> None:
    # 0 and 1 stand alone; 2 <- 3 <- 4 is a chain.
    schedule = Schedule(
        graph_of([set(), set(), set(), {2}, {3}]), [f"oxide-out/{i}" for i in (0, 1, 4)]
    )
    assert schedule.next() == 2


def test_only_what_is_wanted_is_needed() -> None:
    schedule = Schedule(graph_of([set(), set(), {0}]), ["oxide-out/2"])
    assert schedule.total == 2
    assert schedule.needed == (0, 2)


def test_a_deep_graph_needs_no_deep_stack() -> None:
    edges: list[set[int]] = [set(), *({i} for i in range(20_000))]
    schedule = Schedule(graph_of(edges), ["oxide-out/20000"])
    assert schedule.total == 20_001


def test_actions_that_wait_for_each_other_are_never_ready() -> None:
    graph = graph_of([{1}, {0}])
    schedule = Schedule(graph, ["oxide-out/0"])
    assert schedule.next() is None
    assert not schedule.finished
