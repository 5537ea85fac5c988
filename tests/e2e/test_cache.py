"""`oxide cache`, its limits, and the trust that a cache gets."""

from __future__ import annotations

import os
import pickle
import shutil
import sqlite3
import subprocess
import time
from pathlib import Path

import pytest

from oxide_build.store.gc import Limits, collect_garbage
from oxide_build.store.index import database
from oxide_build.store.inventory import take_inventory
from tests.conftest import Space

TWO = """\
[[genrule]]
name = "small"
srcs = ["s.txt"]
outs = ["small.txt"]
shell = "cat s.txt > $(OUT)"

[[genrule]]
name = "big"
srcs = ["b.txt"]
outs = ["big.bin"]
shell = "cat b.txt > $(OUT); head -c 300000 /dev/zero >> $(OUT)"
"""
DAY_S = 86_400


@pytest.fixture
def two(ws: Space) -> Space:
    ws.write("BUILD.toml", TWO)
    ws.write("s.txt", "s")
    ws.write("b.txt", "b")
    ws.build()
    return ws


def age(space: Space, days: float) -> None:
    """Make everything in the cache look so much older; what is older than what stays."""
    for path in space.cache.rglob("*"):
        if path.is_file():
            then_ns = path.stat().st_mtime_ns - round(days * DAY_S * 1e9)
            os.utime(path, ns=(then_ns, then_ns))
    with sqlite3.connect(database(space.cache)) as connection:
        connection.execute("UPDATE Cache SET store_time = store_time - ?", (days * DAY_S,))


def blobs(space: Space) -> list[Path]:
    return sorted(path for path in space.cache.glob("blobs-v1/*/*"))


def damage(path: Path, data: bytes) -> None:
    path.chmod(0o644)
    path.write_bytes(data)


def test_path_and_stats(two: Space) -> None:
    assert two.oxide("cache", "path").stdout == f"{two.cache}\n"
    two.build()
    record = two.oxide("cache", "stats", "--json").record
    assert (record["results"], record["blobs"]) == (2, 2)
    # As the disk counts, with the index.
    assert 307_200 < record["size_bytes"] < 320_000
    assert record["bytes_used_within"]["within 1 day"] == 300_002
    assert record["stages"] == {"genrule": {"hits": 2, "ran": 2}}
    text = two.oxide("cache", "stats").stdout
    assert "2 results, 2 blobs, 3" in text
    assert "at most 20.0 GB, 30 days unused" in text
    assert "genrule                   50.0 % hits of 4" in text


def test_what_nobody_used_for_long_goes(two: Space) -> None:
    two.write("s.txt", "other")
    two.build()
    age(two, 40)
    # The present state is used again, the older one is not.
    two.build()
    ran = two.oxide("cache", "gc", "--dry-run")
    assert "would remove 1 results and 1 blobs, 5 kB; " in ran.stderr
    assert "removed 1 results and 1 blobs" in two.oxide("cache", "gc").stderr
    assert two.build().actions["ran"] == 0
    two.write("s.txt", "s")
    assert two.build().actions["ran"] == 1


def test_over_the_size_the_least_recently_used_goes_first(two: Space) -> None:
    two.write("b.txt", "newer")
    two.build()
    age(two, 3)
    two.build()
    ran = two.oxide("cache", "gc", "--max-size", "0.4MB")
    assert "removed 1 results and 1 blobs, 304 kB; " in ran.stderr
    assert two.build().actions["ran"] == 0
    two.write("b.txt", "b")
    assert two.build().actions["ran"] == 1


def test_what_was_just_used_stays_even_if_it_is_too_much(two: Space) -> None:
    assert "removed 0 results" in two.oxide("cache", "gc", "--max-size", "0.1MB").stderr
    report = collect_garbage(two.cache, Limits(max_bytes=1, max_age_days=0), grace_s=0)
    assert report is not None
    assert (report.results, report.blobs, report.left_bytes) == (2, 2, 0)


