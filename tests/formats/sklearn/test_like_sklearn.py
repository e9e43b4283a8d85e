"""A tree in the place of the one in a scikit-learn model."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    TunedThresholdClassifierCV,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier

import steadytree as st
from steadytree.exceptions import FeatureAlignmentError, UnsupportedModelError
from steadytree.plugins import write_like
from tests.foreign import probe_rows, random_tree

NAMES = list("abcd")


@pytest.fixture(scope="module")
def data() -> tuple[pd.DataFrame, Any]:
    X, y = make_classification(600, 4, random_state=0, weights=[0.7], flip_y=0.2)
    return pd.DataFrame(X, columns=NAMES), np.array(["no", "yes"])[y]


def moved(tree: st.Tree, seed: int) -> st.Tree:
    rng = np.random.default_rng(seed)
    shift = np.where(tree.is_leaf, 0, rng.normal(scale=0.2, size=tree.n_nodes))
    return tree.replace(
        threshold=tree.threshold + shift, missing_left=rng.random(tree.n_nodes) < 0.5, label=None
    )


def models(data: tuple[pd.DataFrame, Any]) -> dict[str, Any]:
    tree = DecisionTreeClassifier(max_depth=4, random_state=1)
    return {
        "tree": tree,
        "extra": ExtraTreeClassifier(max_depth=4, random_state=1),
        "weighted": DecisionTreeClassifier(max_depth=4, class_weight="balanced"),
        "weighted by dict": DecisionTreeClassifier(max_depth=4, class_weight={"no": 1, "yes": 3}),
        "search": GridSearchCV(tree, {"max_depth": [2, 3]}, cv=2),
        "fixed": FixedThresholdClassifier(tree, threshold=0.3, pos_label="yes"),
        "fixed, first class": FixedThresholdClassifier(tree, threshold=0.3, pos_label="no"),
        "tuned": TunedThresholdClassifierCV(tree, cv=2, random_state=0),
        "frozen": FixedThresholdClassifier(FrozenEstimator(clone(tree).fit(*data)), threshold=0.2),
    }


@pytest.mark.parametrize(
    "name",
    [
        *("tree", "extra", "weighted", "weighted by dict", "search"),
        *("fixed", "fixed, first class", "tuned", "frozen"),
    ],
)
def test_the_form_stays_and_the_tree_is_new(name: str, data: tuple[pd.DataFrame, Any]) -> None:
    model = models(data)[name].fit(*data)
    before = pickle.dumps(model)
    deployed = st.as_tree(model.best_estimator_ if name == "search" else model)
    new = moved(deployed.with_plain_shares(), 3)
    rows = probe_rows(new, 3000, singles=True)
    written = write_like(new, model)
    np.testing.assert_array_equal(written.predict(rows), new.predict(rows))
    np.testing.assert_allclose(written.predict_proba(rows), new.predict_proba(rows), atol=1e-12)
    again = st.as_tree(written)
    np.testing.assert_array_equal(again.label[again.is_leaf], new.label[new.is_leaf])
    np.testing.assert_allclose(again.value, new.value, atol=1e-12)
    if name in ("tree", "extra", "fixed", "fixed, first class", "tuned"):
        assert type(written) is type(model)
    assert pickle.dumps(model) == before


def test_a_policy_that_the_wrapper_cannot_hold(data: tuple[pd.DataFrame, Any]) -> None:
    model = models(data)["tuned"].fit(*data)
    tree = st.as_tree(model)
    rows = probe_rows(tree, 1000, singles=True)
    for policy in (None, st.Decision(threshold=0.4, positive="no")):
        new = tree.relabelled(policy)
        np.testing.assert_array_equal(write_like(new, model).predict(rows), new.predict(rows))


def test_columns_are_found_by_name(data: tuple[pd.DataFrame, Any]) -> None:
    X, y = data
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    other = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X[["d", "b", "c", "a"]], y)
    written = write_like(st.as_tree(other), model)
    np.testing.assert_array_equal(written.predict(X), other.predict(X[["d", "b", "c", "a"]]))
    fewer = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X[["b", "d"]], y)
    written = write_like(st.as_tree(fewer), model)
    np.testing.assert_array_equal(written.predict(X), fewer.predict(X[["b", "d"]]))


def test_refusals(data: tuple[pd.DataFrame, Any]) -> None:
    X, y = data
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    with pytest.raises(FeatureAlignmentError, match="got splits on 'z', which it does not have"):
        write_like(st.as_tree(model).replace(feature_names=tuple("zbcd")), model)
    nameless = DecisionTreeClassifier().fit(X[["a", "b"]].to_numpy(), y)
    with pytest.raises(FeatureAlignmentError, match=r"over the 2 columns .* got one over 4"):
        write_like(st.as_tree(model), nameless)
    # By position where one side has no names.
    unnamed = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X.to_numpy(), y)
    np.testing.assert_array_equal(
        write_like(st.as_tree(unnamed), model).predict(X), unnamed.predict(X.to_numpy())
    )
    with pytest.raises(UnsupportedModelError, match="expected a regression tree"):
        write_like(st.as_tree(model), DecisionTreeRegressor().fit(X, y == "yes"))
    tree = random_tree(0)
    zeros = pd.DataFrame(0, index=range(2), columns=list(tree.feature_labels))
    like = DecisionTreeClassifier().fit(zeros, ["no", "yes"])
    with pytest.raises(UnsupportedModelError, match=r"got categories of .*'size'"):
        write_like(tree, like)
