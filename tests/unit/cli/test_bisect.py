"""`oxide toolchain bisect`, with nights of the test's own."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import pytest

from oxide_build.cli import bisect as module
from oxide_build.cli.main import run
from oxide_build.resolution.bisect import Verdict

BROKE = datetime.date(2026, 9, 10)
MISSING = {datetime.date(2026, 9, 9), datetime.date(2026, 9, 15)}


@pytest.fixture(autouse=True)
def nights(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    tried: list[str] = []

    def fake(request, wanted):  # type: ignore[no-untyped-def]
        night = datetime.date.fromisoformat(request.rust.removeprefix("nightly-"))
        tried.append(request.rust)
        if night in MISSING:
            return Verdict.SKIPPED, "no such nightly"
        return (Verdict.BAD, "compile: broke") if night >= BROKE else (Verdict.GOOD, "")

    monkeypatch.setattr(module, "_try", fake)
    return tried


def bisect(*argv: str) -> int:
    return run(["toolchain", "bisect", "//:k", *argv])


def test_the_first_bad_night_is_found(
    capsys: pytest.CaptureFixture[str], nights: list[str]
) -> None:
    assert bisect("--good", "2026-09-01", "--bad", "2026-09-30", "--json") == 0
    said = capsys.readouterr()
    assert json.loads(said.out) == {
        "last_good": "nightly-2026-09-08",
        "first_bad": "nightly-2026-09-10",
        "skipped": ["nightly-2026-09-09"],
    }
    assert "nightly-2026-09-30: bad (compile: broke)" in said.err
    assert len(nights) <= 9


@pytest.mark.parametrize(
    ("good", "bad", "message"),
    [
        ("2026-09-20", "2026-09-30", "`--good 2026-09-20` is bad"),
        ("2026-09-01", "2026-09-05", "`--bad 2026-09-05` is good"),
        ("2026-09-05", "2026-09-05", "must be a later date"),
        ("2026-09-09", "2026-09-30", "`--good 2026-09-09` is skipped"),
    ],
)
def test_ends_that_bracket_nothing_are_refused(
    capsys: pytest.CaptureFixture[str], good: str, bad: str, message: str
) -> None:
    assert bisect("--good", good, "--bad", bad) == 2
    assert message in capsys.readouterr().err


def test_registers_over_the_limit_are_named(tmp_path: Path) -> None:
    record = tmp_path / "r.json"
    entries = [{"name": "a", "registers": 32}, {"name": "b", "registers": 130}]
    record.write_text(json.dumps({"arch": "sm_90", "entries": entries}))
    over = module._over(record, module._Property(128, None))
    assert over == "b needs 130 registers on sm_90"
    assert module._over(record, module._Property(128, "a")) == ""
    assert module._over(record, module._Property(None, None)) == ""
