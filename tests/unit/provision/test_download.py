"""Downloads: continued, checked, and given up honestly."""

from __future__ import annotations

import os
import socket
import urllib.request
from collections.abc import Iterator
from email.message import Message
from pathlib import Path

import pytest

from oxide_build.errors import InfrastructureError, ToolchainError
from oxide_build.provision.download import Wanted, download
from oxide_build.provision.provider import Refused
from oxide_build.provision.remote_file import SafeRedirects
from tests.unit.provision.archives import Server, serving, sha256_of

CONTENT = os.urandom(700_000)


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(CONTENT) as running:
        yield running


@pytest.fixture
def part(tmp_path: Path) -> Path:
    return tmp_path / "downloads/x.part"


def get(
    server: Server,
    part: Path,
    *,
    attempts: int = 5,
    sha256: str = sha256_of(CONTENT),
    limit_bytes: int = 1 << 30,
) -> list[tuple[int, int | None]]:
    """Download without pauses; returns the progress that was told."""
    told: list[tuple[int, int | None]] = []
    wanted = Wanted(
        url=server.url,
        sha256=sha256,
        limit_bytes=limit_bytes,
        timeout_s=20.0,
        pauses_s=(0.0,) * (attempts - 1),
    )
    size = download(wanted, part, lambda done, total: told.append((done, total)))
    assert size == len(CONTENT)
    assert part.read_bytes() == CONTENT
    return told


def test_a_file_is_downloaded_in_one_piece(server: Server, part: Path) -> None:
    told = get(server, part)
    assert server.seen == [None]
    assert told[-1] == (len(CONTENT), len(CONTENT))
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_a_cut_connection_is_continued_where_it_was_cut(server: Server, part: Path) -> None:
    server.cuts = [300_000, 100_000]
    get(server, part)
    assert server.seen == [None, "bytes=300000-", "bytes=400000-"]


def test_a_later_call_continues_what_an_earlier_one_left(server: Server, part: Path) -> None:
    server.cuts = [300_000, 100_000]
    with pytest.raises(ToolchainError, match=r"in 2 attempts: .*cut after 400,000") as caught:
        get(server, part, attempts=2)
    assert "the 400,000 bytes that came are kept" in str(caught.value.hint)
    assert not isinstance(caught.value, Refused)
    assert part.stat().st_size == 400_000
    get(server, part)
    assert server.seen[2:] == ["bytes=400000-"]


def test_attempts_are_bounded(server: Server, part: Path) -> None:
    server.cuts = [1] * 100
    with pytest.raises(ToolchainError, match="in 5 attempts"):
        get(server, part)
    assert len(server.seen) == 5


def test_a_whole_file_is_not_asked_for_again(server: Server, part: Path) -> None:
    get(server, part)
    get(server, part)
    assert len(server.seen) == 1


def test_a_server_without_ranges_is_read_from_the_beginning(server: Server, part: Path) -> None:
    server.cuts, server.ranges = [300_000], False
    get(server, part)
    assert server.seen == [None, "bytes=300000-"]


def test_a_server_that_sends_another_range_is_asked_anew(server: Server, part: Path) -> None:
    server.cuts = [300_000]
    server.headers = {"Content-Range": "bytes 5-9/10"}
    get(server, part)
    assert server.seen == [None, "bytes=300000-", None]


def test_a_part_that_is_longer_than_the_file_is_thrown_away(server: Server, part: Path) -> None:
    part.parent.mkdir()
    part.write_bytes(CONTENT + b"more")
    get(server, part)
    assert server.seen == [f"bytes={len(CONTENT) + 4}-", None]


def test_a_part_of_another_file_is_thrown_away_once(server: Server, part: Path) -> None:
    part.parent.mkdir()
    part.write_bytes(b"not the beginning")
    get(server, part)
    assert server.seen == ["bytes=17-", None]


def test_a_wrong_sha256_is_refused_and_nothing_is_kept(server: Server, part: Path) -> None:
    with pytest.raises(Refused) as caught:
        get(server, part, sha256="ab" * 32)
    assert sha256_of(CONTENT) in caught.value.message
    assert "ab" * 32 in caught.value.message
    assert "700,000 bytes" in caught.value.message
    assert caught.value.hint is not None
    assert not part.exists()
    assert len(server.seen) == 1


def test_an_answer_without_a_length_ends_where_the_connection_ends(
    server: Server, part: Path
) -> None:
    server.length = False
    assert get(server, part)[-1] == (len(CONTENT), None)


@pytest.mark.parametrize("status", [500, 503, 429])
def test_a_server_in_trouble_is_asked_again(server: Server, part: Path, status: int) -> None:
    server.statuses = [status]
    get(server, part)
    assert len(server.seen) == 2


