from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.metrics import roc_auc_score
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from steadytree.diff import diff_trees
from steadytree.distance import pairwise_tree_distances
from steadytree.estimators import DistilledTreeClassifier, TreeRegressor
from steadytree.estimators.assessment import (
    StabilityAssessment,
    assess_stability,
    perturb_thresholds,
)
from steadytree.exceptions import InputError, OneDecisionWarning, UnsupportedModelError


@pytest.fixture(scope="module")
def cancer() -> tuple[pd.DataFrame, pd.Series]:
    return load_breast_cancer(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def found(cancer: tuple[pd.DataFrame, pd.Series]) -> StabilityAssessment:
    learner = DecisionTreeClassifier(max_depth=3, min_samples_leaf=10)
    return assess_stability(learner, *cancer, n_resamples=8, random_state=0)


def test_trees_that_decide_the_same_for_everybody_are_one_warning(
    cancer: tuple[pd.DataFrame, pd.Series],
) -> None:
    learner = DistilledTreeClassifier(n_estimators=5, decision_threshold=1.0)
    says = r"^4 of 4 trees decide the same for everybody\. The first decides \"0\" for all"
    with pytest.warns(OneDecisionWarning, match=says) as said:
        assess_stability(learner, *cancer, n_resamples=4, random_state=0)
    assert len(said) == 1


def test_every_pair_of_trees_is_compared(found: StabilityAssessment) -> None:
    expected = pairwise_tree_distances(
        found.trees, space=found.space, variant="metric", normalize="relative"
    )
    np.testing.assert_allclose(found.dissimilarity, expected)
    pairs = np.triu_indices(8, 1)
    assert np.isclose(found.summary.loc["dissimilarity", "mean"], expected[pairs].mean())
    assert np.isclose(found.summary.loc["dissimilarity", "sd"], expected[pairs].std(ddof=1))


def test_agreement_is_the_share_of_rows_with_the_same_label(
    cancer: tuple[pd.DataFrame, pd.Series], found: StabilityAssessment
) -> None:
    predicted = [tree.predict(cancer[0]) for tree in found.trees]
    for i in range(8):
        for j in range(8):
            assert np.isclose(found.agreement.loc[i, j], np.mean(predicted[i] == predicted[j]))


def test_scores_are_on_rows_the_tree_was_not_grown_on(
    cancer: tuple[pd.DataFrame, pd.Series],
) -> None:
    X, y = cancer
    found = assess_stability(
        DecisionTreeClassifier(max_depth=4),
        X,
        y,
        n_resamples=4,
        random_state=0,
    )
    assert found.scores["n_test"].between(0.3 * len(y), 0.45 * len(y)).all()
    in_sample = [roc_auc_score(y, t.predict_proba(X)[:, 1]) for t in found.trees]
    assert (np.array(in_sample) > found.scores["score"]).all()
    accuracy = assess_stability(
        DecisionTreeClassifier(max_depth=4), X, y, n_resamples=4, scoring="accuracy", random_state=0
    )
    assert accuracy.scores["score"].between(0.8, 1).all()
    assert accuracy.score_name == "accuracy_score"


def test_the_split_table_counts_root_left_right_and_anywhere(found: StabilityAssessment) -> None:
    names = found.space.feature_labels
    table = found.splits
    assert table.index[-1] == "Leaf node"
    for place, child in (("root", None), ("left", "children_left"), ("right", "children_right")):
        assert np.isclose(table[place].sum(), 1)
        for name in names:
            hits = 0
            for tree in found.trees:
                node = 0 if child is None else int(getattr(tree, child)[0])
                hits += tree.feature[node] >= 0 and names[tree.feature[node]] == name
            assert np.isclose(table.loc[name, place], hits / 8)
    for name in names:
        used = [name in {names[j] for j in tree.feature if j >= 0} for tree in found.trees]
        assert np.isclose(table.loc[name, "anywhere"], np.mean(used))
    assert table["root"].iloc[:-1].is_monotonic_decreasing


def test_a_tree_without_splits_is_a_leaf_node_everywhere(
    cancer: tuple[pd.DataFrame, pd.Series],
) -> None:
    lone = assess_stability(
        DecisionTreeClassifier(min_samples_leaf=400), *cancer, n_resamples=3, random_state=0
    )
    assert (lone.splits.loc["Leaf node"] == 1).all()
    assert lone.cut_points.empty
    assert (lone.dissimilarity.to_numpy() == 0).all()
    assert "first split: Leaf node 100 %" in str(lone)


def test_cut_points_are_those_of_the_trees(found: StabilityAssessment) -> None:
    name = found.cut_points.index[0]
    j = found.space.feature_labels.index(name)
    cuts = np.concatenate([t.threshold[t.feature == j] for t in found.trees])
    row = found.cut_points.loc[name]
    assert row["n_cuts"] == cuts.size
    assert np.isclose(row["median"], np.median(cuts))
    assert np.isclose(row["sd"], cuts.std(ddof=1))
    low, high = np.quantile(cuts, [0.25, 0.75])
    width = found.space.upper[j] - found.space.lower[j]
    assert np.isclose(row["relative_spread"], (high - low) / width)
    assert len(found.cuts) == sum(t.n_leaves - 1 for t in found.trees)


def test_importances(found: StabilityAssessment) -> None:
    each = np.array([tree.feature_importances() for tree in found.trees])
    np.testing.assert_allclose(found.importances_by_resample, each)
    for j, name in enumerate(found.space.feature_labels):
        assert np.isclose(found.importances.loc[name, "mean"], each[:, j].mean())
        assert np.isclose(found.importances.loc[name, "sd"], each[:, j].std(ddof=1))


def test_sizes(found: StabilityAssessment) -> None:
    assert found.sizes["n_leaves"].tolist() == [t.n_leaves for t in found.trees]
    assert found.sizes["depth"].tolist() == [t.depth for t in found.trees]
    assert (found.sizes["n_train"] == 569).all()


def test_the_summary_can_be_read(found: StabilityAssessment) -> None:
    text = str(found)
    assert text.startswith("DecisionTreeClassifier refitted on 8 bootstraps:")
    assert f"rules differ by {100 * found.summary.loc['dissimilarity', 'mean']:.0f} %" in text
    assert "ROC AUC 0.9" in text
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["n_resamples"] == 8
    assert len(plain["sizes"]) == 8
    assert plain["splits"][0].keys() == {"feature", "root", "left", "right", "anywhere"}


def test_a_steadier_learner_is_found_steadier(cancer: tuple[pd.DataFrame, pd.Series]) -> None:
    options: dict[str, Any] = {"n_resamples": 8, "random_state": 0}
    deep = assess_stability(DecisionTreeClassifier(), *cancer, **options)
    shallow = assess_stability(
        DecisionTreeClassifier(max_depth=2, min_samples_leaf=50), *cancer, **options
    )
    assert shallow.summary.loc["depth", "max"] <= 2
    assert deep.summary.loc["n_leaves", "mean"] > shallow.summary.loc["n_leaves", "mean"]
    at = ("dissimilarity", "mean")
    assert shallow.summary.loc[at] < deep.summary.loc[at]


def test_regression() -> None:
    X, y = load_diabetes(return_X_y=True)
    found = assess_stability(
        DecisionTreeRegressor(max_depth=3),
        X,
        y,
        n_resamples=4,
        random_state=0,
    )
    a, b = (tree.predict(X) for tree in found.trees[:2])
    expected = 2 * np.cov(a, b, ddof=0)[0, 1] / (a.var() + b.var() + (a.mean() - b.mean()) ** 2)
    assert np.isclose(found.agreement.loc[0, 1], expected)
    assert "concordance correlation" in str(found)
    assert "R²" in str(found)
    tree = found.trees[0]
    without = tree.replace(impurity=None)
    learner = TreeRegressor(without)  # a finished tree: every resample gives the same one
    same = assess_stability(learner, X, y, n_resamples=2, random_state=0)
    assert (same.dissimilarity.to_numpy() == 0).all()
    # Importances from node values are those from the stored squared error.
    np.testing.assert_allclose(
        same.importances_by_resample.iloc[0], tree.feature_importances(), atol=1e-9
    )


@pytest.mark.parametrize(
    ("learner", "options", "message"),
    [
        (GaussianNB(), {}, "expected an estimator that grows one tree, got GaussianNB"),
        ("cart", {}, "expected a scikit-learn classifier or regressor, got 'cart'"),
        (DecisionTreeClassifier, {}, "pass an instance such as"),
        (DecisionTreeClassifier(), {"n_resamples": 1}, "n_resamples to be a whole number >= 2"),
        (DecisionTreeClassifier(), {"scoring": "best"}, "expected scoring to be a scikit-learn"),
    ],
)
def test_wrong_input(
    cancer: tuple[pd.DataFrame, pd.Series], learner: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises((InputError, UnsupportedModelError), match=message):
        assess_stability(learner, *cancer, **{"n_resamples": 2, "random_state": 0, **options})


def test_perturbed_thresholds_stay_within_their_share_and_range(found: StabilityAssessment) -> None:
    tree = found.trees[0]
    shaken = perturb_thresholds(tree, 0.2, np.random.default_rng(0), space=found.space)
    split = ~tree.is_leaf
    before, after = tree.threshold[split], shaken.threshold[split]
    assert np.all(np.abs(after / before - 1) <= 0.2 + 1e-12)
    assert not np.array_equal(before, after)
    assert diff_trees(tree, shaken, space=found.space).counts["kept"] < tree.n_leaves
