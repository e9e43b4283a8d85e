"""Colours stay apart, and dark text can be read on their tints."""

from __future__ import annotations

from steadytree.tree.printing import INK, OKABE_ITO, PAIR_COLOURS, tint


def test_tints_lie_between_the_colour_and_white() -> None:
    assert tint("#000000", 1.0) == "#000000"
    assert tint("#0072B2", 0.0) == "#FFFFFF"
    assert len(set(OKABE_ITO.values())) == 8


def test_ink_can_be_read_on_every_tint() -> None:
    """The contrast that the web's rules for accessible text ask for at their strictest: 7."""
    for colour in PAIR_COLOURS:
        assert (luminance(tint(colour)) + 0.05) / (luminance(INK) + 0.05) > 7


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