@pytest.mark.parametrize(
    ("status", "hint"), [(404, "is the address right"), (403, "who asks"), (416, "address")]
)
def test_a_clear_no_is_not_asked_again(server: Server, part: Path, status: int, hint: str) -> None:
    server.statuses = [status]
    with pytest.raises(ToolchainError, match=f"could not be downloaded: {status}") as caught:
        get(server, part)
    assert hint in str(caught.value.hint)
    assert len(server.seen) == 1


def test_nobody_listening_is_not_asked_again(part: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}/x"
    with pytest.raises(ToolchainError, match="could not be reached: Connection refused"):
        download(Wanted(url=url, sha256="ab" * 32), part, lambda *_: None)


@pytest.mark.parametrize("length", [True, False])
def test_more_than_the_limit_is_refused(server: Server, part: Path, length: bool) -> None:
    server.length = length
    with pytest.raises(Refused, match="is larger than 600,000 bytes"):
        get(server, part, limit_bytes=600_000)
    assert not part.exists()


def test_redirects_on_this_machine_are_followed(server: Server, part: Path) -> None:
    server.statuses = [302]
    server.headers = {"Location": "/elsewhere"}
    get(server, part)
    assert len(server.seen) == 2


@pytest.mark.parametrize(
    "target", ["http://example.org/a", "file:///etc/passwd", "ftp://example.org/a"]
)
def test_redirects_to_where_we_would_not_go_are_refused(
    server: Server, part: Path, target: str
) -> None:
    server.statuses = [302]
    server.headers = {"Location": target}
    with pytest.raises(ToolchainError, match=r"could not be downloaded|redirects to"):
        get(server, part)
    assert len(server.seen) == 1


@pytest.mark.parametrize(
    ("old", "new", "allowed"),
    [
        ("https://a.org/x", "https://b.org/y", True),
        ("http://localhost/x", "https://b.org/y", True),
        ("http://localhost/x", "http://127.0.0.1/y", True),
        ("https://a.org/x", "http://127.0.0.1/y", False),
        ("https://a.org/x", "http://a.org/x", False),
        ("https://a.org/x", "HTTP://localhost/x", False),
        ("http://localhost/x", "file:///x", False),
        ("https://a.org/x", "https://me:secret@a.org/x", False),
    ],
)
def test_a_redirect_never_leaves_https(old: str, new: str, allowed: bool) -> None:
    request = urllib.request.Request(old, headers={"Range": "bytes=5-"})

    def follow() -> urllib.request.Request | None:
        return SafeRedirects().redirect_request(request, None, 302, "", Message(), new)  # type: ignore[arg-type]

    if allowed:
        followed = follow()
        assert followed is not None
        assert followed.get_header("Range") == "bytes=5-"
    else:
        with pytest.raises(ToolchainError, match="redirects to"):
            follow()


def test_a_file_of_this_machine_is_copied(tmp_path: Path, part: Path) -> None:
    source = tmp_path / "a b.tar"
    source.write_bytes(CONTENT)
    part.parent.mkdir()
    part.write_bytes(b"something else")
    wanted = Wanted(url=f"file://{tmp_path}/a%20b.tar", sha256=sha256_of(CONTENT))
    assert download(wanted, part, lambda *_: None) == len(CONTENT)
    assert source.read_bytes() == CONTENT


@pytest.mark.parametrize(("name", "said"), [("absent", "No such file"), ("", "is no file")])
def test_a_file_that_is_not_there_is_told(tmp_path: Path, part: Path, name: str, said: str) -> None:
    wanted = Wanted(url=f"file://{tmp_path}/{name}", sha256="ab" * 32)
    with pytest.raises(ToolchainError, match=said):
        download(wanted, part, lambda *_: None)


def test_this_machine_is_spoken_to_without_a_proxy(
    server: Server, part: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    get(server, part)


def test_a_folder_that_cannot_be_written_is_told(server: Server, tmp_path: Path) -> None:
    (tmp_path / "downloads").write_text("a file")
    with pytest.raises(InfrastructureError, match="could not write"):
        get(server, tmp_path / "downloads/x.part")


def test_parts_that_nobody_continues_are_removed(server: Server, part: Path) -> None:
    part.parent.mkdir()
    old, young = part.with_name("old.part"), part.with_name("young.part")
    for path in (old, young):
        path.write_bytes(b"x")
    os.utime(old, (1_700_000_000, 1_700_000_000))
    get(server, part)
    assert (old.exists(), young.exists()) == (False, True)
