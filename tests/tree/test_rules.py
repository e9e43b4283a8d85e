from __future__ import annotations

import math
import warnings
from random import Random

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from steadytree.tree.observed import Observed
from steadytree.tree.paths import tree_rules
from tests.golden import build
from tests.strategies import Kind, random_rows, random_space, random_tree


def test_a_rule_says_what_its_leaf_predicts_and_what_was_observed() -> None:
    counts = np.array([[32.0, 42.0], [31.0, 12.0], [1.0, 30.0]])
    tree = build(
        (0, 0.5, "no", "yes"),
        n_features=1,
        value=[[32 / 74, 42 / 74], [0.727, 0.273], [0.05, 0.95]],
        observed=Observed.plain(counts, counts, classifier=True),
    )
    assert [rule.text for rule in tree_rules(tree)] == [
        "x0 <= 0.5: no (predicts yes 27.3 %; observed 12 of 43)",
        "x0 > 0.5: yes (predicts yes 95.0 %; observed 30 of 31)",
    ]
    assert tree_rules(tree)[0].short_text == "x0 <= 0.5: no"


def test_rules_of_a_tree_without_a_space_ask_whether_a_value_is_there() -> None:
    tree = build((0, math.inf, "no", "yes", False), n_features=1)
    assert [rule.short_text for rule in tree_rules(tree)] == [
        "x0 is not missing: no",
        "x0 is missing: yes",
    ]


@given(st.integers(0, 2**32))
def test_every_row_meets_the_rule_of_its_leaf_and_no_other(seed: int) -> None:
    rng = Random(seed)
    space = random_space(rng, Kind())
    tree = random_tree(rng, space, Kind()).replace(space=space)
    rows = space.encode(np.array(random_rows(rng, space, 30), dtype=object))
    leaf = tree.apply_coded(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rules = tree_rules(tree)
    assume(not np.isnan(rows[:, ~space.can_be_missing]).any())
    for rule in rules:
        meets = np.ones(len(rows), dtype=bool)
        for c in rule.conditions:
            values = rows[:, c.feature]
            if c.allowed is None:
                fits = (values > c.lower) & (values <= c.upper) & c.present
            else:
                names = space.categories[c.feature] or ()
                codes = [i for i, name in enumerate(names) if name in c.allowed]
                fits = np.isin(values, codes)
            meets &= np.where(np.isnan(values), bool(c.missing), fits)
        np.testing.assert_array_equal(meets, leaf == rule.leaf)
