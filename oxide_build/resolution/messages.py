"""Messages of tools that mean a mismatch: `toolchains/messages.toml`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from oxide_build.resolution.fact_file import Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownMessage:
    """A message, what it means and what to do; `said` is how it was recorded."""

    tool: str
    pattern: re.Pattern[str]
    cause: str
    fix: str
    said: str
    evidence: Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageFacts:
    """All known messages, in the order in which they are tried."""

    messages: tuple[KnownMessage, ...]

    def explain(self, output: str) -> tuple[str, str] | None:
        """Cause and fix of the first known message in a tool's output (without colours)."""
        for message in self.messages:
            found = message.pattern.search(output)
            if found is not None:
                named = found.groupdict()
                return message.cause.format(**named), message.fix.format(**named)
        return None


def parse_messages(data: dict[str, Any]) -> MessageFacts:
    rows = []
    for row in data["message"]:
        try:
            pattern = re.compile(row["pattern"])
        except re.error as error:
            raise ValueError(f"the pattern {row['pattern']!r} is no regular expression") from error
        rows.append(
            KnownMessage(
                tool=row["tool"],
                pattern=pattern,
                cause=row["cause"],
                fix=row["fix"],
                said=row["said"],
                evidence=Evidence.of(row, data),
            )
        )
    return MessageFacts(messages=tuple(rows))
