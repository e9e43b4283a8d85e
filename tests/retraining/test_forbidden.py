"""Features that no rule may use."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from steadytree.exceptions import InputError
from steadytree.retraining import retrain
from steadytree.retraining.forbidden import without_splits
from tests.retraining.conftest import QUICK

FAST = {**QUICK, "n_estimators": 8}


def test_conditions_give_way_to_their_heavier_side(mixed):
    X, _, first = mixed
    tree = first.to_tree()
    for feature in sorted(tree.used_features):
        cut = without_splits(tree, {feature})
        assert cut.used_features <= tree.used_features - {feature}
        assert cut.n_leaves < tree.n_leaves
        # Whoever takes the heavier side everywhere is told the same as before.
        leaf, after = tree.apply(X), cut.apply(X)
        same = np.ones(len(X), dtype=bool)
        for node in np.flatnonzero(tree.feature == feature).tolist():
            sides = tree.children_left[node], tree.children_right[node]
            lighter = min(sides, key=lambda side: (tree.weight[side], side == sides[0]))
            below = {int(lighter)}
            for inner in tree.preorder.tolist():
                if tree.parent[inner] in below:
                    below.add(inner)
            same &= ~np.isin(leaf, list(below))
        assert same.any()
        np.testing.assert_array_equal(tree.value[leaf[same]], cut.value[after[same]])
    assert without_splits(tree, {3}) is tree
    stump = without_splits(tree, tree.used_features)
    assert stump.n_leaves == 1
    assert str(stump)


@pytest.mark.parametrize("with_old", [False, True])
def test_no_candidate_uses_a_forbidden_feature(mixed, with_old):
    X, y, first = mixed
    assert 0 in first.to_tree().used_features
    old = {"X_old": X[:300], "y_old": y[:300]} if with_old else {}
    result = retrain(first, X[300:], y[300:], forbid=["age"], compare=True, **old, **FAST)
    for name, tree in result.trees.items():
        assert 0 not in tree.used_features, name
    assert 0 in result.deployed.used_features
    assert result.dissimilarity > 0
    assert result.frontier.loc["keep", "dissimilarity"] > 0
    assert result.settings["forbidden"] == [0]
    # The teacher does not see the feature either: other values of it change nothing.
    other = X[300:].assign(age=X["age"][300:].to_numpy()[::-1])
    past = {"X_old": X[:300].assign(age=50.0), "y_old": y[:300]} if with_old else {}
    again = retrain(first, other, y[300:], forbid="age", compare=True, **past, **FAST)
    for name, tree in result.trees.items():
        np.testing.assert_array_equal(tree.value, again.trees[name].value, err_msg=name)


def test_locks_hold_in_what_is_left(mixed):
    X, y, first = mixed
    result = retrain(first, X[300:], y[300:], forbid="age", locked="colour", price=0.02, **FAST)
    assert 2 in result.tree.used_features


def test_bad_forbidden_features_are_named(mixed):
    X, y, first = mixed
    with pytest.raises(InputError, match="in forbid, got 'agge'; did you mean 'age'"):
        retrain(first, X[300:], y[300:], forbid=["agge"], **QUICK)
    own = DecisionTreeClassifier(max_depth=2, random_state=0)
    numbers, deployed = X[["age", "noise"]], DecisionTreeClassifier(max_depth=2, random_state=0)
    deployed.fit(numbers[:300], y[:300])
    with pytest.raises(InputError, match=r"candidate 'mine' not to use .* rules on \['age'\]"):
        retrain(deployed, numbers[300:], y[300:], forbid="age", candidates={"mine": own}, **QUICK)
