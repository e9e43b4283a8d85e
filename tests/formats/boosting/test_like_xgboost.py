"""A tree as an XGBoost model of one tree: XGBoost itself decides as the tree does."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb

import steadytree as st
from steadytree.exceptions import UnsupportedModelError
from steadytree.plugins import rows_predicted_otherwise, write_like
from steadytree.tree.branches import build_tree
from steadytree.tree.nested import Leaf
from tests.formats.boosted import outcome, probes, table
from tests.formats.boosted_like import edited

OBJECTIVES = ("reg:squarederror", "count:poisson", "reg:gamma", "reg:tweedie", "reg:absoluteerror")


def booster(seed: int, frame: pd.DataFrame, rounds: int = 1, **options: Any) -> Any:
    kind = "binary" if seed % 2 else "regression"
    objective = "binary:logistic" if seed % 2 else OBJECTIVES[seed // 2 % len(OBJECTIVES)]
    settings = {"objective": objective, "max_depth": 5, "nthread": 1, **options}
    data = xgb.DMatrix(frame, outcome(frame, kind, seed), enable_categorical=True)
    return xgb.train(settings, data, rounds)


def small(frame: pd.DataFrame | None = None, **options: Any) -> Any:
    frame = table(0) if frame is None else frame
    model = xgb.XGBClassifier(n_estimators=1, max_depth=4, n_jobs=1, enable_categorical=True)
    return model.set_params(**options).fit(frame, outcome(frame, "binary", 0))


def in_singles(rows: pd.DataFrame) -> pd.DataFrame:
    numbers = rows.select_dtypes("number").columns
    return rows.assign(**{n: rows[n].astype(np.float32).astype(np.float64) for n in numbers})


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("seed", range(12))
def test_boosters(seed: int, precision: str) -> None:
    frame = table(seed, categories=seed % 3 > 0)
    model = booster(seed, frame, 1 + seed % 4 // 3 * 2)
    before = bytes(model.save_raw("json"))
    tree = st.as_tree(model, tree_index=0).replace(precision=precision)
    if not tree.is_classifier and seed % 2:
        tree = tree.replace(
            value=np.tile([[0.5, 0.5]], (tree.n_nodes, 1)), classes=(0, 1), impurity=None
        )
    new = edited(tree, frame, seed, apart=True)
    rows = in_singles(probes(new, frame, seed, unseen=False))
    written = write_like(new, model, X=rows)
    assert written.num_boosted_rounds() == 1
    found = written.predict(xgb.DMatrix(rows, enable_categorical=True))
    expected = new.predict_proba(rows)[:, 1] if new.is_classifier else new.predict(rows)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1.1e-6 if seed % 2 else 0)
    assert bytes(model.save_raw("json")) == before


@pytest.mark.parametrize("seed", range(5))
def test_estimators(seed: int) -> None:
    frame = table(seed)
    model = small(frame)
    new = edited(st.as_tree(model), frame, seed, apart=True)
    assert any(codes is not None for codes in new.left_categories)
    rows = probes(new, frame, seed, unseen=False)
    written = write_like(new, model, X=rows)
    assert type(written) is xgb.XGBClassifier
    np.testing.assert_array_equal(written.predict(rows), new.predict(rows))
    assert written.get_params() == model.get_params()
    again = pickle.loads(pickle.dumps(written))
    np.testing.assert_array_equal(again.predict(rows), new.predict(rows))
    tree = st.as_tree(written)
    np.testing.assert_array_equal(tree.predict(rows), new.predict(rows))


def test_early_stopping_is_over() -> None:
    frame = table(0)
    y = outcome(frame, "binary", 0)
    model = xgb.XGBClassifier(
        n_estimators=60, early_stopping_rounds=2, max_depth=3, n_jobs=1, enable_categorical=True
    )
    model.fit(frame, y, eval_set=[(frame[:100], 1 - y[:100])], verbose=False)
    tree = st.as_tree(small(frame))
    assert rows_predicted_otherwise(tree, write_like(tree, model), frame) == 0


def test_categories_that_are_codes() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 70, 2000), rng.normal(size=2000)]).astype(float)
    y = ((X[:, 0] % 3 == 0) ^ (X[:, 1] > 0.3)).astype(int)
    data = xgb.DMatrix(X, y, feature_types=["c", "float"])
    model = xgb.train({"objective": "binary:logistic", "max_depth": 4}, data, 1)
    new = edited(st.as_tree(model), pd.DataFrame(X, columns=["x0", "x1"]), 1, apart=True)
    rows = np.vstack([X, [[np.nan, 0.2], [77, 0.2], [3, np.nan]]])
    written = write_like(new, model)
    found = written.predict(xgb.DMatrix(rows, feature_types=["c", "float"]))
    np.testing.assert_array_equal(found > 0.5, new.predict(rows) == 1)


def test_a_single_leaf() -> None:
    frame = table(0)
    tree = build_tree(Leaf([0.3, 0.7]), n_features=6, feature_names=tuple(frame), classes=(0, 1))
    assert set(write_like(tree, small(frame)).predict(frame)) == {1}


def test_thresholds_and_labels_kept_against_their_share() -> None:
    frame = table(0)
    model = small(frame)
    tree = st.as_tree(model).relabelled(0.3)
    with pytest.raises(UnsupportedModelError, match=r"decision threshold is 0\.3"):
        write_like(tree, model)
    assert rows_predicted_otherwise(tree, write_like(tree, model, prefer="labels"), frame) == 0
    kept = write_like(tree, model, prefer="shares")
    np.testing.assert_allclose(kept.predict_proba(frame), tree.predict_proba(frame), atol=1.1e-6)
    assert rows_predicted_otherwise(tree, write_like(tree, model.get_booster()), frame) == 0


def test_retrained_and_back() -> None:
    frame, fresh = table(0), table(1, n=800)
    model = small(frame, max_depth=3)
    y = outcome(fresh, "binary", 1)
    result = st.retrain(
        model, fresh, y, n_folds=0, search=st.SearchOptions(n_estimators=20), random_state=0
    )
    written = result.to_like(model)
    np.testing.assert_array_equal(written.predict(fresh), result.tree.predict(fresh))


def test_what_xgboost_cannot_say_is_refused() -> None:
    frame = table(0)
    tree = st.as_tree(small(frame))
    with pytest.raises(UnsupportedModelError, match=r"expected the classes of .*\[0, 1\]"):
        write_like(tree.replace(classes=("no", "yes")), small(frame))
    with pytest.raises(UnsupportedModelError, match="booster='gbtree', got 'dart'"):
        write_like(tree, small(frame, booster="dart"))
    with pytest.raises(UnsupportedModelError, match="expected a tree of a response"):
        write_like(tree, booster(0, frame))
    with pytest.raises(UnsupportedModelError, match=r"objectives .* got 'reg:quantileerror'"):
        write_like(tree, booster(0, frame, objective="reg:quantileerror", quantile_alpha=0.5))
    numbers = table(0, categories=False)
    with pytest.raises(UnsupportedModelError, match=r"NaN is missing, got missing=-1"):
        write_like(st.as_tree(small(numbers)), small(numbers, missing=-1.0))
