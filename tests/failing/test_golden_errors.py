"""Every folder beside this file is a workspace with a mistake; `expected.txt` is what a user reads.

`patterns.txt`, where there is one, has the target patterns instead of `//...`. Run with
`--update-golden` after changing a message, and read the difference.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from oxide_build.errors import OxideError
from oxide_build.load.files import WorkspaceFiles
from oxide_build.load.graph import load_graph
from oxide_build.load.workspace_file import load_workspace
from oxide_build.model.label import Pattern
from oxide_build.model.target import AttrSpec, AttrValue, RuleSchema

_HERE = Path(__file__).parent
_CASES = sorted(path.name for path in _HERE.iterdir() if (path / "oxide.toml").exists())


def _attr(
    name: str,
    kind: str,
    default: AttrValue = None,
    *,
    mandatory: bool = False,
    configurable: bool = True,
    values: tuple[str, ...] = (),
    refuse: Mapping[str, str] | None = None,
    rules: tuple[str, ...] = (),
    extensions: tuple[str, ...] = (),
) -> AttrSpec:
    return AttrSpec(
        name=name,
        kind=kind,
        doc=f"About `{name}`.",
        default=default,
        mandatory=mandatory,
        configurable=configurable,
        values=values,
        refuse=refuse or {},
        rules=rules,
        extensions=extensions,
    )


def _rule(name: str, *attrs: AttrSpec, per_arch: bool = False) -> RuleSchema:
    by_name = {attr.name: attr for attr in attrs}
    return RuleSchema(name=name, doc="", attrs=by_name, per_arch=per_arch)


_CRATE = (
    _attr("srcs", "source_list", mandatory=True, extensions=(".rs",)),
    _attr("crate_root", "string", "", configurable=False),
    _attr("deps", "label_list", rules=("rust_library",)),
    _attr("edition", "string", "2021", values=("2018", "2021", "2024")),
    _attr("features", "string_list"),
    _attr(
        "rustc_flags",
        "string_list",
        refuse={"-Ctarget-cpu*": "use `archs`", "-O": "use `opt_level`", "--emit*": "named by us"},
    ),
    _attr("debug", "bool", False),
    _attr("max_registers", "int", 0),
)
SCHEMAS = {
    rule.name: rule
    for rule in (
        _rule("rust_library", *_CRATE),
        _rule("rust_kernel", *_CRATE, per_arch=True),
        _rule("filegroup", _attr("srcs", "source_list", mandatory=True)),
        _rule(
            "genrule",
            _attr("srcs", "source_list"),
            _attr("outs", "output_list", mandatory=True),
            _attr("cmd", "string_list", mandatory=True),
            _attr("env", "string_map"),
        ),
    )
}


@pytest.mark.parametrize("title", _CASES)
def test_error_reads_as_expected(title: str, request: pytest.FixtureRequest) -> None:
    folder = _HERE / title
    chosen = folder / "patterns.txt"
    texts = chosen.read_text().split() if chosen.exists() else ["//..."]
    with pytest.raises(OxideError) as raised:
        load_graph(
            WorkspaceFiles(folder),
            load_workspace(folder),
            SCHEMAS,
            [Pattern.parse(text) for text in texts],
        )
    said = f"exit code {raised.value.exit_code}\n\n{raised.value}\n"
    said = said.replace(str(folder), "ROOT")
    expected = folder / "expected.txt"
    if request.config.getoption("--update-golden", default=False):
        expected.write_text(said)
    assert said == expected.read_text()


def test_no_case_was_forgotten() -> None:
    folders = {path.name for path in _HERE.iterdir() if path.is_dir() and path.name[0] != "_"}
    assert folders == set(_CASES)
    assert len(_CASES) >= 25
