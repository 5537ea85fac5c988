"""Steps around one run of cargo: what it finds when it starts, and what is taken from it.

Everything of cargo's own lies in `oxide-out/.cargo` of the action's folder: its home, so that no
configuration of the user's is read, and the program that it starts in place of rustc.
"""

from __future__ import annotations

import json
import os
import shutil
import tarfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from oxide_build.errors import ActionFailed, InfrastructureError
from oxide_build.execution.dep_info import files_read
from oxide_build.model.action import Action
from oxide_build.model.toolchain import CRATES_CONFIG, CRATES_PLACEHOLDER

CARGO_FOLDER = "oxide-out/.cargo"
TARGET = "nvptx64-nvidia-cuda"

_NO_CRATES = "-"
# All files of a packed folder get it (unix s): older than any source, so that cargo takes the
# workspace's own packages for changed, and no older than each other, so that it takes nothing else.
_TIME_S = 1_000_000_000

# Started in `/`: cargo reads configuration in every folder above the one that it starts in.
_CARGO = """\
#!/bin/sh
root={root}
CARGO_HOME=$root/{folder}/home
RUSTC=$root/{rustc}
RUSTC_WRAPPER=$root/{folder}/rustc
export CARGO_HOME RUSTC RUSTC_WRAPPER
if [ -n "{libraries}" ]; then
    LD_LIBRARY_PATH={libraries}
    export LD_LIBRARY_PATH
fi
cd /
exec "$root/{cargo}" "$@"
"""

# Device crates get the sysroot of the tool. What rustc says of the target's features is kept from
# cargo and from build scripts, since what they decide must hold for all archs. Crates of the
# workspace may use what stable compilers have not released; those from outside look for nightlies
# by themselves, and must not believe that this is one.
_RUSTC = """\
#!/bin/sh
root={root}
crates={crates}
rustc=$1
shift
case " $* " in
*" --target {target} "*)
    set -- "$@" --sysroot "$root/{sysroot}"
    case ${{CARGO_MANIFEST_DIR:-}} in
    "$crates"/*) ;;
    *)
        RUSTC_BOOTSTRAP=1
        export RUSTC_BOOTSTRAP
        ;;
    esac
    ;;
esac
# cargo names sources from the folder of the manifest; people look from that of the workspace.
for word; do
    case $word in
    /*) ;;
    *.rs) set -- "$@" --remap-path-prefix "${{word%%/*}}=${{PWD#"$root/"}}/${{word%%/*}}" ;;
    esac
done
set -- "$@" --remap-path-prefix "$root=." --remap-path-prefix "$crates=./crates"
case " $* " in
*" --print=cfg "*)
    said=$("$rustc" "$@") || exit
    printf '%s\\n' "$said" | grep -v '^target_feature='
    exit
    ;;
esac
exec "$rustc" "$@"
"""


def prepare(folder: Path, args: Sequence[str], action: Action) -> str:
    """CRATES SYSROOT CARGO RUSTC LIBRARIES [FILES]: make cargo's folder, and in it `cargo` and
    `rustc` to start in place of the real ones.

    CRATES is where the crates from outside lie, `-` for none, LIBRARIES what LD_LIBRARY_PATH must
    have. FILES are manifests and build scripts of packages whose sources are not there: empty ones
    take their place, so that all that these packages need can be compiled without them.
    """
    mount, sysroot, cargo, rustc, libraries, *files = args
    place = folder / CARGO_FOLDER
    (place / "home").mkdir(parents=True)
    crates, config = f"{folder}/{mount}", ""
    if mount != _NO_CRATES:
        # Not through the action's folder: cargo compiles a crate again that moved.
        crates = os.path.realpath(crates)
        text = Path(crates, CRATES_CONFIG).read_text(encoding="utf-8")
        config = text.replace(CRATES_PLACEHOLDER, crates)
    (place / "config.toml").write_text(config, encoding="utf-8")
    root = _quoted(str(folder))
    search = ":".join(f"$root/{path}" for path in libraries.split(":") if path)
    _program(
        place / "cargo",
        _CARGO.format(root=root, folder=CARGO_FOLDER, cargo=cargo, rustc=rustc, libraries=search),
    )
    _program(
        place / "rustc",
        _RUSTC.format(root=root, crates=_quoted(crates), target=TARGET, sysroot=sysroot),
    )
    for file in files:
        if file.endswith(".toml"):
            _stand_in(folder / file)
        else:
            (folder / file).write_text("fn main() {}\n")
    return ""


