"""`oxide verify-reproducible` catches what peers cache without a word."""

from __future__ import annotations

import pytest

from tests.conftest import Space


def genrule(name: str, shell: str, more: str = "") -> str:
    return f'[[genrule]]\nname = "{name}"\nouts = ["{name}"]\nshell = "{shell}"\n{more}\n'


@pytest.fixture
def sound(ws: Space) -> Space:
    ws.write("p/in.txt", "hello\n")
    ws.write("p/not-needed.txt", "x")
    ws.write(
        "p/BUILD.toml",
        genrule("good", "tr a-z A-Z < p/in.txt > $(OUT)", 'srcs = ["in.txt"]')
        + genrule("after", "cat $(SRCS) > $(OUT)", 'srcs = [":good"]'),
    )
    return ws


def test_what_is_the_same_twice_is_said_to_be(sound: Space) -> None:
    ran = sound.oxide("verify-reproducible", "//...")
    assert ran.exit_code == 0, ran.stderr
    assert "2 actions gave the same bytes twice" in ran.stderr
    assert not (sound.root / "oxide-out").exists()


@pytest.mark.parametrize(
    ("shell", "says"),
    [
        ("date +%N > $(OUT)", "gave other bytes the second time"),
        ("date +%Y-%m-%d > $(OUT); date +%N >> $(OUT)", "it holds the date of the build"),
        ("pwd > $(OUT)", "it holds the folder of the workspace or of the cache"),
        ("echo $$ > $(OUT)", "gave other bytes the second time"),
        ("umask > $(OUT)", "-0022"),
        ("hostname > $(OUT); date +%N >> $(OUT)", "it holds the name of this machine"),
        ("head -c 100 /dev/urandom > $(OUT)", "100 and 100 bytes, the first difference at byte"),
    ],
)
def test_what_differs_is_named_with_its_cause(sound: Space, shell: str, says: str) -> None:
    build = sound.root / "p/BUILD.toml"
    build.write_text(build.read_text() + genrule("bad", shell))
    ran = sound.oxide("verify-reproducible", "//...")
    assert ran.exit_code == 4, ran.stderr
    assert ran.stdout.startswith("//p:bad genrule: gave other bytes the second time")
    assert says in ran.stdout
    assert "3 actions, 1 differ, 1 of them by themselves" in ran.stderr


def test_what_only_follows_is_told_apart(sound: Space) -> None:
    build = sound.root / "p/BUILD.toml"
    build.write_text(
        build.read_text()
        + genrule("bad", "date +%N > $(OUT)")
        + genrule("user", "cat $(SRCS) > $(OUT)", 'srcs = [":bad"]')
    )
    record = sound.oxide("verify-reproducible", "//...", "--json").record
    assert record["actions"] == 4
    assert [(each["label"], each["kind"]) for each in record["differences"]] == [
        ("//p:bad", "bytes"),
        ("//p:user", "follows"),
    ]


def test_what_does_not_build_is_not_compared(sound: Space) -> None:
    build = sound.root / "p/BUILD.toml"
    build.write_text(build.read_text() + genrule("bad", "exit 3"))
    ran = sound.oxide("verify-reproducible", "//...")
    assert ran.exit_code == 4
    assert "`sh` failed with exit code 3" in ran.stderr
    assert "it does not build, so there is nothing to compare" in ran.stderr


@pytest.mark.network
@pytest.mark.toolchain
def test_a_kernel_and_core_are_the_same_twice(rust_ws: Space) -> None:
    ran = rust_ws.oxide("verify-reproducible", "//k/...", "--arch", "sm_90")
    assert ran.exit_code == 0, ran.stdout + ran.stderr
    assert "9 actions gave the same bytes twice" in ran.stderr
