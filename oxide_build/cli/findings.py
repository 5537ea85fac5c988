"""What `oxide doctor` found: a line each, with what to do where something is wrong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import click

# ok: there and fine. note: worth knowing, nothing is wrong. missing: required, and not there.
_MARKS = {"ok": ("✓", "green"), "note": ("·", "cyan"), "missing": ("✗", "red")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at.

    section  what it is about ("rust", "cuda", "driver", …)
    status   "ok", "note" or "missing"
    text     what was found
    fix      how to have it otherwise; "" where nothing is to be done
    """

    section: str
    status: str
    text: str
    fix: str = ""


def worst(findings: Iterable[Finding]) -> bool:
    """Whether something required is missing."""
    return any(finding.status == "missing" for finding in findings)


def lines(findings: Sequence[Finding]) -> Iterator[str]:
    """For a terminal: sections in order of first mention, fixes below their finding."""
    for section in dict.fromkeys(finding.section for finding in findings):
        yield click.style(section, bold=True)
        for finding in findings:
            if finding.section != section:
                continue
            mark, colour = _MARKS[finding.status]
            first, *rest = finding.text.splitlines() or [""]
            yield f"  {click.style(mark, fg=colour)} {first}"
            yield from (f"    {line}" for line in rest)
            for fix in finding.fix.splitlines():
                yield f"      {fix}"


def as_record(findings: Sequence[Finding]) -> dict[str, Any]:
    """For programs; `schema` changes when a field changes its meaning."""
    return {
        "schema": 1,
        "ok": not worst(findings),
        "findings": [asdict(finding) for finding in findings],
    }
