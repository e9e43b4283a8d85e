"""Targets: classes, responses, and what is neither."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from steadytree.cli.tables import check_outcomes, guess_task
from steadytree.exceptions import InputError, SteadyTreeWarning

FILE = Path("t.csv")


def test_texts_are_classes_unless_they_are_many() -> None:
    assert guess_task(np.array(["a", "b"], dtype=object), "auto") == "classification"
    many = np.array([f"c{i % 21}" for i in range(500)], dtype=object)
    with pytest.raises(InputError, match="at most 20 classes, got 21 different texts; name"):
        guess_task(many, "auto")
    assert guess_task(many, "classification") == "classification"
    check_outcomes(many, "classification", FILE, "y")


def test_identifiers_are_no_classes_even_if_insisted() -> None:
    for y in (np.array([f"p{i}" for i in range(40)], dtype=object), np.arange(40)):
        with pytest.raises(InputError, match=r"'y' of t\.csv, got 40 different values in 40"):
            check_outcomes(y, "classification", FILE, "y")
    check_outcomes(np.arange(40), "regression", FILE, "y")


def test_texts_are_no_response() -> None:
    with pytest.raises(InputError, match=r"numbers in the target 'y' of t\.csv with --task"):
        check_outcomes(np.array(["a", "b"] * 9, dtype=object), "regression", FILE, "y")


def test_classes_of_one_row_are_told() -> None:
    y = np.array(["a"] * 9 + ["b"] * 9 + ["c", "d"], dtype=object)
    with pytest.warns(SteadyTreeWarning, match="classes 'c', 'd' of the target 'y' have too few"):
        check_outcomes(y, "classification", FILE, "y")
