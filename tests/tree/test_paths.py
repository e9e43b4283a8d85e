"""Paths in words, in a space; what is clipped, dropped, merged."""

from __future__ import annotations

import math
import pickle
import warnings
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as hs

import steadytree as st
from steadytree.exceptions import ClippedThresholdWarning, FeatureAlignmentError
from steadytree.tree.observed import Observed
from steadytree.tree.paths import Paths, tree_rules
from tests.golden import HOLES, RESPONSE, UNIT, build
from tests.strategies import Kind, random_rows, random_space, random_tree

SPACE = st.FeatureSpace(
    lower=np.array([0.0, 0.0]),
    upper=np.array([100.0, 0.0]),
    categories=(None, ("red", "green", "blue")),
    can_be_missing=np.array([True, True]),
    names=("age", "colour"),
)
CATS: dict[str, Any] = {"categories": SPACE.categories, "feature_names": SPACE.names}


def rules(tree: st.Tree, space: st.FeatureSpace, **options: bool) -> list[str]:
    paths = Paths.from_tree(tree, space, **options)  # type: ignore[arg-type]
    return [paths.rule_text(p) for p in range(paths.n_paths)]


def test_rules_in_words() -> None:
    tree = build((0, 50.0, (0, 30.5, "no", "yes"), (1, (0, 2), "no", "yes", False), False), **CATS)
    assert rules(tree, SPACE) == [
        "age <= 30.5: no",
        "30.5 < age <= 50: yes",
        "(age > 50 or missing) and (colour is red or blue): no",
        "(age > 50 or missing) and (colour is green or missing): yes",
    ]


def test_missing_in_words() -> None:
    asked = build((0, math.inf, "no", (1, (0, 1, 2), "no", "yes", False), False), **CATS)
    assert rules(asked, SPACE) == [
        "age is not missing: no",
        "age is missing and colour is not missing: no",
        "age is missing and colour is missing: yes",
    ]
    assert rules(build("no", **CATS), SPACE) == ["always: no"]


def test_a_path_nothing_can_reach_is_dropped() -> None:
    impossible = build((0, 0.5, (0, 0.7, "no", "yes"), "yes"))
    assert rules(impossible, UNIT) == ["x0 <= 0.5: no", "x0 > 0.5: yes"]
    # Where missing values get through, the path stays: they are all it lets through.
    waits = build((0, 0.5, (0, 0.7, "no", "yes", False), "yes", True))
    assert rules(waits, HOLES)[1] == "x0 is missing: yes"
    # A category that has been sent away does not come back.
    twice = build((1, (0,), (1, (1, 2), "no", "yes"), "yes", False), **CATS)
    assert rules(twice, SPACE.replace(can_be_missing=np.array([False, False]))) == [
        "colour is red: yes",
        "colour is green or blue: yes",
    ]


def test_thresholds_outside_the_range_are_clipped_with_a_warning() -> None:
    outside = build((0, 1.5, (1, -3.0, "no", "yes"), "no"), feature_names=("a", "b"))
    with pytest.warns(
        ClippedThresholdWarning, match=r"thresholds of \['a', 'b'\] lie outside the space's range"
    ):
        paths = Paths.from_tree(outside, UNIT.replace(names=("a", "b")))
    assert paths.n_paths == 3
    np.testing.assert_array_equal(
        paths.dense(), [[0, 0, 1, 0], [0, 0, 0, 0], [0, 1, 0, 0]]
    )  # upper and lower side of a, then of b
    with pytest.warns(ClippedThresholdWarning):
        assert st.tree_distance(outside, outside, space=UNIT) == 0.0


def test_infinite_thresholds_are_not_clipped() -> None:
    assert Paths.from_tree(build((0, math.inf, "no", "yes", False)), HOLES).n_paths == 2


def test_weights_of_the_paper() -> None:
    tree = build((0, 0.25, "no", (1, 0.5, "no", (0, 0.75, "no", "yes"))))
    weights = Paths.from_tree(tree, UNIT).paper_weight
    np.testing.assert_allclose(weights, [0.25, 0.75 + 0.5, 0.5 + 0.5, 0.25 + 0.5])
    colour = build((1, (0, 1), "no", "yes", False), **CATS)
    np.testing.assert_allclose(Paths.from_tree(colour, SPACE).paper_weight, [2 / 4, 2 / 4])
    age = build((0, 25.0, "no", "yes", False), **CATS)
    # Missing values go right: half of {present, missing} is left on the left side only.
    np.testing.assert_allclose(Paths.from_tree(age, SPACE).paper_weight, [0.25 + 0.5, 0.75])


