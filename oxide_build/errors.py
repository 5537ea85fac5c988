"""The exception tree: every failure a user may meet, with its exit code.

Anything raised that is not an `OxideError` is a bug in oxide_build and is shown as one.
"""

from __future__ import annotations

from typing import ClassVar


class OxideError(Exception):
    """A failure with a message for the user and, when known, a way out.

    `message` is a sentence of place, cause and what was expected, without a final period.
    `hint` is what to do about it; several lines are allowed.
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}\n\nhint: {self.hint}"


class UsageError(OxideError):
    """The command line asks for something that does not exist or makes no sense."""

    exit_code = 2


class DefinitionError(OxideError):
    """An `oxide.toml`, `BUILD.toml` or rule file is wrong."""

    exit_code = 3


class DefinitionErrors(DefinitionError):
    """Several definition errors, reported together in the order of their places."""

    def __init__(self, errors: list[DefinitionError]) -> None:
        self.errors = tuple(errors)
        super().__init__("\n\n".join(str(error) for error in errors))


class ActionFailed(OxideError):
    """A tool said no: the compiler, the linker, the assembler or a check of ours."""

    exit_code = 4


class InfrastructureError(OxideError):
    """The machine said no: disk, permissions, network, a damaged cache."""

    exit_code = 5


class ToolchainError(OxideError):
    """No toolchain fits, or one could not be found or fetched."""

    exit_code = 6


class DeviceError(OxideError):
    """No usable GPU, or the GPU refused a module or a launch."""

    exit_code = 7
