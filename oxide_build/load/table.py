"""Typed readers of TOML tables: every key has one type, and unknown keys are errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from oxide_build.load.problems import Problems
from oxide_build.load.toml_file import TomlFile
from oxide_build.load.wording import suggestion, type_of
from oxide_build.model.label import shown


@dataclass(frozen=True, slots=True)
class Table:
    """A table of `file` at `path`; what is wrong with it goes to `problems`.

    Readers return None for a missing key and for one that was wrong.
    """

    file: TomlFile
    path: tuple[str | int, ...]
    values: Mapping[str, Any]
    problems: Problems

    @property
    def name(self) -> str:
        """The table's header, for messages."""
        names = ".".join(shown(part)[1:-1] for part in self.path if isinstance(part, str))
        return f"`[[{names}]]`" if isinstance(self.path[-1], int) else f"`[{names}]`"

    def error(self, key: str | None, message: str, *, hint: str | None = None) -> None:
        """Note a mistake of `key`, or of the whole table."""
        path = self.path if key is None else (*self.path, key)
        self.problems.add(self.file.place(*path), message, hint=hint)

    def check_keys(self, known: Sequence[str]) -> None:
        """Note every key that is not in `known`."""
        for key in self.values:
            if key not in known:
                self.error(
                    key,
                    f"{self.name} has an unknown key {shown(key)}",
                    hint=suggestion(key, known, what="keys"),
                )

    def string(self, key: str) -> str | None:
        """The string at `key`."""
        value = self.values.get(key)
        if value is None or isinstance(value, str):
            return value
        self._wrong_type(key, "a string", value, self.name)
        return None

    def strings(self, key: str, *, subject: str | None = None) -> tuple[str, ...] | None:
        """The list of strings at `key`; `subject` is what messages call the table."""
        subject = subject or self.name
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, list):
            self._wrong_type(key, "a list of strings", value, subject)
            return None
        for position, item in enumerate(value):
            if not isinstance(item, str):
                self.problems.add(
                    self.file.place(*self.path, key, position),
                    f"`{key}` of {subject} must be a list of strings, but element "
                    f"{position + 1} is {type_of(item)}",
                )
                return None
        return tuple(value)

    def checked(
        self,
        key: str,
        check: Callable[[str], tuple[str, str | None] | None],
        *,
        subject: str | None = None,
    ) -> tuple[str, ...] | None:
        """The list of strings at `key`; `check` gives the message and hint for a wrong one."""
        values = self.strings(key, subject=subject)
        for position, item in enumerate(values or ()):
            wrong = check(item)
            if wrong is not None:
                place = self.file.place(*self.path, key, position)
                message = f"`{key}` of {subject or self.name}: {wrong[0]}"
                self.problems.add(place, message, hint=wrong[1])
                values = None
        return values

    def table(self, key: str) -> Table | None:
        """The table at `key`."""
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, dict):
            expected = f"must be a table `[{key}]`"
            given = f"but {type_of(value)} was given"
            self.error(key, f"{shown(key)} {expected}, {given}")
            return None
        return Table(self.file, (*self.path, key), value, self.problems)

    def tables(self) -> Iterator[tuple[str, Table]]:
        """The tables of a table whose keys are names."""
        for key in self.values:
            table = self.table(key)
            if table is not None:
                yield key, table

    def rows(self, key: str) -> Iterator[Table]:
        """The tables of an array of tables, in their order."""
        value = self.values.get(key)
        if value is None:
            return
        if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
            names = ".".join(str(part) for part in (*self.path, key))
            what = f"{shown(key)} of {self.name} must be an array of tables"
            hint = f"write `[[{names}]]` and the keys below it"
            self.error(key, f"{what}, but {type_of(value)} was given", hint=hint)
            return
        for position, row in enumerate(value):
            yield Table(self.file, (*self.path, key, position), row, self.problems)

    def _wrong_type(self, key: str, expected: str, value: object, subject: str) -> None:
        message = f"`{key}` of {subject} must be {expected}, but {type_of(value)} was given"
        is_one = "list" in expected and isinstance(value, str)
        hint = f'write `{key} = ["{shown(str(value))[1:-1]}"]`' if is_one else None
        self.error(key, message, hint=hint)
