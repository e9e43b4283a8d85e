from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from steadytree.plotting.palette import OKABE_ITO, tint
from steadytree.plotting.text import branch_text, display_width, literal, percent, shorten
from tests.report.samples import mixed_diff


@given(st.text(max_size=80), st.integers(2, 40))
def test_shortened_text_fits_and_says_so(text: str, room: int) -> None:
    short = shorten(text, room)
    assert display_width(short) <= room
    assert "\u202e" not in short
    if display_width(" ".join(text.split())) > room:
        assert short.endswith("…")


def test_short_text_stays_and_long_text_is_cut() -> None:
    assert shorten("age", 5) == "age"
    assert shorten("worst concave points", 8) == "worst c…"
    assert shorten("脈拍数と血圧", 7) == "脈拍数…"


def test_branches_say_where_missing_values_go() -> None:
    tree = mixed_diff().old
    assert branch_text(tree, 0, left=True, missing=True) == "red or blue"
    assert branch_text(tree, 0, left=False, missing=True) == "green, black or missing"
    assert branch_text(tree, 1, left=True, missing=True) == "≤ 40 or missing"
    assert branch_text(tree, 1, left=False, missing=True) == "> 40"
    assert branch_text(tree, 2, left=True) == "≤ 0.1"


def test_percentages_and_dollar_signs() -> None:
    assert percent(0.123) == "12\u202f%"
    assert literal("US$ and $x$") == r"US\$ and \$x\$"


def test_tints_lie_between_the_colour_and_white() -> None:
    assert tint("#000000", 1.0) == "#000000"
    assert tint("#0072B2", 0.0) == "#FFFFFF"
    assert len(set(OKABE_ITO.values())) == 8
