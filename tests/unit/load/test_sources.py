"""Files and globs stay inside their package."""

from __future__ import annotations

import pytest

from oxide_build.errors import UsageError
from oxide_build.load.sources import Sources
from tests.unit.load.conftest import Loading


@pytest.fixture
def sources(space: Loading) -> Sources:
    for path in (
        "k/BUILD.toml",
        "k/lib.rs",
        "k/gen.rs",
        "k/.hidden.rs",
        "k/.git/x.rs",
        "k/src/a.rs",
        "k/src/deep/b.rs",
        "k/src/deep/c.cu",
        "k/sub/BUILD.toml",
        "k/sub/other.rs",
        "k/sub/below/other.rs",
        "k/nested/oxide.toml",
        "k/nested/theirs.rs",
        "k/oxide-out/made.rs",
        "k/[x].rs",
        "outside.rs",
    ):
        space.write(path)
    return Sources(space.files)


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*.rs", ["k/[x].rs", "k/gen.rs", "k/lib.rs"]),
        ("src/*.rs", ["k/src/a.rs"]),
        ("src/**/*.rs", ["k/src/a.rs", "k/src/deep/b.rs"]),
        ("**/*.rs", ["k/[x].rs", "k/gen.rs", "k/lib.rs", "k/src/a.rs", "k/src/deep/b.rs"]),
        ("**/b.rs", ["k/src/deep/b.rs"]),
        ("src/**", ["k/src/a.rs", "k/src/deep/b.rs", "k/src/deep/c.cu"]),
        ("*/*/?.rs", ["k/src/deep/b.rs"]),
        ("**/deep/**/*", ["k/src/deep/b.rs", "k/src/deep/c.cu"]),
        ("[x]*", ["k/[x].rs"]),
        ("l*", ["k/lib.rs"]),
        ("*.RS", []),
        ("sub/*.rs", []),
        ("s*/other.rs", []),
        ("nested/*", []),
        ("*.toml", []),
        ("oxide-out/**", []),
        ("*.git/*", []),
    ],
)
def test_globs_match_the_package_and_nothing_else(
    sources: Sources, pattern: str, found: list[str]
) -> None:
    assert sources.glob("k", pattern) == found


def test_the_root_package_has_paths_without_a_prefix(sources: Sources) -> None:
    assert sources.glob("", "*.rs") == ["outside.rs"]
    assert sources.glob("", "**/*.rs") == ["outside.rs"]
    assert sources.file("", "outside.rs") == "outside.rs"


@pytest.mark.parametrize("name", ["lib.rs", "src/deep/b.rs", ".hidden.rs", "[x].rs", "BUILD.toml"])
def test_files_are_found_by_name(sources: Sources, name: str) -> None:
    assert sources.file("k", name) == f"k/{name}"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("/lib.rs", "absolute path"),
        ("../outside.rs", "leaves the package"),
        ("src/../lib.rs", "leaves the package"),
        ("", "not the path of a file"),
        (".", "not the path of a file"),
        ("src/", "not the path of a file"),
        ("src//a.rs", "not the path of a file"),
        ("src", "is a folder"),
        ("lib.rs/x", "no file"),
        ("sub/other.rs", "another package, `//k/sub`"),
        ("sub/below/other.rs", "another package, `//k/sub`"),
        ("sub/missing.rs", "another package, `//k/sub`"),
        ("nested/theirs.rs", "another workspace, `k/nested`"),
        ("Lib.rs", "no file"),
    ],
)
def test_other_names_are_refused(sources: Sources, name: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        sources.file("k", name)


def test_outputs_are_no_sources(sources: Sources) -> None:
    with pytest.raises(UsageError, match="is an output"):
        sources.file("", "oxide-out/k/made.rs")


def test_a_wrong_case_is_suggested_first(sources: Sources) -> None:
    with pytest.raises(UsageError) as raised:
        sources.file("k", "LIB.rs")
    assert raised.value.hint == "did you mean `lib.rs`?"


def test_links_to_folders_are_not_followed_by_globs(space: Loading, sources: Sources) -> None:
    (space.root / "k/again").symlink_to("src")
    (space.root / "k/loop").symlink_to(".")
    assert sources.glob("k", "**/a.rs") == ["k/src/a.rs"]


def test_lists_keep_the_order_of_mention_and_sort_each_glob(
    space: Loading, sources: Sources
) -> None:
    space.write(
        "k/BUILD.toml",
        '[[lib]]\nname = "k"\nsrcs = ["src/a.rs", "!gen.rs", "*.rs", ":t", "lib.rs"]\n'
        '[[lib]]\nname = "t"\n',
    )
    target = space.target("//k")
    assert target.attrs["srcs"] == ("k/src/a.rs", "k/[x].rs", "k/lib.rs", target.deps[0])
