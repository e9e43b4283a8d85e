"""Every way in which numbers are written is read back as the range it stands for."""

from __future__ import annotations

import pytest

from tests.attack.disclosure.numerals import Told, coarse, read_count, read_share, rounded


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("12 of 43", Told(12, 12, 43)),
        ("1,012 of 4,300 (24 %)", Told(1012, 1012, 4300)),
        ("<\u202f5 of 291", Told(0, 4, 291)),
        (">\u202f158 of 163", Told(159, 163, 163)),
        ("10–14 of 26", Told(10, 14, 26)),
        ("fewer than 5 of 428 new rows", Told(1, 4, 428)),
        ("all but fewer than 5 of 428", Told(424, 427, 428)),
        ("144 of the 428 new rows", Told(144, 144, 428)),
    ],
)
def test_counts(text: str, told: Told) -> None:
    assert read_count(text) == told


def test_what_is_no_count() -> None:
    assert read_count("hidden") is None
    assert read_share("hidden") is None


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("34\u202f%", 0.335, 0.345),
        ("9.8 %", 0.0975, 0.0985),
        ("<\u202f0.1 %", 0.0, 0.001),
        ("≤\u202f14\u202f%", 0.0, 0.14),
        ("≥ 50 %", 0.5, 1.0),
        ("38–54 %", 0.38, 0.54),
    ],
)
def test_shares(text: str, low: float, high: float) -> None:
    assert read_share(text) == pytest.approx((low, high))


def test_rounded_numbers() -> None:
    assert rounded(0.25, 3) == pytest.approx((0.2495, 0.2505))
    low, high = rounded(0.9995162072600452, 3)
    assert high - low < 1e-8, "what would read 1 is written out in full"
    assert coarse(0.45, 60, 5) == pytest.approx((0.4, 0.5))
    assert coarse(0.4, 250, 5) == pytest.approx((0.39, 0.41))
