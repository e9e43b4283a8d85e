"""YDF: CART, random forests and boosted trees; missing values, categories and booleans."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import ydf

import steadytree as st
from steadytree.exceptions import InputError, UnsupportedModelError
from tests.foreign import probe_rows
from tests.formats.contract import Case

COLOURS = np.array(["red", "green", "it's blue", "n/a"], dtype=object)


@pytest.fixture(autouse=True, scope="module")
def _quiet() -> None:
    ydf.verbose(0)


def training_rows(seed: int, n: int = 250) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.normal(50, 10, n),
            "income": rng.normal(size=n) * 1e5,
            "colour": rng.choice(COLOURS, n),
            "rooms": rng.choice([1, 2, 10], n),
            "owner": rng.random(n) < 0.5,
        }
    )
    if seed % 2:
        frame.loc[rng.random(n) < 0.2, "age"] = np.nan
        frame.loc[rng.random(n) < 0.2, "colour"] = None
    yes = (frame["age"].fillna(60) > 52) ^ frame["owner"] ^ (frame["colour"] == "red")
    yes ^= (frame["rooms"] == 2) & (frame["income"] > 0)
    return frame.assign(y=(yes ^ (rng.random(n) < 0.1)).astype(int))


FEATURES = ["age", "income", "colour", ("rooms", ydf.Semantic.CATEGORICAL), "owner"]


def make_case(seed: int, folder: Path) -> Case:
    ydf.verbose(0)
    frame = training_rows(seed)
    options: dict[str, Any] = {
        "label": "y",
        "features": FEATURES,
        "max_depth": 2 + seed % 4,
        "min_examples": 2 + seed % 7,
        "allow_na_conditions": seed % 3 == 0,
        "missing_value_policy": ("GLOBAL_IMPUTATION", "LOCAL_IMPUTATION")[(seed // 3) % 2],
        "random_seed": seed,
        "num_threads": 1,
    }
    kind = ("cart", "multiclass", "regression", "forest", "boosted", "boosted regression")[seed % 6]
    names: Any = None
    if kind == "multiclass":
        frame["y"] = frame["y"] + (frame["income"] > 1e5)
    if kind.endswith("regression"):
        frame["y"] = frame["y"] * 3.5 + frame["income"] / 1e5
        options["task"] = ydf.Task.REGRESSION
    elif seed % 4 == 0:
        names = np.array(["no", "yes", "maybe"])
        frame["y"] = names[frame["y"]]
    if kind == "forest":
        wta = seed % 4 > 1
        learner: Any = ydf.RandomForestLearner(num_trees=1, winner_take_all=wta, **options)
    elif kind.startswith("boosted"):
        learner = ydf.GradientBoostedTreesLearner(
            num_trees=1, shrinkage=0.7, validation_ratio=0.0, **options
        )
    else:
        learner = ydf.CartLearner(validation_ratio=0.1 * (seed % 2), **options)
    model = learner.train(frame)
    tree = st.as_tree(model)
    rows = probe_rows(tree, seed=seed)
    rng = np.random.default_rng(seed)
    # It takes no missing booleans and integers from a frame.
    rows["owner"] = rng.random(len(rows)) < 0.5
    rows["rooms"] = rng.choice([1, 2, 10, 77], len(rows))
    colour = rows["colour"].astype(object)
    colour[rng.random(len(rows)) < 0.1] = ""
    rows["colour"] = colour
    # Its quick engines know one way with missing values only.
    slow = options["missing_value_policy"] != "GLOBAL_IMPUTATION"
    raw = model.predict(rows, use_slow_engine=slow)
    leaves = model.predict_leaves(rows.assign(y=frame["y"].iloc[0]))[:, 0]
    if not tree.is_classifier:
        return Case(model, rows, raw, leaves=leaves, tolerance=1e-5)
    labels = model.predict_class(rows, use_slow_engine=slow)
    shares = np.column_stack([1 - raw, raw]) if raw.ndim == 1 else raw
    expected = labels if names is not None else labels.astype(int)
    return Case(model, rows, expected, shares, leaves, tolerance=1e-6)


def test_conditions_are_told_in_the_users_values() -> None:
    tree = st.as_tree(ydf.CartLearner(label="y", features=FEATURES).train(training_rows(0)))
    assert tree.feature_names == ("age", "income", "colour", "rooms", "owner")
    assert set(tree.categories[3] or ()) == {1, 2, 10}
    assert tree.categories[4] == (False, True)
    assert tree.classes == (0, 1)
    assert tree.metadata["source"].startswith("YDF 0.")


def test_labels_of_every_type() -> None:
    frame = training_rows(0)
    for values in ((False, True), (5, 6)):
        frame["z"] = np.array(values)[frame["y"]]
        model = ydf.CartLearner(label="z", features=["age", "owner"]).train(frame)
        tree = st.as_tree(model)
        assert tree.classes == values
        own = [str(v).lower() for v in tree.predict(frame)]
        np.testing.assert_array_equal(own, model.predict_class(frame))


def test_a_condition_on_missing_values() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=300), "c": rng.choice(list("uvw"), 300)})
    frame["c"] = frame["c"].astype(object)
    frame.loc[::3, "a"] = np.nan
    frame.loc[::4, "c"] = None
    frame["y"] = np.where(frame["a"].isna() ^ frame["c"].isna(), "p", "q")
    learner = ydf.CartLearner(label="y", allow_na_conditions=True, max_depth=4, min_examples=2)
    model = learner.train(frame)
    tree = st.as_tree(model)
    assert np.isinf(tree.threshold).any()
    rows = pd.DataFrame(
        {
            "a": [np.nan, 0.0, np.inf] * 6,
            "c": np.repeat(np.array(["u", "", None, "z", "v", "w"], dtype=object), 3),
        }
    )
    np.testing.assert_array_equal(tree.predict(rows), model.predict_class(rows))


def test_rare_categories_and_columns_in_bins() -> None:
    frame = training_rows(0)
    frame.loc[:2, "colour"] = "rare"
    model = ydf.CartLearner(label="y", features=["colour", "age"], min_examples=2).train(frame)
    tree = st.as_tree(model)
    assert "rare" not in (tree.categories[tree.feature_labels.index("colour")] or ())
    np.testing.assert_array_equal(tree.predict(frame).astype(str), model.predict_class(frame))
    options = {"features": ["age", "income"], "discretize_numerical_columns": True}
    model = ydf.CartLearner(label="y", **options).train(training_rows(1))
    tree = st.as_tree(model)
    assert tree.n_leaves > 1
    rows = probe_rows(tree, 5_000)
    np.testing.assert_array_equal(tree.predict(rows).astype(str), model.predict_class(rows))


@pytest.mark.parametrize("learner", [ydf.RandomForestLearner, ydf.GradientBoostedTreesLearner])
def test_one_tree_of_several(learner: Any) -> None:
    frame = training_rows(1)
    model = learner(label="y", features=FEATURES, num_trees=3, max_depth=3).train(frame)
    with pytest.raises(UnsupportedModelError, match="of 3; pass tree_index="):
        st.as_tree(model)
    leaves = model.predict_leaves(frame)
    boosted = learner is ydf.GradientBoostedTreesLearner
    for k in range(3):
        tree = st.as_tree(model, tree_index=k)
        assert tree.is_classifier is not boosted
        pairs = set(zip(tree.apply(frame).tolist(), leaves[:, k].tolist(), strict=True))
        assert len(pairs) == len({p[0] for p in pairs}) == len({p[1] for p in pairs})
    with pytest.raises(InputError, match="tree_index below 3"):
        st.as_tree(model, tree_index=3)


def test_refusals() -> None:
    frame = training_rows(0)
    numbers = ["age", "income"]
    oblique = ydf.CartLearner(label="y", features=numbers, split_axis="SPARSE_OBLIQUE").train(frame)
    with pytest.raises(UnsupportedModelError, match="got a NumericalSparseObliqueCondition"):
        st.as_tree(oblique)
    anomalies = ydf.IsolationForestLearner(features=numbers, num_trees=1).train(frame)
    with pytest.raises(UnsupportedModelError, match="got IsolationForestModel"):
        st.as_tree(anomalies)
    with pytest.raises(UnsupportedModelError, match=r"train\(data\) returns"):
        st.as_tree(ydf.CartLearner(label="y"))
    frame["s"] = [["a"] for _ in range(len(frame))]
    silent = ydf.CartLearner(label="y", features=["s", "age", "owner"]).train(frame)
    assert st.as_tree(silent).feature_names == ("age", "owner")
    frame["s"] = [["a", "b"] if y else ["b", "c"] for y in frame["y"]]
    sets = ydf.CartLearner(
        label="y", features=["s"], categorical_set_split_greedy_sampling=1.0
    ).train(frame)
    with pytest.raises(UnsupportedModelError, match="CategoricalSetContainsCondition"):
        st.as_tree(sets)
    logits = ydf.GradientBoostedTreesLearner(label="y", features=numbers, num_trees=1).train(frame)
    logits.set_output_logits(True)
    with pytest.raises(UnsupportedModelError, match=r"set_output_logits\(False\)"):
        st.as_tree(logits)
    counts = ydf.GradientBoostedTreesLearner(
        label="y", features=numbers, num_trees=1, task=ydf.Task.REGRESSION, loss="POISSON"
    ).train(frame)
    with pytest.raises(UnsupportedModelError, match="got 'POISSON'"):
        st.as_tree(counts)
    treated = frame.assign(t=np.random.default_rng(0).choice(["a", "b"], len(frame)))
    uplift: dict[str, Any] = {"task": ydf.Task.CATEGORICAL_UPLIFT, "uplift_treatment": "t"}
    learner = ydf.RandomForestLearner(label="y", features=numbers, num_trees=1, **uplift)
    with pytest.raises(UnsupportedModelError, match="got UpliftValue"):
        st.as_tree(learner.train(treated))
