"""`oxide check`: a verdict without any workspace."""

from __future__ import annotations

import pytest

from tests.conftest import Space


@pytest.fixture
def nowhere(ws: Space) -> Space:
    (ws.root / "oxide.toml").unlink()
    return ws


def test_the_weekend_case_in_words(nowhere: Space) -> None:
    ran = nowhere.oxide(
        "check", "--rust", "nightly-2026-04-03", "--cuda", "12.3", "--arch", "sm_90a,sm_100"
    )
    assert ran.exit_code == 6
    assert ran.stdout.splitlines() == [
        "sm_90a   yes: rustc nightly-2026-04-03 (LLVM 22) writes PTX 8.0, ptxas 12.3.107 takes up "
        "to 8.3",
        "sm_100   no: ptxas 12.3.107 does not know sm_100: CUDA 12.8 is the first that does",
        "         fix: move CUDA to 12.8 or later, or drop sm_100",
    ]


def test_a_verdict_for_programs(nowhere: Space) -> None:
    ran = nowhere.oxide("check", "--cuda", "13.0", "--arch", "90a", "--driver", "580", "--json")
    assert ran.exit_code == 0
    (arch,) = ran.record["archs"]
    assert (arch["arch"], arch["ok"], arch["ptx"]) == ("sm_90a", True, "8.0")


def test_an_explanation_names_the_facts(nowhere: Space) -> None:
    ran = nowhere.oxide("check", "--cuda", "12.3", "--arch", "sm_100", "--explain")
    assert "- rustc 1.96.0 would do, with another ptxas\n" in ran.stdout
    assert "- ptxas 12.3.107 does not know sm_100: CUDA 12.8 is the first" in ran.stdout
    assert "[measured: ptxas of the PyPI wheel" in ran.stdout


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--driver", "new", "is not a driver version"),
        ("--gpu", "RXT", "nothing is known of the GPU"),
        ("--ptx", "eight", "is not a PTX version"),
        ("--arch", "sm90", "is not a GPU architecture"),
    ],
)
def test_wrong_words_are_usage_errors(
    nowhere: Space, option: str, value: str, message: str
) -> None:
    ran = nowhere.oxide("check", "--arch", "sm_90", option, value)
    assert ran.exit_code == 2
    assert message in ran.stderr


@pytest.mark.network
@pytest.mark.toolchain
def test_the_oldest_assembler_proves_what_is_predicted(nowhere: Space) -> None:
    ran = nowhere.oxide("check", "--arch", "90-virtual,80", "--driver", "535", "--prove")
    assert ran.exit_code == 0, ran.stderr
    assert "proof: sm_90: ptxas 12.2.140 of driver 535 takes it" in ran.stdout
    ran = nowhere.oxide("check", "--arch", "sm_90", "--prove")
    assert ran.exit_code == 2
    assert "`--prove` needs `--driver`" in ran.stderr


@pytest.mark.network
@pytest.mark.toolchain
def test_what_targets_build_to_is_proved(rust_ws: Space) -> None:
    ran = rust_ws.oxide("check", "//k:twice", "--driver", "535", "--prove")
    assert ran.exit_code == 0, ran.stderr
    assert ran.stdout.count("ptxas 12.2.140 of driver 535 takes it") == 2
    ran = rust_ws.oxide("check", "//k:twice", "--arch", "100-virtual", "--driver", "535", "--prove")
    assert ran.exit_code == 6
    assert "error 222" in ran.stderr


def test_a_refused_proof_is_told() -> None:
    from oxide_build.cli.prove import smallest_kernel
    from oxide_build.model.arch import Arch

    text = smallest_kernel("8.6", Arch(100))
    assert text.startswith(".version 8.6\n.target sm_100\n")
