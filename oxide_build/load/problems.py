"""What is wrong in the definitions, collected so that a user sees all of it at once."""

from __future__ import annotations

from oxide_build.errors import DefinitionError, DefinitionErrors
from oxide_build.model.target import Location

# A generated file with one mistake in a thousand tables should not fill a terminal.
_SHOWN = 50


class Problems:
    """Definition errors with their places.

    They are reported in the order of path and line, whatever the order in which they were found,
    so that the report is the same in every run.
    """

    def __init__(self) -> None:
        self._found: dict[tuple[str, int, str], DefinitionError] = {}

    def __len__(self) -> int:
        return len(self._found)

    def add(self, place: Location, message: str, *, hint: str | None = None) -> None:
        """Note one mistake; the same message at the same place is noted once."""
        key = (place.path, place.line, message)
        self._found.setdefault(key, DefinitionError(f"{place}: {message}", hint=hint))

    def raise_any(self) -> None:
        """Raise what was found: `DefinitionError` for one mistake, `DefinitionErrors` for more."""
        # The order of finding decides on one line: sorting is stable.
        found = sorted(self._found.items(), key=lambda item: item[0][:2])
        errors = [error for _, error in found]
        if len(errors) == 1:
            raise errors[0]
        if len(errors) > _SHOWN:
            rest = DefinitionError(f"{len(errors) - _SHOWN} more errors are not shown")
            raise DefinitionErrors([*errors[:_SHOWN], rest])
        if errors:
            raise DefinitionErrors(errors)
