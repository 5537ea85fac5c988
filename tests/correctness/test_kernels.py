"""Real kernels after a disturbance: what runs, and that it is what a clean build makes."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.conftest import Space
from tests.e2e.conftest import oxide_toml

pytestmark = [pytest.mark.network, pytest.mark.toolchain]

BACK = ["assemble sm_80", "assemble sm_90", "codegen sm_80", "codegen sm_90"]
ASSEMBLE = BACK[:2]
FROM_KERNEL = [*BACK, "compile", "link"]


def contents(space: Space) -> dict[str, bytes]:
    root = space.root / "oxide-out"
    return {
        str(file.relative_to(root)): file.read_bytes() for file in sorted(root.rglob("twice.*"))
    }


def clean(space: Space, warm_cache: Path, *argv: str) -> dict[str, bytes]:
    """What a build from nothing (but core) makes of the same files, in another folder."""
    other = Space(
        space.root.with_name("clean"), space.cache.with_name("clean-cache"), space.store,
        space.capture,
    )  # fmt: skip
    shutil.copytree(space.root, other.root, ignore=shutil.ignore_patterns("oxide-out"))
    shutil.copytree(warm_cache, other.cache)
    other.build("//...", *argv)
    return contents(other)


def keeping_times(path: str, edit: Callable[[bytes], bytes]) -> Callable[[Space], object]:
    def change(space: Space) -> None:
        file = space.root / path
        before = file.stat()
        data = edit(file.read_bytes())
        assert data != file.read_bytes()
        file.write_bytes(data)
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert file.stat().st_size == before.st_size

    return change


def edit(path: str, old: str, new: str, *, mtime: float | None = None) -> Callable[[Space], object]:
    def change(space: Space) -> None:
        file = space.root / path
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new))
        if mtime is not None:
            os.utime(file, (mtime, mtime))

    return change


def flipped(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


ROWS: dict[str, tuple[Callable[[Space], object], Sequence[str]]] = {
    "touch": (lambda s: os.utime(s.root / "k/twice.rs"), []),
    "mtime in the future": (lambda s: os.utime(s.root / "k/twice.rs", (4e9, 4e9)), []),
    "same size and time": (
        keeping_times("k/twice.rs", lambda data: data.replace(b"2.0", b"5.0")), FROM_KERNEL
    ),
    "older mtime": (edit("k/twice.rs", "2.0", "7.0", mtime=1e9), FROM_KERNEL),
    "comment of the same length": (edit("k/twice.rs", "A comment", "B comment"), ["compile"]),
    "comment in a library": (edit("k/grid.rs", "pub fn", "/* x */ pub fn"), ["compile"] * 2),
    "a library's function": (
        edit("k/grid.rs", "_thread_idx_x()", "_thread_idx_y()"), [*FROM_KERNEL, "compile"]
    ),
    "cubin tampered": (keeping_times("oxide-out/k/twice.sm_90.cubin", flipped), []),
    "ptx deleted": (lambda s: (s.root / "oxide-out/k/twice.sm_80.ptx").unlink(), []),
    "arch added": (
        edit("k/BUILD.toml", '"sm_90"]', '"sm_90", "sm_100"]'),
        ["assemble sm_100", "codegen sm_100"],
    ),
    "arch dropped": (edit("k/BUILD.toml", '["sm_80", ', "["), []),
    "option changed": (
        edit("k/BUILD.toml", 'deps = [":grid"]', 'deps = [":grid"]\nopt_level = "1"'), FROM_KERNEL
    ),
    "another CUDA": (lambda s: s.write("oxide.toml", oxide_toml(cuda="12.9.86")), ASSEMBLE),
    "target renamed": (edit("k/BUILD.toml", 'name = "twice"', 'name = "twice.two"\n'
                            'crate_root = "twice.rs"'), FROM_KERNEL),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_after_a_disturbance_the_kernel_is_right(
    rust_ws: Space, warm_cache: Path, name: str
) -> None:
    change, stages = ROWS[name]
    rust_ws.build()
    time.sleep(0.05)
    assert rust_ws.build().stages == []
    change(rust_ws)
    ran = rust_ws.build()
    assert ran.stages == sorted(stages)
    assert contents(rust_ws) == clean(rust_ws, warm_cache)
    assert rust_ws.build().stages == []


def test_other_toolchains_of_the_command_line_and_back(rust_ws: Space, warm_cache: Path) -> None:
    rust_ws.build()
    before = contents(rust_ws)
    assert rust_ws.build("//...", "--cuda", "12.9.86").stages == ASSEMBLE
    assert contents(rust_ws) == clean(rust_ws, warm_cache, "--cuda", "12.9.86")
    ran = rust_ws.build("//...", "--rust", "1.95.0")
    assert set(FROM_KERNEL) <= set(ran.stages)
    assert contents(rust_ws) != before
    assert rust_ws.build().actions["ran"] == 0
    assert contents(rust_ws) == before
