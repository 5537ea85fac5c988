"""Who is asked in which order, and what is said when nobody has it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from oxide_build.errors import DefinitionError, InfrastructureError, ToolchainError
from oxide_build.model.toolchain import Toolchain
from oxide_build.provision.provider import Found, Missing
from oxide_build.provision.providers import provide, standard_providers
from oxide_build.provision.reporter import FetchReporter, SilentReporter
from oxide_build.resolution.versions import CudaSpec, RustSpec, Spec
from tests.unit.provision.fakes import FACTS, Home, make_ptxas, make_rust

SPEC = CudaSpec.parse("13.0")


def toolchain(provider: str) -> Toolchain:
    return Toolchain(
        kind="cuda",
        version="13.0.88",
        spec="13.0.88",
        provider=provider,
        trees={},
        tools={},
        archs=(),
        facts={},
    )


@dataclass
class FakeProvider:
    name: str
    has: bool = False
    can_fetch: bool = False
    failure: Exception | None = None
    kinds: tuple[str, ...] = ("cuda",)
    calls: list[str] = field(default_factory=list)

    def find(self, spec: Spec) -> Found | Missing:
        self.calls.append("find")
        if self.has:
            return Found(toolchain(self.name))
        command = f"{self.name} install" if self.can_fetch else None
        return Missing(f"{self.name} is empty", can_fetch=self.can_fetch, command=command)

    def fetch(self, spec: Spec, reporter: FetchReporter) -> Toolchain:
        self.calls.append("fetch")
        if self.failure is not None:
            raise self.failure
        return toolchain(self.name)


def ask(*providers: FakeProvider, offline: bool = False) -> Toolchain:
    return provide("cuda", SPEC, providers, offline=offline, reporter=SilentReporter())


def test_order_is_preference_even_when_a_later_one_has_it() -> None:
    first, second = FakeProvider("a", can_fetch=True), FakeProvider("b", has=True)
    assert ask(first, second).provider == "a"
    assert second.calls == []


def test_offline_takes_the_first_that_has_it() -> None:
    first, second = FakeProvider("a", can_fetch=True), FakeProvider("b", has=True)
    assert ask(first, second, offline=True).provider == "b"
    assert first.calls == ["find"]


@pytest.mark.parametrize("failure", [ToolchainError("no route"), InfrastructureError("disk full")])
def test_a_provider_that_fails_is_followed_by_the_next(failure: Exception) -> None:
    first = FakeProvider("a", can_fetch=True, failure=failure)
    assert ask(first, FakeProvider("b", has=True)).provider == "b"


def test_bugs_are_not_swallowed() -> None:
    with pytest.raises(ZeroDivisionError):
        ask(FakeProvider("a", can_fetch=True, failure=ZeroDivisionError()), FakeProvider("b", True))


def test_all_that_was_said_is_listed() -> None:
    failure = ToolchainError("no route to the index", hint="see your proxy")
    with pytest.raises(ToolchainError) as caught:
        ask(FakeProvider("a", can_fetch=True, failure=failure), FakeProvider("b"))
    assert caught.value.message == (
        "no toolchain for `cuda 13.0` (ptxas):\n  a: no route to the index\n  b: b is empty"
    )
    assert caught.value.hint == "see your proxy"


def test_offline_names_what_is_missing_and_the_command() -> None:
    with pytest.raises(ToolchainError) as caught:
        ask(FakeProvider("a", can_fetch=True), FakeProvider("b"), offline=True)
    assert "`--offline` forbids fetching" in caught.value.message
    assert caught.value.hint == ("run once without `--offline`, or get it by hand:\n`a install`")


def test_providers_of_other_kinds_are_not_asked() -> None:
    other = FakeProvider("a", has=True, kinds=("rust",))
    with pytest.raises(ToolchainError, match="no provider"):
        ask(other)
    assert other.calls == []


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    home.isolate()
    return home


def test_unknown_providers_are_refused_with_the_known_ones(home: Home) -> None:
    with pytest.raises(DefinitionError, match="`nix` is no provider") as caught:
        standard_providers(
            ["rustup", "nix"],
            store_root=home.root,
            environ={},
            processes=home.processes,
            facts=FACTS,
        )
    assert caught.value.hint == "there are `archive`, `rustup`, `apt`, `pypi`, `system`"


def test_a_warm_build_starts_no_process(home: Home) -> None:
    make_rust(home.root / "home/.rustup/toolchains/stable")
    make_ptxas(home.root / "cuda/bin/ptxas")
    home.environ["CUDA_HOME"] = str(home.root / "cuda")
    time.sleep(0.05)

    def both() -> list[Toolchain]:
        providers = standard_providers(
            ["rustup", "system"],
            store_root=home.root / "store",
            environ=home.environ,
            processes=home.processes,
            facts=FACTS,
        )
        reporter = SilentReporter()
        return [
            provide("rust", RustSpec.parse(">=1.95"), providers, offline=True, reporter=reporter),
            provide("cuda", CudaSpec.parse(">=12.8"), providers, offline=True, reporter=reporter),
        ]

    cold = both()
    ran = len(home.processes.ran)
    assert ran == 7
    assert both() == cold
    assert len(home.processes.ran) == ran


def test_a_compiler_that_changed_is_asked_again(home: Home) -> None:
    root = make_rust(home.root / "home/.rustup/toolchains/stable", "1.95.0")
    time.sleep(0.05)
    providers = standard_providers(
        ["rustup"],
        store_root=home.root / "store",
        environ=home.environ,
        processes=home.processes,
        facts=FACTS,
    )

    def version() -> str:
        spec = RustSpec.parse("stable")
        return provide("rust", spec, providers, offline=True, reporter=SilentReporter()).version

    assert version() == "1.95.0"
    rustc = root / "bin/rustc"
    rustc.write_text(rustc.read_text().replace("1.95.0", "1.97.0"))
    assert version() == "1.97.0"
