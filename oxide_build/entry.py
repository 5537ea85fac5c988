"""Where `oxide` begins: most calls have nothing to do, and they end here."""

from __future__ import annotations

import gc
import sys


def main() -> None:
    """Run the command line and exit with its code."""
    argv = sys.argv[1:]
    if argv[:1] == ["build"]:
        from oxide_build.snapshot.answer import nothing_to_do

        if nothing_to_do(argv):
            sys.stdout.flush()
            sys.exit(0)
    # A build makes a million objects that live to its end; looking for cycles among them every 700
    # allocations takes a fifth of an analysis.
    gc.set_threshold(200_000, 20, 20)
    # Imported late: click and what the commands need take longer than the answer above.
    from oxide_build.cli.main import main as whole

    whole(argv)
