"""`oxide.toml`: found upward, read with defaults."""

from __future__ import annotations

from pathlib import Path

import pytest

from oxide_build.errors import DefinitionError, UsageError
from oxide_build.load.workspace_file import find_workspace, load_workspace, parse_workspace
from oxide_build.model.workspace import ConfigSetting, ToolchainRequirements


def test_the_nearest_file_upward_counts(tmp_path: Path) -> None:
    inner = tmp_path / "outer/inner/a/b"
    inner.mkdir(parents=True)
    (tmp_path / "outer/oxide.toml").touch()
    assert find_workspace(inner) == tmp_path / "outer"
    (tmp_path / "outer/inner/oxide.toml").touch()
    assert find_workspace(inner) == tmp_path / "outer/inner"
    (tmp_path / "outer/inner/a/oxide.toml").mkdir()
    assert find_workspace(inner) == tmp_path / "outer/inner"


def test_outside_of_a_workspace_the_error_shows_how_to_begin(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is in no workspace") as raised:
        find_workspace(tmp_path)
    assert "[workspace]" in str(raised.value.hint)


def test_everything_but_the_name_has_a_default(tmp_path: Path) -> None:
    (tmp_path / "oxide.toml").write_text('[workspace]\nname = "w"\n')
    workspace = load_workspace(tmp_path)
    assert (workspace.root, workspace.name, workspace.archs) == (str(tmp_path), "w", ())
    assert workspace.default_visibility == ("//visibility:public",)
    assert workspace.toolchain == ToolchainRequirements()


def test_every_key_is_read() -> None:
    workspace = parse_workspace(
        "/w",
        b"""
[workspace]
name = "w"
archs = ["80-real", "sm_90a", "all-major", "native"]
default_visibility = ["//libs", "//apps:__subpackages__"]
rules = ["//build/my_rules.bzl"]
[toolchain]
rust = "nightly-2026-04-03"
cuda = "==13.0"
providers = ["system", "apt"]
[config.debug]
description = "Slow."
archs = ["sm_90"]
[config.plain]
""",
    )
    assert workspace.archs == ("80-real", "sm_90a", "all-major", "native")
    assert workspace.default_visibility == ("//libs:__pkg__", "//apps:__subpackages__")
    assert workspace.rules == ("//build/my_rules.bzl",)
    assert workspace.toolchain == ToolchainRequirements(
        rust="nightly-2026-04-03", cuda="==13.0", providers=("system", "apt")
    )
    assert workspace.configs == {
        "debug": ConfigSetting(name="debug", description="Slow.", archs=("sm_90",)),
        "plain": ConfigSetting(name="plain"),
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[workspace]\nname = "a b"', "is not the name of a workspace"),
        ('[workspace]\nname = ""', "is not the name of a workspace"),
        ("workspace = 3", "oxide.toml:1: `workspace` must be a table"),
        ('[workspace]\nname = "w"\n[toolchain]\nproviders = []', "oxide.toml:4: `providers`"),
        ('[workspace]\nname = "w"\n[toolchain]\nproviders = ["apt", "apt"]', "lists one twice"),
        ('[workspace]\nname = "w"\n[toolchain]\nrust = ""', "is not a version"),
        ('[workspace]\nname = "w"\n[config.sm_90]\n', "cannot be the name of a config"),
        ('[workspace]\nname = "w"\n[config]\ndebug = 3\n', "must be a table"),
        ('[workspace]\nname = "w"\ndefault_visibility = []', "the list is empty"),
        ('[workspace]\nname = "w"\nrules = ["//x.py"]', "is not a rule file"),
        ("x", "is not valid TOML"),
    ],
)
def test_mistakes_are_named(text: str, said: str) -> None:
    with pytest.raises(DefinitionError) as raised:
        parse_workspace("/w", text.encode())
    assert said in str(raised.value)


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match=r"oxide\.toml: there is no such file"):
        load_workspace(tmp_path)
