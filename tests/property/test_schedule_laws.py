"""Whatever the graph: edges are respected and each needed action is handed out once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from oxide_build.analysis.actions import ActionGraph
from oxide_build.execution.schedule import Schedule
from oxide_build.model.action import Action, Command
from oxide_build.model.label import Label


def graph_of(edges: list[set[int]]) -> ActionGraph:
    """Action i reads the outputs of the actions `edges[i]`, all of them earlier."""
    actions = tuple(
        Action(
            commands=(Command(argv=("x",)),),
            inputs=tuple(f"oxide-out/{j}" for j in sorted(before)),
            outputs=(f"oxide-out/{i}",),
            label=Label("", f"t{i}"),
            stage="s",
        )
        for i, before in enumerate(edges)
    )
    return ActionGraph(actions, {f"oxide-out/{i}": i for i in range(len(actions))}, {}, {}, {})


@st.composite
def dags(draw: st.DrawFn) -> tuple[list[set[int]], list[int]]:
    size = draw(st.integers(1, 12))
    edges = [draw(st.sets(st.integers(0, i - 1), max_size=4)) if i else set() for i in range(size)]
    wanted = draw(st.lists(st.integers(0, size - 1), max_size=4))
    return edges, wanted


def needed(edges: list[set[int]], wanted: list[int]) -> set[int]:
    found, stack = set(), list(wanted)
    while stack:
        index = stack.pop()
        if index not in found:
            found.add(index)
            stack.extend(edges[index])
    return found


@given(dags(), st.data())
def test_edges_are_respected_and_each_needed_action_runs_once(
    dag: tuple[list[set[int]], list[int]], data: st.DataObject
) -> None:
    edges, wanted = dag
    schedule = Schedule(graph_of(edges), [f"oxide-out/{i}" for i in wanted])
    done: list[int] = []
    running: list[int] = []
    while not schedule.finished:
        while (index := schedule.next()) is not None:
            assert edges[index] <= set(done)
            running.append(index)
        # Any of the running ones may end first.
        at = data.draw(st.integers(0, len(running) - 1))
        done.append(running.pop(at))
        schedule.done(done[-1])
    assert sorted(done) == sorted(needed(edges, wanted))


@given(dags(), st.data())
def test_after_failures_exactly_what_needs_them_is_skipped(
    dag: tuple[list[set[int]], list[int]], data: st.DataObject
) -> None:
    edges, wanted = dag
    schedule = Schedule(graph_of(edges), [f"oxide-out/{i}" for i in wanted])
    done: set[int] = set()
    failed: set[int] = set()
    skipped: list[int] = []
    while not schedule.finished:
        index = schedule.next()
        assert index is not None
        if data.draw(st.booleans()):
            failed.add(index)
            skipped.extend(schedule.failed(index))
        else:
            done.add(index)
            schedule.done(index)
    assert len(skipped) == len(set(skipped))
    assert done | failed | set(skipped) == needed(edges, wanted)
    for index in skipped:
        assert needed(edges, [index]) & failed
    for index in done | failed:
        assert not (needed(edges, [index]) - {index}) & failed
