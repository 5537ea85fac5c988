"""`oxide.toml`: where a workspace begins and what it says of itself.

Every target may be used from everywhere in the workspace unless `default_visibility` says
otherwise. Kernels are shared more often than they are hidden, and a small workspace should not
have to speak of visibility at all; a large one sets `//visibility:private` once.
"""

from __future__ import annotations

import re
from pathlib import Path

from oxide_build.errors import UsageError
from oxide_build.load.archives import check_used, read_archives
from oxide_build.load.cache_table import read_cache
from oxide_build.load.conditions import CONFIG_NAME, DEFAULT
from oxide_build.load.files import WORKSPACE_FILE, WorkspaceFiles
from oxide_build.load.problems import Problems
from oxide_build.load.spellings import (
    PUBLIC,
    Wrong,
    visibility,
    wrong_arch,
    wrong_mixture,
    wrong_visibility,
)
from oxide_build.load.table import Table
from oxide_build.load.toml_file import parse_toml
from oxide_build.load.wording import suggestion
from oxide_build.model.cache_settings import CacheSettings
from oxide_build.model.label import check_package, shown
from oxide_build.model.workspace import (
    ConfigSetting,
    ToolchainRequirements,
    Workspace,
)

PROVIDERS = ("archive", "rustup", "apt", "pypi", "system")

_WORKSPACE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}\Z")


_TABLES = ("workspace", "toolchain", "deploy", "cache", "config")
_DRIVER = re.compile(r"\d{3}(?:\.\d{1,4}){0,2}\Z", re.ASCII)


def find_workspace(start: Path) -> Path:
    """The nearest folder with an `oxide.toml`, from `start` upward; raises `UsageError`."""
    begin = start.resolve()
    for folder in (begin, *begin.parents):
        if (folder / WORKSPACE_FILE).is_file():
            return folder
    raise UsageError(
        f"`{begin}` is in no workspace: neither it nor a folder above has an `{WORKSPACE_FILE}`",
        hint=f"go to a workspace, or begin one here: an `{WORKSPACE_FILE}` with\n\n"
        '    [workspace]\n    name = "my_kernels"\n    archs = ["sm_90"]',
    )


def load_workspace(root: Path) -> Workspace:
    """Read `oxide.toml` in `root`; raises `DefinitionError` with everything that is wrong."""
    return read_workspace(WorkspaceFiles(root))


def read_workspace(files: WorkspaceFiles) -> Workspace:
    """As `load_workspace`, through a door that is open already."""
    return parse_workspace(str(files.root), files.read(WORKSPACE_FILE))


def parse_workspace(root: str, data: bytes) -> Workspace:
    """Read `data`, the content of an `oxide.toml`; raises `DefinitionError`."""
    file = parse_toml(WORKSPACE_FILE, data)
    problems = Problems()
    top = Table(file, (), file.values, problems)
    for key in file.values:
        if key not in _TABLES:
            hint = suggestion(key, _TABLES, what="tables")
            top.error(key, f"unknown key {shown(key)}", hint=hint)
    config = top.table("config")
    configs = _configs(config) if config is not None else {}
    toolchain = top.table("toolchain")
    requirements = _toolchain(toolchain) if toolchain is not None else ToolchainRequirements()
    deploy = top.table("deploy")
    min_driver = _min_driver(deploy) if deploy is not None else None
    gpus = deploy.checked("gpus", _wrong_gpu) if deploy is not None else None
    cache = top.table("cache")
    settings = read_cache(cache) if cache is not None else CacheSettings()
    table = top.table("workspace")
    if table is None:
        if "workspace" not in file.values:
            hint = 'write `[workspace]` and below it `name = "my_kernels"`'
            top.error(None, "there is no `[workspace]` table", hint=hint)
        problems.raise_any()
        raise AssertionError("a missing table is a problem")
    table.check_keys(("name", "archs", "default_visibility", "rules"))
    shared = table.checked("default_visibility", wrong_visibility)
    if shared is not None and (wrong := wrong_mixture(shared)):
        table.error("default_visibility", f"`default_visibility`: {wrong[0]}", hint=wrong[1])
    archs = table.checked("archs", wrong_arch)
    rules = table.checked("rules", _wrong_rule_file)
    name = _workspace_name(table)
    problems.raise_any()
    return Workspace(
        root=root,
        name=name,
        archs=archs or (),
        default_visibility=tuple(visibility(text, "") for text in shared or (PUBLIC,)),
        rules=rules or (),
        toolchain=requirements,
        min_driver=min_driver,
        gpus=gpus or (),
        cache=settings,
        configs=configs,
    )