def test_merging_siblings_of_one_label() -> None:
    tree = build((0, 0.5, (1, 0.3, "no", (0, 0.2, "no", "no")), (1, 0.3, "yes", "no")))
    assert rules(tree, UNIT, merge_equal_siblings=True) == [
        "x0 <= 0.5: no",
        "x0 > 0.5 and x1 <= 0.3: yes",
        "x0 > 0.5 and x1 > 0.3: no",
    ]
    everywhere = build((0, 0.5, (1, 0.3, "no", "no"), "no"))
    assert rules(everywhere, UNIT, merge_equal_siblings=True) == ["always: no"]
    # Siblings are one label apart from a leaf nothing can reach.
    hidden = build((0, 0.5, (0, 0.7, "no", "yes"), "no"))
    assert rules(hidden, UNIT, merge_equal_siblings=True) == ["always: no"]
    values = build((0, 0.5, (1, 0.3, 2.0, 2.0), 5.0), classes=None)
    assert rules(values, RESPONSE, merge_equal_siblings=True) == ["x0 <= 0.5: 2", "x0 > 0.5: 5"]


def test_siblings_are_compared_by_the_labels_of_their_leaves() -> None:
    """A label kept against the shares of an inner node is nobody's outcome."""
    tree = build((0, 0.5, (1, 0.3, "no", "no"), "no"))
    inner = tree.replace(label=np.array([0, 1, 0, 0, 0]))
    assert rules(inner, UNIT, merge_equal_siblings=True) == ["always: no"]


def test_trees_made_together_are_those_made_one_by_one() -> None:
    """With and without sets of categories, in any order, with unreachable leaves between."""
    trees = [
        build((0, 30.0, "no", "yes"), **CATS),
        build((1, (0, 2), "no", (0, 60.0, "yes", "no"), False), **CATS),
        build((0, 50.0, (0, 70.0, "no", "yes"), (1, (1,), "yes", "no")), **CATS),
        build("yes", **CATS),
        build((1, (1,), "yes", "no"), **CATS),
    ]
    for merge in (False, True):
        together = Paths.from_trees(trees, SPACE, merge_equal_siblings=merge)
        for tree, paths in zip(trees, together, strict=True):
            alone = Paths.from_tree(tree, SPACE, merge_equal_siblings=merge)
            for name in ("leaf", "indptr", "coord", "tightening", "paper_weight", "label", "value"):
                np.testing.assert_array_equal(getattr(paths, name), getattr(alone, name), name)
            for name, part in alone.walked._asdict().items():
                if not name.startswith("of_"):
                    np.testing.assert_array_equal(getattr(paths.walked, name), part, name)
            texts = [[one.rule_text(p) for p in range(one.n_paths)] for one in (paths, alone)]
            assert texts[0] == texts[1]


def test_regression_needs_a_response_range() -> None:
    tree = build((0, 0.5, 1.0, 2.0), classes=None)
    with pytest.raises(FeatureAlignmentError, match="expected a space with a response range"):
        Paths.from_tree(tree, UNIT)
    paths = Paths.from_tree(tree, RESPONSE)
    np.testing.assert_allclose(paths.value, [[0.05], [0.1]])
    assert paths.label.tolist() == [0, 0]  # responses have no labels to differ in


def test_one_row_per_path_reaches_its_leaf() -> None:
    """Conditions say which values reach a leaf: values that meet them do."""
    rng = np.random.default_rng(0)
    tree = build((0, 0.5, (1, 0.3, "no", "yes"), (0, 0.8, (1, 0.9, "yes", "no"), "no")))
    paths = Paths.from_tree(tree, UNIT)
    X = rng.random((500, 2))
    leaf = tree.apply(X)
    for p in range(paths.n_paths):
        inside = np.ones(len(X), dtype=bool)
        for c in paths.conditions_of(p):
            inside &= (X[:, c.feature] > c.lower) & (X[:, c.feature] <= c.upper)
        np.testing.assert_array_equal(inside, leaf == paths.leaf[p])
    assert len(paths.conditions) == paths.n_paths
    assert repr(paths) == "Paths(5 paths over FeatureSpace(2 features: 2 numeric))"


def test_the_walk_is_told_as_operations() -> None:
    walk = Paths.from_tree(build((0, 0.5, (0, 0.25, "no", "yes"), "no")), UNIT).walked
    assert walk.depth.tolist() == [0, 1, 2, 2, 1]
    assert walk.path.tolist() == [-1, -1, 0, 1, 2]
    assert walk.op_start.tolist() == [0, 0, 1, 2, 3, 4]
    assert walk.op_coord.tolist() == [0, 0, 1, 1]
    assert walk.op_old.tolist() == [0.0, 0.5, 0.0, 0.0]
    assert walk.op_new.tolist() == [0.5, 0.75, 0.25, 0.5]


def test_paths_can_be_pickled() -> None:
    paths = Paths.from_tree(build((0, 0.5, "no", "yes")), UNIT)
    again = pickle.loads(pickle.dumps(paths))
    assert again.walked.op_new.tolist() == paths.walked.op_new.tolist()
    assert again.rule_text(0) == paths.rule_text(0)


# -- test_rules -------------------------------------------------------------------


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


@given(hs.integers(0, 2**32))
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
