"""Which action may run next: a pure state machine over the needed part of the graph."""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from oxide_build.analysis.actions import ActionGraph


class Schedule:
    """Orders the actions that `wanted` outputs need.

    An action is handed out once, after all whose outputs it reads are done. Longer chains go
    first, so that the last action of a build is not the start of one. Not thread-safe.
    """

    def __init__(self, graph: ActionGraph, wanted: Iterable[str]) -> None:
        self._waiting: dict[int, int] = {}
        self._dependents: dict[int, list[int]] = {}
        self._ready: list[tuple[int, int]] = []
        order = _needed(graph, wanted)
        self._height = _heights(graph, order)
        for index in order:
            before = {
                graph.producer[path]
                for path in graph.actions[index].inputs
                if path in graph.producer
            }
            self._waiting[index] = len(before)
            for other in before:
                self._dependents.setdefault(other, []).append(index)
            if not before:
                self._push(index)
        self.total = len(order)
        self.needed = tuple(order)
        self._open = self.total

    @property
    def finished(self) -> bool:
        """Whether every action is done, failed or skipped."""
        return self._open == 0

    def next(self) -> int | None:
        """An action whose inputs are all there, or None when there is none just now."""
        return heapq.heappop(self._ready)[1] if self._ready else None

    def done(self, index: int) -> None:
        """The outputs of `index` are there."""
        self._open -= 1
        for other in self._dependents.get(index, ()):
            self._waiting[other] -= 1
            if self._waiting[other] == 0:
                self._push(other)

    def failed(self, index: int) -> tuple[int, ...]:
        """`index` failed; returns the actions that can no longer run, in no special order."""
        self._open -= 1
        skipped: list[int] = []
        stack = list(self._dependents.get(index, ()))
        while stack:
            other = stack.pop()
            if self._waiting.get(other, -1) > 0:
                self._waiting[other] = -1
                skipped.append(other)
                stack.extend(self._dependents.get(other, ()))
        self._open -= len(skipped)
        return tuple(skipped)

    def _push(self, index: int) -> None:
        heapq.heappush(self._ready, (-self._height[index], index))


def _needed(graph: ActionGraph, wanted: Iterable[str]) -> list[int]:
    """Indices of the actions behind `wanted`, inputs before users."""
    order: list[int] = []
    state: dict[int, bool] = {}
    stack = [(graph.producer[path], False) for path in wanted if path in graph.producer]
    stack.reverse()
    while stack:
        index, expanded = stack.pop()
        if expanded:
            if not state[index]:
                state[index] = True
                order.append(index)
            continue
        if index in state:
            continue
        state[index] = False
        stack.append((index, True))
        stack.extend(
            (graph.producer[path], False)
            for path in reversed(graph.actions[index].inputs)
            if path in graph.producer and graph.producer[path] not in state
        )
    return order


def _heights(graph: ActionGraph, order: list[int]) -> dict[int, int]:
    """For each action the length of the longest chain of users above it."""
    height = dict.fromkeys(order, 0)
    for index in reversed(order):
        for path in graph.actions[index].inputs:
            other = graph.producer.get(path)
            if other is not None:
                height[other] = max(height[other], height[index] + 1)
    return height
