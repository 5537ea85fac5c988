"""The `system` provider: what is installed in the usual way. It fetches nothing."""

from __future__ import annotations

import glob
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from oxide_build.errors import ToolchainError
from oxide_build.model.toolchain import Toolchain
from oxide_build.provision.asker import Asker
from oxide_build.provision.cuda_candidate import CudaCandidates, CudaPlace
from oxide_build.provision.provider import Found, Missing
from oxide_build.provision.pypi import site_ptxas_roots
from oxide_build.provision.reporter import FetchReporter
from oxide_build.provision.rust_candidate import Candidates
from oxide_build.provision.rust_probe import probe_rustc
from oxide_build.provision.rust_toolchain import Place, RustLayout
from oxide_build.provision.trees import Part
from oxide_build.resolution.facts import Facts
from oxide_build.resolution.versions import CudaSpec, RustSpec, Spec, numbers


@dataclass(frozen=True, slots=True)
class SystemProvider:
    """rustc on PATH with LLVM's tools of the same major; ptxas on PATH and in the usual folders.

    `root` is the root of the file system, elsewhere in tests.
    """

    asker: Asker
    facts: Facts
    root: Path = Path("/")

    name: ClassVar[str] = "system"
    kinds: ClassVar[tuple[str, ...]] = (RustSpec.kind, CudaSpec.kind)

    def find(self, spec: Spec) -> Found | Missing:
        """Look on PATH, in CUDA_HOME and CUDA_PATH, in /usr/local and /usr/lib."""
        if isinstance(spec, RustSpec):
            return self._find_rust(spec)
        places = tuple(CudaPlace(root, f"`{root}`") for root in self._toolkits())
        found = CudaCandidates(self.name, places, self.facts.cuda, self.asker).find(spec)
        if isinstance(found, Found):
            return found
        if not places:
            found = f"no `ptxas` on PATH, in CUDA_HOME or in {self.root / 'usr/local/cuda*'}"
        return Missing(found)

    def fetch(self, spec: Spec, reporter: FetchReporter) -> Toolchain:
        raise ToolchainError("the `system` provider only finds what is installed")

    def rust(self) -> Place | str:
        """The rustc on PATH that is not rustup's, or why there is none."""
        rustc = self._rustc()
        if rustc is None:
            return "no `rustc` on PATH other than rustup's"
        try:
            return Place(self._layout(rustc), f"`{rustc}`")
        except ToolchainError as error:
            return error.message

    def _find_rust(self, spec: RustSpec) -> Found | Missing:
        place = self.rust()
        if isinstance(place, str):
            return Missing(place)
        found = Candidates(self.name, (place,), self.facts.rust, self.asker).find(spec)
        return found if isinstance(found, Found) else Missing(found)

    def _path(self) -> str:
        return self.asker.environ.get("PATH", os.defpath)

    def _rustc(self) -> Path | None:
        """The first rustc on PATH that is one and not rustup's proxy, behind its links."""
        for folder in self._path().split(os.pathsep):
            found = shutil.which("rustc", path=folder)
            if found and os.path.basename(os.path.realpath(found)) != "rustup":
                proxy = os.path.exists(os.path.join(folder, "rustup"))
                if not proxy:
                    return Path(os.path.realpath(found))
        return None

    def _layout(self, rustc: Path) -> RustLayout:
        """rustc's sysroot as root; LLVM in it, or in a root of its own."""
        probe = probe_rustc(rustc, (), self.asker)
        sysroot = Path(os.path.realpath(probe.sysroot))
        if not rustc.is_relative_to(sysroot):
            raise ToolchainError(f"`{rustc}` is a wrapper: its sysroot `{sysroot}` is elsewhere")
        folders = [
            "lib",
            *(f"lib/{path.name}" for path in sorted(sysroot.glob("lib/*-linux-gnu*"))),
        ]
        patterns = ("librustc_driver*.so", "libLLVM*", "libstd-*.so")
        own = Path(f"lib/rustlib/{probe.host}/bin")
        if (sysroot / own / "llc").is_file():
            llvm_bin = sysroot / own
        else:
            llvm_bin = self._llvm_bin(numbers(probe.llvm)[0])
        llvm_root, libs = _llvm_root(llvm_bin, sysroot)
        return RustLayout(
            root=sysroot,
            rustc=str(rustc.relative_to(sysroot)),
            library="lib/rustlib/src/rust/library",
            rustc_libs=tuple(Part(folder, name) for folder in folders for name in patterns),
            llvm_root=llvm_root,
            llvm_bin=str(llvm_bin.relative_to(llvm_root)),
            llvm_libs=libs,
        )

    def _llvm_bin(self, major: int) -> Path:
        """LLVM's own folder of that major, or the one on PATH, which is checked later."""
        usual = self.root / f"usr/lib/llvm-{major}/bin"
        if (usual / "llc").is_file():
            return usual
        for name in (f"llc-{major}", "llc"):
            found = shutil.which(name, path=self._path())
            if found is not None:
                return Path(os.path.realpath(found)).parent
        return usual

    def _toolkits(self) -> tuple[Path, ...]:
        """Roots with a `bin/ptxas`, each once."""
        environ = self.asker.environ
        on_path = shutil.which("ptxas", path=self._path())
        named = [environ.get("CUDA_HOME"), environ.get("CUDA_PATH")]
        usual = glob.glob(str(self.root / "usr/local/cuda*"))
        usual.sort(key=lambda path: [int(n) for n in re.findall(r"\d+", path)], reverse=True)
        roots = [Path(on_path).resolve().parent.parent] if on_path else []
        roots += [Path(name) for name in named if name]
        roots += [*map(Path, usual), *site_ptxas_roots()]
        found = dict.fromkeys(root.resolve() for root in roots)
        return tuple(root for root in found if (root / "bin/ptxas").is_file())


def _llvm_root(llvm_bin: Path, sysroot: Path) -> tuple[Path, tuple[Part, ...]]:
    """The root to mount for LLVM's tools, and the libraries in it: `sysroot` if they lie there.

    Debian's tools are in /usr/lib/llvm-NN/bin, their library in /usr/lib/x86_64-linux-gnu.
    """
    if llvm_bin.is_relative_to(sysroot):
        root = sysroot
    elif llvm_bin.parent.parent.name == "lib":
        root = llvm_bin.parent.parent.parent
    else:
        return llvm_bin.parent, (Part("lib", "libLLVM*"),)
    folders = [llvm_bin.parent / "lib", root / "lib", *sorted(root.glob("lib/*-linux-gnu*"))]
    return root, tuple(Part(str(folder.relative_to(root)), "libLLVM*") for folder in folders)