def pack(folder: Path, args: Sequence[str], action: Action) -> str:
    """SOURCE TARGET: one file of a folder, the same whenever the files in it are."""
    source, target = args
    with tarfile.open(folder / target, "w", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted((folder / source).rglob("*")):
            # What it remembers of rustc is only ever used to save asking.
            if path.name == ".rustc_info.json" or path.is_symlink():
                continue
            info = archive.gettarinfo(path, str(path.relative_to(folder / source)))
            info.mtime, info.uid, info.gid, info.uname, info.gname = _TIME_S, 0, 0, "", ""
            if info.isreg():
                with open(path, "rb") as file:
                    archive.addfile(info, file)
            else:
                archive.addfile(info)
    return ""


def unpack(folder: Path, args: Sequence[str], action: Action) -> str:
    """SOURCE TARGET: what `pack` packed."""
    source, target = args
    with tarfile.open(folder / source) as archive:
        # Another action of this tool made it; the filter costs nothing and trusts nothing.
        archive.extractall(folder / target, filter="fully_trusted")  # noqa: S202
    return ""


def bitcode(folder: Path, args: Sequence[str], action: Action) -> str:
    """SAID WORKSPACE TARGET_FOLDER KERNEL LIST: find the bitcode of the crates that cargo tells of
    in SAID; WORKSPACE is the folder that it starts rustc in for crates that lie there.

    That of the package itself, the last one, becomes KERNEL, and LIST names the files of all, as
    LLVM tools take it. Raises `ActionFailed` where a crate read a file that nobody declared.
    """
    said, workspace, target, kernel, listed = args
    below = folder / target / TARGET / "release" / "deps"
    names = [
        Path(file).stem.removeprefix("lib")
        for message in _artifacts(folder / said)
        for file in message["filenames"]
        if file.endswith(".rmeta") and Path(file).parent == below
    ]
    if not names:
        raise ActionFailed(f"cargo compiled nothing for the GPU in `{action.label}`")
    infos = [below / f"{name}.d" for name in names]
    _check_reads(folder, os.path.normpath(folder / workspace), infos, action)
    files = [f"{target}/{TARGET}/release/deps/{name}.bc" for name in dict.fromkeys(names)]
    missing = [file for file in files if not (folder / file).is_file()]
    if missing:
        raise ActionFailed(f"cargo ended without an error, but did not write `{missing[0]}`")
    shutil.copyfile(folder / files[-1], folder / kernel)
    (folder / listed).write_text("".join(f'"{file}"\n' for file in files))
    return ""


def _artifacts(said: Path) -> Iterator[Mapping[str, Any]]:
    for line in said.read_text(encoding="utf-8").splitlines():
        message = json.loads(line)
        if message.get("reason") == "compiler-artifact":
            yield message


def _check_reads(folder: Path, start: str, files: Sequence[Path], action: Action) -> None:
    """Dep-info may name what lies in the action's folder, which is declared, or in a toolchain."""
    outside: dict[str, None] = {}
    allowed = [f"{folder}/"]
    allowed += [f"{os.path.realpath(mount)}/" for mount in (folder / "toolchain").iterdir()]
    for file in files:
        for path in files_read(file.read_text(encoding="utf-8")):
            plain = os.path.normpath(f"{start}/{path}" if path[:1] != "/" else path)
            if not plain.startswith(tuple(allowed)):
                outside[plain] = None
    if outside:
        raise ActionFailed(
            f"`{action.label}` reads {', '.join(f'`{path}`' for path in outside)}, which lies "
            "outside of the workspace",
            hint="copy the file into the workspace and add it to `srcs`",
        )


def _stand_in(manifest: Path) -> None:
    """Empty sources in the place of those that a package's manifest names."""
    try:
        data = tomllib.loads(manifest.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError):
        # cargo says it better.
        return
    package, library = data.get("package"), data.get("lib", {})
    if not isinstance(package, dict):
        return
    names = {str(library.get("path", "src/lib.rs")): "#![no_std]\n"}
    if isinstance(package.get("build"), str):
        names[package["build"]] = "fn main() {}\n"
    for name, text in names.items():
        file = manifest.parent / name
        if not file.resolve().is_relative_to(manifest.parent.resolve()):
            raise ActionFailed(f"`{manifest.name}` names the source `{name}` outside its folder")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def _program(file: Path, text: str) -> None:
    file.write_text(text)
    file.chmod(0o755)


def _quoted(text: str) -> str:
    """For `/bin/sh`."""
    if "\n" in text:
        raise InfrastructureError("the cache folder's name has a line break")
    return "'" + text.replace("'", "'\\''") + "'"
