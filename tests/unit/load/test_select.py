"""Which branch wins, with the semantics that GPUs have."""

from __future__ import annotations

import pytest

from oxide_build.errors import DefinitionError, UsageError
from oxide_build.load.conditions import check_conditions
from oxide_build.load.select import resolve
from oxide_build.model.arch import Arch
from oxide_build.model.target import Select

NONE: frozenset[str] = frozenset()


def choose(conditions: str, arch: str | None, *configs: str) -> str:
    """The condition, among those given, whose branch is taken."""
    select = Select(tuple((text, text) for text in conditions.split()))
    value = resolve(select, None if arch is None else Arch.parse(arch), frozenset(configs))
    assert isinstance(value, str)
    return value


@pytest.mark.parametrize(
    ("condition", "holds", "fails"),
    [
        ("sm_90", "sm_90 sm_90a sm_100 sm_100f sm_120a", "sm_89 sm_80"),
        (">=sm_90", "sm_90 sm_90a sm_100 sm_120a", "sm_89 sm_80"),
        ("<sm_90", "sm_89 sm_75", "sm_90 sm_90a sm_100"),
        ("sm_90a", "sm_90a", "sm_90 sm_100 sm_100a"),
        ("sm_100f", "sm_100 sm_100a sm_100f sm_103 sm_103a", "sm_90 sm_110 sm_120"),
        ("sm_103f", "sm_103 sm_107", "sm_100 sm_110"),
        ("family:sm_100", "sm_100 sm_103a sm_107", "sm_90 sm_110 sm_120"),
        ("family:sm_103", "sm_100 sm_103", "sm_110"),
        ("family:sm_110", "sm_101 sm_110", "sm_100 sm_120"),
    ],
)
def test_conditions_hold_where_code_runs(condition: str, holds: str, fails: str) -> None:
    for arch in holds.split():
        assert choose(f"{condition} default", arch) == condition
    for arch in fails.split():
        assert choose(f"{condition} default", arch) == "default"


@pytest.mark.parametrize(
    ("conditions", "arch", "winner"),
    [
        ("default >=sm_80", "sm_90", ">=sm_80"),
        (">=sm_80 >=sm_90 >=sm_75", "sm_100", ">=sm_90"),
        ("sm_80 >=sm_75", "sm_90", "sm_80"),
        ("<sm_120 <sm_100", "sm_90", "<sm_100"),
        ("sm_90 sm_90a", "sm_90a", "sm_90a"),
        ("sm_100 sm_100f", "sm_103", "sm_100f"),
        (">=sm_103 family:sm_100", "sm_103", "family:sm_100"),
        ("sm_100f sm_103f", "sm_107", "sm_103f"),
        ("sm_103a sm_103f family:sm_100", "sm_103a", "sm_103a"),
        (">=sm_80 <sm_90 sm_86a", "sm_86a", "sm_86a"),
    ],
)
def test_the_most_specific_condition_wins(conditions: str, arch: str, winner: str) -> None:
    words = conditions.split()
    assert choose(" ".join(words), arch) == winner
    assert choose(" ".join(reversed(words)), arch) == winner


def test_an_active_config_comes_before_every_arch() -> None:
    conditions = "sm_90a debug >=sm_80 default"
    assert choose(conditions, "sm_90a", "debug") == "debug"
    assert choose(conditions, "sm_90a") == "sm_90a"
    assert choose(conditions, "sm_90a", "other") == "sm_90a"


def test_without_an_arch_only_configs_and_default_hold() -> None:
    assert choose(">=sm_20 <sm_200 default", None) == "default"
    assert choose(">=sm_20 debug default", None, "debug") == "debug"


def test_two_configs_are_ambiguous() -> None:
    with pytest.raises(DefinitionError, match="`debug` and `fast` both hold"):
        choose("debug fast default", "sm_90", "fast", "debug")


@pytest.mark.parametrize("conditions", [">=sm_80 <sm_90", "<sm_90 sm_80 default"])
def test_a_lower_and_an_upper_bound_are_ambiguous(conditions: str) -> None:
    with pytest.raises(DefinitionError, match="both hold for building for `sm_86`") as raised:
        choose(conditions, "sm_86")
    assert "<sm_90" in raised.value.message
    assert "sm_80" in raised.value.message


def test_no_branch_names_the_arch_and_the_conditions() -> None:
    with pytest.raises(DefinitionError) as raised:
        choose("sm_90a >=sm_100", "sm_90")
    assert "no branch holds for `sm_90`; the conditions are `sm_90a` and `>=sm_100`" in str(
        raised.value
    )
    with pytest.raises(DefinitionError, match="without an architecture"):
        choose("sm_90a", None)


@pytest.mark.parametrize("value", ["x", 3, True, None, ("a", "b"), ()])
def test_plain_values_are_themselves(value: str | int | None) -> None:
    assert resolve(value, Arch(90), NONE) == value


@pytest.mark.parametrize(
    "conditions",
    [
        "sm_80 >=sm_80",
        "sm_100f family:sm_100",
        "family:sm_100 family:sm_103",
        "sm_101f family:sm_110",
    ],
)
def test_two_conditions_that_say_the_same_are_refused(conditions: str) -> None:
    with pytest.raises(UsageError, match="always hold together"):
        check_conditions(conditions.split(), ())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "sm_",
        "sm_90b",
        "90",
        "> sm_90",
        "==sm_90",
        "<=sm_90",
        "family:90",
        "family:sm_75",
        "sm_90f",
        ">=sm_90a",
        "debugg",
        "sm_90\n",
        "sm_٩٠",
        "Default",
    ],
)
def test_what_is_no_condition_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        check_conditions([text, "default"], ["debug"])


def test_names_of_configs_are_conditions() -> None:
    check_conditions(["debug", "sm_90", "sm_90a", "<sm_90", "default"], ["debug"])
