"""``as_tree``: what it takes, what it refuses and what it says then."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import (
    GradientBoostingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import steadytree as st
from steadytree.exceptions import (
    InputError,
    NotFittedTreeError,
    OneDecisionWarning,
    UnsupportedModelError,
)
from steadytree.plugins import read_models
from tests.golden import UNIT, build
from tests.wording import refuses

X, Y = load_breast_cancer(return_X_y=True)
SMALL = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, Y)


# -- what it takes ----------------------------------------------------------------


def test_trees_pass_through_and_files_are_read(tmp_path: Path) -> None:
    tree = st.as_tree(SMALL)
    assert st.as_tree(tree) is tree
    path = st.save_tree(tree, tmp_path / "tree.json")
    assert st.as_tree(path) == tree
    assert st.as_tree(str(path)) == tree


def test_a_model_that_decides_the_same_for_everybody_is_read_with_a_warning(
    tmp_path: Path,
) -> None:
    rare = np.zeros(len(Y), dtype=int)
    rare[:40] = 1
    model = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X[:, :1] * 0, rare)
    says = 'decides "0" for all 569 rows: "1" needs a risk of 50 % and 7 % of rows are 1'
    with pytest.warns(OneDecisionWarning, match=says) as said:
        tree = st.as_tree(model)
    assert len(said) == 1
    assert said[0].filename == __file__
    path = st.save_tree(tree, tmp_path / "tree.json")
    with pytest.warns(OneDecisionWarning, match=says):
        st.as_tree(path)
    with pytest.warns(OneDecisionWarning, match='decides "1" for all 569 rows'):
        st.as_tree(model, 0.01)
    wrapped = st.TreeClassifier(model)
    with warnings.catch_warnings(action="error"):
        # A tree that was read is known; what only passes through is not spoken of.
        assert st.as_tree(tree) is tree
        st.export_tree(model, "rules")
        assert wrapped.predict(X[:3, :1]).tolist() == [0, 0, 0]
    with pytest.warns(OneDecisionWarning, match=says) as said:
        st.as_tree(wrapped)
    assert len(said) == 1


def test_anything_with_a_to_tree_method() -> None:
    class Mine:
        def to_tree(self) -> st.Tree:
            return build("no")

    assert st.as_tree(Mine()).n_leaves == 1

    class Wrong:
        def to_tree(self) -> str:
            return "oak"

    with pytest.raises(
        UnsupportedModelError, match=r"expected to_tree\(\) of Wrong to return a Tr"
    ):
        st.as_tree(Wrong())


def test_names_and_space_for_a_model_without() -> None:
    names = [f"v{j}" for j in range(30)]
    space = st.FeatureSpace.from_data(X, Y)
    tree = st.as_tree(SMALL, feature_names=names, space=space)
    assert tree.feature_names == tuple(names)
    assert tree.space is space
    with pytest.raises(InputError, match="expected 30 distinct feature names, got"):
        st.as_tree(SMALL, feature_names=["a"])


# -- labels -----------------------------------------------------------------------


def test_decision_threshold() -> None:
    share = SMALL.predict_proba(X)[:, 1]
    for threshold in (0.0, 0.1, 0.5, 0.9, 1.0):
        tree = st.as_tree(SMALL, threshold)
        assert tree.decision_threshold == threshold
        np.testing.assert_array_equal(tree.predict(X), (share >= threshold).astype(int))
        np.testing.assert_array_equal(tree.predict_proba(X), SMALL.predict_proba(X))


def test_prevalence_is_the_rate_of_the_training_rows() -> None:
    tree = st.as_tree(SMALL, "prevalence")
    assert tree.decision_threshold == pytest.approx(Y.mean(), rel=1e-12)
    np.testing.assert_array_equal(
        tree.predict(X), (SMALL.predict_proba(X)[:, 1] >= tree.decision_threshold).astype(int)
    )


def test_a_stored_threshold_stays_unless_another_is_given(tmp_path: Path) -> None:
    path = st.save_tree(st.as_tree(SMALL, 0.2), tmp_path / "tree.json")
    assert st.as_tree(path).decision_threshold == 0.2
    assert st.as_tree(path, 0.4).decision_threshold == 0.4


def test_prevalence_needs_unweighted_rows() -> None:
    weighted = DecisionTreeClassifier(max_depth=2, class_weight="balanced").fit(X, Y)
    with pytest.raises(
        InputError, match=r'expected a tree fitted without .* for "prevalence", got'
    ):
        st.as_tree(weighted, "prevalence")
    lone_leaf = DecisionTreeClassifier(class_weight="balanced", max_leaf_nodes=2, ccp_alpha=1.0)
    assert lone_leaf.fit(X, Y).get_n_leaves() == 1
    with pytest.raises(InputError, match="got a weighted one, whose shares are not rates"):
        st.as_tree(lone_leaf, "prevalence")
    by_row = DecisionTreeClassifier(max_depth=2).fit(X, Y, sample_weight=np.where(Y, 0.5, 2.0))
    with pytest.raises(InputError, match="got a weighted one, whose shares are not rates"):
        st.as_tree(by_row, "prevalence")
    with pytest.raises(InputError, match="pass the rate as a number"):
        st.as_tree(build((0, 0.5, "no", "yes")), "prevalence")


@pytest.mark.parametrize(
    ("threshold", "message"),
    [
        (1.5, r"expected decision_threshold in \[0, 1\], got 1\.5"),
        (-0.1, r"expected decision_threshold in \[0, 1\], got -0\.1"),
        (float("nan"), r"expected decision_threshold in \[0, 1\], got nan"),
        (
            "base rate",
            'expected a number, "prevalence", a Decision or None as decision_threshold',
        ),
    ],
)
def test_bad_thresholds(threshold: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        st.as_tree(SMALL, threshold)


def test_a_threshold_needs_two_classes() -> None:
    iris = DecisionTreeClassifier(max_depth=2).fit(*load_iris(return_X_y=True))
    with pytest.raises(InputError, match=r"expected two classes .* got 3 classes"):
        st.as_tree(iris, 0.5)
    regression = DecisionTreeRegressor(max_depth=2).fit(X, Y)
    with pytest.raises(InputError, match=r"expected two classes .* got regression"):
        st.as_tree(regression, 0.5)


# -- what it refuses --------------------------------------------------------------

REFUSED: dict[str, tuple[Any, type[Exception]]] = {
    "trees that were boosted": (
        GradientBoostingClassifier(n_estimators=2).fit(X[:100], Y[:100]),
        UnsupportedModelError,
    ),
    "several outputs": (
        DecisionTreeClassifier(max_depth=2).fit(X, np.column_stack([Y, 1 - Y, Y])),
        UnsupportedModelError,
    ),
    "a classifier before fit": (DecisionTreeClassifier(), NotFittedTreeError),
    "a pipeline before fit": (make_pipeline(DecisionTreeRegressor()), NotFittedTreeError),
    "a class": (DecisionTreeClassifier, NotFittedTreeError),
    "a linear model": (LogisticRegression().fit(X[:, :1], Y), TypeError),
    "a number": (7, ValueError),
    "nothing": (None, UnsupportedModelError),
    "a list of models": ([SMALL], UnsupportedModelError),
    "a space": (UNIT, UnsupportedModelError),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_tree_is_refused_by_name(name: str) -> None:
    model, error = REFUSED[name]
    with refuses(error, f"as_tree: {name}"):
        st.as_tree(model)


# -- many at once -----------------------------------------------------------------


def test_many_models_are_read_as_they_are_one_by_one(tmp_path: Path) -> None:
    table, y = load_iris(return_X_y=True)
    frame = load_iris(as_frame=True)["data"]
    weights = np.where(y == 0, 2.0, 1.0)
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    models: list[Any] = [
        clone(tree).fit(table, y),
        clone(tree).fit(frame, y),
        clone(tree).fit(table, y == 1),
        clone(tree).fit(table, (y == 1).astype(int)),  # 0 and 1, not False and True
        clone(tree).fit(table, y, sample_weight=weights),
        clone(tree).fit(table, y, sample_weight=np.linspace(1, 2, len(y))),
        clone(tree).set_params(class_weight="balanced").fit(table, y != 0),
        clone(tree).set_params(class_weight={0: 1.0, 1: 3.0}).fit(table, (y != 0).astype(int)),
        DecisionTreeRegressor(max_depth=3).fit(table, table[:, 0]),
        DecisionTreeRegressor(max_depth=3).fit(table, table[:, 0], sample_weight=weights),
        Pipeline([("tree", clone(tree))]).fit(table, y),
        FixedThresholdClassifier(clone(tree), threshold=0.3).fit(table, y == 1),
        st.as_tree(clone(tree).fit(table, y)),
    ]
    st.save_tree(models[-1], tmp_path / "tree.json")
    models.append(tmp_path / "tree.json")
    alone = [st.as_tree(model) for model in models]
    together = read_models(models)
    assert together == alone
    for one, other in zip(together, alone, strict=True):
        assert list(map(type, one.classes or ())) == list(map(type, other.classes or ()))
        assert one.metadata == other.metadata
        assert one == one.replace()
    # The same model, and another that is the same tree, become one tree.
    again = clone(tree).set_params(min_samples_leaf=2).fit(table, y)
    first, second, third = read_models([models[0], models[0], again])
    assert first is second is third
    with pytest.raises(UnsupportedModelError, match="got list"):
        read_models([models[0], []])
