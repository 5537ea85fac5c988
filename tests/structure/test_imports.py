"""Imports point one way, and heavy packages are imported where they are used."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import oxide_build

PACKAGE = Path(oxide_build.__file__).parent

# Each package may import itself, those before it, and the modules at the top (errors, content).
ORDER = (
    "model",
    "load",
    "resolution",
    "analysis",
    "devicecode",
    "host",
    "store",
    "snapshot",
    "provision",
    "execution",
    "device",
    "cli",
)
# Packages without effects must not open the door to the machine.
PURE = ("model", "load", "resolution", "analysis", "devicecode")
TOP = {"errors", "content", "entry", "__init__", "__main__"}


def imports_of(file: Path) -> set[str]:
    """Dotted names that a module imports anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import"
            found.add(node.module or "")
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


def modules() -> list[Path]:
    return sorted(file for file in PACKAGE.rglob("*.py") if "_content" not in file.parts)


@pytest.mark.parametrize("file", modules(), ids=lambda file: str(file.relative_to(PACKAGE)))
def test_a_module_imports_only_earlier_packages(file: Path) -> None:
    own = file.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if own in TOP:
        return
    allowed = set(ORDER[: ORDER.index(own) + 1]) | TOP
    for name in imports_of(file):
        parts = name.split(".")
        if parts[0] != "oxide_build" or len(parts) < 2:
            continue
        is_package = (PACKAGE / parts[1]).exists() or (PACKAGE / f"{parts[1]}.py").exists()
        assert not is_package or parts[1] in allowed, f"{file} imports {name}"


@pytest.mark.parametrize("package", PURE)
def test_pure_packages_start_no_process_and_use_no_network(package: str) -> None:
    for file in (PACKAGE / package).glob("*.py"):
        for name in imports_of(file):
            root = name.split(".")[0]
            assert root not in {"subprocess", "socket", "urllib", "diskcache", "cuda"}, file
            assert not name.startswith("oxide_build.host"), file


def test_no_module_is_longer_than_500_lines_and_no_function_than_60() -> None:
    for file in modules():
        text = file.read_text()
        assert text.count("\n") <= 500, file
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                assert lines <= 65, f"{file}:{node.lineno} {node.name} has {lines} lines"


def test_only_the_cli_prints_or_exits() -> None:
    for file in modules():
        if "cli" in file.parts or file.stem == "entry":
            continue
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                assert called not in {"print", "sys.exit", "exit", "os._exit"}, file


def test_data_folders_hold_no_python(repository: Path) -> None:
    for folder in ("rules", "toolchains", "cache"):
        assert not list((repository / folder).rglob("*.py"))


def test_version_needs_no_heavy_import() -> None:
    heavy = {"starlark", "rich", "diskcache", "sqlite3", "cuda", "msgspec", "tomli", "packaging"}
    code = (
        "import sys\n"
        "from oxide_build.cli.main import run\n"
        "run(['--version'])\n"
        "sys.stderr.write(','.join(sorted({name.split('.')[0] for name in sys.modules})))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert "oxide, version" in done.stdout
    assert not heavy & set(done.stderr.split(","))
