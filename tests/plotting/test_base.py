from __future__ import annotations

from steadytree.plotting._base import OKABE_ITO, literal, tint


def test_dollar_signs_are_shown() -> None:
    assert literal("US$ and $x$") == r"US\$ and \$x\$"


def test_tints_lie_between_the_colour_and_white() -> None:
    assert tint("#000000", 1.0) == "#000000"
    assert tint("#0072B2", 0.0) == "#FFFFFF"
    assert len(set(OKABE_ITO.values())) == 8
