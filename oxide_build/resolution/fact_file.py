"""Reading one file of `toolchains/`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import tomli

from oxide_build.errors import DefinitionError, UsageError

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """How a fact was established ("measured", "documentation", "third party", "inferred") and by
    what."""

    how: str
    source: str

    def __str__(self) -> str:
        return f"{self.how}: {self.source}"

    @classmethod
    def of(cls, row: Mapping[str, Any], file: Mapping[str, Any]) -> Evidence:
        """A row's own evidence, else that of its whole file."""
        return cls(how=row.get("how", file["how"]), source=row.get("source", file["source"]))


def read_facts(files: Mapping[str, bytes], name: str, parse: Callable[[dict[str, Any]], T]) -> T:
    """Parse one file; whatever is wrong with it is said with its name (`DefinitionError`)."""
    if name not in files:
        raise DefinitionError(f"toolchains/{name} is missing", hint="install oxide-build again")
    try:
        return parse(tomli.loads(files[name].decode("utf-8")))
    except KeyError as error:
        raise DefinitionError(f"toolchains/{name}: the key {error} is missing") from error
    except (ValueError, TypeError, AttributeError, UsageError) as error:
        raise DefinitionError(f"toolchains/{name}: {error}") from error
