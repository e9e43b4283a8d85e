"""A tree as a LightGBM model of one tree: LightGBM itself decides as the tree does."""

from __future__ import annotations

import pickle
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

import steadytree as st
from steadytree.exceptions import UnsupportedModelError
from steadytree.plugins import rows_predicted_otherwise, write_like
from steadytree.tree.branches import build_tree
from steadytree.tree.nested import Leaf
from tests.formats.boosted import outcome, probes, table
from tests.formats.boosted_like import edited

OBJECTIVES = ("regression", "poisson", "tweedie", "gamma", "regression_l1", "quantile", "huber")
SMALL = {"verbose": -1, "num_threads": 1, "min_data_in_leaf": 5, "min_data_per_group": 5}


def booster(seed: int, frame: pd.DataFrame, rounds: int = 1, **options: Any) -> Any:
    kind = "binary" if seed % 2 else "regression"
    objective = "binary" if seed % 2 else OBJECTIVES[seed // 2 % len(OBJECTIVES)]
    settings = {
        **SMALL,
        "objective": objective,
        "num_leaves": 12,
        "cat_smooth": 1.0,
        "cat_l2": 0.1,
        **options,
    }
    return lgb.train(settings, lgb.Dataset(frame, outcome(frame, kind, seed)), rounds)


def small(frame: pd.DataFrame | None = None, **options: Any) -> Any:
    frame = table(0) if frame is None else frame
    y = np.array(["no", "yes"])[outcome(frame, "binary", 0)]
    codes = {"min_data_per_group": 5, "cat_smooth": 1.0, "cat_l2": 0.1, "max_cat_to_onehot": 1}
    settings = {"min_child_samples": 5, **codes, **options}
    return lgb.LGBMClassifier(n_estimators=1, n_jobs=1, verbose=-1, **settings).fit(frame, y)


@pytest.mark.parametrize("seed", range(20))
def test_boosters(seed: int) -> None:
    frame = table(seed, categories=seed % 3 > 0)
    missing = ({}, {"zero_as_missing": True}, {"use_missing": False})[seed % 3]
    sigmoid = {"sigmoid": 2.5} if seed % 4 == 1 else {}
    model = booster(seed, frame, 1 + seed % 4 // 3 * 2, **missing, **sigmoid)
    before = model.model_to_string()
    tree = st.as_tree(model, tree_index=0)
    if not tree.is_classifier and seed % 2:
        tree = tree.replace(
            value=np.tile([[0.5, 0.5]], (tree.n_nodes, 1)), classes=(0, 1), impurity=None
        )
    new = edited(tree, frame, seed, apart=False)
    rows = probes(new, frame, seed)
    written = write_like(new, model, X=rows)
    assert written.num_trees() == 1
    found = written.predict(rows)
    expected = new.predict_proba(rows)[:, 1] if new.is_classifier else new.predict(rows)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1.1e-9)
    again = st.as_tree(written)
    back = again.predict_proba(rows)[:, 1] if new.is_classifier else again.predict(rows)
    np.testing.assert_allclose(back, found, rtol=1e-12, atol=1e-15)
    assert model.model_to_string() == before


@pytest.mark.parametrize("seed", range(5))
def test_estimators(seed: int) -> None:
    frame = table(seed)
    model = small(frame, num_leaves=10)
    new = edited(st.as_tree(model), frame, seed, apart=False)
    assert any(codes is not None for codes in new.left_categories)
    rows = probes(new, frame, seed)
    written = write_like(new, model, X=rows)
    assert type(written) is lgb.LGBMClassifier
    np.testing.assert_array_equal(written.predict(rows), new.predict(rows))
    np.testing.assert_allclose(written.predict_proba(rows), new.predict_proba(rows), atol=1.1e-9)
    assert written.get_params() == model.get_params()
    again = pickle.loads(pickle.dumps(written))
    np.testing.assert_array_equal(again.predict(rows), new.predict(rows))
    np.testing.assert_array_equal(model.predict(frame), small(frame, num_leaves=10).predict(frame))


def test_categories_that_are_codes() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 70, 2000), rng.normal(size=2000)]).astype(float)
    y = ((X[:, 0] % 3 == 0) ^ (X[:, 1] > 0.3)).astype(int)
    settings = {**SMALL, "objective": "binary", "num_leaves": 8}
    model = lgb.train(settings, lgb.Dataset(X, y, categorical_feature=[0]), 1)
    tree = st.as_tree(model)
    new = edited(tree, pd.DataFrame(X, columns=["x0", "x1"]), 1, apart=False)
    rows = np.vstack([X, [[np.nan, 0.2], [500, 0.2], [-3, np.nan]]])
    assert rows_predicted_otherwise(new, write_like(new, model), rows) == 0


