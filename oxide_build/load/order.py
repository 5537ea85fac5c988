"""Dependencies before dependents, and the cycles that make that impossible."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")


def order(roots: Iterable[T], deps: Callable[[T], Sequence[T]]) -> tuple[list[T], list[list[T]]]:
    """Everything that `roots` reach, each after its dependencies, and some cycles.

    The order depends on the order of `roots` and of `deps` only. Where there are cycles, at least
    one of each tangle is among them, and no node is in two; the first node of each is the one
    that was reached first. O(nodes + edges), without recursion.
    """
    done: dict[T, None] = {}
    cycles: list[list[T]] = []
    tangled: set[T] = set()
    for root in roots:
        if root in done:
            continue
        path = [root]
        position = {root: 0}
        waiting = [iter(deps(root))]
        while path:
            following = next((dep for dep in waiting[-1] if dep not in done), None)
            if following is None:
                waiting.pop()
                node = path.pop()
                done[node] = None
            elif following in position:
                cycle = path[position[following] :]
                if tangled.isdisjoint(cycle):
                    cycles.append(cycle)
                    tangled.update(cycle)
            else:
                position[following] = len(path)
                path.append(following)
                waiting.append(iter(deps(following)))
    return list(done), cycles
