"""What a rustc and the LLVM tools beside it are: asked once, then remembered by file state."""

from __future__ import annotations

import datetime
import os
import re
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from oxide_build.errors import ToolchainError
from oxide_build.provision.asker import Asker, by_number
from oxide_build.provision.file_state import states_of, unchanged
from oxide_build.resolution.versions import channel_of

TARGET = "nvptx64-nvidia-cuda"
_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RustProbe:
    """What rustc says of itself.

    release      "1.96.0", "1.97.0-nightly"
    commit_date  "2026-05-25", or "" for builds that do not know
    llvm         "22.1.2"
    sysroot      absolute
    cpus         what `--print target-cpus` lists for nvptx64
    default_cpu  the one that it calls the default
    edition      of core's source, "" if there is no source
    date         archive date ("2026-04-03") by rustup's manifest, "" without one
    """

    release: str
    commit_date: str
    host: str
    llvm: str
    sysroot: str
    cpus: tuple[str, ...]
    default_cpu: str
    edition: str
    date: str

    @property
    def channel(self) -> str:
        return channel_of(self.release)

    @property
    def archive_date(self) -> datetime.date | None:
        """The date in `nightly-DATE`.

        Without a manifest it is taken from the last commit: a nightly of a date holds what was
        merged up to the day before.
        """
        if self.date:
            return datetime.date.fromisoformat(self.date)
        if self.channel == "stable" or not self.commit_date:
            return None
        return datetime.date.fromisoformat(self.commit_date) + datetime.timedelta(days=1)


def probe_rustc(rustc: Path, libraries: tuple[Path, ...], asker: Asker) -> RustProbe:
    """Ask `rustc`, or recall what it said if neither it nor `libraries` changed since.

    Raises `ToolchainError` when it does not run or is too old to know the nvptx64 target.
    """
    key = f"rustc {rustc} and {len(libraries)} libraries"
    known = asker.notebook.read(key)
    if "probe" in known and unchanged(known["files"]):
        return _from_json(known["probe"])
    now = time.time_ns()
    probe = _ask(rustc, asker)
    library = Path(probe.sysroot, "lib/rustlib/src/rust/library")
    watched = [str(rustc), *map(str, libraries), str(manifest_of(Path(probe.sysroot)))]
    # The folder's names change when rust-src is added or removed.
    watched += [str(library / "core/Cargo.toml"), str(Path(probe.sysroot, "lib/rustlib"))]
    files = {path: state for path, state in states_of(watched, now).items() if os.path.exists(path)}
    asker.notebook.write(key, {"probe": asdict(probe), "files": files})
    return probe


def probe_llvm(tool: Path, asker: Asker) -> str:
    """The LLVM version that `tool` (llc) names, like "22.1.8"; remembered by file state."""
    key = f"llvm {tool}"
    known = asker.notebook.read(key)
    if "version" in known and unchanged(known["files"]):
        return str(known["version"])
    now = time.time_ns()
    said = _run([str(tool), "--version"], asker)
    found = re.search(r"LLVM version (\d+\.\d+\.\d+)", said)
    if found is None:
        raise ToolchainError(
            f"`{tool} --version` names no LLVM version",
            hint="it is not LLVM's tool: name another provider in `oxide.toml`",
        )
    asker.notebook.write(key, {"version": found[1], "files": states_of([str(tool)], now)})
    return found[1]


def manifest_of(sysroot: Path) -> Path:
    """Where rustup keeps the manifest that a toolchain was installed from."""
    return sysroot / "lib/rustlib/multirust-channel-manifest.toml"


def archive_date(sysroot: Path) -> str:
    """The date of rustup's manifest, "" if the toolchain did not come from rustup."""
    try:
        with open(manifest_of(sysroot), encoding="utf-8") as file:
            head = file.read(400)
    except OSError:
        return ""
    found = re.search(r'^date = "(\d{4}-\d{2}-\d{2})"', head, re.MULTILINE)
    return found[1] if found else ""


def _ask(rustc: Path, asker: Asker) -> RustProbe:
    said = _run([str(rustc), "--version", "--verbose"], asker)
    fields = dict(re.findall(r"^([A-Za-z -]+): (.+)$", said, re.MULTILINE))
    missing = [name for name in ("release", "host", "LLVM version") if name not in fields]
    if missing:
        raise ToolchainError(
            f"`{rustc} --version --verbose` does not say its {' and '.join(missing)}",
            hint="it is not rustc, or one without LLVM: name another provider in `oxide.toml`",
        )
    sysroot = _run([str(rustc), "--print", "sysroot"], asker).strip()
    listed = _run([str(rustc), "--print", "target-cpus", "--target", TARGET], asker)
    cpus = re.findall(r"^ +(sm_\d+[af]?)\b(.*)$", listed, re.MULTILINE)
    default = next((cpu for cpu, note in cpus if "default target CPU" in note), "")
    commit_date = fields.get("commit-date", "")
    return RustProbe(
        release=fields["release"],
        commit_date=commit_date if commit_date != "unknown" else "",
        host=fields["host"],
        llvm=fields["LLVM version"],
        sysroot=sysroot,
        cpus=by_number(cpu for cpu, _ in cpus),
        default_cpu=default,
        edition=_core_edition(Path(sysroot)),
        date=archive_date(Path(sysroot)),
    )


def _core_edition(sysroot: Path) -> str:
    path = sysroot / "lib/rustlib/src/rust/library/core/Cargo.toml"
    try:
        found = re.search(r'^edition = "(\d{4})"', path.read_text("utf-8"), re.MULTILINE)
    except (OSError, ValueError):
        return ""
    return found[1] if found else ""


def _run(argv: list[str], asker: Asker) -> str:
    # RUSTC_BOOTSTRAP would make a stable compiler answer as a nightly; a rustup proxy must
    # neither obey a toolchain override nor download something.
    env = {**asker.environ, "RUSTUP_AUTO_INSTALL": "0"}
    for name in ("RUSTC_BOOTSTRAP", "RUSTUP_TOOLCHAIN"):
        env.pop(name, None)
    done = asker.processes.run(argv, cwd=Path("/"), env=env, timeout_s=_TIMEOUT_S)
    if not done.ok:
        reason = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise ToolchainError(
            f"`{' '.join(argv)}` failed with status {done.returncode}"
            + (f": {reason[0]}" if reason else ""),
            hint="the installation does not run on this machine: install it again, or name "
            "another provider in `oxide.toml`",
        )
    return done.stdout.decode("utf-8", "replace")


def _from_json(data: Mapping[str, Any]) -> RustProbe:
    return RustProbe(**{**data, "cpus": tuple(data["cpus"])})