def test_a_build_keeps_to_the_limit(two: Space) -> None:
    two.write("oxide.toml", '[workspace]\nname = "w"\n\n[cache]\nmax_size = "1MB"\n')
    said = ""
    for number in range(4):
        two.write("b.txt", str(number))
        age(two, 2)
        ran = two.oxide("build", "//...")
        assert ran.exit_code == 0
        said += ran.stderr
    assert "cache: removed " in said
    assert take_inventory(two.cache, time.time()).size_bytes <= 1_000_000
    two.environ["OXIDE_CACHE_MAX_SIZE"] = "much"
    assert "OXIDE_CACHE_MAX_SIZE: `much` is no size" in two.oxide("build", "//...").stderr


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('max_size = "big"', "oxide.toml:5: `max_size` of `[cache]`: `big` is no size"),
        ("max_age_days = 0", "oxide.toml:5: `max_age_days` of `[cache]` must be a number of days"),
        ('shared = "x"', "oxide.toml:5: `shared` of `[cache]`: `x` is not an absolute path"),
        ("nope = 1", "`[cache]` has an unknown key `nope`"),
    ],
)
def test_wrong_settings_have_their_place(ws: Space, line: str, message: str) -> None:
    ws.write("oxide.toml", f'[workspace]\nname = "w"\n\n[cache]\n{line}\n')
    ran = ws.oxide("build", "//...")
    assert ran.exit_code == 3
    assert message in ran.stderr


def test_verify_finds_and_repairs(two: Space) -> None:
    assert two.oxide("cache", "verify").exit_code == 0
    big = max(blobs(two), key=lambda path: path.stat().st_size)
    damage(big, b"x" + big.read_bytes()[1:])
    ran = two.oxide("cache", "verify", "--json")
    assert ran.exit_code == 5
    assert [each["how"] for each in ran.record["damages"]] == [
        "has other content than its name says",
        "its blob is missing or damaged",
    ]
    assert "2 things are wrong and removed" in two.oxide("cache", "verify", "--repair").stderr
    assert two.oxide("cache", "verify").exit_code == 0
    assert two.build().actions == {"total": 2, "ran": 1, "hit": 1, "failed": 0, "skipped": 0}


def test_clear_leaves_what_is_not_ours(two: Space) -> None:
    (two.cache / "note.txt").write_text("mine")
    assert "except `note.txt`" in two.oxide("cache", "clear").stderr
    assert (two.cache / "note.txt").read_text() == "mine"
    # Folders stay, as builds may be about to use them, and so does the index, empty.
    left = {path.name for path in two.cache.rglob("*") if path.is_file()}
    assert left - {"cache.db", "cache.db-wal", "cache.db-shm", ".lock"} == {"note.txt", "gc.lock"}
    assert take_inventory(two.cache, time.time()).results == ()
    assert two.build().actions["ran"] == 2
    two.cache = two.root.parent / "elsewhere"
    (two.cache / "tmp").mkdir(parents=True)
    (two.cache / "note.txt").write_text("mine")
    ran = two.oxide("cache", "clear")
    assert ran.exit_code == 2
    assert "does not look like a cache" in ran.stderr


@pytest.mark.parametrize("how", ["flipped", "truncated", "deleted", "empty"])
def test_a_damaged_blob_is_never_an_output(two: Space, how: str) -> None:
    before = {path: two.read(path) for path in ("oxide-out/small.txt", "oxide-out/big.bin")}
    shutil.rmtree(two.root / "oxide-out")
    for path in blobs(two):
        data = path.read_bytes()
        damaged = {"flipped": bytes([data[0] ^ 1]) + data[1:], "truncated": data[:-1], "empty": b""}
        if how == "deleted":
            path.unlink()
        else:
            damage(path, damaged[how])
    two.build()
    assert {path: two.read(path) for path in before} == before


@pytest.mark.parametrize(
    "content", [None, b"", b"garbage" * 1000, b"SQLite format 3\0" + b"\xff" * 5000]
)
def test_a_damaged_index_is_made_anew(two: Space, content: bytes | None) -> None:
    for file in (two.cache / "results-v1").iterdir():
        file.unlink()
    if content is not None:
        database(two.cache).write_bytes(content)
    assert two.build().actions["ran"] == 2
    assert two.build().actions["ran"] == 0


def test_an_index_of_a_future_version_is_named(two: Space) -> None:
    for file in (two.cache / "results-v1").iterdir():
        file.unlink()
    with sqlite3.connect(database(two.cache)) as connection:
        connection.execute("CREATE TABLE Cache (key2 TEXT, other BLOB)")
        connection.execute("PRAGMA user_version = 99")
    ran = two.oxide("build", "//...", "--json")
    assert ran.exit_code == 5
    assert "its version is 99, and this one knows 0" in ran.stderr
    assert two.read("oxide-out/small.txt") == b"s"


class Bomb:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, ("touch bomb-went-off",)


