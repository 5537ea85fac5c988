"""A workspace in a temporary folder, and a few rules to load it with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from oxide_build.errors import OxideError
from oxide_build.load.files import WorkspaceFiles
from oxide_build.load.graph import TargetGraph, load_graph
from oxide_build.load.workspace_file import load_workspace
from oxide_build.model.label import Label, Pattern
from oxide_build.model.target import AttrSpec, RuleSchema, Target


def _spec(name: str, kind: str, **more: object) -> AttrSpec:
    return AttrSpec(name=name, kind=kind, doc="", **more)  # type: ignore[arg-type]


def _rule(name: str, *specs: AttrSpec, per_arch: bool = False) -> RuleSchema:
    attrs = {spec.name: spec for spec in specs}
    return RuleSchema(name=name, doc="", attrs=attrs, per_arch=per_arch)


SCHEMAS = {
    rule.name: rule
    for rule in (
        _rule(
            "lib",
            _spec("srcs", "source_list"),
            _spec("main", "source"),
            _spec("deps", "label_list"),
            _spec("runtime", "label"),
            _spec("flags", "string_list", default=("-v",)),
            _spec("mode", "string", default="fast"),
            _spec("count", "int", default=1),
            _spec("env", "string_map"),
            _spec("outs", "output_list"),
        ),
        _rule("kernel", _spec("deps", "label_list"), per_arch=True),
        _rule("with_default", _spec("deps", "label_list", default=("//base",))),
    )
}


@dataclass(frozen=True, slots=True)
class Loading:
    """A workspace to write into and load."""

    root: Path

    def write(self, path: str, text: str | bytes = "") -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode() if isinstance(text, str) else text)

    @property
    def files(self) -> WorkspaceFiles:
        return WorkspaceFiles(self.root)

    def load(self, *patterns: str) -> TargetGraph:
        parsed = [Pattern.parse(text) for text in patterns or ("//...",)]
        return load_graph(self.files, load_workspace(self.root), SCHEMAS, parsed)

    def target(self, label: str) -> Target:
        return self.load(label).targets[Label.parse(label, package="")]

    def error(self, *patterns: str) -> str:
        with pytest.raises(OxideError) as raised:
            self.load(*patterns)
        return str(raised.value)


@pytest.fixture
def space(tmp_path: Path) -> Loading:
    """An empty workspace below `tmp_path`, so that there is an outside to escape to."""
    loading = Loading(tmp_path / "ws")
    loading.write("oxide.toml", '[workspace]\nname = "w"\narchs = ["sm_90"]\n[config.debug]\n')
    return loading
