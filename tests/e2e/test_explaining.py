"""`oxide why`, `oxide build --dry-run` and `oxide log` name the cause in the user's words."""

from __future__ import annotations

import json

import pytest

from tests.conftest import Space
from tests.e2e.conftest import KERNEL, LIBRARY, oxide_toml

CHAIN = """\
[[genrule]]
name = "first"
srcs = ["in.txt"]
outs = ["first.txt"]
shell = "cat p/in.txt > $(OUT)"

[[genrule]]
name = "second"
srcs = [":first"]
outs = ["second.txt"]
shell = "cat $(SRCS) > $(OUT)"
env = { A = "1" }
"""


@pytest.fixture
def chain(ws: Space) -> Space:
    ws.write("p/BUILD.toml", CHAIN)
    ws.write("p/in.txt", "one\n")
    ws.build()
    return ws


def edit(space: Space, old: str, new: str) -> None:
    build = space.root / "p/BUILD.toml"
    before = build.read_text()
    build.write_text(before.replace(old, new))
    assert build.read_text() != before


def test_what_was_never_built_is_said_to_be(ws: Space) -> None:
    ws.write("p/BUILD.toml", CHAIN)
    ws.write("p/in.txt", "one\n")
    ran = ws.oxide("why", "//p:first")
    assert ran.stdout == "//p:first genrule: would run\n  it was never built here\n"
    ran = ws.oxide("build", "//...", "--dry-run")
    assert ran.exit_code == 0
    assert "2 actions: 1 would run, 1 may run, 0 in the cache" in ran.stdout
    assert not (ws.root / "oxide-out").exists()


def test_what_is_up_to_date_says_why_it_was_built(chain: Space) -> None:
    assert "//p:first genrule: up to date, built 0 s ago\n  it was built for the first time\n" in (
        chain.oxide("why", "//p:first").stdout
    )
    chain.write("p/in.txt", "two\n")
    chain.build()
    assert "up to date" in (text := chain.oxide("why", "//p:first").stdout)
    assert "  input p/in.txt changed\n" in text


def test_a_change_is_followed_to_its_source(chain: Space) -> None:
    chain.write("p/in.txt", "two\n")
    ran = chain.oxide("why", "//p:second")
    assert ran.stdout == (
        "//p:second genrule: may run\n"
        "  an input may change\n"
        "    because of //p:first genrule:\n"
        "      input p/in.txt changed\n"
    )
    (second,) = chain.oxide("why", "//p:second", "--json").record["actions"]
    assert second["state"] == "may run"
    assert second["because"][0]["reasons"] == ["input p/in.txt changed"]
    chain.build()
    assert "because of //p:first genrule:\n      input p/in.txt changed" in (
        chain.oxide("why", "//p:second").stdout
    )


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('A = "1"', 'A = "2"', "environment A: 1 -> 2"),
        ('A = "1"', 'A = "1", B = "x"', "environment B: not set -> x"),
        (
            "cat $(SRCS) > $(OUT)",
            "cat $(SRCS) >> $(OUT)",
            "sh: cat oxide-out/p/first.txt > oxide-out/p/second.txt -> "
            "cat oxide-out/p/first.txt >> oxide-out/p/second.txt",
        ),
        ('srcs = [":first"]', 'srcs = [":first", "in.txt"]', "input p/in.txt is new"),
        (
            'outs = ["second.txt"]',
            'outs = ["second.txt", "b"]',
            "outputs: oxide-out/p/second.txt -> oxide-out/p/second.txt, oxide-out/p/b",
        ),
    ],
)
def test_each_ingredient_has_its_words(chain: Space, old: str, new: str, says: str) -> None:
    edit(chain, old, new)
    assert says in chain.oxide("why", "//p:second").stdout
    assert "//p:second genrule (" in chain.oxide("build", "//...", "--dry-run").stdout


def test_what_was_forgotten_is_said_to_be(chain: Space) -> None:
    for file in chain.cache.glob("results-v1/*"):
        file.unlink()
    assert "its result is not in the cache any more" in chain.oxide("why", "//p:first").stdout
    chain.write("p/in.txt", "two\n")
    assert "nobody remembers what it was made of" in chain.oxide("why", "//p:first").stdout


