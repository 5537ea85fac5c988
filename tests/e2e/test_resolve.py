"""`oxide toolchain resolve` says what a build would use, and a build uses it."""

from __future__ import annotations

import json

import pytest

from tests.conftest import Space
from tests.e2e.conftest import BUILD, oxide_toml

pytestmark = [pytest.mark.network, pytest.mark.toolchain]


@pytest.fixture
def two_toolkits(rust_ws: Space) -> Space:
    rust_ws.write("oxide.toml", oxide_toml(cuda=">=12.9,<13.1"))
    rust_ws.write("k/BUILD.toml", BUILD.replace('["sm_80", "sm_90"]', '["sm_70", "sm_90"]'))
    return rust_ws


def test_what_it_says_is_what_is_built_with(two_toolkits: Space) -> None:
    ran = two_toolkits.oxide("toolchain", "resolve", "--json")
    assert ran.exit_code == 0, ran.stderr
    said = {each["arch"]: each for each in ran.record["archs"]}
    two_toolkits.build()
    for arch in ("sm_70", "sm_90"):
        record = json.loads(two_toolkits.read(f"oxide-out/k/twice.{arch}.json"))
        assert record["tools"]["ptxas"] == said[arch]["cuda"]
        assert record["tools"]["rustc"] == said[arch]["rust"]
        assert said[arch]["targets"] == ["//k:twice"]
    (over,) = said["sm_70"]["passed_over"]
    assert over["name"].startswith("ptxas 13.0")
    assert over["excluded_by"][0]["predicate"] == "arch-assembled"
    assert said["sm_90"]["passed_over"] == []
    assert said["sm_90"]["here"]["cuda"]["provider"] == "pypi"


def test_a_lock_leaves_nothing_to_resolve(two_toolkits: Space) -> None:
    assert two_toolkits.oxide("toolchain", "lock").exit_code == 0
    # Another release of the range is known, and is not even looked at.
    ran = two_toolkits.oxide("toolchain", "resolve", "--explain")
    assert ran.exit_code == 0, ran.stderr
    assert "ptxas 12.9" in ran.stdout
    assert "passed over" not in ran.stdout


def test_an_arch_that_nothing_builds_is_explained_for_every_candidate(two_toolkits: Space) -> None:
    ran = two_toolkits.oxide("toolchain", "resolve", "--arch", "sm_107", "--explain")
    assert ran.exit_code == 6
    assert "sm_107   no: rustc 1.96.0 has LLVM 22, which does not know sm_107" in ran.stdout
    assert "- ptxas 12.9.86 does not know sm_107: CUDA 13.4 is the first" in ran.stdout
    assert "fix: drop sm_107" in ran.stdout


def test_the_deployment_counts(two_toolkits: Space) -> None:
    ran = two_toolkits.oxide("toolchain", "resolve", "--arch", "100-virtual", "--driver", "535")
    assert ran.exit_code == 6
    assert "error 222" in ran.stdout
    assert "fix: require driver 565 or later, or drop sm_100" in ran.stdout
