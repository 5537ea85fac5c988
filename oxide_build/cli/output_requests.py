"""The record of outputs as one request of the command line uses it."""

from __future__ import annotations

from collections.abc import Sequence

from oxide_build.execution.output_record import OutputRecord
from oxide_build.load.files import BUILD_FILE, WorkspaceFiles
from oxide_build.load.graph import TargetGraph


def output_record(
    archs: Sequence[str], configs: Sequence[str], files: WorkspaceFiles, graph: TargetGraph
) -> OutputRecord:
    """The record of the workspace of `files`; reads it, writes nothing.

    `graph` has what this request loaded: in packages that it did not load no target is missed, as
    long as they have a `BUILD.toml`.
    """

    def gone(label: str) -> bool:
        package, _, name = label.removeprefix("//").partition(":")
        names = graph.packages.get(package)
        if names is not None:
            return name not in names
        return not files.exists(f"{package}/{BUILD_FILE}" if package else BUILD_FILE)

    asked = [f"--arch {arch}" for arch in sorted(archs)]
    asked += [f"--config {name}" for name in sorted(configs)]
    return OutputRecord(files.root, " ".join(asked), gone)
