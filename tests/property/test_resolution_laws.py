"""Laws of the resolver, whatever is asked."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oxide_build.cli.toolchains import load_facts
from oxide_build.model.arch import Arch, ArchRequest
from oxide_build.resolution.candidates import all_cuda, rust_candidates
from oxide_build.resolution.case import Case, Deployment, Route
from oxide_build.resolution.predicates import exclusions
from oxide_build.resolution.resolver import Choice, Refusal, Requirements, resolve
from oxide_build.resolution.versions import CudaSpec, RustSpec

FACTS = load_facts()
NIGHTS = ("nightly-2026-04-02", "nightly-2026-04-03", "nightly-2026-08-28")
RUST = [
    each
    for text in ("1.85", "1.89", "1.92", "1.96", "1.97", "1.99", *NIGHTS)
    for each in rust_candidates(FACTS, RustSpec.parse(text))
]
CUDA = list(all_cuda(FACTS))
ARCHS = [
    *(Arch.parse(a) for a in ("61", "70", "75", "80", "88", "90", "90a", "100", "100f", "101")),
    *(Arch.parse(a) for a in ("103a", "107", "110", "120", "121f")),
]
DRIVERS = [
    None,
    *(FACTS.drivers.of(text) for text in ("450.80.02", "525", "535", "570", "580", "615")),
]
GPUS = [None, Arch(70), Arch(89), Arch(90), Arch(100), Arch(120)]
ANY_RUST, ANY_CUDA = RustSpec.parse(">=1"), CudaSpec.parse(">=1")

requirements = st.builds(
    lambda archs, driver, gpu, ptx, route: Requirements(
        rust=ANY_RUST,
        cuda=ANY_CUDA,
        archs=tuple(archs),
        deployment=Deployment(driver=driver, gpu=gpu),
        ptx=ptx,
        route=route,
    ),
    st.lists(
        st.builds(
            lambda arch, forms: ArchRequest(arch, cubin=forms[0], ptx=forms[1]),
            st.sampled_from(ARCHS),
            st.sampled_from([(True, True), (True, False), (False, True)]),
        ),
        min_size=1,
        max_size=3,
        unique=True,
    ),
    st.sampled_from(DRIVERS),
    st.sampled_from(GPUS),
    st.sampled_from([None, *(each.version for each in FACTS.drivers.ptx)]),
    st.builds(
        lambda name, nvvm: Route(backend=FACTS.backends.find(name) if name else None, nvvm=nvvm),
        st.sampled_from([None, "cuda-oxide", "rust-cuda"]),
        st.booleans(),
    ),
)
rusts = st.lists(st.sampled_from(RUST), max_size=3, unique_by=lambda each: each.spec)
cudas = st.lists(st.sampled_from(CUDA), max_size=3, unique_by=lambda each: each.version)


@settings(max_examples=60, deadline=None)
@given(requirements, rusts, cudas)
def test_what_is_chosen_satisfies_every_predicate(wanted, rust, cuda) -> None:  # type: ignore[no-untyped-def]
    for verdict in resolve(wanted, rust, cuda, FACTS).verdicts:
        if isinstance(verdict, Choice):
            case = Case(
                request=verdict.request,
                rust=verdict.rust,
                cuda=verdict.cuda,
                deployment=wanted.deployment,
                ptx=wanted.ptx,
                facts=FACTS,
                route=wanted.route,
            )
            assert list(exclusions(case)) == []


@settings(max_examples=60, deadline=None)
@given(requirements, rusts, cudas)
def test_a_refusal_names_every_candidate_with_a_reason(wanted, rust, cuda) -> None:  # type: ignore[no-untyped-def]
    for verdict in resolve(wanted, rust, cuda, FACTS).verdicts:
        if isinstance(verdict, Refusal):
            assert verdict.excluded
            assert all(found for _, found in verdict.excluded)
            assert verdict.main
            assert verdict.changes
            text = " ".join(name for name, _ in verdict.excluded)
            if rust and cuda:
                assert all(each.name in text for each in [*rust, *cuda])


@settings(max_examples=60, deadline=None)
@given(requirements, rusts, cudas, st.sampled_from(RUST), st.sampled_from(CUDA))
def test_one_candidate_more_never_hurts(wanted, rust, cuda, more_rust, more_cuda) -> None:  # type: ignore[no-untyped-def]
    before = resolve(wanted, rust, cuda, FACTS)
    after = resolve(wanted, [*rust, more_rust], [*cuda, more_cuda], FACTS)
    for one, two in zip(before.verdicts, after.verdicts, strict=True):
        assert not (isinstance(one, Choice) and isinstance(two, Refusal))


@settings(max_examples=40, deadline=None)
@given(requirements, rusts, cudas)
def test_an_arch_more_changes_nothing_for_the_others(wanted, rust, cuda) -> None:  # type: ignore[no-untyped-def]
    together = resolve(wanted, rust, cuda, FACTS).verdicts
    for request, verdict in zip(wanted.archs, together, strict=True):
        assert resolve(replace(wanted, archs=(request,)), rust, cuda, FACTS).verdicts == (verdict,)


@settings(max_examples=40, deadline=None)
@given(requirements, rusts, cudas)
def test_the_order_of_candidates_does_not_change_the_verdict(wanted, rust, cuda) -> None:  # type: ignore[no-untyped-def]
    one = resolve(wanted, rust, cuda, FACTS)
    two = resolve(wanted, rust[::-1], cuda[::-1], FACTS)
    assert [type(each) for each in one.verdicts] == [type(each) for each in two.verdicts]


@pytest.mark.parametrize("arch", ARCHS, ids=str)
def test_a_suggested_move_of_cuda_works(arch: Arch) -> None:
    wanted = Requirements(
        rust=RustSpec.parse(">=1.95"), cuda=CudaSpec.parse("12.3"), archs=(ArchRequest(arch),)
    )
    old = [kit for kit in CUDA if kit.release == "12.3"]
    (verdict,) = resolve(wanted, rust_candidates(FACTS, wanted.rust), old, FACTS).verdicts
    if isinstance(verdict, Refusal):
        for change in verdict.changes:
            if change.startswith("move CUDA to "):
                release = change.removeprefix("move CUDA to ").split()[0]
                moved = replace(wanted, cuda=CudaSpec.parse(release))
                kits = [c for c in CUDA if c.release == release]
                (again,) = resolve(moved, rust_candidates(FACTS, moved.rust), kits, FACTS).verdicts
                assert isinstance(again, Choice)
