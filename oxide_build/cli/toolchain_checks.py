"""What `oxide doctor` looks at in a workspace: its toolchains, and its targets for each arch."""

from __future__ import annotations

from collections.abc import Iterator

from oxide_build.cli.findings import Finding
from oxide_build.cli.session import Session
from oxide_build.device.gpus import native_arch
from oxide_build.errors import DeviceError, OxideError, ToolchainError
from oxide_build.model.toolchain import Toolchain
from oxide_build.resolution.archs import expand_archs


def toolchains(session: Session) -> Iterator[Finding]:
    """The compiler and the assembler that the workspace would use, as they were found here."""
    for kind, wanted in (
        ("rust", session.workspace.toolchain.rust),
        ("cuda", session.workspace.toolchain.cuda),
    ):
        try:
            found = session.toolchains.preferred(kind)
        except ToolchainError as error:
            yield Finding(section=kind, status="missing", text=error.message, fix=error.hint or "")
            continue
        yield Finding(section=kind, status="ok", text=_described(found, wanted))
        yield Finding(section=kind, status="note", text=f"archs: {', '.join(found.archs)}")


def targets(session: Session) -> Iterator[Finding]:
    """For each target and arch: can it be built, assembled and loaded, and why not."""
    schemas = session.rules.schemas
    for label in session.graph.requested:
        target = session.graph.targets[label]
        if not schemas[target.rule].per_arch:
            continue
        fits: list[str] = []
        try:
            spellings = session.request.archs or target.archs
            requests = expand_archs(spellings, session.toolchains.known_archs(), native_arch)
        except OxideError as error:
            yield _problem(f"{label.short}: {error.message}", error)
            continue
        for request in requests:
            try:
                session.toolchains.check(request)
                fits.append(str(request.arch))
            except OxideError as error:
                yield _problem(f"{label.short} for {request.arch}: {error.message}", error)
        if fits:
            yield Finding(section="targets", status="ok", text=f"{label.short}: {', '.join(fits)}")


def _problem(text: str, error: OxideError) -> Finding:
    # Without a GPU `native` has no meaning here; elsewhere the target may be fine.
    status = "note" if isinstance(error, DeviceError) else "missing"
    return Finding(section="targets", status=status, text=text, fix=error.hint or "")


def _described(found: Toolchain, wanted: str) -> str:
    if found.kind == "rust":
        what = f"rustc {found.version}, LLVM {found.facts['llvm']}"
        tools = found.facts["llvm_tools"]
        lender = found.facts.get("llvm_tools_from")
        if lender is not None:
            what += f", tools of LLVM {tools} borrowed from {lender}"
        elif tools != found.facts["llvm"]:
            what += f", tools of LLVM {tools}"
    else:
        what = f"ptxas {found.version}, takes PTX up to {found.facts['max_ptx']} (asked)"
    return f"{what}, for `{wanted}` ({found.provider}: {found.origin})"
