"""Labels and target patterns, spelled as in Bazel."""

from __future__ import annotations

import re
from dataclasses import dataclass

from oxide_build.errors import UsageError

# Bazel's own set less the characters that a shell or a file name would trip over.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+=,@~-]*(?:/[A-Za-z0-9_][A-Za-z0-9_.+=,@~-]*)*\Z")
_SEGMENT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+=,@~ -]*\Z")
# Files are called after targets, and a file's name may have 255 bytes.
_NAME_LIMIT = 200
_PACKAGE_LIMIT = 1000
# They mean something else behind a colon.
_RESERVED = ("all", "__pkg__", "__subpackages__")


@dataclass(frozen=True, slots=True, order=True)
class Label:
    """The absolute name of a target, `//package:name`.

    `package` is a `/`-separated path relative to the workspace root, empty for the root package.
    """

    package: str
    name: str

    def __str__(self) -> str:
        return f"//{self.package}:{self.name}"

    @property
    def short(self) -> str:
        """The shortest spelling: `//a/b` for `//a/b:b`."""
        if self.package and self.package.rpartition("/")[2] == self.name:
            return f"//{self.package}"
        return str(self)

    @classmethod
    def parse(cls, text: str, *, package: str) -> Label:
        """Read `//a/b:c`, `//a/b` or `:c`; the last is relative to `package`.

        Raises `UsageError`; callers that know a place in a file wrap it.
        """
        if text.startswith(":"):
            return cls(package, check_name(text[1:], text))
        if not text.startswith("//"):
            raise UsageError(
                f"{shown(text)} is not a label",
                hint="write `//package:name`, or `:name` for a target of the same package",
            )
        path, colon, name = text[2:].partition(":")
        check_package(path, text)
        if colon:
            return cls(path, check_name(name, text))
        if not path:
            raise UsageError(f"{shown(text)} names no target", hint="write `//:name`")
        return cls(path, check_name(path.rpartition("/")[2], text))


@dataclass(frozen=True, slots=True)
class Pattern:
    """A set of targets named on the command line.

    `name` is None for every target of the matched packages; `recursive` also takes the packages
    below `package`. `negative` patterns (`-//a/...`) take away what earlier ones gave.
    """

    package: str
    name: str | None
    recursive: bool = False
    negative: bool = False

    def __str__(self) -> str:
        sign = "-" if self.negative else ""
        if self.recursive:
            return f"{sign}//{self.package}/..." if self.package else f"{sign}//..."
        return f"{sign}//{self.package}:{self.name or 'all'}"

    def matches_package(self, package: str) -> bool:
        """Whether targets of `package` can match."""
        if package == self.package:
            return True
        prefix = f"{self.package}/" if self.package else ""
        return self.recursive and package.startswith(prefix)

    def matches(self, label: Label) -> bool:
        """Whether `label` is in the set, whatever the sign."""
        return self.matches_package(label.package) and self.name in (None, label.name)

    @classmethod
    def parse(cls, text: str, *, package: str = "") -> Pattern:
        """Read a label, `//a/...`, `//a:all`, `//a:*`, relative forms of these, or `-` and one.

        Relative patterns (`...`, `a/...`, `:c`, `a:c`) are taken from `package`.
        """
        negative = text.startswith("-")
        body = text[1:] if negative else text
        if not body:
            raise UsageError("an empty target pattern was given", hint="write `//...` for all")
        if not body.startswith(("//", ":")):
            body = f"//{package}/{body}" if package else f"//{body}"
        if body.startswith(":"):
            body = f"//{package}{body}"
        path, colon, name = body[2:].partition(":")
        if not colon and (path == "..." or path.endswith("/...")):
            if path.startswith("/"):
                check_package(path, text)
            return cls(check_package(path[:-4], text), None, True, negative)
        if not colon and path.endswith("..."):
            raise UsageError(
                f"{shown(text)} is not a target pattern", hint="`...` follows a `/`: `//a/...`"
            )
        if colon and name in ("all", "*"):
            return cls(check_package(path, text), None, False, negative)
        label = Label.parse(body, package=package)
        return cls(label.package, label.name, False, negative)


def check_name(name: str, text: str) -> str:
    """Return `name` if a target may be called so; `text` is what the user wrote."""
    if len(name) > _NAME_LIMIT:
        raise UsageError(
            f"{shown(name)} has {len(name):,} characters, too many for a target name",
            hint=f"at most {_NAME_LIMIT} are allowed",
        )
    subject = shown(name) if name == text else f"{shown(name)} in {shown(text)}"
    if name in _RESERVED:
        raise UsageError(
            f"{subject} is not a target name: the word is reserved",
            hint="`:all` is every target of a package; `:__pkg__` and `:__subpackages__` belong "
            "in `visibility`",
        )
    if not _NAME.match(name):
        raise UsageError(
            f"{subject} is not a target name",
            hint="a name has letters, digits and `_ . + = , @ ~ -`, and starts with a letter, "
            "digit or `_`; `/` separates parts",
        )
    return name


def check_package(path: str, text: str) -> str:
    """Return `path` if a package may lie there; never lets `..` or an absolute path through."""
    if len(path) > _PACKAGE_LIMIT:
        raise UsageError(
            f"{shown(path)} has {len(path):,} characters, too many for a package path",
            hint=f"at most {_PACKAGE_LIMIT:,} are allowed",
        )
    if path and not all(_SEGMENT.match(part) for part in path.split("/")):
        raise UsageError(
            f"{shown(path)} in {shown(text)} is not a package path",
            hint="a package path is relative to the workspace root and has no `.`, `..`, empty "
            "or hidden parts",
        )
    return path


def shown(text: str) -> str:
    """`text` as it is safe to show in a message: quoted, escaped, cut after 80 characters."""
    if not text:
        return '`""`'
    cut = text if len(text) <= 80 else f"{text[:77]}..."
    return "`" + cut.encode("unicode_escape").decode("ascii").replace("`", "'") + "`"
