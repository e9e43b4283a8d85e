from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from steadytree.plotting.palette import OKABE_ITO, tint
from steadytree.plotting.shortening import display_width, literal, shorten


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


def test_dollar_signs_are_shown() -> None:
    assert literal("US$ and $x$") == r"US\$ and \$x\$"


def test_tints_lie_between_the_colour_and_white() -> None:
    assert tint("#000000", 1.0) == "#000000"
    assert tint("#0072B2", 0.0) == "#FFFFFF"
    assert len(set(OKABE_ITO.values())) == 8
