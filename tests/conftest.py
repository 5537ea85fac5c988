"""Fixtures of all tests: a workspace to write into, and the toolchains that the tool fetched."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from oxide_build.entry import run

REPOSITORY = Path(__file__).resolve().parent.parent


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--network", action="store_true", help="run tests that fetch from registries")
    parser.addoption("--slow", action="store_true", help="run everything, hundreds of kills too")
    parser.addoption("--update-golden", action="store_true", help="rewrite expected outputs")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for name in ("network", "slow"):
        if not config.getoption(f"--{name}"):
            skip = pytest.mark.skip(reason=f"needs --{name}")
            for item in items:
                if name in item.keywords:
                    item.add_marker(skip)


@dataclass(frozen=True, kw_only=True)
class Ran:
    """How a command ended."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def record(self) -> dict[str, Any]:
        """Standard output of `--json`."""
        record: dict[str, Any] = json.loads(self.stdout)
        return record

    @property
    def actions(self) -> dict[str, int]:
        """How many actions ran, were hits, failed, were skipped."""
        actions: dict[str, int] = self.record["actions"]
        return actions

    @property
    def stages(self) -> list[str]:
        """What ran, as `stage` or `stage arch`, sorted."""
        return sorted(
            f"{each['stage']} {each['arch']}" if each["arch"] else str(each["stage"])
            for each in self.record["ran"]
        )


@dataclass
class Space:
    """A workspace in a temporary folder, with a cache of its own."""

    root: Path
    cache: Path
    store: Path
    capture: pytest.CaptureFixture[str]
    environ: dict[str, str] = field(default_factory=dict)

    def write(self, path: str, text: str | bytes) -> Path:
        """Make a file, with the folders on its way."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        return file

    def read(self, path: str) -> bytes:
        return (self.root / path).read_bytes()

    def oxide(self, *argv: str, cwd: str = "") -> Ran:
        """Run `oxide` in the workspace, in this process."""
        before, old = dict(os.environ), Path.cwd()
        self.capture.readouterr()
        os.environ.update(
            {"NO_COLOR": "1", **self.environ},
            OXIDE_CACHE=str(self.cache),
            OXIDE_STORE=str(self.store),
        )
        os.chdir(self.root / cwd)
        try:
            code = run(list(argv))
        finally:
            os.chdir(old)
            os.environ.clear()
            os.environ.update(before)
        said = self.capture.readouterr()
        return Ran(exit_code=code, stdout=said.out, stderr=said.err)

    def build(self, *argv: str) -> Ran:
        """Build, expecting success; the result has the record."""
        ran = self.oxide("build", "--json", *(argv or ("//...",)))
        assert ran.exit_code == 0, ran.stderr
        return ran


@pytest.fixture
def ws(tmp_path: Path, store: Path, capsys: pytest.CaptureFixture[str]) -> Space:
    """An empty workspace."""
    root = tmp_path / "ws"
    root.mkdir()
    space = Space(root, tmp_path / "cache", store, capsys)
    space.write("oxide.toml", '[workspace]\nname = "test"\n')
    return space


@pytest.fixture(scope="session")
def store() -> Path:
    """Where the toolchains lie that the tests fetch through the tool; kept between runs."""
    default = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    return Path(
        os.environ.get("OXIDE_TEST_STORE", default / "oxide_build-tests" / "store")
    ).absolute()


@pytest.fixture(scope="session")
def repository() -> Path:
    return REPOSITORY


@pytest.fixture(autouse=True)
def _no_user_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the developer's shell sets must not reach the tests."""
    for name in ("OXIDE_CACHE", "OXIDE_STORE", "RUSTFLAGS", "CUDA_HOME", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
