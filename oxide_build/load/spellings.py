"""Checks of the strings that occur in both `oxide.toml` and `BUILD.toml`."""

from __future__ import annotations

from oxide_build.errors import UsageError
from oxide_build.load.wording import nearest
from oxide_build.model.arch import ArchRequest
from oxide_build.model.label import Label, check_package, shown

PUBLIC = "//visibility:public"
PRIVATE = "//visibility:private"
ARCH_WORDS = ("all-major", "native")

# What is wrong with a string, and a hint.
Wrong = tuple[str, str | None]


def wrong_arch(text: str) -> Wrong | None:
    """Why `text` is not a spelling of `archs`; None if it is."""
    if text in ARCH_WORDS:
        return None
    try:
        ArchRequest.parse(text)
    except UsageError as error:
        close = nearest(text, ARCH_WORDS)
        return error.message, f"did you mean `{close[0]}`?" if close else error.hint
    return None


def wrong_visibility(text: str) -> Wrong | None:
    """Why `text` is not a visibility; None if it is."""
    try:
        visibility(text, "")
    except UsageError as error:
        return error.message, error.hint
    return None


def visibility(text: str, package: str) -> str:
    """The full spelling of a visibility: `//a` is `//a:__pkg__`; `:__pkg__` is of `package`.

    Raises `UsageError`.
    """
    if text in (PUBLIC, PRIVATE):
        return text
    path, colon, name = text.removeprefix("//").partition(":")
    if text.startswith("//visibility"):
        raise UsageError(
            f"{shown(text)} is not a visibility",
            hint=f"did you mean `{nearest(text, (PUBLIC, PRIVATE))[0]}`?"
            if nearest(text, (PUBLIC, PRIVATE))
            else f"there are `{PUBLIC}` and `{PRIVATE}`",
        )
    if text.startswith(":"):
        path = package
    elif not text.startswith("//"):
        word = f"//visibility:{text}"
        raise UsageError(
            f"{shown(text)} is not a visibility",
            hint=f"write `{word}`" if word in (PUBLIC, PRIVATE) else _forms(),
        )
    check_package(path, text)
    if name in ("__pkg__", "__subpackages__"):
        return f"//{path}:{name}"
    if colon or not path:
        raise UsageError(
            f"{shown(text)} names a target, but packages see, not targets",
            hint=f"write `//{path}:__pkg__`",
        )
    return f"//{path}:__pkg__"


def sees(package: str, target: Label, allowed: tuple[str, ...]) -> bool:
    """Whether targets of `package` may depend on `target` with the visibility `allowed`."""
    if package == target.package or PUBLIC in allowed:
        return True
    for text in allowed:
        path, _, name = text[2:].partition(":")
        if name == "__pkg__" and path == package:
            return True
        if name == "__subpackages__" and (not path or f"{package}/".startswith(f"{path}/")):
            return True
    return False


def wrong_mixture(values: tuple[str, ...]) -> Wrong | None:
    """Why these visibilities do not go together; None if they do."""
    for word in (PUBLIC, PRIVATE):
        if word in values and len(values) > 1:
            return f"`{word}` stands beside others, which then say nothing", "keep one"
    return None if values else ("the list is empty", f"write `{PRIVATE}`")


def _forms() -> str:
    return f"write `{PUBLIC}`, `{PRIVATE}`, `//package:__pkg__` or `//package:__subpackages__`"