def test_a_single_leaf() -> None:
    frame = table(0)
    tree = build_tree(
        Leaf([0.3, 0.7]), n_features=6, feature_names=tuple(frame), classes=("no", "yes")
    )
    assert set(write_like(tree, small(frame)).predict(frame)) == {"yes"}


def test_names_with_blanks() -> None:
    frame = table(0).rename(columns={"age": "age of car"})
    y = np.array(["no", "yes"])[outcome(table(0), "binary", 0)]
    model = lgb.LGBMClassifier(n_estimators=1, n_jobs=1, verbose=-1).fit(frame, y)
    tree = st.as_tree(model, feature_names=list(frame))
    assert rows_predicted_otherwise(tree, write_like(tree, model), frame) == 0


def test_thresholds_and_labels_kept_against_their_share() -> None:
    frame = table(0)
    model = small(frame)
    tree = st.as_tree(model).relabelled(0.3)
    with pytest.raises(
        UnsupportedModelError, match=r"leaves whose label does not \(the tree's decision threshold"
    ):
        write_like(tree, model)
    assert rows_predicted_otherwise(tree, write_like(tree, model, prefer="labels"), frame) == 0
    kept = write_like(tree, model, prefer="shares")
    np.testing.assert_allclose(kept.predict_proba(frame), tree.predict_proba(frame), atol=1e-12)
    # A booster gives shares; whoever has it applies the threshold.
    plain = write_like(tree, model.booster_, X=frame)
    np.testing.assert_allclose(plain.predict(frame), tree.predict_proba(frame)[:, 1], atol=1e-8)


def test_retrained_and_back() -> None:
    frame, fresh = table(0), table(1, n=800)
    model = small(frame, num_leaves=6)
    y = np.array(["no", "yes"])[outcome(fresh, "binary", 1)]
    result = st.retrain(
        model, fresh, y, n_folds=0, search=st.SearchOptions(n_estimators=20), random_state=0
    )
    written = result.to_like(model)
    np.testing.assert_array_equal(written.predict(fresh), result.tree.predict(fresh))


def test_in_a_pipeline() -> None:
    frame = table(0)
    columns = ColumnTransformer(
        [
            (
                "codes",
                OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
                ["colour", "size"],
            )
        ],
        remainder="passthrough",
    )
    last = lgb.LGBMClassifier(n_estimators=1, n_jobs=1, verbose=-1)
    model = make_pipeline(columns.set_output(transform="pandas"), last)
    model.fit(frame, outcome(frame, "binary", 0))
    new = edited(st.as_tree(model), frame, 3, apart=True)
    assert rows_predicted_otherwise(new, write_like(new, model), frame) == 0


# -- refusals -----------------------------------------------------------------------------


def test_what_lightgbm_cannot_say_is_refused() -> None:
    frame = table(0)
    model = small(frame)
    tree = st.as_tree(model)
    turned = tree.replace(unseen_left=~tree.missing_left)
    with pytest.raises(UnsupportedModelError, match="never met the same way, as LightGBM does"):
        write_like(turned, model)
    with pytest.raises(UnsupportedModelError, match=r"expected the classes of .*\['no', 'yes'\]"):
        write_like(tree.replace(classes=("yes", "no")), model)
    with pytest.raises(UnsupportedModelError, match="'colour' to be a number"):
        write_like(tree, small(frame.assign(colour=frame["colour"].cat.codes.astype(float))))
    three = tree.replace(
        classes=("a", "b", "c"), value=np.tile([[0.2, 0.3, 0.5]], (tree.n_nodes, 1)), label=None
    ).replace(impurity=None)
    with pytest.raises(UnsupportedModelError, match="expected two classes"):
        write_like(three, booster(1, frame))
    with pytest.raises(UnsupportedModelError, match="expected a tree of a response"):
        write_like(tree, booster(0, frame))
    below = tree.replace(
        classes=None, value=np.full((tree.n_nodes, 1), -1.0), label=None, decision=None
    )
    with pytest.raises(UnsupportedModelError, match="expected responses above 0"):
        write_like(below, booster(2, frame))
    several = lgb.LGBMClassifier(n_estimators=1, n_jobs=1, verbose=-1)
    several.fit(frame, outcome(frame, "multiclass", 0))
    with pytest.raises(UnsupportedModelError, match=r"objectives .* got 'multiclass num_class:3'"):
        write_like(three, several.booster_)
