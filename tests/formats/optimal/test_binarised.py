"""Questions that binary columns ask, told of the original features."""

from __future__ import annotations

import numpy as np
import pytest

from steadytree.formats.optimal.binarised import (
    Question,
    ask,
    certain,
    given_names,
    plain_questions,
)
from steadytree.tree.branches import build_tree
from steadytree.tree.nested import Leaf


def test_a_threshold_and_its_negation() -> None:
    yes, no = certain(1, 2, 5.0), certain(0, 2, 1.0)
    for question, expected in (
        (Question(0, 3.0), [1, 1, 0]),
        (Question(0, 3.0, negated=True), [0, 0, 1]),
    ):
        tree = build_tree(ask(question, yes, no), n_features=1, classes=(0, 1))
        np.testing.assert_array_equal(tree.predict([[2.0], [3.0], [3.1]]), expected)
        # Missing numbers go with the heavier side.
        assert tree.predict([[np.nan]]).tolist() == [1]


@pytest.mark.parametrize("missing", [False, True])
def test_a_category_that_is_not_asked_for_is_a_no(missing: bool) -> None:
    question = Question(0, codes=(1,), missing=missing)
    tree = build_tree(
        ask(question, Leaf([1.0], 9), Leaf([2.0], 1)), n_features=1, categories=(("a", "b"),)
    )
    rows = np.array([["a"], ["b"], ["new"], [None]], dtype=object)
    assert tree.predict(rows).tolist() == [2.0, 1.0, 2.0, 1.0 if missing else 2.0]


def test_columns_of_zeros_and_ones() -> None:
    question = plain_questions(2)[1]
    tree = build_tree(ask(question, Leaf([1.0]), Leaf([0.0])), n_features=2)
    assert tree.predict([[0, 1], [1, 0]]).tolist() == [1.0, 0.0]
    assert tree.predict(np.array([[False, True]])).tolist() == [1.0]


def test_names_that_a_library_made_up_are_none() -> None:
    assert given_names(["x0", "x1"], 2) is None
    assert given_names(["x0", "age"], 2) == ("x0", "age")
    assert given_names(None, 2) is None
    assert given_names([3, 4], 2) is None
