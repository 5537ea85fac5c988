"""Laws of labels and patterns, over words that look like something else."""

from __future__ import annotations

import contextlib
import os.path
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from oxide_build.errors import UsageError
from oxide_build.model.arch import ArchRequest
from oxide_build.model.label import Label, Pattern, shown

# Parts of paths, separators in odd numbers, and what means something elsewhere.
_WORDS = st.sampled_from(
    ["a", "b", "a-b", "all", "*", "...", "..", ".", "", "/", "//", ":", "-", "@", "~", " ", "\n",
     "\0", "\\", "ü", "\ud800", "%2e%2e", "$(x)", "a" * 300, "__pkg__", "visibility", "//a", "C:"]
)  # fmt: skip
_TEXTS = st.lists(_WORDS, max_size=8).map("".join)
_PART = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.+=,@~-]{0,6}", fullmatch=True)
_NAMES = st.lists(_PART, min_size=1, max_size=3).map("/".join).filter(lambda name: name != "all")
_PACKAGES = st.lists(_PART, max_size=3).map("/".join)
_LABELS = st.builds(Label, _PACKAGES, _NAMES)


def _safe(path: str) -> bool:
    """Whether joining `path` to a folder stays below it."""
    joined = os.path.normpath(os.path.join("/root", path))
    return joined == os.path.join("/root", path).rstrip("/") and joined.startswith("/root")


@given(_LABELS, _PACKAGES)
def test_a_label_is_read_as_it_is_written(label: Label, package: str) -> None:
    assert Label.parse(str(label), package=package) == label
    assert Label.parse(label.short, package=package) == label


@given(_LABELS)
def test_a_label_is_a_pattern_that_matches_it_alone(label: Label) -> None:
    pattern = Pattern.parse(str(label))
    assert pattern.matches(label)
    assert not pattern.matches(Label(label.package, label.name + "x"))
    assert not pattern.matches(Label(label.package + "x", label.name))


@given(_TEXTS, _PACKAGES)
def test_no_label_leads_out_of_the_workspace(text: str, package: str) -> None:
    with contextlib.suppress(UsageError):
        label = Label.parse(text, package=package)
        assert _safe(label.package)
        assert _safe(label.name)
        assert str(label).isprintable()
        assert len(str(label)) < 1300
        assert Label.parse(str(label), package="") == label


@given(_TEXTS, _PACKAGES)
def test_no_pattern_leads_out_of_the_workspace(text: str, package: str) -> None:
    with contextlib.suppress(UsageError):
        pattern = Pattern.parse(text, package=package)
        assert _safe(pattern.package)
        assert pattern.name is None or _safe(pattern.name)
        assert Pattern.parse(str(pattern)) == pattern


@given(_LABELS)
def test_a_recursive_pattern_matches_its_package_and_all_below(label: Label) -> None:
    below = Label(f"{label.package}/b" if label.package else "b", label.name)
    pattern = Pattern(label.package, None, recursive=True)
    assert pattern.matches(label)
    assert pattern.matches(below)
    assert not Pattern(below.package, None, recursive=True).matches(label)
    assert Pattern("", None, recursive=True).matches(label)


@given(st.text() | _TEXTS)
def test_whatever_is_wrong_is_shown_on_one_short_line(text: str) -> None:
    assert shown(text).isprintable()
    for message in (
        _refusal(lambda: Label.parse(text, package="")),
        _refusal(lambda: Pattern.parse(text)),
        _refusal(lambda: ArchRequest.parse(text)),
    ):
        assert message.isprintable()
        assert len(message) < 1000


def _refusal(read: Callable[[], object]) -> str:
    try:
        read()
    except UsageError as error:
        return error.message
    return ""
