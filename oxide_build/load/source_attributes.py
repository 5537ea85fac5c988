"""Attributes that name sources: files, globs, exclusions from globs, and labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from oxide_build.errors import DefinitionError, UsageError
from oxide_build.load.globs import is_glob
from oxide_build.load.sources import Sources
from oxide_build.load.wording import joined
from oxide_build.model.label import Label, shown
from oxide_build.model.target import AttrSpec, Scalar

Path = tuple[str | int, ...]
T = TypeVar("T")


class Owner(Protocol):
    """The reader of the table that the attribute is in."""

    @property
    def package(self) -> str: ...
    @property
    def sources(self) -> Sources: ...
    def label(self, spec: AttrSpec, text: str, path: Path) -> Label | None: ...
    def error(
        self, path: Path, spec: AttrSpec, message: str, *, hint: str | None = None
    ) -> None: ...


@dataclass(frozen=True, slots=True)
class SourceReader:
    """Reads one attribute of kind `source` or `source_list` for `owner`."""

    owner: Owner
    spec: AttrSpec

    def read(self, raw: Sequence[str], path: Path) -> tuple[Scalar, ...]:
        """Files and labels in order of mention, each once, the files of a glob sorted.

        Exclusions take away from the globs of the list, wherever they stand in it; they may match
        nothing, a glob may not.
        """
        many = self.spec.kind == "source_list"
        places = [(*path, position) if many else path for position in range(len(raw))]
        excluded = self._excluded(raw, places) if many else set()
        found: dict[Scalar, None] = {}
        for text, at in zip(raw, places, strict=True):
            if text.startswith((":", "//")):
                label = self.owner.label(self.spec, text, at)
                if label is not None:
                    if label in found:
                        self.owner.error(at, self.spec, f"lists {shown(text)} twice")
                    found[label] = None
            elif many and text.startswith("!"):
                continue
            elif many and is_glob(text):
                found.update(dict.fromkeys(self._glob(text, at, excluded)))
            else:
                file = self._look_up(self.owner.sources.file, text, at)
                if file is not None and self._check_extension([file], at, ""):
                    found[file] = None
        return tuple(found)

    def _glob(self, text: str, path: Path, excluded: set[str]) -> list[str]:
        matched = self._look_up(self.owner.sources.glob, text, path)
        if matched is None:
            return []
        paths = [match for match in matched if match not in excluded]
        if not paths:
            rest = "no file that the exclusions leave" if matched else "no file"
            self.owner.error(
                path,
                self.spec,
                f": the glob {shown(text)} matches {rest}",
                hint=self.owner.sources.contents(self.owner.package),
            )
        return (
            paths if self._check_extension(paths, path, f"the glob {shown(text)} matches ") else []
        )

    def _excluded(self, raw: Sequence[str], places: Sequence[Path]) -> set[str]:
        excluded: set[str] = set()
        if not any(text.startswith("!") for text in raw):
            return excluded
        globs = any(is_glob(text) and not text.startswith("!") for text in raw)
        for text, at in zip(raw, places, strict=True):
            if text.startswith("!"):
                if not globs:
                    message = f": {shown(text)} takes away from globs, but there is no glob"
                    self.owner.error(at, self.spec, message, hint="leave it out")
                excluded.update(self._look_up(self.owner.sources.glob, text[1:], at) or ())
        return excluded

    def _look_up(self, find: Callable[[str, str], T], text: str, path: Path) -> T | None:
        try:
            return find(self.owner.package, text)
        except (UsageError, DefinitionError) as error:
            self.owner.error(path, self.spec, f": {error.message}", hint=error.hint)
            return None

    def _check_extension(self, paths: Sequence[str], path: Path, prefix: str) -> bool:
        known = self.spec.extensions
        wrong = [other for other in paths if known and not other.endswith(known)]
        if wrong:
            kinds = joined([f"`{extension}`" for extension in known], "or")
            message = f"takes {kinds} files, but {prefix}{shown(wrong[0])}"
            self.owner.error(path, self.spec, message + ("" if prefix else " was given"))
        return not wrong
