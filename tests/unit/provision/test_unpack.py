"""Unpacking: honest archives come out whole, hostile ones are refused by name."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest

from oxide_build.errors import InfrastructureError
from oxide_build.provision.provider import Refused
from oxide_build.provision.unpack import Limits, unpack
from tests.unit.provision.archives import link, make_tar, make_zip, tar_member

TOOL = (
    tar_member("./", type=tarfile.DIRTYPE),
    tar_member("./tool/bin", type=tarfile.DIRTYPE, mode=0o700),
    tar_member("./tool/bin/ptxas", b"#!/bin/sh\n", mode=0o6755, uid=12, uname="x"),
    tar_member("./tool/lib/libx.so.1", b"x" * 3_000_000, mode=0o600),
    link("./tool/lib/libx.so", "libx.so.1"),
    link("./tool/lib64", "lib"),
    link("./tool/bin/same", "tool/bin/ptxas", hard=True),
    tar_member("LICENSE", b"free"),
)


def unpacked(archive: Path, prefix: str = "", limits: Limits | None = None) -> Path:
    into = archive.parent / "into"
    unpack(archive, into, name="a.tar", strip_prefix=prefix, limits=limits or Limits())
    return into


def listing(folder: Path) -> dict[str, str]:
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = f"-> {os.readlink(path)}"
        elif path.is_file():
            found[name] = f"{stat.S_IMODE(path.stat().st_mode):o} {path.stat().st_size}"
    return found


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz", "w:bz2"])
@pytest.mark.parametrize("format", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT, tarfile.USTAR_FORMAT])
def test_a_tar_comes_out_whole(tmp_path: Path, mode: str, format: int) -> None:
    with tarfile.open(tmp_path / "a", mode, format=format) as archive:  # type: ignore[call-overload]
        for info, data in TOOL:
            archive.addfile(info, io.BytesIO(data))
    into = unpacked(tmp_path / "a")
    assert listing(into) == {
        "LICENSE": "644 4",
        "tool/bin/ptxas": "755 10",
        "tool/bin/same": "755 10",
        "tool/lib/libx.so": "-> libx.so.1",
        "tool/lib/libx.so.1": "644 3000000",
        "tool/lib64": "-> lib",
    }
    assert (into / "tool/lib64/libx.so").read_bytes() == b"x" * 3_000_000


def test_only_what_lies_below_the_prefix_is_kept(tmp_path: Path) -> None:
    into = unpacked(make_tar(tmp_path / "a", *TOOL), "tool/bin")
    assert listing(into) == {"ptxas": "755 10", "same": "755 10"}


def test_a_prefix_that_is_not_there_is_told_with_what_is(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="has no folder `tools`") as caught:
        unpacked(make_tar(tmp_path / "a", *TOOL), "tools")
    assert caught.value.hint == "at its top are `LICENSE`, `tool`"


def test_long_names_are_read(tmp_path: Path) -> None:
    name = "/".join(["d" * 90] * 8)
    assert (unpacked(make_tar(tmp_path / "a", tar_member(name, b"x"))) / name).read_bytes() == b"x"


def test_a_zip_comes_out_whole(tmp_path: Path) -> None:
    plain = zipfile.ZipInfo("tool/lib/x.txt")
    plain.external_attr = (stat.S_IFREG | 0o644) << 16
    other = zipfile.ZipInfo("tool/x.txt")
    other.external_attr = (stat.S_IFLNK | 0o777) << 16
    bare = zipfile.ZipInfo("tool/bin/ptxas")
    bare.external_attr = 0x20  # What a machine without modes writes.
    folder = zipfile.ZipInfo("tool/")
    members = ((folder, b""), (plain, b"text"), (other, b"lib/x.txt"), (bare, b"run"))
    assert listing(unpacked(make_zip(tmp_path / "a", *members), "tool")) == {
        "bin/ptxas": "755 3",
        "lib/x.txt": "644 4",
        "x.txt": "-> lib/x.txt",
    }


FILE = tar_member("d/file", b"x")


@pytest.mark.parametrize(
    ("members", "named", "said"),
    [
        ([tar_member("../evil", b"x")], "../evil", "has `..` in its name"),
        ([tar_member("a/../../evil", b"x")], "a/../../evil", "has `..`"),
        ([tar_member("a/../b", b"x")], "a/../b", "has `..`"),
        ([tar_member("/etc/evil", b"x")], "/etc/evil", "has an absolute name"),
        ([tar_member("//evil", b"x")], "//evil", "has an absolute name"),
        ([tar_member("a\\..\\b", b"x")], r"a\\..\\b", "backslash"),
        ([tar_member("a\nb", b"x")], r"a\nb", "unprintable"),
        ([tar_member("/".join("a" * 65), b"x")], "a/a", "64 folders"),
        ([tar_member("a" * 256, b"x")], "aaa", "255 in one part"),
        ([link("d/out", "/etc/passwd")], "d/out", "leads outside, to `/etc/passwd`"),
        ([link("d/out", "../../x")], "d/out", "leads outside, to `../../x`"),
        ([link("d/out", "")], "d/out", "leads outside"),
        ([link("out", "..")], "out", "leads outside"),
        ([link("d/up", ".."), link("d/out", "up/../x")], "d/out", "leads outside"),
        ([link("d/e/up", "../.."), link("d/e/out", "up/..")], "d/e/out", "leads outside"),
        ([link("d", "e"), tar_member("d/x", b"x")], "d/x", "lies below `d`, which is no folder"),
        ([FILE, tar_member("d/file/x", b"x")], "d/file/x", "lies below `d/file`"),
        ([FILE, tar_member("./d//file", b"y")], "./d//file", "is there twice"),
        ([FILE, link("d/file", "x")], "d/file", "is there twice"),
        ([FILE, link("d", "x")], "d", "is there twice"),
        ([FILE, tar_member("d/file", type=tarfile.DIRTYPE)], "d/file", "is there twice"),
        ([link("d", "e"), tar_member("d", type=tarfile.DIRTYPE)], "d", "is there twice"),
        ([FILE, link("h", "../x", hard=True)], "h", "has `..`"),
        ([FILE, link("h", "/etc/passwd", hard=True)], "h", "absolute"),
        ([link("h", "d/file", hard=True), FILE], "h", "which is no file before it"),
        ([link("s", "d"), link("h", "s", hard=True)], "h", "which is no file before it"),
        ([tar_member("null", type=tarfile.CHRTYPE)], "null", "is a device"),
        ([tar_member("disk", type=tarfile.BLKTYPE)], "disk", "is a device"),
        ([tar_member("pipe", type=tarfile.FIFOTYPE)], "pipe", "is a pipe"),
        ([tar_member("odd", type=b"Z")], "odd", "of a kind that is not known"),
        ([tar_member("", b"x")], "", "has no name"),
    ],
)
def test_hostile_members_are_refused_by_name(
    tmp_path: Path, members: list[tuple[tarfile.TarInfo, bytes]], named: str, said: str
) -> None:
    archive = make_tar(tmp_path / "a", *members)
    with pytest.raises(Refused) as caught:
        unpacked(archive)
    assert caught.value.message.startswith("`a.tar`: `")
    assert named in caught.value.message
    assert said in caught.value.message
    assert caught.value.hint is not None
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "into"]


def test_what_is_left_out_is_checked_too(tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"`x/\.\./\.\./evil`"):
        unpacked(make_tar(tmp_path / "a", *TOOL, tar_member("x/../../evil", b"x")), "tool")


def test_a_link_that_is_left_out_is_checked_too(tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"`x/out` leads outside, to `\.\./\.\./y`"):
        unpacked(make_tar(tmp_path / "a", *TOOL, link("x/out", "../../y")), "tool")


@pytest.mark.parametrize("hard", [True, False])
def test_links_must_stay_below_the_prefix(tmp_path: Path, hard: bool) -> None:
    target = "LICENSE" if hard else "../LICENSE"
    members = (tar_member("LICENSE", b"x"), link("tool/x", target, hard=hard))
    with pytest.raises(Refused, match=r"`tool/x` leads outside"):
        unpacked(make_tar(tmp_path / "a", *members), "tool")


def test_links_in_circles_and_to_nothing_are_harmless(tmp_path: Path) -> None:
    members = (link("a", "b"), link("b", "a"), link("c", "absent"))
    assert len(listing(unpacked(make_tar(tmp_path / "x", *members)))) == 3


def zip_entry(name: str, mode: int = stat.S_IFREG | 0o644) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo("x")
    info.filename = info.orig_filename = name
    info.external_attr = mode << 16
    return info


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ([("../evil", b"x")], "`../evil` has `..`"),
        ([("/evil", b"x")], "`/evil` has an absolute name"),
        ([("a\\b", b"x")], "has a name with a backslash"),
        ([(zip_entry("out", stat.S_IFLNK | 0o777), b"../x")], "`out` leads outside"),
        ([(zip_entry("out", stat.S_IFLNK | 0o777), b"x" * 5000)], "the link `out` has 5,000 bytes"),
        ([(zip_entry("dev", stat.S_IFBLK | 0o600), b"")], "`dev` is a device"),
        ([(zip_entry("pipe", stat.S_IFIFO | 0o600), b"")], "`pipe` is a device or pipe"),
        ([("a", b"x"), (zip_entry("a"), b"y")], "`a` is there twice"),
    ],
)
def test_hostile_zips_are_refused_by_name(
    tmp_path: Path, entries: list[tuple[zipfile.ZipInfo | str, bytes]], said: str
) -> None:
    import warnings

    with warnings.catch_warnings(action="ignore"):
        archive = make_zip(tmp_path / "a", *entries)
    with pytest.raises(Refused) as caught:
        unpacked(archive)
    assert said in caught.value.message


def test_a_zip_name_is_not_cut_at_its_first_nul(tmp_path: Path) -> None:
    archive = make_zip(tmp_path / "a", ("bin/ptxas-and", b"x"))
    archive.write_bytes(archive.read_bytes().replace(b"ptxas-and", b"ptxas\0and"))
    with pytest.raises(Refused, match="unprintable"):
        unpacked(archive)


def test_a_zip_that_wants_a_password_is_refused(tmp_path: Path) -> None:
    archive = make_zip(tmp_path / "a", ("x", b"x"))
    data = bytearray(archive.read_bytes())
    data[data.index(b"PK\x01\x02") + 8] |= 1
    archive.write_bytes(data)
    with pytest.raises(Refused, match="`x` is encrypted"):
        unpacked(archive)


def test_a_zip_whose_content_is_not_what_it_says_is_damaged(tmp_path: Path) -> None:
    archive = make_zip(tmp_path / "a", ("x", b"x" * 100))
    data = bytearray(archive.read_bytes())
    data[data.index(b"PK\x01\x02") + 16] ^= 1
    archive.write_bytes(data)
    with pytest.raises(Refused, match="is damaged"):
        unpacked(archive)


@pytest.mark.parametrize("mode", ["w:gz", "w:xz", "w:bz2", "zip"])
def test_a_bomb_is_refused_before_it_fills_the_disk(tmp_path: Path, mode: str) -> None:
    bomb = tar_member("bomb", b"\0" * 20_000_000)
    if mode == "zip":
        archive = make_zip(tmp_path / "a", ("first", b"x"), ("bomb", bomb[1]))
    else:
        archive = make_tar(tmp_path / "a", tar_member("first", b"x"), bomb, mode=mode)
    assert archive.stat().st_size < 100_000
    with pytest.raises(Refused, match="`bomb` brings what is unpacked over 1,000,000 bytes"):
        unpacked(archive, limits=Limits(size_bytes=1_000_000))
    assert list(listing(tmp_path / "into")) == ["first"]


def test_many_small_files_count_together(tmp_path: Path) -> None:
    members = [tar_member(f"f{n}", b"x" * 1000) for n in range(100)]
    with pytest.raises(Refused, match="`f49` brings what is unpacked over 49,500 bytes"):
        unpacked(make_tar(tmp_path / "a", *members), "", Limits(size_bytes=49_500))


def test_headers_alone_can_be_a_bomb(tmp_path: Path) -> None:
    members = [tar_member(f"f{n}", pax_headers={"comment": "x" * 100_000}) for n in range(20)]
    with tarfile.open(tmp_path / "a", "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for info, _ in members:
            archive.addfile(info)
    with pytest.raises(Refused, match=r"`a\.tar` unpacks to more than"):
        unpacked(tmp_path / "a", limits=Limits(size_bytes=1_000_000, members=100))


@pytest.mark.parametrize("prefix", ["", "other"])
def test_members_are_counted_with_the_folders_that_they_imply(tmp_path: Path, prefix: str) -> None:
    members = [tar_member(f"d{n}/f") for n in range(6)]
    limits = Limits(members=10)
    with pytest.raises(Refused, match="`d5/f` is one more than 10"):
        unpacked(make_tar(tmp_path / "a", *members), prefix, limits)


def test_a_header_that_claims_gigabytes_is_not_read(tmp_path: Path) -> None:
    header = tar_member("long", type=tarfile.GNUTYPE_LONGNAME)[0]
    header.size = 1 << 32
    data = header.tobuf(tarfile.GNU_FORMAT) + b"\0" * 4_000_000
    (tmp_path / "a").write_bytes(gzip.compress(data))
    with pytest.raises(Refused, match="header is over 1,048,576 bytes"):
        unpacked(tmp_path / "a")


def test_headers_in_headers_without_end_are_damage(tmp_path: Path) -> None:
    header = tar_member("x", b"y\0", type=tarfile.GNUTYPE_LONGNAME)
    block = header[0].tobuf(tarfile.GNU_FORMAT) + b"y".ljust(512, b"\0")
    (tmp_path / "a").write_bytes(gzip.compress(block * 2000))
    with pytest.raises(Refused, match=r"is damaged|header is over"):
        unpacked(tmp_path / "a")


def test_a_sparse_file_is_refused(tmp_path: Path) -> None:
    info = tar_member("holes", type=tarfile.GNUTYPE_SPARSE)[0]
    (tmp_path / "a").write_bytes(info.tobuf(tarfile.GNU_FORMAT) + b"\0" * 1024)
    with pytest.raises(Refused, match="`holes` is a sparse file"):
        unpacked(tmp_path / "a")


COMPRESS = {
    "tar": lambda data: data,
    "gz": gzip.compress,
    "xz": lzma.compress,
    "bz2": bz2.compress,
}


@pytest.fixture(scope="module")
def plain_tar(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    members = [tar_member(f"f{n}", os.urandom(5000)) for n in range(20)]
    path = make_tar(tmp_path_factory.mktemp("tar") / "a", *members, mode="w")
    return path.read_bytes()


@pytest.mark.parametrize("form", COMPRESS)
@pytest.mark.parametrize("part", [0.0, 0.3, 0.5, 0.8])
def test_a_truncated_archive_is_damaged(
    tmp_path: Path, plain_tar: bytes, form: str, part: float
) -> None:
    whole = COMPRESS[form](plain_tar)
    (tmp_path / "a").write_bytes(whole[: max(600, int(len(whole) * part))])
    with pytest.raises(Refused, match="is damaged"):
        unpacked(tmp_path / "a")


@pytest.mark.parametrize("form", ["gz", "xz", "bz2"])
def test_a_compressed_archive_that_lacks_its_last_bytes_is_damaged(
    tmp_path: Path, plain_tar: bytes, form: str
) -> None:
    (tmp_path / "a").write_bytes(COMPRESS[form](plain_tar)[:-3])
    with pytest.raises(Refused, match="is damaged"):
        unpacked(tmp_path / "a")


@pytest.mark.parametrize("blocks", [0, 11, 110])
def test_a_tar_that_ends_between_two_members_is_damaged(
    tmp_path: Path, plain_tar: bytes, blocks: int
) -> None:
    """Python's tarfile would take that for the end."""
    whole = plain_tar[: 11 * 512 + blocks * 512]
    (tmp_path / "a").write_bytes(whole)
    with tarfile.open(tmp_path / "a") as archive:
        assert archive.getnames()
    with pytest.raises(Refused, match="without the mark of an end"):
        unpacked(tmp_path / "a")


