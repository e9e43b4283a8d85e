"""Features that no rule may use: in the first tree, and in every candidate of a retraining."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier

from steadytree.diff.comparison import compare
from steadytree.estimators import DistilledTreeClassifier, DistilledTreeRegressor
from steadytree.evaluation.locks import (
    forbidden_before,
    forbidden_features,
    unseen,
    without_splits,
)
from steadytree.exceptions import InputError, SteadyTreeWarning
from steadytree.retraining import SearchOptions, retrain
from steadytree.tree.json import load_tree, save_tree
from steadytree.tree.space import FeatureSpace
from tests.growing.mixed import mixed_table

FAST = {"search": SearchOptions(n_estimators=8), "n_folds": 2, "random_state": 0}


@pytest.fixture(scope="module")
def mixed():
    X, y = mixed_table(700, 0)
    first = DistilledTreeClassifier(n_estimators=20, max_leaf_nodes=6, random_state=0)
    return X, y, first.fit(X[:300], y[:300])


def test_features_are_found_by_name_or_position_and_hidden():
    coded = np.arange(6.0).reshape(2, 3)
    space = FeatureSpace(lower=[0, 0, 0], upper=[9, 9, 9], names=("a", "b", "c"))
    assert forbidden_features(space, None) == forbidden_features(space, ()) == frozenset()
    assert forbidden_features(space, "b") == {1}
    assert forbidden_features(space, ["b", 2]) == {1, 2}
    with pytest.raises(InputError, match="leave a feature for the rules, got all 3 of them"):
        forbidden_features(space, ["a", "b", "c"])
    hidden = unseen(coded, {2, 0})
    assert np.isnan(hidden[:, [0, 2]]).all()
    assert hidden[:, 1].tolist() == [1.0, 4.0]
    assert not np.isnan(coded).any()
    assert unseen(coded, ()) is coded


@pytest.mark.parametrize("task", ["binary", "regression"])
def test_the_first_tree_never_uses_a_forbidden_feature(task):
    X, y = mixed_table(300, 0, task=task)
    kind = DistilledTreeRegressor if task == "regression" else DistilledTreeClassifier
    make = partial(kind, n_estimators=10, max_leaf_nodes=6, random_state=0)
    free, bound = make().fit(X, y), make(forbid=["age", "colour"]).fit(X, y)
    assert {0, 2} & free.to_tree().used_features
    tree = bound.to_tree()
    assert tree.n_leaves > 1
    assert not {0, 2} & tree.used_features
    assert tree.metadata["forbidden"] == ["age", "colour"]
    assert "forbidden" not in free.to_tree().metadata
    # The columns are accepted, and nothing was learnt from what is in them.
    other = X.assign(age=X["age"].to_numpy()[::-1], colour=X["colour"].to_numpy()[::-1])
    again = make(forbid=["age", "colour"]).fit(other, y).to_tree()
    np.testing.assert_array_equal(tree.value, again.value)
    np.testing.assert_array_equal(bound.predict(X), bound.predict(other))
    with pytest.raises(InputError, match="in forbid, got 'agge'; did you mean 'age'"):
        make(forbid="agge").fit(X, y)


def test_forbidden_columns_are_part_of_the_rows_a_tree_is_known_by():
    X, y = mixed_table(300, 0)
    first = DistilledTreeClassifier(n_estimators=8, random_state=0, forbid="age").fit(X, y)
    no_folds = {**FAST, "n_folds": 0}
    for forbid in ((), "age"):
        with pytest.warns(SteadyTreeWarning, match="made from these very rows"):
            same = retrain(first, X, y, plan={"forbid": forbid}, **no_folds)
        assert same.dissimilarity == 0
    result = retrain(first, *mixed_table(200, 1), plan={"forbid": "age"}, **no_folds)
    score = compare(first, result.tree, *mixed_table(200, 1)).score
    assert score.trained_on == "new"
    # A rule that is forbidden now is learnt anew, though the rows are the same.
    free = DistilledTreeClassifier(n_estimators=8, random_state=0).fit(X, y)
    anew = retrain(free, X, y, plan={"forbid": "age"}, **no_folds)
    assert anew.dissimilarity > 0
    assert anew.tree.observed is not None


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


def test_no_candidate_uses_a_forbidden_feature(mixed):
    X, y, first = mixed
    assert 0 in first.to_tree().used_features
    old = X[:300], y[:300]
    result = retrain(first, X[300:], y[300:], plan={"forbid": ["age"]}, old=old, **FAST)
    for name, tree in result.trees.items():
        assert 0 not in tree.used_features, name
    assert 0 in result.deployed.used_features
    assert result.dissimilarity > 0
    assert result.action == "change", "what is forbidden cannot be kept"
    text = result.explain()
    assert text.startswith("Change to another tree")
    assert "Conditions on 'age' go, as they are forbidden." in text
    risk = result.deployed.predict_proba(X[300:])[:, 1]
    assert f": {roc_auc_score(y[300:], risk):.3f} to " in text
    assert result.frontier.loc["keep", "dissimilarity"] > 0
    assert result.settings["forbidden"] == [0]
    # The teacher does not see the feature either: other values of it change nothing.
    other = X[300:].assign(age=X["age"][300:].to_numpy()[::-1])
    past = X[:300].assign(age=50.0), y[:300]
    again = retrain(first, other, y[300:], plan={"forbid": "age"}, old=past, **FAST)
    for name, tree in result.trees.items():
        np.testing.assert_array_equal(tree.value, again.trees[name].value, err_msg=name)


def test_locks_hold_in_what_is_left(mixed):
    X, y, first = mixed
    result = retrain(
        first, X[300:], y[300:], plan={"forbid": "age", "locked": "colour"}, price=0.02, **FAST
    )
    assert 2 in result.tree.used_features


def test_bad_forbidden_features_are_named(mixed):
    X, y, first = mixed
    with pytest.raises(InputError, match="in forbid, got 'agge'; did you mean 'age'"):
        retrain(first, X[300:], y[300:], plan={"forbid": ["agge"]}, **FAST)
    own = DecisionTreeClassifier(max_depth=2, random_state=0)
    numbers, deployed = X[["age", "noise"]], DecisionTreeClassifier(max_depth=2, random_state=0)
    deployed.fit(numbers[:300], y[:300])
    with pytest.raises(InputError, match=r"candidate 'mine' not to use .* rules on \['age'\]"):
        retrain(
            deployed,
            numbers[300:],
            y[300:],
            plan={"forbid": "age"},
            candidates={"mine": own},
            **FAST,
        )


def test_what_a_tree_was_made_without_stays_forbidden(mixed, tmp_path):
    X, y, _ = mixed
    first = DistilledTreeClassifier(n_estimators=10, forbid=["age"], random_state=0)
    save_tree(first.fit(X[:200], y[:200]).to_tree(), tmp_path / "tree.json")
    deployed = load_tree(tmp_path / "tree.json")
    assert forbidden_before(deployed) == ("age",)
    age = list(X.columns).index("age")
    options = {**FAST, "price": 0.0, "n_folds": 0}
    for rows in (slice(200, 400), slice(400, 550)):  # inherited again and again
        result = retrain(deployed, X[rows], y[rows], **options)
        assert result.settings["forbidden"] == [age]
        assert not any(age in tree.used_features for tree in result.trees.values())
        deployed = result.tree
        assert forbidden_before(deployed) == ("age",)
    free = retrain(deployed, X[550:], y[550:], plan={"forbid": []}, **options)
    assert free.settings["forbidden"] == []
    assert any(age in tree.used_features for tree in free.trees.values())
    # A stranger's file may say anything.
    odd = deployed.replace(metadata={"forbidden": "age"})
    assert forbidden_before(odd) == ()
    assert forbidden_before(deployed.replace(metadata={"forbidden": ["age", 3, "no"]})) == ("age",)
