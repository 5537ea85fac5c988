"""Recorded messages of real tools are recognised, each by its own pattern."""

from __future__ import annotations

import pytest

from oxide_build.cli.toolchains import load_facts
from oxide_build.resolution.messages import KnownMessage

FACTS = load_facts().messages


@pytest.mark.parametrize("message", FACTS.messages, ids=lambda each: each.said[:40])
def test_a_recorded_message_is_recognised_by_its_own_pattern(message: KnownMessage) -> None:
    found = message.pattern.search(message.said)
    assert found is not None
    explained = FACTS.explain(f"something before\n{message.said}\nsomething after")
    named = found.groupdict()
    assert explained == (message.cause.format(**named), message.fix.format(**named))
    assert "{" not in "".join(explained)


def test_other_output_is_left_alone() -> None:
    assert FACTS.explain("error[E0308]: mismatched types") is None
    assert FACTS.explain("") is None


def test_what_was_said_is_in_the_explanation() -> None:
    explained = FACTS.explain("ptxas fatal   : Value 'sm_100' is not defined for option 'gpu-name'")
    assert explained is not None
    assert "does not know sm_100" in explained[0]