def test_a_damaged_header_is_not_the_end(tmp_path: Path, plain_tar: bytes) -> None:
    data = bytearray(plain_tar)
    data[11 * 512 + 148] ^= 1
    (tmp_path / "a").write_bytes(data)
    with pytest.raises(Refused, match="is damaged"):
        unpacked(tmp_path / "a")


def test_a_truncated_zip_is_damaged(tmp_path: Path) -> None:
    archive = make_zip(tmp_path / "a", ("x", os.urandom(5000)))
    archive.write_bytes(archive.read_bytes()[:3000])
    with pytest.raises(Refused, match="is damaged"):
        unpacked(archive)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is no archive that is known"),
        (b"<html>" * 200, "is no archive that is known"),
        (b"\x28\xb5\x2f\xfd" + b"x" * 600, "is compressed by zstd"),
        (gzip.compress(b"text", mtime=0), "is damaged"),
    ],
)
def test_what_is_no_archive_is_told(tmp_path: Path, data: bytes, said: str) -> None:
    (tmp_path / "a").write_bytes(data)
    with pytest.raises(Refused, match=said) as caught:
        unpacked(tmp_path / "a")
    assert caught.value.hint is not None


def test_a_disk_that_says_no_is_not_the_archives_fault(tmp_path: Path) -> None:
    (tmp_path / "into").mkdir()
    with pytest.raises(InfrastructureError, match=r"could not unpack `a\.tar`"):
        unpacked(make_tar(tmp_path / "a", *TOOL))
