"""Verdicts on real combinations, and what they say."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from oxide_build.cli.toolchains import load_facts
from oxide_build.cli.verdicts import as_record
from oxide_build.model.arch import Arch, ArchRequest
from oxide_build.model.ptx import PtxVersion
from oxide_build.resolution.candidates import cuda_candidates, rust_candidates
from oxide_build.resolution.case import Deployment, Route
from oxide_build.resolution.facts import Facts
from oxide_build.resolution.predicates import PREDICATES
from oxide_build.resolution.resolver import (
    Choice,
    Refusal,
    Requirements,
    Resolution,
    resolve,
    resolve_known,
)
from oxide_build.resolution.versions import CudaSpec, RustSpec

OXIDE = {"backend": "cuda-oxide"}
RUST_CUDA = {"backend": "rust-cuda"}


@pytest.fixture(scope="module")
def facts() -> Facts:
    return load_facts()


def check(
    facts: Facts,
    rust: str,
    cuda: str,
    *archs: str,
    driver: str | None = None,
    gpu: str | None = None,
    ptx: str | None = None,
    backend: str | None = None,
    revision: str | None = None,
    nvvm: bool = False,
) -> Resolution:
    wanted = Requirements(
        rust=RustSpec.parse(rust),
        cuda=CudaSpec.parse(cuda),
        archs=tuple(ArchRequest.parse(arch) for arch in archs),
        deployment=Deployment(
            driver=facts.drivers.of(driver) if driver else None,
            gpu=facts.gpus.find(gpu) if gpu else None,
        ),
        ptx=PtxVersion.parse(ptx) if ptx else None,
        route=Route(
            backend=facts.backends.find(backend) if backend else None,
            revision=revision,
            nvvm=nvvm,
        ),
    )
    return resolve_known(wanted, facts)


def refusal(facts: Facts, *args: str, **more: Any) -> Refusal:
    (found,) = check(facts, *args, **more).verdicts
    assert isinstance(found, Refusal)
    return found


def test_the_case_that_cost_a_weekend(facts: Facts) -> None:
    old, new = check(facts, "nightly-2026-04-03", "12.3", "sm_90a", "sm_100").verdicts
    assert isinstance(old, Choice)
    assert (str(old.ptx), old.cuda.version) == ("8.0", "12.3.107")
    assert isinstance(new, Refusal)
    assert new.main == "ptxas 12.3.107 does not know sm_100: CUDA 12.8 is the first that does"
    assert new.changes == ("move CUDA to 12.8 or later", "drop sm_100")


def test_an_old_driver_limits_what_helps(facts: Facts) -> None:
    found = refusal(facts, "nightly-2026-04-03", "12.3", "sm_100", driver="545")
    # 12.8 and 12.9 make cubins that 545 loads; those of 13.x want 580, and PTX 8.6 wants 565.
    assert found.changes[0] == "move CUDA to 12.8 to 12.9"


@pytest.mark.parametrize(
    ("args", "more", "reason", "change"),
    [
        (("1.85", "13.0", "sm_90"), {}, "no compiler_builtins", "move rustc to 1.89 or later"),
        (("1.97", "12.9", "sm_61"), {}, "1.97 dropped everything before sm_70", "1.96"),
        (("1.92", "13.0", "sm_110"), {}, "LLVM 21, which does not know sm_110", "1.95 or later"),
        (("1.96", "13.0", "sm_70"), {}, "CUDA 12.9 was the last that did", "12.9 or earlier"),
        (("1.96", "13.0", "sm_101"), {}, "it is called sm_110", "move CUDA to 12.8 to 12.9"),
        (("1.96", "12.9", "sm_110"), {}, "it is called sm_101", "move CUDA to 13.0 or later"),
        (("1.96", "13.0", "sm_107"), {}, "would warn, exit 0", "drop sm_107"),
        (("1.96", "13.4", "sm_90"), {"ptx": "9.1"}, "ignore +ptx91", "rustc to 1.99 or later"),
        (("1.96", "13.0", "sm_90"), {"ptx": "7.0"}, "llc ends with an error", "ask for PTX 7.0"),
        (("1.92", "13.0", "sm_90"), {"ptx": "7.0"}, "writes 7.8 without a word", "PTX 7.0"),
        (("1.96", "13.0", "sm_90"), {"ptx": "6.6"}, "there never was a PTX 6.6", "PTX 6.6"),
        (("1.99", "12.3", "sm_90"), {"ptx": "8.4"}, "takes up to 8.3", "CUDA to 12.4 or later"),
        (("1.96", "13.0", "100-virtual"), {"driver": "535"}, "error 222", "require driver 565"),
        (("1.96", "13.0", "90-real"), {"driver": "535"}, "needs driver 580", "to 11.8 to 12.9"),
        (("1.96", "13.0", "sm_90"), {"gpu": "L4"}, "does not run on sm_89", "build for sm_89"),
        (("1.96", "13.0", "90-real"), {"gpu": "B200"}, "the cubin for sm_90", "build for sm_100"),
        (("1.96", "12.9", "sm_70"), {"gpu": "V100", "driver": "590"}, "R580 was the last", "drop"),
        (("1.96", "13.0", "sm_80"), {"driver": "535", "gpu": "B200"}, "R570 is the first", "570"),
        (
            ("nightly-2026-04-03", "13.0", "sm_90"),
            OXIDE | {"revision": "pull/1201"},
            "nightly-2026-08-28 only",
            "to nightly-2026-08-28",
        ),
        (
            ("1.96", "13.0", "sm_90"),
            OXIDE,
            "works with nightly-2026-08-28 only",
            "move rustc to nightly-2026-08-28",
        ),
        (
            ("nightly-2026-04-03", "13.0", "sm_90"),
            OXIDE | {"revision": "beefbeef"},
            "nothing is known of revision beefbeef",
            "drop",
        ),
        (
            ("nightly-2026-04-03", "11.8", "sm_80"),
            OXIDE,
            "needs CUDA 12.0 or later",
            "move CUDA to 12.0 or later",
        ),
        (("nightly-2026-04-03", "12.9", "sm_61"), OXIDE, "does not take sm_61", "drop"),
        (("nightly-2026-04-02", "13.0", "sm_120"), RUST_CUDA, "does not take sm_120", "drop"),
        (
            ("nightly-2026-04-03", "11.8", "sm_80"),
            {"nvvm": True},
            "reads NVVM IR 1.9",
            "llc instead",
        ),
        (("1.96", "13.0", "sm_90"), {"nvvm": True}, "typed pointers of LLVM 7", "llc instead"),
        (
            ("1.96", "12.8", "sm_100"),
            {"nvvm": True},
            "reads bitcode up to LLVM 20",
            "CUDA to 13.0 to 13.3",
        ),
        (
            ("1.96", "13.4", "sm_100"),
            {"nvvm": True},
            "refuses rustc's data layout",
            "CUDA to 13.0 to 13.3",
        ),
        (
            ("1.96", "13.0", "sm_100"),
            {"nvvm": True, "ptx": "8.8"},
            "always writes PTX 9.0",
            "not ask for PTX 8.8",
        ),
        (
            ("1.96", "13.3", "100-virtual"),
            {"nvvm": True, "driver": "580"},
            "not 9.3 (error 222",
            "require driver 610",
        ),
        (("nightly-2020-01-01", "13.0", "sm_90"), {}, "nothing is known of", "move rustc"),
    ],
)  # fmt: skip
def test_each_predicate_says_why_and_what_would_do(
    facts: Facts, args: tuple[str, ...], more: dict[str, Any], reason: str, change: str
) -> None:
    found = refusal(facts, *args, **more)
    assert reason in found.main
    assert any(change in each for each in found.changes), found.changes


@pytest.mark.parametrize(
    ("arch", "gpu", "runs"),
    [
        ("sm_90a", "H100", True),
        ("sm_80", "H100", True),
        ("100f", "B300", True),
        ("100f", "RTX 5090", False),
        ("100a", "B300", False),
        ("86-real", "L4", True),
        ("80-real", "H100", False),
        ("90-virtual", "B200", True),
    ],
)
def test_code_runs_where_the_suffix_rules_say(
    facts: Facts, arch: str, gpu: str, runs: bool
) -> None:
    assert check(facts, ">=1.95", "13.0", arch, gpu=gpu).ok is runs


def test_a_form_that_does_not_load_is_a_warning_where_another_does(facts: Facts) -> None:
    (found,) = check(facts, "1.96", "13.0", "sm_90", driver="535").verdicts
    assert isinstance(found, Choice)
    assert "a cubin of CUDA 13.0 needs driver 580" in found.warnings[0]


def test_an_arch_more_changes_nothing_for_the_others(facts: Facts) -> None:
    alone = check(facts, ">=1.95", ">=12.8", "sm_120").verdicts[0]
    old, new = check(facts, ">=1.95", ">=12.8", "sm_70", "sm_120").verdicts
    assert isinstance(old, Choice)
    assert (old.rust.version, old.cuda.release) == ("1.96.0", "12.9")
    assert new == alone


def test_borrowed_tools_are_of_the_same_llvm_or_newer(facts: Facts) -> None:
    (found,) = check(facts, "nightly-2026-08-28", "13.0", "sm_90").verdicts
    assert isinstance(found, Choice)
    assert found.rust.llvm == found.rust.tools_llvm == 23


def test_a_requirement_that_nothing_meets_is_named(facts: Facts) -> None:
    found = refusal(facts, ">=3", "13.0", "sm_90")
    assert "nothing that is known matches `rust >=3`" in found.main
    assert (
        resolve(
            Requirements(
                rust=RustSpec.parse("1.96"),
                cuda=CudaSpec.parse("13.0"),
                archs=(ArchRequest(Arch(90)),),
            ),
            (),
            (),
            facts,
        )
        .verdicts[0]
        .excluded
    )  # type: ignore[union-attr]


def test_the_record_names_every_candidate_with_its_evidence(facts: Facts) -> None:
    record = as_record(check(facts, ">=1.95,<1.97", "12.3", "sm_100"))
    (arch,) = record["archs"]
    named = {
        each["name"]: [fact["predicate"] for fact in each["excluded_by"]]
        for each in arch["candidates"]
    }
    assert named == {
        "rustc 1.96.0": ["partner-found"],
        "rustc 1.95.0": ["partner-found"],
        "ptxas 12.3.107": ["arch-assembled", "version-assembled"],
    }
    for candidate in arch["candidates"]:
        assert all(each["how"] and each["source"] for each in candidate["excluded_by"])


def test_parts_that_are_fine_and_do_not_go_together_are_named_as_a_pair(facts: Facts) -> None:
    # LLVM 23 knows PTX 9.1 and 13.0 does not; 13.1 takes it and LLVM 22 does not write it.
    old, new = RustSpec.parse("1.96"), RustSpec.parse("1.99")
    wanted = Requirements(
        rust=RustSpec.parse(">=1.96"),
        cuda=CudaSpec.parse(">=13"),
        archs=(ArchRequest(Arch(90)),),
        deployment=Deployment(driver=facts.drivers.of("535")),
        ptx=PtxVersion.parse("9.1"),
    )
    (found,) = resolve(
        replace(wanted, archs=(ArchRequest(Arch(90), cubin=False),)),
        [*rust_candidates(facts, old), *rust_candidates(facts, new)],
        cuda_candidates(facts, CudaSpec.parse("13.1")),
        facts,
    ).verdicts
    assert isinstance(found, Refusal)
    named = {name: [each.predicate for each in against] for name, against in found.excluded}
    assert named["rustc 1.96.0"] == ["ptx-known-to-llvm"]
    assert named["rustc 1.99.1"] == ["partner-found"]
    assert named["ptxas 13.1.115"] == ["loads-on-driver"]


def test_the_documentation_has_every_predicate_in_their_order() -> None:
    page = Path(__file__).parents[3] / "docs/predicates.md"
    rows = re.findall(r"^\| `([a-z0-9-]+)` \| (\w+) \|", page.read_text(), re.MULTILINE)
    assert rows == [(name, subject) for name, (subject, _) in PREDICATES.items()]
