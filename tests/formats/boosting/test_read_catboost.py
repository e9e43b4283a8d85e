"""CatBoost: objects and JSON files, numbers and categories, one class more or less."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from catboost import CatBoost, CatBoostClassifier, CatBoostRegressor, Pool

import steadytree as st
from steadytree.exceptions import (
    InputError,
    NotFittedTreeError,
    TreeFormatError,
    UnsupportedModelError,
)
from steadytree.formats.boosting.read_catboost import Features, Split, read_nested, read_oblivious
from steadytree.tree.nested import JsonObject
from tests.foreign import probe_rows
from tests.formats.contract import Case

QUIET: dict[str, Any] = {"verbose": 0, "allow_writing_files": False, "thread_count": 1}
ONE = {**QUIET, "iterations": 1}
POLICIES = ("SymmetricTree", "Depthwise", "Lossguide")


def training_rows(seed: int, n: int = 200) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.normal(50, 10, n),
            "income": rng.normal(size=n) * 1e5,
            "owner": rng.choice(["yes", "no"], n),
            "colour": rng.choice(["red", "green", "it's blue"], n),
        }
    )
    if seed % 3:
        X.loc[rng.random(n) < 0.2, "age"] = np.nan
    y = (X["age"].fillna(60) > 52).to_numpy() ^ (X["owner"] == "yes").to_numpy()
    y = y ^ ((X["colour"] == "red") & (X["income"] > 0)).to_numpy()
    return X, (y ^ (rng.random(n) < 0.1)).astype(int)


def save(model: Any, path: Path, X: pd.DataFrame, y: np.ndarray, cats: list[str]) -> Path:
    model.save_model(str(path), format="json", pool=Pool(X, y, cat_features=cats))
    return path


def make_case(seed: int, folder: Path) -> Case:
    X, y = training_rows(seed)
    options: dict[str, Any] = {
        **ONE,
        "depth": 1 + seed % 4,
        "nan_mode": ("Min", "Max")[seed % 2],
        "grow_policy": POLICIES[(seed // 2) % 3],
        "learning_rate": 0.7,
    }
    cats = ["owner", "colour"] if seed % 4 < 2 else []
    if cats:
        options |= {"cat_features": cats, "one_hot_max_size": 5}
    else:
        X = X[["age", "income"]]
    kind = ("binary", "multiclass", "regression", "text", "tree_index")[seed % 5]
    if kind == "multiclass":
        y = y + (X["income"].to_numpy() > 1e5)
    target: Any = np.where(y, "yes", "no") if kind == "text" else y
    model: Any
    if kind == "regression":
        target = y * 3.5 + X["income"].to_numpy() / 1e5
        model = CatBoostRegressor(**options)
    elif kind == "tree_index":
        model = CatBoostRegressor(**{**options, "iterations": 3})
    else:
        model = CatBoostClassifier(**options)
    model.fit(X, target)
    chosen: Any = model
    if cats:
        chosen = save(model, folder / f"{seed}.json", X, target, cats)
    extra = {"tree_index": seed % 3} if kind == "tree_index" else {}
    tree = st.as_tree(chosen, **extra)
    rows = probe_rows(tree, seed=seed)
    for name in X.columns:
        if name in cats:
            # It refuses missing categories; columns that are not asked for must be there.
            known = rows[name] if name in rows else pd.Series(["no"] * len(rows))
            rows[name] = known.where(known.notna(), "never met").astype(object)
    rows = rows[X.columns]
    if kind == "tree_index":
        k = extra["tree_index"]
        expected = model.predict(rows, ntree_start=k, ntree_end=k + 1)
        if k == 0:
            expected = expected - model.get_scale_and_bias()[1]
        return Case(chosen, rows, expected, options=extra, tolerance=1e-9)
    shares = None if kind == "regression" else model.predict_proba(rows)
    return Case(chosen, rows, model.predict(rows).ravel(), shares, tolerance=1e-9)


def sample_files(folder: Path) -> list[Path]:
    paths = []
    for seed, policy in enumerate(POLICIES):
        X, y = training_rows(seed)
        cats = ["owner", "colour"]
        more = {"cat_features": cats, "one_hot_max_size": 5, "grow_policy": policy}
        model = CatBoostClassifier(**ONE, depth=2, **more).fit(X, y + (X["age"] > 60) * (seed == 2))
        paths.append(save(model, folder / f"sample{seed}.json", X, y, cats))
    return paths


@pytest.fixture
def document(tmp_path: Path) -> Any:
    return json.loads(sample_files(tmp_path)[0].read_bytes())


def read(content: Any, folder: Path, **options: Any) -> st.Tree:
    path = folder / "changed.json"
    path.write_text(json.dumps(content))
    return st.as_tree(path, **options)


def above(border: float, index: int = 0) -> dict[str, Any]:
    return {"split_type": "FloatFeature", "border": border, "float_feature_index": index}


def equals(hash_value: int, index: int = 0) -> dict[str, Any]:
    return {"split_type": "OneHotFeature", "value": hash_value, "cat_feature_index": index}


@pytest.mark.parametrize(
    ("splits", "numbers"),
    [
        ((), [0]),
        ((above(1.0),), [0, 1]),
        # Above 1 is above 0 as well; not above 0 is not above 1.
        ((above(1.0), above(0.0)), [0, 2, 3]),
        ((above(0.0), above(1.0)), [0, 1, 3]),
        ((above(0.0), above(0.0)), [0, 3]),
        ((above(0.0), above(0.0, 1)), [0, 2, 1, 3]),
        # A category that is one value is none of the others.
        ((equals(5), equals(6)), [0, 2, 1]),
        ((equals(5), equals(5)), [0, 3]),
        ((equals(5), equals(6, 1)), [0, 2, 1, 3]),
    ],
)
def test_what_is_implied_above(splits: Any, numbers: list[int]) -> None:
    content = {"splits": list(splits), "leaf_values": list(range(2 ** len(splits)))}
    table = read_oblivious(JsonObject(content, "tree."), 1)
    ends = [node for node, sides in enumerate(table.children) if sides is None]
    assert table.values[ends, 0].tolist() == numbers


def test_nested_objects_are_laid_flat() -> None:
    tree = {
        "split": above(0.1),
        "left": {"value": [1, 2], "weight": 3},
        "right": {"split": equals(-1), "left": {"value": [3, 4]}, "right": {"value": [5, 6]}},
    }
    table = read_nested(JsonObject(tree, "t."), 2)
    assert table.children[0] == [1, 2]
    # Borders are single precision; hashes signed in splits, unsigned beside the text.
    assert table.splits[0] == Split(0, float(np.float32(0.1)))
    assert table.splits[2] == Split(0, hash=2**32 - 1)
    ends = [node for node, sides in enumerate(table.children) if sides is None]
    np.testing.assert_array_equal(table.values[ends], [[1, 2], [3, 4], [5, 6]])
    np.testing.assert_array_equal(table.weights[ends], [3, 1, 1])


def test_texts_with_one_hash_go_together() -> None:
    info = {
        "categorical_features": [{"feature_index": 0, "flat_feature_index": 0, "feature_id": "c"}],
        "cat_features_hash": [{"hash": 7, "value": "one"}, {"hash": 7, "value": "other"}],
    }
    features = Features(JsonObject(info, ""), [Split(0, hash=7)])
    assert features.categories == (("one", "other"),)


@pytest.mark.parametrize("mode", ["Min", "Max"])
def test_missing_and_infinite_values(mode: str) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=300), "b": rng.normal(size=300)})
    X.loc[::3, "a"] = np.nan
    model = CatBoostClassifier(**ONE, depth=2, nan_mode=mode).fit(X, X["a"].isna())
    top = float(np.finfo(np.float32).max)
    odd = [np.nan, -np.inf, -1e308, -top, top, 1e308, np.inf, -0.0]
    rows = pd.DataFrame({"a": odd, "b": 0.0})
    rows.loc[::2, "b"] = np.nan  # of which there were none in training
    tree = st.as_tree(model)
    np.testing.assert_allclose(tree.predict_proba(rows), model.predict_proba(rows), atol=1e-12)
    assert tree.classes == (False, True)
    assert st.as_tree(model.fit(X.to_numpy(), X["a"].isna())).feature_names is None


@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.7])
def test_the_models_own_threshold(threshold: float) -> None:
    X, y = training_rows(0)
    X = X[["age", "income"]]
    model = CatBoostClassifier(**ONE, depth=3).fit(X, y)
    model.set_probability_threshold(threshold)
    tree = st.as_tree(model)
    assert tree.decision_threshold == threshold
    np.testing.assert_array_equal(tree.predict(X), model.predict(X))


def test_other_losses_and_the_file_of_an_object(tmp_path: Path) -> None:
    X, y = training_rows(0)
    X = X[["age", "income"]]
    for loss in ("MAE", "Quantile:alpha=0.3", "Poisson", "Tweedie:variance_power=1.5"):
        model = CatBoostRegressor(**ONE, depth=2, loss_function=loss).fit(X, y + 0.5)
        np.testing.assert_allclose(st.as_tree(model).predict(X), model.predict(X), rtol=1e-9)
    model = CatBoostClassifier(**ONE, depth=2, loss_function="CrossEntropy").fit(X, y)
    tree = st.as_tree(model)
    assert tree.classes == (0, 1)
    np.testing.assert_array_equal(tree.predict(X), model.predict(X))
    assert tree.metadata["source"].startswith("CatBoost 1.")
    assert tree.metadata["source"].endswith("CatBoostClassifier")
    model.save_model(str(tmp_path / "model.json"), format="json")
    again = st.as_tree(tmp_path / "model.json")
    assert again.replace(metadata={}) == tree.replace(metadata={})


def test_categories_of_an_object_are_hashes(tmp_path: Path) -> None:
    X, y = training_rows(0)
    options = {**ONE, "depth": 2, "cat_features": ["owner", "colour"]}
    asks = CatBoostClassifier(**options, one_hot_max_size=5).fit(X, X["owner"] == "yes")
    with pytest.raises(UnsupportedModelError, match=r"feature 'owner'.*pool=pool"):
        st.as_tree(asks)
    path = save(asks, tmp_path / "m.json", X, y, ["owner", "colour"])
    assert "owner" in (st.as_tree(path).feature_names or ())
    # Categories that the tree does not ask for do not matter.
    silent = CatBoostClassifier(**options, one_hot_max_size=5).fit(X, X["income"] > 0)
    assert set(st.as_tree(silent).feature_names or ()) == {"age", "income"}


@pytest.mark.parametrize("values", [["1", "2"], [0, 1], [True, False]])
def test_a_category_that_may_be_a_number_is_refused(values: list[Any], tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"k": rng.choice(values, 200), "a": rng.normal(size=200)})
    y = (X["k"] == values[0]).astype(int).to_numpy()
    model = CatBoostClassifier(**ONE, depth=1, cat_features=["k"]).fit(X, y)
    with pytest.raises(UnsupportedModelError, match=r"feature 'k'.*CatBoost takes both"):
        st.as_tree(save(model, tmp_path / "m.json", X, y, ["k"]))


def test_target_statistics_are_refused(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"c": rng.choice(list("abcdef"), 300), "a": rng.normal(size=300)})
    y = X["c"].isin(list("abd")).astype(int).to_numpy()
    model = CatBoostClassifier(**ONE, depth=2, cat_features=["c"]).fit(X, y)
    with pytest.raises(UnsupportedModelError, match="one_hot_max_size"):
        st.as_tree(model)
    with pytest.raises(UnsupportedModelError, match="OnlineCtr"):
        st.as_tree(save(model, tmp_path / "m.json", X, y, ["c"]))


def test_refusals(tmp_path: Path) -> None:
    X, y = training_rows(0)
    X = X[["age", "income"]]
    with pytest.raises(NotFittedTreeError, match="call fit"):
        st.as_tree(CatBoostClassifier())
    several = CatBoostClassifier(**QUIET, iterations=3, depth=2).fit(X, y)
    with pytest.raises(UnsupportedModelError, match="got a CatBoost model of 3"):
        st.as_tree(several)
    with pytest.raises(InputError, match="tree_index below 3"):
        st.as_tree(several, tree_index=3)
    classes = CatBoostClassifier(**QUIET, iterations=2, depth=2).fit(X, y + (X["age"] > 60))
    with pytest.raises(UnsupportedModelError, match="got 3, one for each class"):
        st.as_tree(classes, tree_index=0)
    for loss in ("MultiClassOneVsAll", "RMSEWithUncertainty"):
        model = CatBoost({**ONE, "depth": 2, "loss_function": loss}).fit(X, y)
        with pytest.raises(UnsupportedModelError, match=f"got '{loss}'"):
            st.as_tree(model)
    words = pd.DataFrame({"b": X["age"], "t": np.where(y, "aa bb", "bb cc dd")})
    text = CatBoostClassifier(**ONE, depth=1, text_features=["t"]).fit(words, y)
    with pytest.raises(UnsupportedModelError, match="leave out text and embedding features"):
        st.as_tree(text)
    binary = tmp_path / "model.cbm"
    several.save_model(str(binary))
    with pytest.raises(TreeFormatError, match='format="json"'):
        st.as_tree(binary)


def test_categories_without_names_that_are_not_asked_for(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = np.empty((200, 2), dtype=object)
    X[:, 0], X[:, 1] = rng.choice(["u", "v"], 200), rng.normal(size=200)
    silent = CatBoostClassifier(**ONE, depth=1, cat_features=[0]).fit(X, X[:, 1] > 0)
    with pytest.raises(UnsupportedModelError, match="fit on a frame"):
        st.as_tree(silent)
    asks = CatBoostClassifier(**ONE, depth=1, cat_features=[0]).fit(X, X[:, 0] == "u")
    path = tmp_path / "m.json"
    asks.save_model(str(path), format="json", pool=Pool(X, cat_features=[0]))
    tree = st.as_tree(path)
    assert tree.feature_names is None
    np.testing.assert_array_equal(tree.predict(X), asks.predict(X).astype(str) == "True")


FLOAT = {"split_type": "FloatFeature", "border": 0.0, "float_feature_index": 0}


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("features_info", None, "features_info: expected an object"),
        ("oblivious_trees", [], "expected at least one tree"),
        ("oblivious_trees", {}, "expected a list, got an object"),
        ("scale_and_bias", [1], "scale_and_bias: expected two entries"),
        ("scale_and_bias", [1, []], "expected 1 to 10,000 numbers"),
        ("scale_and_bias", [1, [1, 2]], "leaf_values: expected 8 numbers"),
        ("scale_and_bias", [1, ["x"]], "scale_and_bias.1.: expected a number"),
        ("oblivious_trees.0.leaf_values", [1.0], "leaf_values: expected"),
        ("oblivious_trees.0.leaf_weights", [1.0], "leaf_weights: expected"),
        ("oblivious_trees.0.leaf_weights", [-1.0] * 4, "expected a weight"),
        ("oblivious_trees.0.leaf_values", ["nan"] * 4, "expected finite"),
        ("oblivious_trees.0.splits", [FLOAT] * 17, "expected at most 16 levels"),
        ("oblivious_trees.0.splits.0", FLOAT | {"border": float("nan")}, "border: expected a fini"),
        ("oblivious_trees.0.splits.0", FLOAT | {"float_feature_index": 77}, "expected feature 77"),
        (
            "oblivious_trees.0.splits.0",
            FLOAT | {"float_feature_index": -1},
            r"expected a number in \[0, 200000\), got -1",
        ),
        ("features_info.float_features.0.nan_value_treatment", "x", "treatment: expected one of"),
        ("features_info.float_features.0.flat_feature_index", 1, "got 1 twice"),
        ("model_info.class_params.class_names", [1, 2, 3], "expected 2 cla"),
        ("model_info.binclass_probability_threshold", "much", "expected a share, got 'much'"),
    ],
)
def test_damaged_files(document: Any, path: str, value: Any, message: str, tmp_path: Path) -> None:
    *parents, last = (int(key) if key.isdigit() else key for key in path.split("."))
    at = document
    for key in parents:
        at = at[key]
    at[last] = value
    with pytest.raises(TreeFormatError, match=message):
        read(document, tmp_path)


def test_damaged_nested_trees(tmp_path: Path) -> None:
    document = json.loads(sample_files(tmp_path)[1].read_bytes())
    node = document["trees"][0]
    while "split" in node:
        node = node["left"]
    node["value"] = [1.0, 2.0]
    with pytest.raises(TreeFormatError, match=r"left\.value: expected 1 numbers, got 2"):
        read(document, tmp_path)
    node["value"] = None
    with pytest.raises(TreeFormatError, match="expected a number"):
        read(document, tmp_path)


def test_unknown_splits_and_columns_and_deep_nesting(document: Any, tmp_path: Path) -> None:
    document["features_info"]["float_features"][0]["flat_feature_index"] = 9
    with pytest.raises(UnsupportedModelError, match="each listed once"):
        read(document, tmp_path)
    document["oblivious_trees"][0]["splits"][0]["split_type"] = "EstimatedFeature"
    with pytest.raises(UnsupportedModelError, match="got 'EstimatedFeature'"):
        read(document, tmp_path)
    path = tmp_path / "deep.json"
    path.write_text('{"features_info":1,"trees":[' + '{"left":' * 100_000 + "}" * 100_000 + "]}")
    with pytest.raises(TreeFormatError, match="nested too deeply"):
        st.as_tree(path)
