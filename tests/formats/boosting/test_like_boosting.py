"""A tree as a LightGBM or XGBoost model of one tree: the library decides as the tree does."""

from __future__ import annotations

import pickle
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

import steadytree as st
from steadytree.exceptions import UnsupportedModelError
from steadytree.plugins import rows_predicted_otherwise, write_like
from steadytree.tree.nested import Leaf, build_tree
from tests.formats.boosted import outcome, probes, table

LGB_OBJECTIVES = ("regression", "poisson", "tweedie", "gamma", "regression_l1", "quantile", "huber")
XGB_OBJECTIVES = ("squarederror", "gamma", "tweedie", "absoluteerror", "quantileerror")
SMALL = {"verbose": -1, "num_threads": 1, "min_data_in_leaf": 5, "min_data_per_group": 5}
CATEGORICAL = {"cat_smooth": 1.0, "cat_l2": 0.1}


def edited(tree: st.Tree, frame: pd.DataFrame, seed: int, *, apart: bool) -> st.Tree:
    """Move thresholds to midpoints of data, draw other categories, ways for missing and values.

    ``apart``: missing values and categories never met may go different ways.
    """
    rng = np.random.default_rng(seed)
    threshold, sets = tree.threshold.copy(), list(tree.left_categories)
    for node in np.flatnonzero(~tree.is_leaf).tolist():
        name, cats = (t[tree.feature[node]] for t in (tree.feature_labels, tree.categories))
        if cats is not None:
            sets[node] = tuple(np.flatnonzero(rng.random(len(cats)) < 0.5).tolist())
            continue
        values = np.unique(frame[name].dropna())
        at = rng.integers(len(values) - 1)
        threshold[node] = (values[at] + values[at + 1]) / 2
        if rng.random() < 0.1:
            threshold[node] = rng.choice([-np.inf, np.inf])
    missing_left = rng.random(tree.n_nodes) < 0.5
    value = np.exp(rng.normal(size=(tree.n_nodes, 1)))
    if tree.is_classifier:
        share = rng.choice([0.0, 0.2, 0.5, 0.5 + 1e-16, 0.7, 1.0, rng.random()], tree.n_nodes)
        value = np.column_stack([1 - share, share])
    return tree.replace(
        threshold=threshold,
        left_categories=tuple(sets),
        missing_left=missing_left,
        unseen_left=rng.random(tree.n_nodes) < 0.5 if apart else missing_left,
        value=value,
        label=None,
        impurity=None,
    )


def tree_to_edit(model: Any, seed: int) -> st.Tree:
    tree = st.as_tree(model, tree_index=0)
    if not tree.is_classifier and seed % 2:  # one of several, a score
        return tree.replace(
            value=np.tile([[0.5, 0.5]], (tree.n_nodes, 1)), classes=(0, 1), impurity=None
        )
    return tree


