"""Unpacking wheels, honest and hostile."""

from __future__ import annotations

import base64
import hashlib
import re
import stat
import zipfile
from pathlib import Path

import pytest

from oxide_build.errors import ToolchainError
from oxide_build.provision.pypi import unpack_ptxas
from oxide_build.provision.wheel import unpack_wheel

ALL = re.compile(r"(?!.*RECORD).*", re.DOTALL)
PTXAS = "nvidia/cu13/bin/ptxas"


def make_wheel(
    path: Path, files: dict[str, bytes], *, links: tuple[str, ...] = (), lie: str = ""
) -> Path:
    rows = []
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            info = zipfile.ZipInfo(name)
            kind = stat.S_IFLNK if name in links else stat.S_IFREG
            info.external_attr = (kind | 0o644) << 16
            archive.writestr(info, data)
            shown = b"other" if name == lie else data
            digest = base64.urlsafe_b64encode(hashlib.sha256(shown).digest()).rstrip(b"=")
            rows.append(f"{name},sha256={digest.decode()},{len(data)}")
        archive.writestr("x-1.dist-info/RECORD", "\n".join([*rows, "x-1.dist-info/RECORD,,"]))
    return path


def test_only_what_is_wanted_comes_out_and_tools_are_executable(tmp_path: Path) -> None:
    files = {
        PTXAS: b"ptxas",
        "nvidia/cu13/bin/nvlink": b"big",
        "nvidia/cu13/nvvm/libdevice/libdevice.10.bc": b"bc",
        "x-1.dist-info/licenses/License.txt": b"text",
    }
    wheel = make_wheel(tmp_path / "x.whl", files)
    ptxas = unpack_ptxas(wheel, tmp_path / "out")
    assert ptxas.read_bytes() == b"ptxas"
    assert ptxas.stat().st_mode & 0o777 == 0o755
    names = {str(p.relative_to(tmp_path / "out")) for p in (tmp_path / "out").rglob("*.*")}
    assert "nvidia/cu13/nvvm/libdevice/libdevice.10.bc" in names
    assert not (tmp_path / "out/nvidia/cu13/bin/nvlink").exists()


@pytest.mark.parametrize("name", ["/etc/passwd", "../../evil", "a/../../evil", "a\\..\\evil"])
def test_files_outside_are_refused(tmp_path: Path, name: str) -> None:
    wheel = make_wheel(tmp_path / "x.whl", {name: b"evil"})
    with pytest.raises(ToolchainError, match="outside of itself"):
        unpack_wheel(wheel, tmp_path / "out", ALL)
    assert not (tmp_path / "evil").exists()


def test_links_are_refused(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "x.whl", {PTXAS: b"/bin/sh"}, links=(PTXAS,))
    with pytest.raises(ToolchainError, match="not a plain file"):
        unpack_wheel(wheel, tmp_path / "out", ALL)


def test_bytes_that_record_does_not_list_are_refused(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "x.whl", {PTXAS: b"ptxas"}, lie=PTXAS)
    with pytest.raises(ToolchainError, match="not those that its RECORD lists"):
        unpack_wheel(wheel, tmp_path / "out", ALL)


def test_a_wheel_cut_short_is_refused(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "x.whl", {PTXAS: b"ptxas"})
    wheel.write_bytes(wheel.read_bytes()[:-30])
    with pytest.raises(ToolchainError, match="not a sound wheel"):
        unpack_wheel(wheel, tmp_path / "out", ALL)


def test_a_wheel_without_ptxas_is_refused(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "x.whl", {"nvidia/cu13/bin/nvlink": b"x"})
    with pytest.raises(ToolchainError, match="has no ptxas"):
        unpack_ptxas(wheel, tmp_path / "out")
