"""An arch that the preferred tools do not serve is built with others that the workspace allows."""

from __future__ import annotations

import json
import re
import shutil

import pytest

from oxide_build.cli import toolchains
from tests.conftest import Space
from tests.e2e.conftest import BUILD, KERNEL, oxide_toml

pytestmark = [pytest.mark.network, pytest.mark.toolchain]


def archs(space: Space, *names: str, more: str = "", cuda: str = ">=12.9,<13.1") -> None:
    space.write("oxide.toml", oxide_toml(cuda=cuda) + more)
    listed = json.dumps(names)
    space.write("k/BUILD.toml", BUILD.replace('["sm_80", "sm_90"]', listed))


def ptxas_of(space: Space, arch: str) -> str:
    return str(json.loads(space.read(f"oxide-out/k/twice.{arch}.json"))["tools"]["ptxas"])


def test_an_old_arch_takes_the_toolkit_that_still_has_it(rust_ws: Space) -> None:
    archs(rust_ws, "sm_90")
    rust_ws.build()
    before = rust_ws.read("oxide-out/k/twice.sm_90.cubin")
    archs(rust_ws, "sm_70", "sm_90")
    ran = rust_ws.build()
    # One front end serves both, and what there was is as it was.
    assert ran.stages == ["assemble sm_70", "codegen sm_70"]
    assert ptxas_of(rust_ws, "sm_70").startswith("12.9.")
    assert ptxas_of(rust_ws, "sm_90").startswith("13.0.")
    assert rust_ws.read("oxide-out/k/twice.sm_90.cubin") == before


def test_a_pin_allows_no_other(rust_ws: Space) -> None:
    archs(rust_ws, "sm_70", cuda="13.0")
    ran = rust_ws.oxide("build", "//...")
    assert ran.exit_code == 6
    assert "does not know the arch `sm_70`" in ran.stderr
    assert "move CUDA to 12.9 or earlier, or drop sm_70" in ran.stderr


def test_the_lock_names_what_each_arch_needs(rust_ws: Space) -> None:
    archs(rust_ws, "sm_70", "sm_90")
    ran = rust_ws.oxide("toolchain", "lock")
    assert ran.exit_code == 0, ran.stderr
    assert re.search(r"cuda \(.*\) for sm_70: nothing -> 12\.9", ran.stderr)
    text = rust_ws.read("oxide.lock").decode()
    assert text.count("[[toolchain]]") == 3
    assert 'archs = ["sm_70"]' in text
    assert re.search(r'"nvidia_cuda_nvcc[^"]*\.whl" = "[0-9a-f]{64}"', text)
    rust_ws.build("--offline")
    assert "nothing changed" in rust_ws.oxide("toolchain", "lock").stderr
    # An arch that the lock does not know of, and that its toolchain does not serve.
    archs(rust_ws, "sm_72", "sm_90")
    ran = rust_ws.oxide("build", "//...")
    assert ran.exit_code == 6
    assert "`oxide.lock` names no other for it" in ran.stderr
    assert "run `oxide toolchain lock`: cuda 12.9.86 does it" in ran.stderr
    ran = rust_ws.oxide("toolchain", "lock")
    assert re.search(r"for sm_70: .* -> nothing", ran.stderr)
    rust_ws.build("--offline")


def test_a_package_with_other_bytes_is_not_what_was_locked(rust_ws: Space) -> None:
    archs(rust_ws, "sm_90")
    assert rust_ws.oxide("toolchain", "lock").exit_code == 0
    lock = rust_ws.root / "oxide.lock"
    text = lock.read_text()
    lock.write_text(re.sub(r'(\.whl" = ")[0-9a-f]{4}', r"\g<1>0000", text))
    ran = rust_ws.oxide("build", "//...")
    assert ran.exit_code == 6
    assert "was downloaded with the sha256" in ran.stderr


