"""Whether a file's times can still hide a change."""

from __future__ import annotations

# The kernel stamps files with a clock that ticks every 4 to 10 ms; file systems that keep whole
# seconds give themselves away by a zero remainder.
_TICK_NS = 20_000_000
_COARSE_NS = 2_000_000_000


def settled(changed_ns: int, seen_ns: int) -> bool:
    """Whether a change after `seen_ns` would give another time than `changed_ns`.

    `changed_ns` is the ctime of a file, which every change sets, whatever is done to the mtime.
    """
    tick = _COARSE_NS if changed_ns % 1_000_000_000 == 0 else _TICK_NS
    return changed_ns < seen_ns - tick
