"""The providers by name, and getting a toolchain from the first that has or can get one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from oxide_build.errors import DefinitionError, InfrastructureError, ToolchainError
from oxide_build.host.process import ProcessGroup
from oxide_build.model.archive_source import ArchiveSource
from oxide_build.model.label import shown
from oxide_build.model.toolchain import Toolchain
from oxide_build.provision.apt import AptProvider
from oxide_build.provision.archive import ArchiveProvider
from oxide_build.provision.asker import Asker
from oxide_build.provision.file_state import Notebook
from oxide_build.provision.provider import Found, Missing, Provider, Refused
from oxide_build.provision.pypi import PypiProvider
from oxide_build.provision.reporter import FetchReporter
from oxide_build.provision.rustup import RustupProvider
from oxide_build.provision.system import SystemProvider
from oxide_build.provision.tool_store import ToolStore
from oxide_build.resolution.facts import Facts
from oxide_build.resolution.versions import Spec

PROVIDER_NAMES = ("archive", "rustup", "apt", "pypi", "system")


def standard_providers(
    names: Sequence[str],
    *,
    store_root: Path,
    environ: Mapping[str, str],
    processes: ProcessGroup,
    facts: Facts,
    archives: Sequence[ArchiveSource] = (),
    host: str = "",
) -> tuple[Provider, ...]:
    """The providers `names`, in that order. Raises `DefinitionError` for a name there is not.

    `archives` are what `archive` serves; `host` ("x86_64-linux") says which of them are for this
    machine, "" that only those are which name none.
    """
    store = ToolStore(store_root)
    asker = Asker(environ=environ, processes=processes, notebook=Notebook(store.state))
    known: dict[str, Provider] = {
        "archive": ArchiveProvider(store, asker, facts, tuple(archives), host),
        "rustup": RustupProvider(store, asker, facts.rust),
        "apt": AptProvider(store, asker, facts.rust),
        "pypi": PypiProvider(store, asker, facts.cuda),
        "system": SystemProvider(asker, facts),
    }
    for name in names:
        if name not in known:
            raise DefinitionError(
                f"{shown(name)} is no provider of toolchains",
                hint=f"there are {', '.join(f'`{other}`' for other in PROVIDER_NAMES)}",
            )
    return tuple(known[name] for name in dict.fromkeys(names))


def provide(
    kind: str,
    spec: Spec,
    providers: Sequence[Provider],
    *,
    offline: bool,
    reporter: FetchReporter,
) -> Toolchain:
    """A toolchain of `kind` that `spec` matches, from the first provider that can give one.

    The order of `providers` is the preference: each is asked what is here and then, unless
    `offline`, to fetch, before the next is asked. Warm, no process is started. Raises
    `ToolchainError` that lists what each provider said and the command that gets it, and `Refused`
    at once where one got something else than what was asked for.
    """
    if spec.kind != kind:
        raise ValueError(f"{spec!r} is no requirement of {kind}")
    said: list[str] = []
    ways: list[str] = []
    for provider in providers:
        if kind not in provider.kinds:
            continue
        found = provider.find(spec)
        if isinstance(found, Found):
            return found.toolchain
        reason = found.reason
        if found.can_fetch and not offline:
            try:
                return provider.fetch(spec, reporter)
            except Refused:
                raise
            except (ToolchainError, InfrastructureError) as error:
                reason = error.message
                ways += [error.hint] if error.hint else []
                reporter.failed(f"{kind} {spec} ({provider.name})", reason)
        elif found.command is not None:
            ways.append(f"`{found.command}`")
        said.append(f"  {provider.name}: {reason}")
    raise _none(kind, spec, said, ways, offline=offline)


def _none(
    kind: str, spec: Spec, said: list[str], ways: list[str], *, offline: bool
) -> ToolchainError:
    what = {"rust": "rustc with rust-src and LLVM's tools", "cuda": "ptxas"}.get(kind, kind)
    if not said:
        return ToolchainError(
            f"no provider in `oxide.toml` serves {kind} toolchains",
            hint=f"`providers` of `[toolchain]` knows {', '.join(PROVIDER_NAMES)}; `archive` needs "
            f'a `[[toolchain.archive]]` with `kind = "{kind}"`',
        )
    hint = "\n".join(dict.fromkeys(ways))
    if offline:
        first = "run once without `--offline`"
        hint = f"{first}, or get it by hand:\n{hint}" if hint else first
    return ToolchainError(
        f"no toolchain for `{kind} {spec}` ({what})"
        + (" is on this machine, and `--offline` forbids fetching:" if offline else ":")
        + "\n"
        + "\n".join(said),
        hint=hint or "add another provider to `providers` of `[toolchain]` in `oxide.toml`",
    )


__all__ = [
    "PROVIDER_NAMES",
    "Found",
    "Missing",
    "Provider",
    "provide",
    "standard_providers",
]