def test_inline_assembly_can_ask_for_a_newer_ptx(rust_ws: Space) -> None:
    # `createpolicy` came with PTX 7.4, and sm_80 is content with 7.0.
    rust_ws.write(
        "k/twice.rs",
        KERNEL.replace("abi_ptx", "abi_ptx, asm_experimental_arch").replace(
            "    let i",
            '    unsafe { core::arch::asm!("createpolicy.fractional.L2::evict_last.b64 {0}, 1.0;", '
            "out(reg64) _) };\n    let i",
        ),
    )
    archs(rust_ws, "sm_80", "sm_90")
    ran = rust_ws.oxide("build", "//...")
    assert ran.exit_code == 4
    assert 'set `min_ptx = "7.4"`' in ran.stderr
    build = rust_ws.root / "k/BUILD.toml"
    build.write_text(build.read_text() + 'min_ptx = "7.4"\n')
    rust_ws.build()
    assert b".version 7.4" in rust_ws.read("oxide-out/k/twice.sm_80.ptx")
    # What needs more anyway is left alone.
    assert b".version 7.8" in rust_ws.read("oxide-out/k/twice.sm_90.ptx")


@pytest.mark.parametrize(
    ("text", "code", "message", "hint"),
    [
        ("9.2", 6, "writes PTX up to 9.0 and would ignore +ptx92", 'do without `min_ptx = "9.2"`'),
        ("7.9", 6, "there never was a PTX 7.9", "do without"),
        ("new", 3, "`new` is not a PTX version", "write it as `7.8`"),
    ],
)
def test_a_ptx_that_cannot_be_had_is_refused(
    rust_ws: Space, text: str, code: int, message: str, hint: str
) -> None:
    archs(rust_ws, "sm_80")
    build = rust_ws.root / "k/BUILD.toml"
    build.write_text(build.read_text() + f'min_ptx = "{text}"\n')
    ran = rust_ws.oxide("build", "//...")
    assert ran.exit_code == code, ran.stderr
    assert "k/BUILD.toml:5" in ran.stderr
    assert message in ran.stderr
    assert hint in ran.stderr


def test_every_gpu_of_the_deployment_must_be_served(rust_ws: Space) -> None:
    archs(rust_ws, "90-real", more='\n[deploy]\ngpus = ["H200", "B200"]\n')
    ran = rust_ws.oxide("build", "//...")
    assert ran.exit_code == 6
    assert "nothing of it runs on B200 (sm_100), which `[deploy]` names" in ran.stderr
    assert "add `sm_100` to `archs`" in ran.stderr
    archs(rust_ws, "sm_90", more='\n[deploy]\ngpus = ["H200", "B200"]\n')
    rust_ws.build()
    archs(rust_ws, "sm_90", more='\n[deploy]\ngpus = ["H2000"]\n')
    ran = rust_ws.oxide("build", "//...")
    assert "nothing is known of the GPU `H2000`" in ran.stderr
    assert "H200" in ran.stderr


WEEKEND = ("--rust", "nightly-2026-04-03", "--cuda", "12.3")


@pytest.mark.skipif(shutil.which("rustup") is None, reason="there is no `rustup` on this machine")
def test_the_weekend_case_with_the_real_nightly_and_the_real_assembler(rust_ws: Space) -> None:
    rust_ws.build("//...", *WEEKEND, "--arch", "sm_90a")
    record = json.loads(rust_ws.read("oxide-out/k/twice.sm_90a.json"))
    assert record["tools"]["rustc"] == "1.96.0-nightly"
    assert record["tools"]["ptxas"].startswith("12.3.")
    ran = rust_ws.oxide("build", "//...", *WEEKEND, "--arch", "sm_100")
    assert ran.exit_code == 6
    assert "does not know the arch `sm_100`" in ran.stderr
    assert "move CUDA to 12.8 or later, or drop sm_100" in ran.stderr
    assert "compile" not in ran.stderr
    # The way out works.
    rust_ws.build("//...", *WEEKEND[:2], "--cuda", "12.8", "--arch", "sm_100")


def test_a_locked_build_resolves_nothing(rust_ws: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    archs(rust_ws, "sm_70", "sm_90")
    assert rust_ws.oxide("toolchain", "lock").exit_code == 0

    def resolved(*_: object) -> None:
        raise AssertionError("the resolver was asked")

    monkeypatch.setattr(toolchains, "resolve", resolved)
    rust_ws.build()
    (rust_ws.root / "oxide.lock").unlink()
    assert rust_ws.oxide("build", "//...").exit_code == 70
