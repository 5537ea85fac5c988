"""`oxide toolchain matrix`: text, JSON and a page that needs nothing from elsewhere."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from tests.conftest import Space


class Cells(HTMLParser):
    """Titles of the cells of a page, and everything that it would load."""

    def __init__(self) -> None:
        super().__init__()
        self.titles: list[str] = []
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        if tag == "td" and (named.get("class") or "").startswith("c "):
            self.titles.append(named["title"] or "")
        self.loads += [value or "" for key, value in attrs if key in ("src", "href")]


def test_the_text_has_a_mark_for_each_arch(ws: Space) -> None:
    ran = ws.oxide(
        "toolchain", "matrix", "--rust", "1.96", "--cuda", ">=12.6,<13.1", "--arch", "70,90,100"
    )
    assert ran.exit_code == 0
    table = [line.split() for line in ran.stdout.splitlines()[1:4]]
    assert table == [
        ["1.96.0", "(LLVM", "22)", "12.6", "✓", "✓", "c"],
        ["12.8", "…", "12.9", "✓", "✓", "✓"],
        ["13.0", "c", "✓", "✓"],
    ]


def test_json_and_page_say_the_same(ws: Space) -> None:
    argv = ("toolchain", "matrix", "--rust", ">=1.92,<1.98", "--driver", "535", "--html", "m.html")
    ran = ws.oxide(*argv, "--json")
    record = ran.record
    cells = Cells()
    page = (ws.root / "m.html").read_text()
    cells.feed(page)
    flat = [cell for row in record["rows"] for cell in row["cells"]]
    assert len(flat) == len(cells.titles) > 500
    for cell, title in zip(flat, cells.titles, strict=True):
        if cell is None:
            assert title.endswith(": builds")
        else:
            assert cell["reason"] in title
    assert cells.loads == []
    assert not re.search(r"https?://|@import|url\(", page)
    assert "loading on driver 535" in page


@pytest.mark.parametrize("option", [("--rust", ">=3"), ("--cuda", ">=99")])
def test_nothing_known_is_an_error(ws: Space, option: tuple[str, str]) -> None:
    ran = ws.oxide("toolchain", "matrix", *option)
    assert ran.exit_code == 2
    assert "nothing that is known matches" in ran.stderr
