"""Values of attributes: from TOML to what a rule gets, by the attribute's kind."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from oxide_build.errors import UsageError
from oxide_build.load.conditions import check_conditions
from oxide_build.load.problems import Problems
from oxide_build.load.refusals import refused
from oxide_build.load.source_attributes import SourceReader
from oxide_build.load.sources import Sources
from oxide_build.load.toml_file import TomlFile
from oxide_build.load.wording import listed, type_of
from oxide_build.model.label import Label, shown
from oxide_build.model.target import AttrSpec, AttrValue, Location, Scalar, Select

# A place in the file: the table's path, the attribute's name, perhaps a branch, perhaps an index.
Path = tuple[str | int, ...]

_EXPECTED = {
    "string": "a string",
    "bool": "true or false",
    "int": "an integer",
    "string_list": "a list of strings",
    "string_map": "a table of strings",
    "label": "a label",
    "label_list": "a list of labels",
    "source": "the path of a file, or a label",
    "source_list": "a list of files, globs and labels",
    "output_list": "a list of file names",
}
_OUTPUT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+=,@~-]*(?:/[A-Za-z0-9_][A-Za-z0-9_.+=,@~-]*)*\Z")
_INT_LIMIT = 1 << 63


@dataclass(frozen=True, slots=True)
class Reference:
    """A label in an attribute, and where it is written."""

    label: Label
    attr: str
    place: Location
    rules: tuple[str, ...] = ()


@dataclass(slots=True)
class AttributeReader:
    """Reads the attributes of one table.

    `subject` is what messages call the target. Labels and outputs that occur are gathered on the
    way, in order of mention; what is wrong goes to `problems`.
    """

    file: TomlFile
    package: str
    subject: str
    sources: Sources
    configs: Collection[str]
    problems: Problems
    references: list[Reference] = field(default_factory=list)
    outputs: list[tuple[str, Location]] = field(default_factory=list)

    def read(self, spec: AttrSpec, raw: object, path: Path) -> AttrValue | Select:
        """The value of `raw`, which is written at `path`; None where it is wrong."""
        if not isinstance(raw, dict) or spec.kind == "string_map":
            return self._plain(spec, raw, path)
        if not spec.configurable:
            self.error(path, spec, "cannot depend on the architecture or on a config")
            return None
        if not raw:
            self.error(path, spec, "is an empty table", hint="give it a branch, or a plain value")
            return None
        try:
            check_conditions(raw, self.configs)
        except UsageError as error:
            wrong = next((key for key in raw if error.message.startswith(shown(key))), None)
            at = path if wrong is None else (*path, wrong)
            self.error(at, spec, f": {error.message}", hint=error.hint)
            return None
        return Select(
            tuple((key, self._plain(spec, value, (*path, key))) for key, value in raw.items())
        )

    def _plain(self, spec: AttrSpec, raw: object, path: Path) -> AttrValue:
        if spec.kind.endswith("_list"):
            return self._list(spec, raw, path)
        if spec.kind == "string_map":
            return self._map(spec, raw, path)
        if spec.kind == "bool":
            if not isinstance(raw, bool):
                self._wrong_type(spec, raw, path)
                return None
            return raw
        if spec.kind == "int":
            return self._int(spec, raw, path)
        if not isinstance(raw, str):
            self._wrong_type(spec, raw, path)
            return None
        return next(iter(self._elements(spec, [raw], path)), None)

    def _int(self, spec: AttrSpec, raw: object, path: Path) -> int | None:
        if not isinstance(raw, int) or isinstance(raw, bool):
            self._wrong_type(spec, raw, path)
            return None
        if not -_INT_LIMIT <= raw < _INT_LIMIT:
            self.error(path, spec, "does not fit into 64 bits")
            return None
        return raw

    def _list(self, spec: AttrSpec, raw: object, path: Path) -> AttrValue:
        if not isinstance(raw, list):
            self._wrong_type(spec, raw, path)
            return None
        for position, item in enumerate(raw):
            if not isinstance(item, str):
                message = f"must be {_EXPECTED[spec.kind]}, but element {position + 1} is "
                self.error((*path, position), spec, message + type_of(item))
                return None
        if spec.mandatory and not raw:
            self.error(path, spec, "must not be empty")
        return self._elements(spec, raw, path)

    def _map(self, spec: AttrSpec, raw: object, path: Path) -> dict[str, str] | None:
        if not isinstance(raw, dict):
            self._wrong_type(spec, raw, path)
            return None
        for key, value in raw.items():
            if not isinstance(value, str):
                message = f"must be {_EXPECTED[spec.kind]}, but {shown(key)} is {type_of(value)}"
                self.error((*path, key), spec, message)
                return None
            self._check_text(spec, key, (*path, key))
            self._check_text(spec, value, (*path, key))
        return dict(raw)

    def _elements(self, spec: AttrSpec, raw: list[str], path: Path) -> tuple[Scalar, ...]:
        kind = spec.kind.removesuffix("_list")
        if kind == "source":
            return SourceReader(self, spec).read(raw, path)
        read: dict[str, Callable[[AttrSpec, str, Path], Scalar | None]] = {
            "string": self._string,
            "label": self.label,
            "output": self._output,
        }
        found: list[Scalar] = []
        for position, text in enumerate(raw):
            at = (*path, position) if spec.kind.endswith("_list") else path
            value = read[kind](spec, text, at)
            if value is None:
                continue
            if kind != "string" and value in found:
                self.error(at, spec, f"lists {shown(text)} twice")
            found.append(value)
        if kind == "string":
            for position, text, reason in refused(raw, spec.refuse):
                at = (*path, position) if spec.kind.endswith("_list") else path
                self.error(at, spec, f"must not have {shown(text)}", hint=reason)
        return tuple(found)

    def _string(self, spec: AttrSpec, text: str, path: Path) -> str | None:
        if spec.values and text not in spec.values:
            values = list(spec.values)
            self.error(
                path,
                spec,
                f"must be one of {listed(values)}, but {shown(text)} was given",
            )
            return None
        self._check_text(spec, text, path)
        return text

    def label(self, spec: AttrSpec, text: str, path: Path) -> Label | None:
        """The label `text`, which is gathered as a reference."""
        try:
            label = Label.parse(text, package=self.package)
        except UsageError as error:
            self.error(path, spec, f": {error.message}", hint=error.hint)
            return None
        place = self.file.place(*path)
        self.references.append(Reference(label, spec.name, place, spec.rules))
        return label

    def _output(self, spec: AttrSpec, text: str, path: Path) -> str | None:
        if not _OUTPUT.match(text) or len(text) > 200:
            self.error(
                path,
                spec,
                f": {shown(text)} is not the name of an output",
                hint="write a path relative to the package, without `..` or hidden parts, of "
                "letters, digits and `_ . + = , @ ~ -`",
            )
            return None
        full = f"{self.package}/{text}" if self.package else text
        self.outputs.append((full, self.file.place(*path)))
        return text

    def _check_text(self, spec: AttrSpec, text: str, path: Path) -> None:
        if "\0" in text:
            self.error(path, spec, f"has a NUL character: {shown(text)}")

    def _wrong_type(self, spec: AttrSpec, raw: object, path: Path) -> None:
        hint = None
        if spec.kind.endswith("_list") and isinstance(raw, str):
            name = path[-1] if _is_bare(path[-1]) else f'"{shown(str(path[-1]))[1:-1]}"'
            hint = f'write `{name} = ["{shown(raw)[1:-1]}"]`'
        elif spec.kind == "bool" and isinstance(raw, str) and raw.lower() in ("true", "false"):
            hint = "write it without quotes"
        message = f"must be {_EXPECTED[spec.kind]}, but {type_of(raw)} was given"
        self.error(path, spec, message, hint=hint)

    def error(self, path: Path, spec: AttrSpec, message: str, *, hint: str | None = None) -> None:
        """Note a mistake; `message` goes on after the attribute's and the target's name."""
        space = "" if message.startswith(":") else " "
        self.problems.add(
            self.file.place(*path),
            f"`{spec.name}` of {self.subject}{space}{message}",
            hint=hint,
        )


def _is_bare(part: str | int) -> bool:
    return isinstance(part, str) and part.replace("-", "_").isidentifier()
