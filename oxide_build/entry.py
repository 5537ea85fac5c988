"""Where `oxide` begins: most calls have nothing to do, and they end here."""

from __future__ import annotations

import gc
import sys


def main() -> None:
    """Run the command line and exit with its code."""
    sys.exit(run(sys.argv[1:]))


def run(argv: list[str]) -> int:
    """Run the command line `argv`, in the least time that it takes; returns the exit code.

    A build that has nothing to do is answered by its snapshot, one whose definitions are as they
    were goes by its plan. Each import is late: click and what the commands need take longer than
    the answers before them.
    """
    if argv[:1] == ["build"]:
        from oxide_build.snapshot.answer import nothing_to_do

        if nothing_to_do(argv):
            sys.stdout.flush()
            return 0
    # A build makes a million objects that live to its end; looking for cycles among them every 700
    # allocations takes a fifth of an analysis.
    gc.set_threshold(200_000, 20, 20)
    if argv[:1] == ["build"]:
        from oxide_build.cli.planned import build_as_planned

        code = build_as_planned(argv)
        if code is not None:
            return code
    from oxide_build.cli.main import run as whole

    return whole(argv)
