"""`[[toolchain.archive]]`: what is read, and what is said of mistakes."""

from __future__ import annotations

import re

import pytest

from oxide_build.errors import DefinitionError
from oxide_build.load.workspace_file import parse_workspace
from oxide_build.model.archive_source import ArchiveSource, wrong_url
from oxide_build.model.workspace import ToolchainRequirements

HEAD = '[workspace]\nname = "w"\n'
SHA256 = "0123456789abcdef" * 4
RIGHT = {
    "kind": "cuda",
    "version": "13.0.88",
    "url": "https://example.org/a/ptxas.tar.xz?x=1",
    "sha256": SHA256,
}


def entry(**changes: str | None) -> str:
    values = {**RIGHT, **changes}
    lines = [f'{key} = "{value}"' for key, value in values.items() if value is not None]
    return "\n".join(["[[toolchain.archive]]", *lines, ""])


def read(text: str) -> ToolchainRequirements:
    return parse_workspace("/w", (HEAD + text).encode()).toolchain


def test_entries_are_read_in_their_order() -> None:
    night = {"kind": "rust", "version": "nightly-2026-04-03", "host": "aarch64-linux"}
    requirements = read(entry() + entry(**night, strip_prefix="a/b/"))
    assert requirements.archives == (
        ArchiveSource(**RIGHT),
        ArchiveSource(**{**RIGHT, **night}, strip_prefix="a/b"),
    )
    assert requirements.archives[0].file_name == "ptxas.tar.xz"
    assert requirements.providers[0] == "archive"


@pytest.mark.parametrize(
    ("changes", "line", "said", "hint"),
    [
        ({"kind": "go"}, 4, "`kind` of `[[toolchain.archive]]`: `go` is no kind", "`rust`"),
        ({"kind": None}, 3, "`kind` of `[[toolchain.archive]]` is missing", "kind ="),
        ({"version": None}, 3, "`version` of `[[toolchain.archive]]` is missing", "13.0.88"),
        ({"url": None}, 3, "`url` of `[[toolchain.archive]]` is missing", "https://"),
        ({"sha256": None}, 3, "`sha256` of `[[toolchain.archive]]` is missing", "sha256sum"),
        ({"version": "13.0"}, 5, "`13.0` is not the version of one cuda", "13.0.88"),
        ({"version": ">=13.0.88"}, 5, "is not the version of one cuda toolchain", "13.0.88"),
        ({"kind": "rust"}, 5, "is not the version of one rust toolchain", "nightly-2026"),
        ({"kind": "rust", "version": "nightly"}, 5, "is not the version of one rust", "1.96.0"),
        ({"kind": "rust", "version": "nightly-2026-02-30"}, 5, "is not the version", "1.96.0"),
        ({"url": "ftp://a/b"}, 6, "is a `ftp` address", "https://"),
        ({"url": "http://a.org/b"}, 6, "is not encrypted and leads to another", "https://"),
        ({"url": "https://a.org/" + "b" * 2000}, 6, "is too long", "2000"),
        ({"sha256": SHA256.upper()}, 7, "is not a sha256", "64 digits"),
        ({"sha256": SHA256[1:]}, 7, "is not a sha256", "64 digits"),
        ({"host": "linux"}, 8, "is not a host", "x86_64-linux"),
        ({"strip_prefix": "../a"}, 8, "is not a folder inside an archive", "strip_prefix"),
        ({"strip_prefix": "/a"}, 8, "is not a folder inside an archive", "strip_prefix"),
        ({"strip_prefix": "a//b"}, 8, "is not a folder inside an archive", "strip_prefix"),
        ({"sha": "x"}, 8, "has an unknown key `sha`", "did you mean `sha256`"),
    ],
)
def test_mistakes_have_a_line_and_a_way_out(
    changes: dict[str, str | None], line: int, said: str, hint: str
) -> None:
    with pytest.raises(DefinitionError) as caught:
        read(entry(**changes))
    assert caught.value.message.startswith(f"oxide.toml:{line}: ")
    assert said in caught.value.message
    assert hint in str(caught.value.hint)


def test_all_mistakes_of_all_entries_are_told_at_once() -> None:
    with pytest.raises(DefinitionError) as caught:
        read(entry(kind="go", sha256="x") + entry(url="a"))
    places = re.findall(r"^oxide\.toml:\d+", str(caught.value), re.MULTILINE)
    assert places == ["oxide.toml:4", "oxide.toml:7", "oxide.toml:11"]


def test_two_of_one_version_are_refused_unless_their_hosts_differ() -> None:
    with pytest.raises(DefinitionError, match=r"oxide.toml:8: .*a second time for any host"):
        read(entry() + entry())
    assert len(read(entry(host="x86_64-linux") + entry(host="aarch64-linux")).archives) == 2


def test_an_entry_that_nobody_would_look_at_is_a_mistake() -> None:
    with pytest.raises(DefinitionError, match=r"oxide.toml:4: .*leaves out `archive`") as caught:
        read('[toolchain]\nproviders = ["pypi"]\n' + entry())
    assert 'providers = ["archive", "pypi"]' in str(caught.value.hint)
    assert read('[toolchain]\nproviders = ["pypi", "archive"]\n' + entry()).archives


def test_a_single_table_is_not_an_array() -> None:
    with pytest.raises(DefinitionError, match="must be an array of tables, but a table") as caught:
        read("[toolchain.archive]\nkind = 3\n")
    assert "[[toolchain.archive]]" in str(caught.value.hint)


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/a.tar",
        "HTTPS://example.org:8443/a.tar?token=1#x",
        "http://localhost:8000/a",
        "http://127.0.0.1/a",
        "http://[::1]:80/a",
        "file:///srv/a.tar",
        "file://localhost/srv/a.tar",
    ],
)
def test_addresses_that_are_downloaded_from(url: str) -> None:
    assert wrong_url(url) is None


@pytest.mark.parametrize(
    "url",
    [
        "",
        "/srv/a.tar",
        "https:///a",
        "https://user:password@example.org/a",
        "http://localhost@example.org/a",
        "http://localhost.example.org/a",
        "http://127.0.0.1.example.org/a",
        "http://localhost\\@example.org/a",
        "http://example.org/a",
        "file://server/a",
        "file:///",
        "file:a",
        "data:text/plain,x",
        "https://example.org/a b",
        "https://example.org/a\nb",
        "https://ex\u00e4mple.org/a",
    ],
)
def test_addresses_that_are_not(url: str) -> None:
    assert wrong_url(url) is not None
