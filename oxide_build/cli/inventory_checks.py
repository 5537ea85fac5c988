"""What `oxide doctor` says of every compiler and toolkit on the machine, used or not."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from oxide_build.cli.findings import Finding
from oxide_build.host.process import ProcessGroup
from oxide_build.provision.asker import Asker
from oxide_build.provision.cuda_inventory import InstalledCuda, installed_toolkits, site_folders
from oxide_build.provision.file_state import Notebook
from oxide_build.provision.rust_inventory import InstalledRust, installed_rusts
from oxide_build.provision.tool_store import ToolStore
from oxide_build.provision.wheel_conflicts import conflicts, nvidia_wheels
from oxide_build.resolution.facts import Facts

# Where distributions and containers put libcuda, besides LD_LIBRARY_PATH.
_LIBRARY_FOLDERS = (
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/cuda/compat",
)
_KERNEL_DRIVER = Path("/proc/driver/nvidia/version")


def driver_versions(environ: Mapping[str, str]) -> Iterator[Finding]:
    """Whether the two halves of the driver are of one version."""
    named = [each for each in environ.get("LD_LIBRARY_PATH", "").split(os.pathsep) if each]
    yield from kernel_driver(library_version([*named, *_LIBRARY_FOLDERS]))


def inventory(store: Path, facts: Facts) -> Iterator[Finding]:
    """Compilers, toolkits, wheels that do not go together. Nothing of it is required."""
    tools = ToolStore(store)
    asker = Asker(environ=os.environ, processes=ProcessGroup(), notebook=Notebook(tools.state))
    rusts = list(installed_rusts(tools, asker, facts))
    yield from (rust(each) for each in rusts)
    if not rusts:
        yield Finding(section="installed rustc", status="note", text="none")
    kits = list(installed_toolkits(tools, asker))
    yield from (toolkit(each, facts) for each in kits)
    if not kits:
        yield Finding(section="installed CUDA", status="note", text="none")
    yield from environment(os.environ, kits)
    for folder in site_folders(os.environ):
        for text, fix in conflicts(nvidia_wheels(folder)):
            yield Finding(
                section="installed CUDA", status="note", text=f"{folder}: {text}", fix=fix
            )


def rust(found: InstalledRust) -> Finding:
    """One rustc: what it is, what it lacks, and the command that adds it."""
    section = "installed rustc"
    if found.failure:
        return Finding(section=section, status="note", text=f"{found.name}: {found.failure}")
    parts = [f"rustc {found.version}" if found.version else "no rustc"]
    parts += [f"LLVM {found.llvm}"] if found.llvm else []
    if found.tools_llvm and found.tools_llvm != found.llvm:
        parts.append(f"tools of LLVM {found.tools_llvm}")
    parts += ["rustc-dev for codegen backends"] if found.backends else []
    parts += ["prebuilt nvptx64 core"] if found.std else []
    text = f"{found.name} ({found.owner}): {', '.join(parts)}"
    if found.lacks:
        missing = f"{text}; lacks {', '.join(found.lacks)}"
        return Finding(section=section, status="note", text=missing, fix=_adding(found))
    if found.tools_too_old:
        return Finding(
            section=section,
            status="note",
            text=f"{text}; its LLVM tools do not read what its rustc writes",
            fix="install the LLVM tools of the same major",
        )
    return Finding(section=section, status="ok", text=text)


def _adding(found: InstalledRust) -> str:
    if found.owner != "rustup":
        return "" if found.owner == "store" else "a rustup toolchain has all parts"
    components = [part for part in found.lacks if part in ("rust-src", "llvm-tools")]
    if not components:
        return "choose a newer toolchain"
    return f"rustup component add {' '.join(components)} --toolchain {found.name}"


def toolkit(found: InstalledCuda, facts: Facts) -> Finding:
    """One toolkit, with the ceiling that its ptxas names itself."""
    section = "installed CUDA"
    where = f"{found.root} ({', '.join(found.named)})"
    if found.probe is None:
        what = found.failure or "no ptxas"
        lacks = ", ".join(part for part in found.lacks if part != "ptxas")
        more = f"; lacks {lacks}" if lacks and not found.failure else ""
        return Finding(section=section, status="note", text=f"{where}: {what}{more}")
    probe = found.probe
    text = (
        f"ptxas {probe.version}: PTX up to {probe.max_ptx} (asked), {probe.archs[0]} to "
        f"{probe.archs[-1]}, {where}"
    )
    if found.lacks:
        text += f"; without {', '.join(found.lacks)}"
    known = facts.cuda.toolkit(probe.version)
    if known is not None and known.max_ptx != probe.max_ptx:
        return Finding(
            section=section,
            status="note",
            text=f"{text}; the facts say {known.max_ptx}",
            fix="`oxide toolchain facts --check` shows what else they have wrong",
        )
    return Finding(section=section, status="ok", text=text)


def environment(environ: Mapping[str, str], kits: Sequence[InstalledCuda]) -> Iterator[Finding]:
    """Variables that lead to another toolkit than PATH does, or nowhere."""
    first = next((kit for kit in kits if "PATH" in kit.named), None)
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        named = environ.get(variable)
        if not named:
            continue
        own = next((kit for kit in kits if variable in kit.named), None)
        if not os.path.isdir(named):
            what, fix = f"{variable} is `{named}`, which is no folder", f"unset {variable}"
        elif own is not None and own.probe is None:
            what, fix = f"{variable} is `{named}`, which has no ptxas that runs", ""
        elif first is not None and own is not None and own.root != first.root:
            what = f"{variable} is `{named}`, but PATH leads to `{first.root}`"
            fix = "programs that ask one get another toolkit than those that ask the other"
        else:
            continue
        yield Finding(section="installed CUDA", status="note", text=what, fix=fix)


def library_version(folders: Sequence[str]) -> str:
    """The version in the name of the first `libcuda.so.1` in `folders`; "" where there is none."""
    for folder in folders:
        path = os.path.join(folder, "libcuda.so.1")
        found = re.search(r"libcuda\.so\.(\d+\.\d+(?:\.\d+)?)$", os.path.realpath(path))
        if found is not None and os.path.exists(path):
            return found[1]
    return ""


def kernel_driver(version: str, file: Path = _KERNEL_DRIVER) -> Iterator[Finding]:
    """Whether the kernel's driver is of another version than libcuda (`version`, "" unknown)."""
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    found = re.search(r"Kernel Module(?: for \S+)?\s+(\d+\.\d+(?:\.\d+)?)", text)
    if found is None or not version or found[1] == version:
        return
    yield Finding(
        section="driver",
        status="note",
        text=f"the kernel has driver {found[1]}, and libcuda is of {version} (error 803)",
        fix="restart after an update of the driver, or let the container use its host's libcuda",
    )
