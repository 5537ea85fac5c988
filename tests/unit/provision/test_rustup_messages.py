"""What rustup writes, in the wordings of its versions, and what is made of it."""

from __future__ import annotations

import datetime

import pytest

from oxide_build.host.process import Completed
from oxide_build.provision.rustup_messages import RustupMessages, Unavailable
from tests.unit.provision.fakes import FACTS


def failure(stderr: str, returncode: int = 1, date: str | None = "2026-06-15"):  # type: ignore[no-untyped-def]
    messages = RustupMessages(
        channel=f"nightly-{date}" if date else "1.96.0",
        date=datetime.date.fromisoformat(date) if date else None,
        server="https://mirror.example",
        command="rustup toolchain install x",
        facts=FACTS.rust,
    )
    done = Completed(
        argv=("rustup",), returncode=returncode, stdout=b"", stderr=stderr.encode(), wall_s=0.1
    )
    return messages.failure(done)


@pytest.mark.parametrize(
    ("said", "components"),
    [
        (
            "error: component 'llvm-tools-preview' for target 'x86_64-unknown-linux-gnu' is "
            "unavailable for download for channel 'nightly-2026-06-15'",
            ("llvm-tools",),
        ),
        (
            "error: component 'rust-src' is unavailable for download for channel 'nightly'",
            ("rust-src",),
        ),
        (
            "error: some components are unavailable for download for channel 'nightly': "
            "'rustc' for target 'x86_64-unknown-linux-gnu', 'rust-src'",
            ("rustc", "rust-src"),
        ),
        (
            "error: toolchain 'nightly-x86_64-unknown-linux-gnu' does not contain component "
            "'llvm-tools' for target 'x86_64-unknown-linux-gnu'",
            ("llvm-tools",),
        ),
    ],
)
def test_every_wording_of_a_missing_component_is_understood(
    said: str, components: tuple[str, ...]
) -> None:
    error = failure(f"info: syncing\n{said}\nnote: sometimes not all components are available\n")
    assert isinstance(error, Unavailable)
    assert error.components == components


def test_what_nobody_has_foreseen_is_shown_as_it_is() -> None:
    error = failure("info: a\nerror: the moon is full\n  caused by: it\n", date=None)
    assert error.message == "rustup could not install `1.96.0`: error: the moon is full"
    assert error.hint == "try it by hand: `rustup toolchain install x`"


def test_a_silent_failure_has_its_status() -> None:
    assert failure("", returncode=7, date=None).message.endswith("`1.96.0`: status 7")


@pytest.mark.parametrize(("number", "name"), [(15, "SIGTERM"), (250, "signal 250")])
def test_a_signal_is_named(number: int, name: str) -> None:
    error = failure("error: half a sen", returncode=-number, date=None)
    assert error.message == f"rustup was ended by {name} while it installed `1.96.0`"
    assert "memory" not in error.hint
