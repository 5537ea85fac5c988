"""No room in the cache, in `oxide-out`, in the store: said so, exit code 5, right afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest

from oxide_build.errors import InfrastructureError
from oxide_build.provision.tool_store import InstallRecord, ToolStore
from tests.conftest import Space
from tests.correctness.conftest import SmallDisk

ROOM = 900_000


def rule(body: str) -> str:
    return f'[[genrule]]\nname = "big"\nouts = ["big.bin"]\n{body}\n'


HEAD = f"head -c {ROOM} /dev/zero"
TOOLS = {
    "a tool that says so": rule(f'shell = "{HEAD} > $(OUT)"'),
    "a tool that does not look": rule(f'shell = "{HEAD} > $(OUT) 2> /dev/null || true"'),
    "a tool that takes its half file along": rule(
        f'shell = "{HEAD} > $(OUT) || {{ rm $(OUT); exit 1; }}"'
    ),
    "what the tool prints": rule(
        f'cmd = ["head", "-c", "{ROOM}", "/dev/zero"]\ncapture_stdout = true'
    ),
}


@pytest.mark.parametrize("text", TOOLS.values(), ids=TOOLS)
def test_a_full_cache_is_named_and_nothing_of_it_is_kept(
    ws: Space, small_disk: SmallDisk, text: str
) -> None:
    ws.write("BUILD.toml", text)
    ws.cache = small_disk.folder / "cache"
    ran = ws.oxide("build", "//...")
    assert ran.exit_code == 5, ran.stderr
    assert f"`{ws.cache}/tmp" in ran.stderr
    assert "hint:" in ran.stderr
    assert "`OXIDE_CACHE`" in ran.stderr
    assert not (ws.root / "oxide-out/big.bin").exists()
    assert list((ws.cache / "tmp").iterdir()) == []
    small_disk.grow()
    assert ws.build().actions["ran"] == 1
    assert ws.read("oxide-out/big.bin") == bytes(ROOM)


def test_a_source_that_does_not_fit_is_told_as_a_full_disk(
    ws: Space, small_disk: SmallDisk
) -> None:
    ws.write("big.txt", bytes(ROOM))
    ws.write("BUILD.toml", rule('srcs = ["big.txt"]\nshell = "wc -c < $(SRC) > $(OUT)"'))
    ws.cache = small_disk.folder / "cache"
    ran = ws.oxide("build", "//...")
    assert ran.exit_code == 5, ran.stderr
    assert "could not prepare a folder for `//:big`" in ran.stderr
    assert "is the disk of the cache full?" in ran.stderr
    small_disk.grow()
    ws.build()
    assert int(ws.read("oxide-out/big.bin")) == ROOM


def test_a_full_cache_is_no_damaged_one_and_loses_nothing(ws: Space, small_disk: SmallDisk) -> None:
    small = rule('srcs = ["s.txt"]\nshell = "cat $(SRC) > $(OUT)"')
    ws.write("BUILD.toml", small)
    ws.write("s.txt", "one\n")
    ws.cache = small_disk.folder / "cache"
    ws.build()
    (ws.root / "oxide-out/big.bin").unlink()
    small_disk.fill()
    for text in ("one\n", "two\n"):
        ws.write("s.txt", text)
        ran = ws.oxide("build", "//...")
        assert ran.exit_code == 5, ran.stderr
        assert str(ws.cache) in ran.stderr
        assert "damaged" not in ran.stderr
    small_disk.grow()
    assert ws.build().actions["ran"] == 1
    assert ws.read("oxide-out/big.bin") == b"two\n"
    ws.write("s.txt", "one\n")
    assert ws.build().actions["ran"] == 0


def test_a_cache_that_begins_on_a_full_disk_says_so(ws: Space, small_disk: SmallDisk) -> None:
    ws.write("BUILD.toml", rule('shell = "echo > $(OUT)"'))
    ws.cache = small_disk.folder / "cache"
    small_disk.fill()
    ran = ws.oxide("build", "//...")
    assert ran.exit_code == 5, ran.stderr
    assert str(ws.cache) in ran.stderr
    assert "full" in ran.stderr
    small_disk.grow()
    ws.build()


def test_a_full_workspace_is_named_and_no_half_output_is_left(
    ws: Space, small_disk: SmallDisk
) -> None:
    inside = Space(small_disk.folder / "ws", ws.cache, ws.store, ws.capture)
    inside.root.mkdir()
    inside.write("oxide.toml", '[workspace]\nname = "w"\n')
    small = '[[genrule]]\nname = "a"\nouts = ["a.txt"]\nshell = "echo a > $(OUT)"\n'
    inside.write("BUILD.toml", small + rule(f'shell = "{HEAD} > $(OUT)"'))
    ran = inside.oxide("build", "//...")
    assert ran.exit_code == 5, ran.stderr
    assert f"could not write `{inside.root}/oxide-out/big.bin`: No space left" in ran.stderr
    assert "hint: is the disk full" in ran.stderr
    left = {path.name for path in (inside.root / "oxide-out").iterdir()}
    assert left <= {"a.txt", ".gitignore", "CACHEDIR.TAG", ".outputs-v1"}
    small_disk.grow()
    assert inside.build().actions["ran"] == 0
    assert inside.read("oxide-out/big.bin") == bytes(ROOM)
    assert inside.read("oxide-out/a.txt") == b"a\n"


def record(*, detail: str) -> InstallRecord:
    return InstallRecord(
        kind="cuda", provider="pypi", version="1", spec="1", files=(), size_bytes=1,
        details={"a": detail},
    )  # fmt: skip


def publish(store: ToolStore, detail: str) -> None:
    with store.staging() as folder:
        (folder / "tree").mkdir()
        store.publish(folder / "tree", record(detail=detail), "1")


def test_a_full_store_is_named_and_holds_no_half_install(small_disk: SmallDisk) -> None:
    store = ToolStore(small_disk.folder / "store")
    small_disk.fill(but=60_000)
    with pytest.raises(InfrastructureError, match="No space left on device") as raised:
        publish(store, "x" * 100_000)
    assert str(store.root) in raised.value.message
    assert raised.value.hint
    assert raised.value.exit_code == 5
    assert store.installs("cuda", "pypi") == ()
    assert [path for path in (store.root / "tmp").iterdir() if path.is_dir()] == []
    small_disk.grow()
    publish(store, "x" * 100_000)
    assert len(store.installs("cuda", "pypi")) == 1


def test_a_store_with_no_room_at_all_is_named(small_disk: SmallDisk, tmp_path: Path) -> None:
    store = ToolStore(small_disk.folder / "store")
    store.root.mkdir()
    for number in range(100_000):
        # Inodes run out as well as bytes.
        try:
            (small_disk.folder / f"empty{number}").touch()
        except OSError:
            break
    small_disk.fill()
    with pytest.raises(InfrastructureError) as raised:
        publish(store, "x")
    assert str(store.root) in raised.value.message