@pytest.mark.parametrize("mode", [1, 4])
def test_a_planted_pickle_does_not_run(two: Space, mode: int) -> None:
    data = pickle.dumps(Bomb())
    with sqlite3.connect(database(two.cache)) as connection:
        connection.execute("UPDATE Cache SET value = ?, mode = ?", (data, mode))
        connection.execute(
            "INSERT INTO Cache (key, raw, store_time, value, mode) VALUES (?, 0, 0, ?, ?)",
            (data, data, mode),
        )
    shutil.rmtree(two.root / "oxide-out")
    assert two.build().actions["ran"] == 2
    for argv in (("cache", "stats"), ("cache", "verify"), ("cache", "gc"), ("why", "//:small")):
        two.oxide(*argv)
    assert not (two.root / "bomb-went-off").exists()


def test_the_folder_is_for_its_owner_alone(two: Space) -> None:
    assert two.cache.stat().st_mode & 0o777 == 0o700
    two.cache.chmod(0o770)
    ran = two.oxide("build", "//...")
    assert ran.exit_code == 5
    assert "can be written by others" in ran.stderr
    assert f"chmod go-w {two.cache}" in ran.stderr


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_another_users_folder_is_refused(two: Space) -> None:
    os.chown(two.cache, 12345, 12345)
    ran = two.oxide("build", "//...")
    assert ran.exit_code == 5
    assert "belongs to another user" in ran.stderr


def test_a_cache_that_cannot_be_written_is_named(two: Space, tmp_path: Path) -> None:
    place = tmp_path / "ro"
    place.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m,mode=0700", "tmpfs", str(place)],
        capture_output=True,
        check=False,
    )
    if made.returncode:
        pytest.skip("nothing can be mounted here")
    try:
        shutil.copytree(two.cache, place / "cache")
        subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
        two.cache = place / "cache"
        ran = two.oxide("build", "//...")
        assert ran.exit_code == 5
        assert "cannot be written" in ran.stderr
        assert "`shared` in `[cache]`" in ran.stderr
    finally:
        subprocess.run(["umount", "-l", str(place)], check=False)


@pytest.fixture
def shared(two: Space, tmp_path: Path) -> Space:
    """The same workspace with an empty cache, and the first one's to read from."""
    first = two.cache
    two.cache = tmp_path / "own"
    two.write("oxide.toml", f'[workspace]\nname = "w"\n\n[cache]\nshared = "{first}"\n')
    shutil.rmtree(two.root / "oxide-out")
    return two


def test_a_shared_cache_is_read_and_not_written(shared: Space, tmp_path: Path) -> None:
    first = tmp_path / "cache"
    before = {p: p.stat().st_mtime_ns for p in first.rglob("*")}
    assert shared.build().actions["hit"] == 2
    assert shared.read("oxide-out/small.txt") == b"s"
    assert {p: p.stat().st_mtime_ns for p in first.rglob("*")} == before
    # What was fetched is the own cache's now.
    first.rename(tmp_path / "away")
    shutil.rmtree(shared.root / "oxide-out")
    ran = shared.oxide("build", "//...")
    assert "2 hits" in ran.stderr
    assert "the shared cache" in ran.stderr


@pytest.mark.parametrize("how", ["flipped", "deleted", "index", "world"])
def test_whatever_is_wrong_in_it_is_a_miss(shared: Space, tmp_path: Path, how: str) -> None:
    first = tmp_path / "cache"
    for path in first.glob("blobs-v1/*/*"):
        if how == "flipped":
            data = path.read_bytes()
            damage(path, bytes([data[0] ^ 1]) + data[1:])
        elif how == "deleted":
            path.unlink()
    if how == "index":
        database(first).write_bytes(b"garbage" * 1000)
    if how == "world":
        first.chmod(0o777)
    ran = shared.oxide("build", "//...", "--json")
    assert ran.exit_code == 0, ran.stderr
    assert ran.record["actions"]["ran"] == 2
    assert "the shared cache" in ran.stderr
    assert shared.read("oxide-out/small.txt") == b"s"


def test_a_build_that_loses_its_blobs_to_a_collection_is_right(two: Space) -> None:
    shutil.rmtree(two.root / "oxide-out")
    collect_garbage(two.cache, Limits(max_bytes=1, max_age_days=0), grace_s=-1)
    assert blobs(two) == []
    two.build()
    assert two.read("oxide-out/small.txt") == b"s"


def test_what_killed_processes_had_half_written_goes(two: Space) -> None:
    halves = [two.cache / "file-states-v1/.tmp-old", blobs(two)[0].parent / ".tmp-old"]
    for half in halves:
        half.write_bytes(b"half")
    age(two, 1)
    fresh = two.cache / "file-states-v1/.tmp-new"
    fresh.write_bytes(b"half")
    assert two.oxide("cache", "gc").exit_code == 0
    assert not any(half.exists() for half in halves)
    assert fresh.exists()
