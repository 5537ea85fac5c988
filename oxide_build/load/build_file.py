"""`BUILD.toml`: the targets of one package, read as far as that is possible without the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from oxide_build.errors import UsageError
from oxide_build.load.attributes import AttributeReader, Reference
from oxide_build.load.problems import Problems
from oxide_build.load.sources import Sources
from oxide_build.load.spellings import visibility, wrong_arch, wrong_mixture, wrong_visibility
from oxide_build.load.table import Table
from oxide_build.load.toml_file import TomlFile, parse_toml
from oxide_build.load.wording import did_you_mean, listed, suggestion, type_of
from oxide_build.model.label import Label, check_name, shown
from oxide_build.model.target import AttrValue, Location, RuleSchema, Select, Target
from oxide_build.model.workspace import Workspace

PACKAGE_TABLE = "package"
COMMON = ("name", "visibility", "archs")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedTarget:
    """A target, the places where it names others, and the files that it declares to make."""

    target: Target
    references: tuple[Reference, ...]
    outputs: tuple[tuple[str, Location], ...]


@dataclass(slots=True)
class Package:
    """The targets of a `BUILD.toml` by name, in the order of the file; wrong ones too.

    `complete` is False where a target has no proper name, so that it cannot be told which it is.
    """

    path: str
    targets: dict[str, LoadedTarget] = field(default_factory=dict)
    complete: bool = True


def parse_build_file(
    path: str,
    data: bytes,
    package: str,
    schemas: Mapping[str, RuleSchema],
    workspace: Workspace,
    sources: Sources,
    problems: Problems,
) -> Package:
    """Read `data`, the content of the `BUILD.toml` at `path`.

    `schemas` have gone through `with_defaults`. Globs are expanded; labels are checked for their
    form only. Mistakes go to `problems`, except for what makes the whole file unreadable, which is
    raised as `DefinitionError`.
    """
    file = parse_toml(path, data)
    return _BuildFile(file, package, schemas, workspace, sources, problems).read()


class _BuildFile:
    def __init__(
        self,
        file: TomlFile,
        package: str,
        schemas: Mapping[str, RuleSchema],
        workspace: Workspace,
        sources: Sources,
        problems: Problems,
    ) -> None:
        self._file = file
        self._package = Package(package)
        self._schemas = schemas
        self._workspace = workspace
        self._sources = sources
        self._problems = problems
        self._archs = workspace.archs
        self._visibility = workspace.default_visibility

    def read(self) -> Package:
        self._read_package_table()
        tables: list[tuple[Location, str, Table]] = []
        for rule, raw in self._file.values.items():
            if rule == PACKAGE_TABLE:
                continue
            if rule not in self._schemas:
                self._unknown_rule(rule, raw)
            elif isinstance(raw, list) and all(isinstance(item, dict) for item in raw):
                for index, values in enumerate(raw):
                    table = Table(self._file, (rule, index), values, self._problems)
                    tables.append((self._file.place(rule, index), rule, table))
            else:
                self._not_an_array(rule, raw)
        for place, rule, table in sorted(tables, key=lambda item: item[0].line):
            self._read_target(place, self._schemas[rule], table)
        return self._package

    def _read_package_table(self) -> None:
        raw = self._file.values.get(PACKAGE_TABLE)
        if isinstance(raw, list):
            message = "a BUILD.toml has one package, but `[[package]]` begins a list"
            self._problems.add(self._file.place(PACKAGE_TABLE), message, hint="write `[package]`")
            return
        table = Table(self._file, (), self._file.values, self._problems).table(PACKAGE_TABLE)
        if table is not None:
            table.check_keys(("archs", "visibility"))
            self._archs = _archs(table, table.name, self._archs)
            self._visibility = _visibility(table, table.name, self._package.path, self._visibility)

    def _unknown_rule(self, rule: str, raw: object) -> None:
        self._package.complete = False
        hint = suggestion(rule, sorted(self._schemas), what="rules")
        what = "there is no rule" if isinstance(raw, (list, dict)) else "unknown key"
        self._problems.add(self._file.place(rule), f"{what} {shown(rule)}", hint=hint)

    def _not_an_array(self, rule: str, raw: object) -> None:
        self._package.complete = False
        place = self._file.place(rule)
        if isinstance(raw, dict):
            message = f"`[{rule}]` is a single table, but a package may have many of a rule"
            self._problems.add(place, message, hint=f"write `[[{rule}]]`")
        else:
            message = f"`{rule}` must be a list of tables, but {type_of(raw)} was given"
            self._problems.add(place, message, hint=f"write `[[{rule}]]` above a target's keys")

    def _read_target(self, place: Location, schema: RuleSchema, table: Table) -> None:
        name = self._name(schema, table)
        label = Label(self._package.path, name or "")
        subject = f"`{label}`" if name is not None else f"this `{schema.name}`"
        reader = AttributeReader(
            self._file,
            self._package.path,
            subject,
            self._sources,
            self._workspace.configs,
            self._problems,
        )
        attrs = self._attributes(schema, table, reader)
        archs = self._own_archs(schema, table, subject)
        seen_by = _visibility(table, subject, self._package.path, self._visibility)
        if name is None:
            self._package.complete = False
            return
        first = self._package.targets.get(name)
        if first is not None:
            self._problems.add(
                self._file.place(*table.path, "name"),
                f"`{label}` is defined twice",
                hint=f"the first is the `{first.target.rule}` at {first.target.location}; "
                "give one of them another name",
            )
            return
        target = Target(
            label=label,
            rule=schema.name,
            location=place,
            attrs=attrs,
            attr_lines={key: self._file.lines.line(*table.path, key) for key in table.values},
            deps=tuple(dict.fromkeys(reference.label for reference in reader.references)),
            archs=archs,
            visibility=seen_by,
        )
        self._package.targets[name] = LoadedTarget(
            target=target,
            references=tuple(reader.references),
            outputs=tuple(reader.outputs),
        )

    def _name(self, schema: RuleSchema, table: Table) -> str | None:
        raw = table.values.get("name")
        if raw is None:
            table.error(
                None, f"`name` of this `{schema.name}` is missing", hint='write `name = "…"`'
            )
            return None
        if not isinstance(raw, str):
            given = f"but {type_of(raw)} was given"
            table.error("name", f"`name` of this `{schema.name}` must be a string, {given}")
            return None
        try:
            return check_name(raw, raw)
        except UsageError as error:
            message = f"`name` of this `{schema.name}`: {error.message}"
            table.error("name", message, hint=error.hint)
            return None

    def _attributes(
        self, schema: RuleSchema, table: Table, reader: AttributeReader
    ) -> dict[str, AttrValue | Select]:
        found: dict[str, AttrValue | Select] = {}
        # In the order of the file, which is the order of `Target.deps`.
        for key, raw in table.values.items():
            spec = schema.attrs.get(key)
            if spec is not None:
                found[key] = reader.read(spec, raw, (*table.path, key))
            elif key not in COMMON:
                known = sorted({*schema.attrs, *COMMON})
                table.error(
                    key,
                    f"{reader.subject} has an unknown attribute {shown(key)}",
                    hint=did_you_mean(key, known)
                    or f"the attributes of `{schema.name}` are {listed(known)}",
                )
        for key, spec in schema.attrs.items():
            if key not in found:
                if spec.mandatory:
                    hint = f"{spec.doc.splitlines()[0]}" if spec.doc else None
                    table.error(None, f"`{key}` of {reader.subject} is missing", hint=hint)
                found[key] = spec.default
                for label in _labels_of(spec.default):
                    place = self._file.place(*table.path)
                    reader.references.append(Reference(label, key, place, spec.rules))
        return {key: found[key] for key in schema.attrs}

    def _own_archs(self, schema: RuleSchema, table: Table, subject: str) -> tuple[str, ...]:
        if schema.per_arch:
            return _archs(table, subject, self._archs)
        if "archs" in table.values:
            table.error(
                "archs",
                f"`archs` of {subject} says nothing: a `{schema.name}` is built for the archs of "
                "the targets that use it",
                hint="leave it out",
            )
        return ()


def _archs(table: Table, subject: str, otherwise: tuple[str, ...]) -> tuple[str, ...]:
    archs = table.checked("archs", wrong_arch, subject=subject)
    if archs == ():
        table.error("archs", f"`archs` of {subject} is empty", hint='write `archs = ["sm_90"]`')
    return archs or otherwise


def _visibility(
    table: Table, subject: str, package: str, otherwise: tuple[str, ...]
) -> tuple[str, ...]:
    values = table.checked("visibility", wrong_visibility, subject=subject)
    if values is None:
        return otherwise
    full = tuple(visibility(text, package) for text in values)
    wrong = wrong_mixture(full)
    if wrong is not None:
        table.error("visibility", f"`visibility` of {subject}: {wrong[0]}", hint=wrong[1])
    return full


def _labels_of(value: object) -> list[Label]:
    values = value if isinstance(value, tuple) else (value,)
    return [item for item in values if isinstance(item, Label)]
