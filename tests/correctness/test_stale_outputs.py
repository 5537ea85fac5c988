"""What no target makes any more leaves `oxide-out`, and nothing else does."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from oxide_build.execution.output_record import OutputRecord
from oxide_build.execution.output_tree import OutputTree
from tests.conftest import Space


def genrule(*names: str) -> str:
    return "\n".join(
        f'[[genrule]]\nname = "{name}"\nouts = ["{name}.txt"]\nshell = "echo {name} > $(OUT)"\n'
        for name in names
    )


@pytest.fixture
def two(ws: Space) -> Space:
    ws.write("a/BUILD.toml", genrule("one", "two"))
    ws.write("b/BUILD.toml", genrule("three"))
    ws.build()
    ws.write("oxide-out/a/mine.txt", "a note of the user's")
    return ws


def outputs(space: Space) -> set[str]:
    root = space.root / "oxide-out"
    return {str(file.relative_to(root)) for file in root.rglob("*.txt")}


def test_a_removed_target_takes_its_outputs_along(two: Space) -> None:
    two.write("a/BUILD.toml", genrule("one"))
    ran = two.oxide("build", "//...")
    assert (
        "removed 1 outputs that nothing makes any more, such as oxide-out/a/two.txt" in ran.stderr
    )
    assert outputs(two) == {"a/one.txt", "a/mine.txt", "b/three.txt"}
    assert "removed" not in two.oxide("build", "//...").stderr


def test_a_renamed_target_that_makes_the_same_file_keeps_it(two: Space) -> None:
    two.write("a/BUILD.toml", genrule("one", "two").replace('name = "two"', 'name = "zwei"'))
    two.build()
    assert outputs(two) == {"a/one.txt", "a/two.txt", "a/mine.txt", "b/three.txt"}


def test_a_removed_package_takes_its_folder_along(two: Space) -> None:
    (two.root / "b/BUILD.toml").unlink()
    two.build("//a/...")
    assert outputs(two) == {"a/one.txt", "a/two.txt", "a/mine.txt"}
    assert not (two.root / "oxide-out/b").exists()


def test_building_one_leaves_the_others(two: Space) -> None:
    two.build("//a:one")
    two.build("//b:three")
    assert outputs(two) == {"a/one.txt", "a/two.txt", "a/mine.txt", "b/three.txt"}


def test_a_failed_build_removes_nothing_of_what_failed(two: Space) -> None:
    two.write(
        "a/BUILD.toml",
        genrule("one") + '[[genrule]]\nname = "two"\nouts = ["x"]\nshell = "exit 1"\n',
    )
    assert two.oxide("build", "//...").exit_code == 4
    assert "a/two.txt" in outputs(two)


def test_a_link_is_not_followed(two: Space, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (two.root / "oxide-out/a").rename(outside)
    (two.root / "oxide-out/a").symlink_to(outside)
    (two.root / "a/BUILD.toml").unlink()
    two.build("//b:three")
    assert (outside / "two.txt").exists()


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"\xff" * 100,
        msgspec.msgpack.encode([{"a": {"": ["../precious.txt"]}}, ["oxide-out/../precious.txt"]]),
        msgspec.msgpack.encode([{"//..:x": {"": ["/etc/x"]}, "//\0": {}, "": {}}, ["a/\0", ""]]),
        msgspec.msgpack.encode({"//a:one": ["oxide-out/b/three.txt"]}),
    ],
)
def test_a_damaged_record_removes_nothing(two: Space, damage: bytes) -> None:
    precious = two.root / "precious.txt"
    precious.write_text("mine")
    two.write("oxide-out/.outputs-v1", damage)
    two.build()
    assert precious.exists()
    assert outputs(two) == {"a/one.txt", "a/two.txt", "a/mine.txt", "b/three.txt"}


@pytest.mark.parametrize("path", ["/etc/x", "a/x", "oxide-out/../x", "oxide-out//x", "oxide-out"])
def test_nothing_outside_of_the_folder_is_ever_removed(tmp_path: Path, path: str) -> None:
    (tmp_path / "x").write_text("")
    OutputRecord(tmp_path, "", lambda _: False).begin({"//a:a": [path]})
    record = OutputRecord(tmp_path, "", lambda _: True)
    record.begin({})
    assert record.remove_stale() == []
    assert (tmp_path / "x").exists()


def test_what_another_request_made_stays_until_that_request_makes_it_no_more(ws: Space) -> None:
    ws.write("oxide.toml", '[workspace]\nname = "t"\n[config.loud]\ndescription = "l"\n')
    rule = '[[genrule]]\nname = "g"\nouts = ["o.txt"]\n[genrule.shell]\n'
    rule += 'loud = "echo A > $(OUT)"\ndefault = "echo a > $(OUT)"\n'
    ws.write("BUILD.toml", rule)
    ws.build("//...", "--config", "loud")
    ws.build()
    before = outputs(ws)
    assert len(before) == 2
    ws.build("//...", "--config", "loud")
    assert outputs(ws) == before
    ws.write("BUILD.toml", rule.replace("o.txt", "p.txt"))
    ws.build("//...", "--config", "loud")
    assert sorted(Path(path).name for path in outputs(ws)) == ["o.txt", "p.txt"]
    ws.build()
    assert sorted(Path(path).name for path in outputs(ws)) == ["p.txt", "p.txt"]


def test_what_a_killed_build_put_there_is_known(
    two: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def killed(self: OutputTree) -> None:
        raise Killed

    two.write("a/BUILD.toml", genrule("one", "two", "new"))
    monkeypatch.setattr(OutputTree, "finish", killed)
    with pytest.raises(Killed):
        two.oxide("build", "//...")
    monkeypatch.undo()
    assert "a/new.txt" in outputs(two)
    two.write("a/BUILD.toml", genrule("one"))
    # Killed again, now between the record and the removal.
    monkeypatch.setattr(OutputTree, "finish", killed)
    with pytest.raises(Killed):
        two.oxide("build", "//...")
    monkeypatch.undo()
    two.build("//b:three")
    assert outputs(two) == {"a/one.txt", "a/mine.txt", "b/three.txt"}


def test_a_build_with_an_old_view_leaves_what_a_newer_one_made(two: Space) -> None:
    old = OutputRecord(two.root, "", lambda label: label == "//a:new")
    two.write("a/BUILD.toml", genrule("one", "two", "new"))
    two.build()
    old.begin({"//a:one": ["oxide-out/a/one.txt"]})
    assert old.remove_stale() == []
    assert "a/new.txt" in outputs(two)


def test_nothing_is_recorded_through_a_link(two: Space, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (two.root / "oxide-out").rename(outside)
    before = (outside / ".outputs-v1").read_bytes()
    (two.root / "oxide-out").symlink_to(outside)
    two.write("a/BUILD.toml", '[[filegroup]]\nname = "f"\nsrcs = []\n')
    two.oxide("build", "//a:f")
    assert (outside / ".outputs-v1").read_bytes() == before
    assert (outside / "a/two.txt").exists()


def test_a_build_that_changes_nothing_writes_no_record(two: Space) -> None:
    before = (two.root / "oxide-out/.outputs-v1").stat()
    two.build()
    two.build("//a:one")
    assert (two.root / "oxide-out/.outputs-v1").stat() == before


@pytest.mark.network
@pytest.mark.toolchain
def test_an_arch_that_is_dropped_goes_and_one_that_is_left_out_stays(rust_ws: Space) -> None:
    rust_ws.build()
    rust_ws.build("//...", "--arch", "sm_90")
    folder = rust_ws.root / "oxide-out/k"
    assert len(list(folder.glob("twice.*"))) == 6
    build = rust_ws.root / "k/BUILD.toml"
    build.write_text(build.read_text().replace('["sm_80", "sm_90"]', '["sm_90", "sm_100"]'))
    ran = rust_ws.build()
    assert ran.stages == ["assemble sm_100", "codegen sm_100"]
    archs = {file.name.split(".")[1] for file in folder.glob("twice.*")}
    assert archs == {"sm_90", "sm_100"}