def lgb_booster(seed: int, frame: pd.DataFrame, rounds: int = 1, **options: Any) -> Any:
    kind = "binary" if seed % 2 else "regression"
    objective = "binary" if seed % 2 else LGB_OBJECTIVES[seed // 2 % len(LGB_OBJECTIVES)]
    settings = {**SMALL, **CATEGORICAL, "objective": objective, "num_leaves": 12, **options}
    return lgb.train(settings, lgb.Dataset(frame, outcome(frame, kind, seed)), rounds)


def xgb_booster(seed: int, frame: pd.DataFrame, rounds: int = 1) -> Any:
    kind = "binary" if seed % 2 else "regression"
    objective = "binary:logistic"
    if seed % 2 == 0:
        objective = f"reg:{XGB_OBJECTIVES[seed // 2 % len(XGB_OBJECTIVES)]}"
    settings: dict[str, Any] = {"objective": objective, "max_depth": 5, "nthread": 1}
    settings |= {"quantile_alpha": 0.5} if objective == "reg:quantileerror" else {}
    data = xgb.DMatrix(frame, outcome(frame, kind, seed), enable_categorical=True)
    return xgb.train(settings, data, rounds)


def lgb_classifier(frame: pd.DataFrame, **options: Any) -> Any:
    codes = {"min_data_per_group": 5, **CATEGORICAL, "max_cat_to_onehot": 1}
    model = lgb.LGBMClassifier(n_estimators=1, n_jobs=1, verbose=-1, min_child_samples=5, **codes)
    return model.set_params(**options).fit(frame, outcome(frame, "binary", 0))


def xgb_classifier(frame: pd.DataFrame, **options: Any) -> Any:
    model = xgb.XGBClassifier(n_estimators=1, max_depth=4, n_jobs=1, enable_categorical=True)
    return model.set_params(**options).fit(frame, outcome(frame, "binary", 0))


CLASSIFIERS = pytest.mark.parametrize("classifier", [lgb_classifier, xgb_classifier])


@pytest.mark.parametrize("seed", range(14))
def test_lightgbm_boosters(seed: int) -> None:
    frame = table(seed, categories=seed % 3 > 0)
    missing = ({}, {"zero_as_missing": True}, {"use_missing": False})[seed % 3]
    sigmoid = {"sigmoid": 2.5} if seed % 4 == 1 else {}
    model = lgb_booster(seed, frame, 1 + seed % 4 // 3 * 2, **missing, **sigmoid)
    before = model.model_to_string()
    new = edited(tree_to_edit(model, seed), frame, seed, apart=False)
    rows = probes(new, frame, seed)
    written = write_like(new, model)
    assert written.num_trees() == 1
    found = written.predict(rows)
    expected = new.predict_proba(rows)[:, 1] if new.is_classifier else new.predict(rows)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1.1e-9)
    again = st.as_tree(written)
    back = again.predict_proba(rows)[:, 1] if new.is_classifier else again.predict(rows)
    np.testing.assert_allclose(back, found, rtol=1e-12, atol=1e-15)
    assert model.model_to_string() == before


@pytest.mark.parametrize("seed", range(12))
def test_xgboost_boosters(seed: int) -> None:
    frame = table(seed, categories=seed % 3 > 0)
    model = xgb_booster(seed, frame, 1 + seed % 4 // 3 * 2)
    before = bytes(model.save_raw("json"))
    tree = tree_to_edit(model, seed).replace(precision=("float32", "float64")[seed // 2 % 2])
    new = edited(tree, frame, seed, apart=True)
    rows = probes(new, frame, seed, unseen=False)
    numbers = rows.select_dtypes("number").columns
    rows = rows.assign(**{n: rows[n].astype(np.float32).astype(np.float64) for n in numbers})
    written = write_like(new, model)
    assert written.num_boosted_rounds() == 1
    found = written.predict(xgb.DMatrix(rows, enable_categorical=True))
    expected = new.predict_proba(rows)[:, 1] if new.is_classifier else new.predict(rows)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1.1e-6 if seed % 2 else 0)
    assert bytes(model.save_raw("json")) == before


@CLASSIFIERS
@pytest.mark.parametrize("seed", range(4))
def test_estimators(seed: int, classifier: Any) -> None:
    frame = table(seed)
    model = classifier(frame)
    new = edited(st.as_tree(model), frame, seed, apart=classifier is xgb_classifier)
    assert any(codes is not None for codes in new.left_categories)
    rows = probes(new, frame, seed, unseen=classifier is lgb_classifier)
    written = write_like(new, model)
    assert type(written) is type(model)
    np.testing.assert_array_equal(written.predict(rows), new.predict(rows))
    np.testing.assert_allclose(written.predict_proba(rows), new.predict_proba(rows), atol=1.1e-6)
    assert written.get_params() == model.get_params()
    again = pickle.loads(pickle.dumps(written))
    np.testing.assert_array_equal(again.predict(rows), new.predict(rows))
    np.testing.assert_array_equal(st.as_tree(written).predict(rows), new.predict(rows))
    np.testing.assert_array_equal(model.predict(frame), classifier(frame).predict(frame))


def test_categories_that_are_codes() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 70, 2000), rng.normal(size=2000)]).astype(float)
    y = ((X[:, 0] % 3 == 0) ^ (X[:, 1] > 0.3)).astype(int)
    frame = pd.DataFrame(X, columns=["x0", "x1"])
    rows = np.vstack([X, [[np.nan, 0.2], [77, 0.2], [3, np.nan], [500, 0.2]]])
    settings = {**SMALL, "objective": "binary", "num_leaves": 8}
    model = lgb.train(settings, lgb.Dataset(X, y, categorical_feature=[0]), 1)
    new = edited(st.as_tree(model), frame, 1, apart=False)
    assert rows_predicted_otherwise(new, write_like(new, model), rows) == 0
    types = ["c", "float"]
    data = xgb.DMatrix(X, y, feature_types=types)
    booster = xgb.train({"objective": "binary:logistic", "max_depth": 4}, data, 1)
    new = edited(st.as_tree(booster), frame, 1, apart=True)
    found = write_like(new, booster).predict(xgb.DMatrix(rows[:-1], feature_types=types))
    np.testing.assert_array_equal(found > 0.5, new.predict(rows[:-1]) == 1)


