"""Missing values that a deployed pipeline fills in go where what stands for them goes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import steadytree as st
from steadytree.tree.recoded import (
    fill_in,
    imputed_codes,
    missing_as_imputed,
    never_missing,
    recoded_entries,
)
from tests.foreign import probe_rows, random_tree

STANDS_FOR = {"age": 3.5, "colour": "green", "size": 10, "never heard of": 1}


def tree_and_space(seed: int = 0) -> tuple[st.Tree, st.FeatureSpace]:
    tree = random_tree(seed).replace(metadata={"imputed": STANDS_FOR})
    return tree, st.FeatureSpace.from_data(probe_rows(tree, 500, unseen=False))


def test_what_stands_for_missing_is_found_by_name() -> None:
    tree, space = tree_and_space()
    codes = imputed_codes(tree, space)
    labels, categories = space.feature_labels, space.categories
    assert codes[labels.index("age")] == 3.5
    colours = categories[labels.index("colour")]
    assert colours is not None
    assert colours[int(codes[labels.index("colour")])] == "green"
    assert imputed_codes(tree.replace(metadata={}), space) == {}
    assert imputed_codes(tree.replace(metadata={"imputed": {"colour": "pink"}}), space) == {}
    assert recoded_entries(tree) == {"imputed": STANDS_FOR}
    assert recoded_entries(tree.replace(metadata={})) == {}


def test_the_space_and_the_rows_know_no_missing_value() -> None:
    tree, space = tree_and_space()
    codes = imputed_codes(tree, space)
    fixed = never_missing(space, tree)
    assert not fixed.can_be_missing[list(codes)].any()
    others = [j for j in range(space.n_features) if j not in codes]
    np.testing.assert_array_equal(fixed.can_be_missing[others], space.can_be_missing[others])
    assert never_missing(fixed, tree) is fixed
    coded = np.full((2, space.n_features), np.nan)
    filled = fill_in(coded, codes)
    assert np.isnan(coded).all()
    assert np.isnan(filled[:, others]).all()
    for feature, code in codes.items():
        assert (filled[:, feature] == code).all()
    assert fill_in(coded, {}) is coded


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("seed", range(10))
def test_rows_go_as_if_filled_in(seed: int, precision: str) -> None:
    tree = random_tree(seed, precision=precision).replace(metadata={"imputed": STANDS_FOR})
    rows = probe_rows(tree, 1000, seed)
    codes = {
        feature: float(STANDS_FOR[name]) if cats is None else float(cats.index(STANDS_FOR[name]))
        for feature, (name, cats) in enumerate(
            zip(tree.feature_labels, tree.categories, strict=True)
        )
        if name in STANDS_FOR
    }
    changed = missing_as_imputed(tree, codes)
    filled = rows.copy()
    for name in ("age", "colour", "size"):
        filled[name] = filled[name].where(rows[name].notna(), STANDS_FOR[name])
    np.testing.assert_array_equal(changed.apply(rows), tree.apply(filled))
    assert missing_as_imputed(changed, codes) is changed
    assert missing_as_imputed(tree, {}) is tree


def test_every_tree_of_a_retraining_treats_missing_values_as_imputed() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.normal(50, 15, 1500), "income": rng.normal(30, 9, 1500)})
    risk = (X["age"] > 55) | (X["income"] < 25)
    y = (rng.random(1500) < np.where(risk, 0.8, 0.15)).astype(int)
    X = X.mask(rng.random(X.shape) < 0.15)
    fills: dict[str, Any] = {"age": 50.0}
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X[:500].fillna(fills), y[:500])
    deployed = st.as_tree(model)
    deployed = deployed.replace(metadata={**deployed.metadata, "imputed": fills})
    result = st.retrain(
        *(deployed, X[500:], y[500:]),
        n_folds=2,
        search=st.SearchOptions(n_estimators=20),
        random_state=0,
    )
    assert not result.space.can_be_missing[0]
    assert result.space.can_be_missing[1]
    for name, tree in result.trees.items():
        assert tree.metadata.get("imputed") == fills, name
        np.testing.assert_array_equal(tree.predict(X), tree.predict(X.fillna(fills)))
    again = st.retrain(result.tree, X[500:900], y[500:900], n_folds=0, random_state=0)
    np.testing.assert_array_equal(again.tree.apply(X), again.tree.apply(X.fillna(fills)))