def _workspace_name(table: Table) -> str:
    name = table.string("name")
    if "name" not in table.values:
        table.error(None, f"`name` of {table.name} is missing", hint='write `name = "my_kernels"`')
    elif name is not None and not _WORKSPACE_NAME.match(name):
        hint = "a name has up to 100 letters, digits and `_ . -`"
        table.error("name", f"{shown(name)} is not the name of a workspace", hint=hint)
    return name or ""


def _toolchain(table: Table) -> ToolchainRequirements:
    table.check_keys(("rust", "cuda", "providers", "archive"))
    standard = ToolchainRequirements()
    providers = table.checked("providers", _wrong_provider)
    if providers is not None and (not providers or len(set(providers)) < len(providers)):
        what = "lists one twice" if providers else "is empty"
        hint = f"the default is {list(PROVIDERS)}".replace("'", '"')
        table.error("providers", f"`providers` of {table.name} {what}", hint=hint)
    archives = read_archives(table)
    check_used(table, archives, providers or standard.providers)
    return ToolchainRequirements(
        rust=_requirement(table, "rust", standard.rust),
        cuda=_requirement(table, "cuda", standard.cuda),
        providers=providers or standard.providers,
        archives=archives,
    )


def _min_driver(table: Table) -> str | None:
    table.check_keys(("min_driver", "gpus"))
    value = table.string("min_driver")
    if value is not None and not _DRIVER.match(value):
        hint = "write a branch (`535`) or a version (`535.54.03`)"
        what = f"`min_driver` of {table.name} is not a driver version: {shown(value)}"
        table.error("min_driver", what, hint=hint)
    return value


def _requirement(table: Table, key: str, standard: str) -> str:
    value = table.string(key)
    if value is None:
        return standard
    if not value.strip() or len(value) > 200 or not value.isprintable():
        hint = f'the default is `{key} = "{standard}"`'
        table.error(key, f"`{key}` of {table.name} is not a version: {shown(value)}", hint=hint)
    return value


def _configs(table: Table) -> dict[str, ConfigSetting]:
    found: dict[str, ConfigSetting] = {}
    for name, config in table.tables():
        config.check_keys(("description", "archs"))
        if not CONFIG_NAME.match(name) or name == DEFAULT or name.startswith("sm_"):
            config.error(
                None,
                f"{shown(name)} cannot be the name of a config",
                hint="a name has letters, digits, `_` and `-`, begins with a letter, and is "
                "neither `default` nor an architecture",
            )
        found[name] = ConfigSetting(
            name=name,
            description=config.string("description") or "",
            archs=config.checked("archs", wrong_arch) or (),
        )
    return found


def _wrong_provider(text: str) -> Wrong | None:
    if text in PROVIDERS:
        return None
    return f"there is no provider {shown(text)}", suggestion(text, PROVIDERS, what="providers")


def _wrong_gpu(text: str) -> Wrong | None:
    if text.strip() and len(text) <= 100 and text.isprintable():
        return None
    return (
        f"{shown(text)} is no GPU",
        'write its name, as in `gpus = ["H200", "RTX 4090", "sm_90"]`',
    )


def _wrong_rule_file(text: str) -> Wrong | None:
    hint = "write the file's path from the workspace root: `//build/my_rules.bzl`"
    if not text.startswith("//") or not text.endswith(".bzl"):
        return f"{shown(text)} is not a rule file", hint
    try:
        check_package(text[2:], text)
    except UsageError:
        return f"{shown(text)} is not a path inside the workspace", hint
    return None