def test_names_with_blanks_and_early_stopping() -> None:
    frame = table(0)
    blank = frame.rename(columns={"age": "age of car"})
    y = outcome(frame, "binary", 0)
    model = lgb.LGBMClassifier(n_estimators=1, n_jobs=1, verbose=-1).fit(blank, y)
    tree = st.as_tree(model, feature_names=list(blank))
    assert rows_predicted_otherwise(tree, write_like(tree, model), blank) == 0
    stopped = xgb.XGBClassifier(
        n_estimators=60, early_stopping_rounds=2, max_depth=3, n_jobs=1, enable_categorical=True
    ).fit(frame, y, eval_set=[(frame[:100], 1 - y[:100])], verbose=False)
    tree = st.as_tree(xgb_classifier(frame))
    assert rows_predicted_otherwise(tree, write_like(tree, stopped), frame) == 0


@CLASSIFIERS
def test_thresholds_and_labels_kept_against_their_share(classifier: Any) -> None:
    frame = table(0)
    model = classifier(frame)
    tree = st.as_tree(model).relabelled(0.3)
    with pytest.raises(UnsupportedModelError, match=r"\(the tree's decision threshold is 0\.3"):
        write_like(tree, model)
    assert rows_predicted_otherwise(tree, write_like(tree, model, prefer="labels"), frame) == 0
    kept = write_like(tree, model, prefer="shares")
    np.testing.assert_allclose(kept.predict_proba(frame), tree.predict_proba(frame), atol=1.1e-6)
    # A booster gives shares; whoever has it applies the threshold.
    booster = model.booster_ if classifier is lgb_classifier else model.get_booster()
    assert rows_predicted_otherwise(tree, write_like(tree, booster), frame) == 0
    leaf = build_tree(Leaf([0.3, 0.7]), n_features=6, feature_names=tuple(frame), classes=(0, 1))
    assert set(write_like(leaf, model).predict(frame)) == {1}


@CLASSIFIERS
def test_retrained_and_back(classifier: Any) -> None:
    fresh = table(1, n=800)
    model = classifier(table(0), **({"num_leaves": 6} if classifier is lgb_classifier else {}))
    options: dict[str, Any] = {"search": st.SearchOptions(n_estimators=20), "random_state": 0}
    result = st.retrain(model, fresh, outcome(fresh, "binary", 1), n_folds=0, **options)
    found = result.to_like(model).predict(fresh)
    np.testing.assert_array_equal(found, result.tree.predict(fresh))


def test_in_a_pipeline() -> None:
    frame = table(0)
    coder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    columns = ColumnTransformer([("codes", coder, ["colour", "size"])], remainder="passthrough")
    last = lgb.LGBMClassifier(n_estimators=1, n_jobs=1, verbose=-1)
    model = make_pipeline(columns.set_output(transform="pandas"), last)
    model.fit(frame, outcome(frame, "binary", 0))
    new = edited(st.as_tree(model), frame, 3, apart=True)
    assert rows_predicted_otherwise(new, write_like(new, model), frame) == 0


# -- refusals -----------------------------------------------------------------------------


@CLASSIFIERS
def test_what_neither_can_say_is_refused(classifier: Any) -> None:
    frame = table(0)
    model = classifier(frame)
    tree = st.as_tree(model)
    with pytest.raises(UnsupportedModelError, match=r"expected the classes of .*\[0, 1\]"):
        write_like(tree.replace(classes=("no", "yes")), model)
    with pytest.raises(UnsupportedModelError, match="'colour' to be a number"):
        write_like(tree, classifier(frame.assign(colour=frame["colour"].cat.codes.astype(float))))
    booster = lgb_booster if classifier is lgb_classifier else xgb_booster
    with pytest.raises(UnsupportedModelError, match="expected a tree of a response"):
        write_like(tree, booster(0, frame))


def test_what_one_cannot_say_is_refused() -> None:
    frame = table(0)
    tree = st.as_tree(lgb_classifier(frame))
    with pytest.raises(UnsupportedModelError, match="never met the same way, as LightGBM does"):
        write_like(tree.replace(unseen_left=~tree.missing_left), lgb_classifier(frame))
    several = lgb.LGBMClassifier(n_estimators=1, n_jobs=1, verbose=-1)
    several.fit(frame, outcome(frame, "multiclass", 0))
    with pytest.raises(UnsupportedModelError, match=r"objectives .* got 'multiclass'"):
        write_like(tree, several.booster_)
    with pytest.raises(UnsupportedModelError, match="booster='gbtree'"):
        write_like(tree, xgb_classifier(frame, booster="dart"))
    numbers = table(0, categories=False)
    with pytest.raises(UnsupportedModelError, match=r"NaN is missing, got missing=-1"):
        write_like(st.as_tree(xgb_classifier(numbers)), xgb_classifier(numbers, missing=-1.0))
