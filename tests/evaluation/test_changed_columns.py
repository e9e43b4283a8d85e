"""Rows that are not what the trees were made for are noticed, and only these."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.tree import DecisionTreeClassifier

from steadytree.comparison import compare_trees
from steadytree.core.space import FeatureSpace
from steadytree.core.tree import Tree
from steadytree.evaluation.changed_columns import changed_columns
from steadytree.exceptions import SteadyTreeWarning
from steadytree.readers import as_tree
from tests.growing.mixed import mixed_table


@pytest.fixture(scope="module")
def cancer_tree():
    """A tree of one half of the rows, the other half, and the feature of its first split."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = DecisionTreeClassifier(max_depth=3, min_samples_leaf=10, random_state=0)
    tree = as_tree(model.fit(X[::2], y[::2]), space=FeatureSpace.from_data(X[::2]))
    return tree, X[1::2].reset_index(drop=True), int(tree.feature[0])


def found(tree, X):
    coded = tree.space.encode(X)
    return changed_columns([tree], tree.space, coded)


def test_rows_of_the_same_kind_are_not_suspected(cancer_tree):
    tree, X, _ = cancer_tree
    assert found(tree, X) == {}
    assert found(tree, X[:5]) == {}
    assert found(tree, X[:0]) == {}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda v: v * np.nan, "is empty in these rows"),
        (lambda v: v.where(v.index % 3 == 0), "is missing in 67% of these rows and never was"),
        (lambda v: v * 1000, "other units?"),
        (lambda v: v / 1000, "other units?"),
        (lambda v: v * 0 + v.min(), "sends all of these rows to one side, where"),
        (lambda v: v * 0 - 999, "other units?|sends all of these rows to one side"),
        (lambda v: v * 3, "sends all of these rows to one side"),
    ],
)
def test_a_broken_column_is_noticed(cancer_tree, change, words):
    tree, X, j = cancer_tree
    name = X.columns[j]
    (at,), (said,) = zip(*found(tree, X.assign(**{name: change(X[name])})).items(), strict=True)
    assert at == j
    assert re.search(words.replace("?", r"\?"), said)


def test_a_column_that_no_tree_uses_may_be_anything(cancer_tree):
    tree, X, _ = cancer_tree
    unused = next(n for j, n in enumerate(X.columns) if j not in tree.used_features)
    assert found(tree, X.assign(**{unused: np.nan})) == {}


def test_real_drift_is_no_fault():
    """Sorted by a feature that the tree splits on, halves differ much and are both accepted."""
    X, y = load_wine(return_X_y=True, as_frame=True)
    order = X["proline"].argsort()
    X, y = X.iloc[order].reset_index(drop=True), y.iloc[order].reset_index(drop=True)
    rows = np.arange(len(X)) % 2 == 0
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X[rows], y[rows])
    tree = as_tree(model, space=FeatureSpace.from_data(X[rows]))
    assert found(tree, X[~rows]) == {}
    half = X[60:]  # without the third with the least of it
    assert found(tree, half) == {}


@pytest.mark.parametrize(
    ("stored", "words"),
    [(True, "has unknown categories in 100% of these"), (False, "sends all of these rows to one")],
)
def test_categories_under_other_names(stored, words):
    X, y = mixed_table(700, 0)
    X = X[["colour"]].copy()
    space = FeatureSpace.from_data(X, y)
    red = (X["colour"] == "red").to_numpy()
    tree = Tree(
        children_left=[1, -1, -1],
        children_right=[2, -1, -1],
        feature=[0, -1, -1],
        threshold=[np.nan] * 3,
        left_categories=((space.categories[0].index("red"),), None, None),
        value=[[0.5, 0.5], [1, 0], [0, 1]],
        weight=[len(X), red.sum(), (~red).sum()],
        classes=("no", "yes"),
        n_features=1,
        feature_names=("colour",),
        categories=space.categories,
        space=space.replace(classes=None) if stored else None,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compare_trees(tree, tree, X).changed_columns == {}
    codes = X["colour"].map({"red": 0, "green": 1, "blue": 2, "grey": 3})
    with pytest.warns(SteadyTreeWarning, match=f"'colour' {words}"):
        compared = compare_trees(tree, tree, X.assign(colour=codes.astype(object)))
    assert set(compared.changed_columns) == {"colour"}
    assert not compared.check(max_flips=0.5).passed
    assert compared.check(max_flips=0.5, accept=["colour"]).passed
    assert compared.check(max_dissimilarity=0.5).passed  # not counted on rows
