"""The packages of a workspace, each loaded when it is first asked for."""

from __future__ import annotations

from collections.abc import Mapping

from oxide_build.errors import DefinitionError
from oxide_build.load.build_file import Package, parse_build_file
from oxide_build.load.defaults import with_defaults
from oxide_build.load.files import BUILD_FILE, WorkspaceFiles
from oxide_build.load.problems import Problems
from oxide_build.load.sources import Sources
from oxide_build.load.wording import did_you_mean, joined, nearest
from oxide_build.model.label import Label
from oxide_build.model.target import Location, RuleSchema
from oxide_build.model.workspace import Workspace


class Packages:
    """Loads packages for one load of a graph; mistakes in them go to `problems`."""

    def __init__(
        self,
        files: WorkspaceFiles,
        workspace: Workspace,
        schemas: Mapping[str, RuleSchema],
        problems: Problems,
    ) -> None:
        self._files = files
        self._workspace = workspace
        self._schemas = with_defaults(schemas)
        self._problems = problems
        self._sources = Sources(files)
        self._loaded: dict[str, Package | None] = {}
        self._missing: dict[str, str | None] = {}
        self._all: list[str] | None = None

    def load(self, path: str) -> Package | None:
        """The package at `path`, or None if it cannot be read. Call `why_missing` before."""
        if path not in self._loaded:
            self._loaded[path] = self._read(path)
        return self._loaded[path]

    def loaded(self) -> list[Package]:
        """All packages that were loaded, sorted by path."""
        return [package for _, package in sorted(self._loaded.items()) if package is not None]

    def why_missing(self, path: str) -> str | None:
        """What keeps `path` from being a package; None if it is one."""
        if path not in self._missing:
            self._missing[path] = self._sources.why_no_package(path)
        return self._missing[path]

    def similar(self, path: str, name: str | None) -> str | None:
        """A hint: labels like `//path:name` in packages that exist, or patterns `//path/...`.

        Walks the workspace once.
        """
        if self._sources.is_folder(path) and name is not None:
            return f"a package needs a `{BUILD_FILE}`, even an empty one"
        if self._all is None:
            self._all = self._files.packages_below("")
        close = nearest(path, self._all, count=3)
        short = path.rpartition("/")[2] == name
        labels = [
            f"//{other}/..."
            if name is None
            else Label(other, other.rpartition("/")[2] if short else name).short
            for other in close
        ]
        if labels:
            return f"did you mean {joined([f'`{label}`' for label in labels], 'or')}?"
        return None

    def why_no_target(self, label: Label) -> str:
        """A hint for a label into a package that exists but has no such target."""
        package = self._loaded.get(label.package)
        names = [] if package is None else list(package.targets)
        close = did_you_mean(str(label), [str(Label(label.package, name)) for name in names])
        if label.name in self._sources.files_of(label.package):
            begin = f"`{label.package or '.'}/{label.name}` is a file"
            return f"{begin}; in an attribute for files write `{label.name}`, without `:`"
        if close is not None:
            return close
        build_file = f"`{_build_file(label.package)}`"
        if not names:
            return f"{build_file} defines no target"
        shown = joined([f"`:{name}`" for name in names[:8]], "and")
        return f"{build_file} defines {shown}" + (" and others" if len(names) > 8 else "")

    def _read(self, path: str) -> Package | None:
        build_file = _build_file(path)
        try:
            return parse_build_file(
                build_file,
                self._files.read(build_file),
                path,
                self._schemas,
                self._workspace,
                self._sources,
                self._problems,
            )
        except DefinitionError as error:
            place, message = _split(error.message, build_file)
            self._problems.add(place, message, hint=error.hint)
            return None


def _build_file(package: str) -> str:
    return f"{package}/{BUILD_FILE}" if package else BUILD_FILE


def _split(message: str, path: str) -> tuple[Location, str]:
    """Place and text of the message of an error that has its place in front."""
    rest = message.removeprefix(path)
    place, _, text = rest.partition(": ")
    line = int(place[1:]) if place[1:].isdigit() else 0
    return Location(path, line), text if rest != message else message
