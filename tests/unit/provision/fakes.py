"""Installations made of shell scripts, and a home to run them in."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

from oxide_build.content import content_root
from oxide_build.host.process import Completed, ProcessGroup
from oxide_build.provision.asker import Asker
from oxide_build.provision.file_state import Notebook
from oxide_build.provision.tool_store import ToolStore
from oxide_build.resolution.facts import Facts

HOST = "x86_64-unknown-linux-gnu"
FACTS = Facts.from_toml(
    {path.name: path.read_bytes() for path in content_root("toolchains").glob("*.toml")}
)

RUSTC = """#!/bin/sh
root=$(cd "$(dirname "$0")/.." && pwd)
[ -z "$RUSTC_BOOTSTRAP" ] || exit 9
case "$*" in
  "--version --verbose") printf 'rustc {release}\\nbinary: rustc\\ncommit-date: {commit_date}\\n'
    printf 'host: x86_64-unknown-linux-gnu\\nrelease: {release}\\nLLVM version: {llvm}\\n' ;;
  "--print sysroot") echo "$root" ;;
  "--print target-cpus"*) printf 'Available CPUs for this target:\\n    sm_100a\\n'
    printf '    sm_70  - This is the default target CPU for the current build target\\n'
    printf '    sm_90\\n' ;;
  *) exit 1 ;;
esac
"""
SOURCES = {
    "core/Cargo.toml": '[package]\nedition = "2024"\n',
    **{
        name: f"// {name}\n"
        for name in (
            "core/src/lib.rs",
            "core/src/num/mod.rs",
            "compiler-builtins/compiler-builtins/src/lib.rs",
            "compiler-builtins/libm/src/math/mod.rs",
            "stdarch/crates/core_arch/src/mod.rs",
            "portable-simd/crates/core_simd/src/mod.rs",
            "alloc/src/lib.rs",
        )
    },
}
LLVM_NAMES = ("llc", "opt", "llvm-link", "llvm-dis", "llvm-as")
LLVM_TOOL = "#!/bin/sh\necho 'LLVM (http://llvm.org/):'\necho '  LLVM version {llvm}'\n"
PTXAS = """#!/bin/sh
case "$1" in
  --version) echo 'Cuda compilation tools, release {minor}, V{version}' ;;
  --help) printf -- "--gpu-name <gpu name>  (-arch)\\n  Allowed values for this option:  "
    printf "'compute_90','lto_90','sm_100a',\\n 'sm_90','sm_90a'.\\n"
    printf "  Default value:  'sm_75'.\\n" ;;
  *) echo "ptxas x, line 1; fatal   : Unsupported .version 99.0; current version is '{ptx}'" >&2
    exit {status} ;;
esac
"""


class CountingProcesses(ProcessGroup):
    """Remembers what was run."""

    def __init__(self) -> None:
        super().__init__()
        self.ran: list[tuple[str, ...]] = []

    def run(self, argv, **rest) -> Completed:  # type: ignore[no-untyped-def]
        self.ran.append(tuple(argv))
        return super().run(argv, **rest)


@dataclass
class RecordingReporter:
    """Remembers what it was told."""

    said: list[tuple[object, ...]] = field(default_factory=list)

    def begin(self, what: str) -> None:
        self.said.append(("begin", what))

    def progress(self, what: str, done_bytes: int, total_bytes: int | None) -> None:
        self.said.append(("progress", what, done_bytes, total_bytes))

    def done(self, what: str, size_bytes: int, sha256: str | None) -> None:
        self.said.append(("done", what, size_bytes, sha256))


@dataclass
class Home:
    """A machine: HOME, a PATH with a few real programs, a tool store."""

    root: Path
    processes: CountingProcesses = field(default_factory=CountingProcesses)
    environ: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.bin.mkdir(parents=True)
        self.environ.update(HOME=str(self.root / "home"), PATH=f"{self.bin}:/usr/bin:/bin")

    @property
    def bin(self) -> Path:
        return self.root / "bin"

    @property
    def store(self) -> ToolStore:
        return ToolStore(self.root / "store")

    @property
    def asker(self) -> Asker:
        return Asker(
            environ=self.environ,
            processes=self.processes,
            notebook=Notebook(self.store.state),
        )

    def isolate(self) -> None:
        """Leave only the programs in `bin` on PATH, and the shell's own few."""
        for name in ("sh", "dirname", "cat", "mkdir", "cp", "env", "sed", "touch", "ls"):
            real = next(p for d in ("/usr/bin", "/bin") if (p := Path(d, name)).exists())
            (self.bin / name).symlink_to(real)
        self.environ["PATH"] = str(self.bin)


def script(path: Path, text: str) -> Path:
    """An executable at `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def make_sources(library: Path) -> None:
    for name, text in SOURCES.items():
        (library / name).parent.mkdir(parents=True, exist_ok=True)
        (library / name).write_text(text)


def make_rust(
    root: Path,
    release: str = "1.96.0",
    *,
    llvm: str = "22.1.2",
    date: str = "2026-05-28",
    commit_date: str = "2026-05-25",
    parts: tuple[str, ...] = ("rust-src", "llvm-tools"),
    published: tuple[str, ...] = ("llvm-tools",),
) -> Path:
    """A toolchain as rustup lays it out; without `published`, llvm-tools cannot be had."""
    script(
        root / "bin/rustc",
        RUSTC.format(release=release, commit_date=commit_date, llvm=llvm),
    )
    (root / "lib").mkdir()
    (root / "lib/librustc_driver-1.so").write_bytes(b"driver")
    (root / "lib/libLLVM.so.22").write_bytes(b"llvm")
    rustlib = root / "lib/rustlib"
    rustlib.mkdir()
    (rustlib / "multirust-channel-manifest.toml").write_text(
        f'manifest-version = "2"\ndate = "{date}"\n[pkg.rust-src.target."*"]\n'
        'xz_url = "https://example.org/dist/rust-src.tar.xz"\nxz_hash = "abc123"\n'
        f'[pkg.rustc.target.{HOST}]\nurl = "https://example.org/dist/rustc.tar.gz"\n'
        f'hash = "def456"\n[pkg.llvm-tools-preview.target.{HOST}]\n'
        f"available = {str('llvm-tools' in published).lower()}\n"
    )
    (rustlib / "multirust-config.toml").write_text(
        '[[components]]\npkg = "rust-src"\ntarget = "*"\n'
        f'[[components]]\npkg = "rustc"\ntarget = "{HOST}"\n'
    )
    if "rust-src" in parts:
        make_sources(rustlib / "src/rust/library")
    if "llvm-tools" in parts:
        make_llvm(rustlib / HOST / "bin", llvm)
    settle(root)
    return root


def make_llvm(folder: Path, llvm: str = "22.1.2") -> None:
    for tool in LLVM_NAMES:
        script(folder / tool, LLVM_TOOL.format(llvm=llvm))


def make_ptxas(path: Path, version: str = "13.0.88", ptx: str = "9.0", status: int = 255) -> Path:
    minor = version.rpartition(".")[0]
    script(path, PTXAS.format(version=version, minor=minor, ptx=ptx, status=status))
    settle(path.parent.parent)
    return path


def settle(root: Path) -> None:
    """Make the folders old; files cannot be, so tests wait a tick before they probe."""
    for folder, _, _ in os.walk(root):
        os.utime(folder, (1_700_000_000.5, 1_700_000_000.5))
