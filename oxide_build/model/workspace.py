"""What `oxide.toml` says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from oxide_build.model.archive_source import ArchiveSource
from oxide_build.model.cache_settings import CacheSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigSetting:
    """A named switch (`--config NAME`) that `select` can ask for.

    `archs` replaces the workspace's default archs while the config is on.
    """

    name: str
    description: str = ""
    archs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolchainRequirements:
    """`[toolchain]`: what is asked for, unparsed, and the providers in order of preference.

    `archives` are what the provider `archive` serves. It comes first: who writes an entry means it.
    """

    rust: str = ">=1.95"
    cuda: str = ">=12.8"
    providers: tuple[str, ...] = ("archive", "rustup", "apt", "pypi", "system")
    archives: tuple[ArchiveSource, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """A workspace: its root folder (absolute) and the values of its `oxide.toml`.

    `min_driver` is the deployment floor: the oldest driver that must load what is built. `gpus` are
    products or archs, each of which must be able to run every kernel.
    """

    root: str
    name: str
    archs: tuple[str, ...] = ()
    default_visibility: tuple[str, ...] = ("//visibility:public",)
    rules: tuple[str, ...] = ()
    toolchain: ToolchainRequirements = field(default_factory=ToolchainRequirements)
    min_driver: str | None = None
    gpus: tuple[str, ...] = ()
    cache: CacheSettings = field(default_factory=CacheSettings)
    configs: Mapping[str, ConfigSetting] = field(default_factory=dict)
