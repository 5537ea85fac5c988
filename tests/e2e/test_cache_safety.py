"""Looking after the cache takes nothing from anybody, while builds run or after accidents."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from oxide_build.errors import InfrastructureError
from oxide_build.store.gc import Limits, collect_garbage
from oxide_build.store.index import database
from oxide_build.store.inventory import take_inventory
from tests.conftest import Space
from tests.e2e.test_cache import TWO, age, blobs

BIG_INPUT = """\
[[genrule]]
name = "big"
srcs = ["b.txt"]
outs = ["big.bin"]
shell = "cat b.txt > $(OUT); head -c 3000000 /dev/zero >> $(OUT)"

[[genrule]]
name = "reader"
srcs = [":big"]
outs = ["count.txt"]
shell = "{shell}"
"""


@pytest.fixture
def two(ws: Space) -> Space:
    ws.write("BUILD.toml", TWO)
    ws.write("s.txt", "s")
    ws.write("b.txt", "b")
    ws.build()
    return ws


def start(space: Space) -> subprocess.Popen[str]:
    environ = {**os.environ, "OXIDE_CACHE": str(space.cache), "OXIDE_STORE": str(space.store)}
    return subprocess.Popen(
        [sys.executable, "-m", "oxide_build", "build", "//..."],
        cwd=space.root, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_clear_leaves_a_folder_of_that_name_that_is_not_ours(ws: Space) -> None:
    ws.cache.mkdir(mode=0o700)
    (ws.cache / "tmp").mkdir()
    (ws.cache / "tmp" / "thesis.txt").write_text("mine")
    (ws.cache / "other").write_text("mine")
    assert ws.oxide("cache", "clear").exit_code == 2
    ws.write("BUILD.toml", TWO)
    ws.write("s.txt", "s")
    ws.write("b.txt", "b")
    ws.build()
    assert "`other`" in ws.oxide("cache", "clear").stderr
    assert (ws.cache / "tmp" / "thesis.txt").read_text() == "mine"
    assert blobs(ws) == []
    assert ws.build().actions["ran"] == 2


def test_clear_follows_no_link(two: Space, tmp_path: Path) -> None:
    away = tmp_path / "away"
    (two.cache / "logs-v1").rename(away)
    (two.cache / "logs-v1").symlink_to(away)
    (two.cache / "history-v1" / "link").symlink_to(tmp_path / "ws" / "s.txt")
    assert two.oxide("cache", "clear").exit_code == 0
    assert any(path.is_file() for path in away.rglob("*"))
    assert two.read("s.txt") == b"s"


WAIT = "touch {go}; while [ ! -e {gone} ]; do sleep 0.01; done; "


@pytest.mark.parametrize(
    "shell", [WAIT + "cat $(SRCS) | wc -c > $(OUT)", WAIT + "cat $(SRCS) > $(OUT)"]
)
def test_clear_while_an_action_reads_a_blob(ws: Space, tmp_path: Path, shell: str) -> None:
    # The first hides that its input is gone, the second fails.
    go, gone = tmp_path / "go", tmp_path / "gone"
    ws.write("BUILD.toml", BIG_INPUT.format(shell=shell.format(go=go, gone=gone)))
    ws.write("b.txt", "b")
    process = start(ws)
    wait_for(go)
    assert ws.oxide("cache", "clear").exit_code == 0
    gone.touch()
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 0, said
    expected = b"3000001" if "wc" in shell else b"b" + bytes(3_000_000)
    assert ws.read("oxide-out/count.txt").strip(b" \n") == expected.strip(b" \n")
    assert ws.build().actions["failed"] == 0


def test_clear_empties_the_index_under_those_who_use_it(two: Space) -> None:
    before = os.stat(database(two.cache)).st_ino
    assert two.oxide("cache", "clear").exit_code == 0
    assert os.stat(database(two.cache)).st_ino == before
    assert take_inventory(two.cache, time.time()).results == ()


def test_an_unreadable_index_makes_nobody_remove_blobs(two: Space) -> None:
    age(two, 3)
    for file in (two.cache / "results-v1").glob("cache.db-*"):
        file.unlink()
    data = bytearray(database(two.cache).read_bytes())
    # A page of the table, and not the first.
    data[4096:] = b"\xa5" * (len(data) - 4096)
    database(two.cache).write_bytes(data)
    before = blobs(two)
    ran = two.oxide("cache", "gc")
    assert ran.exit_code == 5
    assert "is damaged" in ran.stderr
    assert blobs(two) == before
    assert two.oxide("cache", "verify").exit_code == 5
    assert two.oxide("cache", "verify", "--repair").exit_code == 5
    assert two.oxide("cache", "verify").exit_code == 0
    two.build()
    assert two.read("oxide-out/small.txt") == b"s"


def test_a_blob_that_a_tool_gave_an_old_time_is_not_collected(ws: Space) -> None:
    shell = "echo x > $(OUT); touch -d 2001-01-01 $(OUT)"
    ws.write("BUILD.toml", f'[[genrule]]\nname = "old"\nouts = ["o"]\nshell = "{shell}"\n')
    ws.build()
    with sqlite3.connect(database(ws.cache)) as connection:
        # As if the build had not come to write its result yet.
        connection.execute("DELETE FROM Cache")
    report = collect_garbage(ws.cache, Limits(max_bytes=1, max_age_days=1))
    assert report is not None
    assert report.blobs == 0


def test_what_is_made_again_is_in_use_again(two: Space) -> None:
    age(two, 3)
    with sqlite3.connect(database(two.cache)) as connection:
        connection.execute("DELETE FROM Cache")
    two.write("s.txt", "new")
    two.write("s.txt", "s")
    shutil.rmtree(two.root / "oxide-out")
    two.build()
    with sqlite3.connect(database(two.cache)) as connection:
        connection.execute("DELETE FROM Cache")
    report = collect_garbage(two.cache, Limits(max_bytes=1, max_age_days=1))
    assert report is not None
    assert report.blobs == 0


def test_the_age_limit_holds_without_the_size_limit(two: Space) -> None:
    two.write("s.txt", "other")
    two.build()
    age(two, 40)
    size_file = two.cache / "size-v1"
    total, _, over = size_file.read_text().split("\n")[0].split()
    size_file.write_text(f"{total} {int(time.time()) - 90_000} {over}\n")
    two.write("b.txt", "new")
    ran = two.oxide("build", "//...")
    assert ran.exit_code == 0
    # What the build before this one used is pinned, and the one before that is not.
    assert "cache: removed 1 results and 1 blobs" in ran.stderr
    assert len(take_inventory(two.cache, time.time()).results) == 3


def test_a_cache_full_of_recent_things_is_not_collected_by_every_build(two: Space) -> None:
    two.write("oxide.toml", '[workspace]\nname = "w"\n\n[cache]\nmax_size = "0.1MB"\n')
    said = []
    for number in range(3):
        two.write("b.txt", str(number))
        said.append(two.oxide("build", "//...").stderr)
    assert ["cache:" in text for text in said] == [True, False, False], said


def test_two_collections_at_once(two: Space) -> None:
    from oxide_build.host.locks import held

    with held(two.cache / "gc.lock") as mine:
        assert mine
        assert collect_garbage(two.cache, Limits(max_bytes=1, max_age_days=1)) is None
        assert "another process is collecting" in two.oxide("cache", "gc").stderr


def test_the_environment_names_the_shared_cache_or_switches_it_off(
    two: Space, tmp_path: Path
) -> None:
    first, two.cache = two.cache, tmp_path / "own"
    two.environ["OXIDE_SHARED_CACHE"] = str(first)
    assert two.build().actions["hit"] == 2
    two.write("oxide.toml", f'[workspace]\nname = "w"\n\n[cache]\nshared = "{first}"\n')
    two.cache = tmp_path / "other"
    two.environ["OXIDE_SHARED_CACHE"] = ""
    assert two.build().actions["ran"] == 2


def test_the_own_cache_is_no_shared_one(two: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Path] = []
    monkeypatch.setattr("oxide_build.store.shared._refusal", asked.append)
    two.environ["OXIDE_SHARED_CACHE"] = f"{two.cache}/../{two.cache.name}"
    two.write("s.txt", "new")
    assert two.oxide("build", "//...").exit_code == 0
    assert asked == []


def test_a_collection_that_fails_is_a_warning_and_the_build_is_done(
    two: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise InfrastructureError("the index is damaged")

    monkeypatch.setattr("oxide_build.store.gc.collect_garbage", fail)
    (two.cache / "size-v1").unlink()
    two.write("s.txt", "new")
    ran = two.oxide("build", "//...", "--quiet")
    assert ran.exit_code == 0
    assert "warning: the cache could not be collected: the index is damaged" in ran.stderr
    assert two.read("oxide-out/small.txt") == b"new"


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_another_users_shared_cache_serves_a_build(two: Space, tmp_path: Path) -> None:
    first, two.cache = two.cache, tmp_path / "own"
    for path in (first, *first.rglob("*")):
        os.chown(path, 12345, 12345)
    two.environ["OXIDE_SHARED_CACHE"] = str(first)
    shutil.rmtree(two.root / "oxide-out")
    assert two.build().actions["hit"] == 2
    assert two.read("oxide-out/small.txt") == b"s"


def test_others_may_read_a_cache_whose_owner_opens_it(two: Space) -> None:
    assert two.cache.stat().st_mode & 0o077 == 0
    index = database(two.cache)
    for folder in (index.parent, *two.cache.glob("blobs-v1"), *two.cache.glob("blobs-v1/*")):
        assert folder.stat().st_mode & 0o005 == 0o005
    assert all(file.stat().st_mode & 0o004 for file in (index, *blobs(two)))