def test_a_dry_run_as_json_lists_every_action(chain: Space) -> None:
    chain.write("p/in.txt", "two\n")
    record = chain.oxide("build", "//...", "--dry-run", "--json").record
    assert record["counts"] == {"hit": 0, "run": 1, "open": 1}
    first, second = record["actions"]
    assert (first["label"], first["state"]) == ("//p:first", "run")
    assert len(first["key"]) == 64
    assert (second["state"], second["key"]) == ("open", None)
    assert chain.read("oxide-out/p/first.txt") == b"one\n"


def test_the_log_has_what_ran_and_what_failed(chain: Space) -> None:
    edit(chain, "cat p/in.txt > $(OUT)", "echo sorry >&2; exit 3")
    assert chain.oxide("build", "//...").exit_code == 4
    ran = chain.oxide("log")
    assert "failed: //p:first genrule: `sh` failed with exit code 3" in ran.stdout
    assert "    sorry" in ran.stdout
    listed = chain.oxide("log", "--list").stdout.splitlines()
    assert len(listed) == 2
    assert "failed" in listed[0]
    assert "2 ran" in listed[1]
    events = [json.loads(line) for line in chain.oxide("log", "--json").stdout.splitlines()]
    assert [each["event"] for each in events] == ["begin", "failed", "skipped", "end"]
    assert events[0]["patterns"] == ["//..."]
    assert events[-1]["ending"] == "failed"


def test_a_log_that_was_cut_off_is_read_as_far_as_it_goes(chain: Space) -> None:
    (file,) = chain.cache.glob("logs-v1/*/*.jsonl")
    data = file.read_bytes()
    file.write_bytes(data[: data.rindex(b'{"event":"end"') + 10] + b"\xff")
    assert "did not end: killed, or still running" in chain.oxide("log").stdout
    file.write_bytes(b"\x00garbage")
    assert "no build of this workspace was logged" in chain.oxide("log").stdout


def test_only_the_last_fifty_are_kept(chain: Space) -> None:
    (file,) = chain.cache.glob("logs-v1/*/*.jsonl")
    for number in range(60):
        (file.parent / f"20200101T000000Z-{number}.jsonl").write_bytes(file.read_bytes())
    chain.write("p/in.txt", "two\n")
    chain.build()
    assert len(list(file.parent.iterdir())) == 50


def test_a_log_that_cannot_be_written_is_no_failure(chain: Space) -> None:
    (chain.cache / "logs-v1").rename(chain.cache / "away")
    (chain.cache / "logs-v1").write_text("a file")
    (chain.cache / "history-v1").rename(chain.cache / "away2")
    (chain.cache / "history-v1").write_text("a file")
    chain.write("p/in.txt", "two\n")
    assert chain.build().actions["ran"] == 2


@pytest.mark.network
@pytest.mark.toolchain
def test_a_kernel_says_what_changed(rust_ws: Space) -> None:
    rust_ws.build()
    rust_ws.write("k/grid.rs", LIBRARY.replace("_thread_idx_x", "_thread_idx_y"))
    text = rust_ws.oxide("why", "//k:twice").stdout
    assert "because of //k:grid compile:\n      input k/grid.rs changed" in text
    rust_ws.write("k/grid.rs", LIBRARY)
    rust_ws.write("k/twice.rs", KERNEL.replace("A comment of", "a comment of"))
    rust_ws.build()
    text = rust_ws.oxide("why", "//k:twice").stdout
    assert "//k:twice compile: up to date, built 0 s ago\n  input k/twice.rs changed\n" in text
    assert "//k:twice assemble sm_90: up to date" in text
    rust_ws.write("oxide.toml", oxide_toml(cuda="12.9"))
    text = rust_ws.oxide("why", "//k:twice").stdout
    assert "//k:twice assemble sm_90: would run\n  tool cuda 13.0.88 -> cuda 12.9.86\n" in text
    assert "//k:twice codegen sm_90: up to date" in text
