"""What cargo finds when it starts, and what is taken from it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from oxide_build.errors import ActionFailed
from oxide_build.execution import cargo_steps
from oxide_build.model.action import Action
from oxide_build.model.label import Label

ACTION = Action(commands=(), inputs=(), outputs=(), label=Label("k", "k"), stage="compile")
TARGET = "--target nvptx64-nvidia-cuda"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An action's folder with crates and programs that say how they were started."""
    root = tmp_path / "it's a folder"
    real = tmp_path / "store of crates"
    real.mkdir()
    (real / "config.toml").write_text('[source.v]\ndirectory = "{crates}"\n')
    (root / "toolchain").mkdir(parents=True)
    (root / "toolchain" / "crates").symlink_to(real)
    for name in ("cargo", "rustc"):
        program = root / "toolchain" / name
        program.write_text(
            '#!/bin/sh\necho "$PWD|$CARGO_HOME|$RUSTC|$RUSTC_WRAPPER|$LD_LIBRARY_PATH|'
            '$RUSTC_BOOTSTRAP"\nfor word; do echo "$word"; done\n'
            "echo 'target_feature=\"sm_90\"'\nexit ${CODE:-0}\n"
        )
        program.chmod(0o755)
    return root


def prepared(folder: Path, *files: str, crates: str = "toolchain/crates") -> Path:
    args = (crates, "sys root", "toolchain/cargo", "toolchain/rustc", "toolchain/lib:toolchain/x")
    cargo_steps.prepare(folder, [*args, *files], ACTION)
    return folder / cargo_steps.CARGO_FOLDER


def said(*argv: str | Path, **environ: str) -> list[str]:
    done = subprocess.run(
        argv, env={"PATH": os.defpath, **environ}, capture_output=True, text=True, check=False
    )
    assert done.returncode == int(environ.get("CODE", "0")), done.stderr
    return done.stdout.splitlines()


def test_cargo_starts_in_the_root_with_a_home_of_its_own(folder: Path) -> None:
    place = prepared(folder)
    head, *words = said(place / "cargo", "rustc", "a b")
    assert head.split("|")[:5] == [
        "/",
        f"{folder}/oxide-out/.cargo/home",
        f"{folder}/toolchain/rustc",
        f"{folder}/oxide-out/.cargo/rustc",
        f"{folder}/toolchain/lib:{folder}/toolchain/x",
    ]
    assert words[:2] == ["rustc", "a b"]
    real = os.path.realpath(folder / "toolchain/crates")
    assert f'directory = "{real}"' in (place / "config.toml").read_text()
    assert list((place / "home").iterdir()) == []


def test_device_crates_get_the_sysroot_and_host_crates_do_not(folder: Path) -> None:
    wrapper = prepared(folder) / "rustc"
    rustc = folder / "toolchain/rustc"
    own = {"CARGO_MANIFEST_DIR": f"{folder}/k"}
    head, *words = said(wrapper, rustc, *TARGET.split(), "x.rs", **own)
    assert words[words.index("--sysroot") + 1] == f"{folder}/sys root"
    assert head.endswith("|1")
    head, *words = said(wrapper, rustc, "x.rs", **own)
    assert "--sysroot" not in words
    assert head.endswith("|")


def test_crates_from_outside_are_told_what_the_compiler_is(folder: Path) -> None:
    wrapper = prepared(folder) / "rustc"
    real = os.path.realpath(folder / "toolchain/crates")
    environ = {"CARGO_MANIFEST_DIR": f"{real}/libm-0.2.16"}
    head, *words = said(wrapper, folder / "toolchain/rustc", *TARGET.split(), "/x/y.rs", **environ)
    assert head.endswith("|")
    assert "--sysroot" in words
    assert f"{real}=./crates" in words


def test_sources_are_named_from_the_workspace(folder: Path) -> None:
    wrapper = prepared(folder) / "rustc"
    (folder / "k" / "deep").mkdir(parents=True)
    old = Path.cwd()
    os.chdir(folder / "k" / "deep")
    try:
        words = said(wrapper, folder / "toolchain/rustc", "src/lib.rs", PWD=f"{folder}/k/deep")
    finally:
        os.chdir(old)
    assert words[-6:-1] == [
        "src=k/deep/src",
        "--remap-path-prefix",
        f"{folder}=.",
        "--remap-path-prefix",
        f"{real_crates(folder)}=./crates",
    ]


def real_crates(folder: Path) -> str:
    return os.path.realpath(folder / "toolchain/crates")


def test_cargo_does_not_hear_of_target_features(folder: Path) -> None:
    wrapper = prepared(folder) / "rustc"
    rustc = folder / "toolchain/rustc"
    asked = ("-", "--print=cfg", *TARGET.split())
    assert not any("target_feature" in line for line in said(wrapper, rustc, *asked))
    assert any("target_feature" in line for line in said(wrapper, rustc, "x.rs"))
    said(wrapper, rustc, *asked, CODE="7")
    said(wrapper, rustc, "x.rs", CODE="7")


