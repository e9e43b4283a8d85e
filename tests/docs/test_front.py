"""What the front page and the README say in numbers is what was measured."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.docs.fences import DOCS, ROOT

FRONT = [ROOT / "README.md", DOCS / "index.md"]


def words_of(page: Path) -> str:
    """Text of a page on one line, without emphasis."""
    return " ".join(page.read_text(encoding="utf-8").replace("*", "").split())


@pytest.fixture(scope="module")
def sentence() -> str:
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        import draw_front

        return draw_front.make_scene().sentence
    finally:
        sys.path.remove(str(ROOT / "scripts"))


@pytest.mark.parametrize("page", FRONT, ids=lambda page: page.name)
def test_the_picture_is_told_with_its_own_numbers(page: Path, sentence: str) -> None:
    assert sentence in words_of(page)


def table_row(start: str, method: str) -> dict[str, str]:
    """Return one line of the first table over all sets in retraining.md, by column."""
    text = (ROOT / "research" / "benchmarks" / "retraining.md").read_text(encoding="utf-8")
    lines = text.partition("## All sets (11)")[2].split("\n\n")[1].splitlines()
    head, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    (found,) = (row for row in rows if row[:2] == [start, method])
    return dict(zip(head, found, strict=True))


def rounded(cell: str, digits: int = 0) -> str:
    value = float(cell.partition(" ")[0])
    return f"{value:.{digits}f}"


@pytest.mark.parametrize("page", FRONT, ids=lambda page: page.name)
def test_what_to_expect_is_the_table_of_all_sets(page: Path) -> None:
    ours = table_row("our first tree", "default")
    same = table_row("deployed CART", "default")
    anew = table_row("deployed CART", "CART retrained")
    flips = "flips at base rate %"
    expected = (
        f"changed the rules {rounded(ours['less paper distance %'])} % less than retraining CART "
        f"anew, changed the decision for {rounded(ours[flips], 1)} % of people instead of "
        f"{rounded(anew[flips])} %, and predicted better by "
        f"{rounded(ours['AUC against CART'], 2)} AUC points. From the very same CART tree it "
        f"changed the rules {rounded(same['less paper distance %'])} % less and the decision for "
        f"{rounded(same[flips])} % of people, and predicted better by "
        f"{rounded(same['AUC against CART'], 1)} points."
    )
    assert expected in words_of(page)


@pytest.mark.parametrize("page", FRONT, ids=lambda page: page.name)
def test_no_more_is_promised_than_fresh_sets_showed(page: Path) -> None:
    """Sets that were in view while it was built flatter it: the fresh ones are told beside them."""
    told = "from a CART tree, it was level with retrained CART (−0.03 ± 0.48 points)"
    assert told in words_of(page)
    assert "lost a point" not in words_of(page)


def test_pages_name_no_badge_that_nothing_stands_behind() -> None:
    for page in FRONT:
        assert not re.search(r"shields\.io|badge\.svg", page.read_text(encoding="utf-8"))
