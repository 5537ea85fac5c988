"""Where rule files are read: those that come with the tool, and the workspace's own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from oxide_build.analysis.rule_set import RuleSet
from oxide_build.analysis.starlark_rules import BUILTIN
from oxide_build.content import content_root
from oxide_build.errors import DefinitionError, OxideError, UsageError
from oxide_build.load.files import WorkspaceFiles
from oxide_build.load.workspace_file import find_workspace, load_workspace

_LIMIT_BYTES = 1 << 20


def builtin_rule_files() -> list[str]:
    """Names of the rule files that come with the tool, those that export rules or toolchains."""
    return ["core.bzl", "rust_toolchain.bzl", "rust.bzl", "cargo.bzl"]


def load_rules(start: Path) -> RuleSet:
    """The rules of the workspace around `start`; the built-in ones where there is none."""
    try:
        root = find_workspace(start)
    except UsageError:
        return RuleSet.load(builtin_rule_files(), (), rule_reader(WorkspaceFiles(start)))
    own = load_workspace(root).rules
    return RuleSet.load(builtin_rule_files(), own, rule_reader(WorkspaceFiles(root)))


def rule_reader(files: WorkspaceFiles) -> Callable[[str], str]:
    """Reads a rule file by its module id: `@oxide//core.bzl` or `//folder/file.bzl`."""
    builtin = content_root("rules")

    def read(module_id: str) -> str:
        if module_id.startswith(BUILTIN):
            name = module_id.removeprefix(BUILTIN)
            path = builtin / name
            if "/" in name or not path.is_file():
                raise DefinitionError(f"oxide_build has no rule file `{name}`")
            return path.read_text(encoding="utf-8")
        try:
            path_in = module_id.removeprefix("//").replace(":", "/")
            return files.read(path_in, limit_bytes=_LIMIT_BYTES).decode("utf-8")
        except (OxideError, UnicodeDecodeError) as error:
            raise DefinitionError(
                f"the rule file `{module_id}` cannot be read: {error}",
                hint="`rules` in oxide.toml lists files as `//folder/file.bzl`",
            ) from None

    return read