def test_empty_sources_stand_in_for_those_of_packages(folder: Path) -> None:
    for package, text in {
        "a": '[package]\nname = "a"\nbuild = "make/it.rs"\n[lib]\npath = "lib/a.rs"\n',
        "b": '[package]\nname = "b"\n',
        "c": '[workspace]\nmembers = ["a"]\n',
        "d": "no TOML",
    }.items():
        (folder / package).mkdir()
        (folder / package / "Cargo.toml").write_text(text)
    prepared(folder, *(f"{name}/Cargo.toml" for name in "abcd"), "b/build.rs")
    files = folder.glob("[a-d]/**/*.rs")
    made = {str(path.relative_to(folder)): path.read_text() for path in files}
    empty, main = "#![no_std]\n", "fn main() {}\n"
    assert made == {
        "a/lib/a.rs": empty, "a/make/it.rs": main, "b/src/lib.rs": empty, "b/build.rs": main,
    }  # fmt: skip


@pytest.mark.parametrize("name", ["../x.rs", "/etc/x.rs", "a/../../x.rs"])
def test_a_manifest_cannot_have_files_written_elsewhere(folder: Path, name: str) -> None:
    (folder / "a").mkdir()
    (folder / "a/Cargo.toml").write_text(f'[package]\nname = "a"\n[lib]\npath = "{name}"\n')
    with pytest.raises(ActionFailed, match="outside its folder"):
        prepared(folder, "a/Cargo.toml")
    assert not (folder / "x.rs").exists()


def test_a_packed_folder_is_the_same_whenever_its_files_are(folder: Path) -> None:
    for name, time_s in (("one", 5), ("two", 9_000_000_000)):
        (folder / name / "sub").mkdir(parents=True)
        for file in ("z", "a", "sub/program"):
            (folder / name / file).write_text(file)
            os.utime(folder / name / file, (time_s, time_s))
        (folder / name / ".rustc_info.json").write_text(name)
        (folder / name / "sub/program").chmod(0o755)
        cargo_steps.pack(folder, [name, f"{name}.tar"], ACTION)
    assert (folder / "one.tar").read_bytes() == (folder / "two.tar").read_bytes()
    cargo_steps.unpack(folder, ["two.tar", "out"], ACTION)
    assert (folder / "out/sub/program").stat().st_mode & 0o111
    assert {p.stat().st_mtime for p in (folder / "out").rglob("*")} == {1_000_000_000}


def artifacts(folder: Path, *names: str, reads: str = "") -> None:
    """What cargo leaves and says of device crates, and of one for this machine."""
    below = folder / "t/nvptx64-nvidia-cuda/release/deps"
    below.mkdir(parents=True)
    lines = [{"reason": "build-script-executed"}, {"reason": "build-finished", "success": True}]
    for name in names:
        (below / f"{name}.bc").write_text(f"bitcode of {name}")
        (below / f"{name}.d").write_text(f"x.rmeta: src/lib.rs {reads}\n")
        files = [f"{below}/lib{name}.rlib", f"{below}/lib{name}.rmeta"]
        lines.insert(-1, {"reason": "compiler-artifact", "filenames": files})
    host = {"reason": "compiler-artifact", "filenames": [f"{folder}/t/release/deps/libsyn-1.rmeta"]}
    (folder / "said.json").write_text("".join(f"{json.dumps(line)}\n" for line in [host, *lines]))


def test_the_bitcode_of_device_crates_is_found(folder: Path) -> None:
    artifacts(folder, "libm-1", "kern-2")
    cargo_steps.bitcode(folder, ["said.json", "k", "t", "kernel.bc", "all.txt"], ACTION)
    assert (folder / "kernel.bc").read_text() == "bitcode of kern-2"
    place = "t/nvptx64-nvidia-cuda/release/deps"
    assert (folder / "all.txt").read_text() == f'"{place}/libm-1.bc"\n"{place}/kern-2.bc"\n'


def test_an_exit_code_of_0_is_no_proof(folder: Path) -> None:
    artifacts(folder)
    with pytest.raises(ActionFailed, match="compiled nothing for the GPU"):
        cargo_steps.bitcode(folder, ["said.json", "k", "t", "kernel.bc", "all.txt"], ACTION)
    shutil.rmtree(folder / "t")
    artifacts(folder, "kern-2")
    (folder / "t/nvptx64-nvidia-cuda/release/deps/kern-2.bc").unlink()
    with pytest.raises(ActionFailed, match=r"did not write `t/.*kern-2\.bc`"):
        cargo_steps.bitcode(folder, ["said.json", "k", "t", "kernel.bc", "all.txt"], ACTION)


def test_reads_outside_are_refused_and_those_of_toolchains_are_not(folder: Path) -> None:
    reads = [f"{folder}/oxide-out/x.rs", f"{real_crates(folder)}/m/lib.rs", "../shared/x.rs"]
    artifacts(folder, "kern-2", reads=" ".join(each.replace(" ", "\\ ") for each in reads))
    cargo_steps.bitcode(folder, ["said.json", "k", "t", "kernel.bc", "all.txt"], ACTION)
    for path in ("/etc/hostname", "../../hostname"):
        shutil.rmtree(folder / "t")
        artifacts(folder, "kern-2", reads=path)
        with pytest.raises(ActionFailed, match=r"reads `/.*/hostname`, which lies outside"):
            cargo_steps.bitcode(folder, ["said.json", "k", "t", "kernel.bc", "all.txt"], ACTION)
