"""`oxide doctor`: what is there, what is missing, and how to have it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Space
from tests.e2e.conftest import BUILD, RUSTUP, oxide_toml


def sections(record: dict[str, Any]) -> dict[str, list[dict[str, str]]]:
    found: dict[str, list[dict[str, str]]] = {}
    for finding in record["findings"]:
        found.setdefault(finding["section"], []).append(finding)
    return found


@pytest.mark.network
@pytest.mark.toolchain
def test_a_workspace_that_can_be_built(rust_ws: Space) -> None:
    ran = rust_ws.oxide("doctor", "--json")
    assert ran.exit_code == 0
    found = sections(ran.record)
    assert "rustc 1.96.0, LLVM 22" in found["rust"][0]["text"]
    assert "ptxas 13.0.88, takes PTX up to 9.0 (asked)" in found["cuda"][0]["text"]
    assert [each["text"] for each in found["targets"]] == ["//k:twice: sm_80, sm_90"]


@pytest.mark.network
@pytest.mark.toolchain
def test_what_does_not_fit_is_said_for_each_arch(rust_ws: Space) -> None:
    rust_ws.write("k/BUILD.toml", BUILD.replace('"sm_90"]', '"sm_90", "sm_70"]'))
    ran = rust_ws.oxide("doctor")
    assert ran.exit_code == 6
    assert "✓ //k:twice: sm_80, sm_90" in ran.stdout
    assert (
        "✗ //k:twice for sm_70: ptxas 13.0.88 (pypi) does not know the arch `sm_70`" in ran.stdout
    )


@pytest.mark.network
@pytest.mark.toolchain
@pytest.mark.skipif(RUSTUP is None, reason="there is no `rustup` on this machine")
def test_borrowed_tools_are_said_to_be(rust_ws: Space) -> None:
    rust_ws.write("oxide.toml", oxide_toml("nightly-2026-08-28"))
    ran = rust_ws.oxide("doctor", "--json")
    assert ran.exit_code == 0, ran.stdout
    text = sections(ran.record)["rust"][0]["text"]
    assert re.match(
        r"rustc 1\.100\.0-nightly, LLVM 23\S+, tools of LLVM \S+ borrowed from \S+, for", text
    )
    assert " with llvm-tools of " in text


def test_missing_toolchains_come_with_the_command(ws: Space, tmp_path: Path) -> None:
    ws.store = tmp_path / "empty"
    ws.environ = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "RUSTUP_HOME": str(tmp_path)}
    ws.write("oxide.toml", oxide_toml("nightly-2026-07-15", "12.3"))
    ws.write("BUILD.toml", '[[filegroup]]\nname = "f"\nsrcs = ["BUILD.md"]\n')
    ws.write("BUILD.md", "")
    ran = ws.oxide("doctor", "--json")
    assert ran.exit_code == 6
    record = ran.record
    assert record["ok"] is False
    found = sections(record)
    assert found["rust"][0]["status"] == "missing"
    assert "nightly-2026-07-15" in found["rust"][0]["text"]
    assert "pip install" in found["cuda"][0]["fix"]
    assert "targets" not in found
    assert not ws.store.exists() or not list(ws.store.glob("installs/*"))


def test_a_broken_workspace_is_a_finding(ws: Space) -> None:
    ws.write("BUILD.toml", "[[nope]]\n")
    ran = ws.oxide("doctor")
    assert ran.exit_code == 6
    assert "BUILD.toml:1: there is no rule `nope`" in ran.stdout


def test_outside_a_workspace_the_machine_is_looked_at(ws: Space) -> None:
    (ws.root / "oxide.toml").unlink()
    ran = ws.oxide("doctor")
    assert ran.exit_code == 0
    assert "there is no workspace here" in ran.stdout
    assert "programs can run in private folders" in ran.stdout


def test_a_cache_that_cannot_run_programs_is_missing(
    ws: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    from oxide_build.cli import machine_checks

    monkeypatch.setattr(machine_checks.Path, "chmod", lambda *_: None)
    ran = ws.oxide("doctor")
    assert ran.exit_code == 6
    assert "programs cannot run in the cache folder" in ran.stdout
    assert "OXIDE_CACHE" in ran.stdout
