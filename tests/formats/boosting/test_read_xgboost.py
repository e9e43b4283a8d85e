"""XGBoost models, boosters and files, read as trees: the same leaf and decision for every row."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb

import steadytree as st
from steadytree.exceptions import InputError, NotFittedTreeError, UnsupportedModelError
from tests.formats.boosted import assert_refused, outcome, probes, table
from tests.formats.contract import Case

SINGLE = 1e-6
OBJECTIVES = (
    *("reg:squarederror", "count:poisson", "reg:gamma", "reg:tweedie", "reg:absoluteerror"),
    *("reg:pseudohubererror", "reg:squaredlogerror", "survival:cox", "reg:quantileerror"),
)


def train(seed: int, frame: Any, y: Any, rounds: int = 1, **options: Any) -> xgb.Booster:
    rng = np.random.default_rng(seed)
    settings = {
        "max_depth": int(rng.integers(1, 6)),
        "eta": float(rng.uniform(0.3, 1)),
        "max_cat_to_onehot": int(rng.integers(1, 6)),
        "nthread": 1,
        "seed": seed,
        **({"quantile_alpha": 0.7} if options.get("objective") == "reg:quantileerror" else {}),
        **options,
    }
    return xgb.train(settings, xgb.DMatrix(frame, y, enable_categorical=True), rounds)


def save(model: Any, path: Path) -> Path:
    model.save_model(path)
    return path


def make_case(seed: int, folder: Path) -> Case:
    """Make a booster or a file, for each task and mode in turn."""
    kind = ("binary", "regression", "binary", "multiclass")[seed % 4]
    frame = table(seed, categories=seed % 5 < 3)
    y = outcome(frame, kind, seed)
    objective = {"multiclass": "multi:softprob", "binary": "binary:logistic"}.get(kind)
    options = {"objective": objective or OBJECTIVES[seed // 4 % len(OBJECTIVES)]}
    if kind == "multiclass":
        options |= {"num_class": 3}
    rounds, index = (3, seed % 3) if kind == "multiclass" or seed % 10 == 4 else (1, None)
    if seed % 10 == 4:
        options |= {"subsample": 0.7}
    model: Any = train(seed, frame, y, rounds, **options)
    rows = probes(st.as_tree(model, tree_index=index), frame, seed, unseen=False)
    data = xgb.DMatrix(rows, enable_categorical=True)
    leaves = model.predict(data, pred_leaf=True).reshape(len(rows), -1)[:, index or 0]
    if index is not None:
        turn, klass = divmod(index, 3 if kind == "multiclass" else 1)
        k = 3 if kind == "multiclass" else 1
        data.set_base_margin(np.zeros((len(rows), k)))
        raw = model.predict(data, output_margin=True, iteration_range=(turn, turn + 1))
        expected, shares = raw.reshape(len(rows), -1)[:, klass].astype(float), None
    else:
        predicted = model.predict(data).astype(float)
        expected = (predicted > 0.5).astype(int) if kind == "binary" else predicted
        shares = np.column_stack([1 - predicted, predicted]) if kind == "binary" else None
    if seed % 2:
        model = save(model, folder / f"{seed}.json")
    return Case(
        model,
        rows,
        expected,
        shares,
        leaves,
        {"tree_index": index},
        tolerance=SINGLE if index is None else 0.0,
    )


def sample_files(folder: Path) -> list[Path]:
    paths = []
    for seed, kind in enumerate(("binary:logistic", "reg:squarederror")):
        frame = table(seed)
        model = train(seed, frame, outcome(frame, "binary", seed), objective=kind)
        paths.append(save(model, folder / f"{seed}.json"))
    return paths


@pytest.mark.parametrize("kind", [xgb.XGBClassifier, xgb.XGBRFClassifier])
def test_classifiers(kind: Any) -> None:
    frame = table(0)
    model = kind(n_estimators=1, max_depth=4, enable_categorical=True, n_jobs=1)
    with pytest.raises(NotFittedTreeError, match=r"got XGB\w+ before fit"):
        st.as_tree(model)
    model.fit(frame, outcome(frame, "binary", 0))
    tree = st.as_tree(model)
    assert tree.classes == (0, 1)
    assert tree.precision == "float32"
    if kind is xgb.XGBClassifier:
        assert tree.weight[0] == pytest.approx(len(frame), rel=1e-4)
    assert tree.metadata["source"] == f"XGBoost {xgb.__version__} {kind.__name__}"
    rows = probes(tree, frame, 0, unseen=False)
    np.testing.assert_array_equal(tree.predict(rows), model.predict(rows))
    np.testing.assert_allclose(tree.predict_proba(rows), model.predict_proba(rows), atol=SINGLE)


def test_further_objectives() -> None:
    frame = table(2)
    y = outcome(frame, "binary", 2) + 0.0
    for objective in ("reg:logistic", "rank:ndcg", "survival:aft"):
        data = xgb.DMatrix(frame, y, enable_categorical=True)
        if objective == "rank:ndcg":
            data.set_group([40] * 10)
        if objective == "survival:aft":
            data.set_float_info("label_lower_bound", y + 1)
            data.set_float_info("label_upper_bound", y + 2)
        model = xgb.train({"objective": objective, "max_depth": 3, "nthread": 1}, data, 1)
        tree = st.as_tree(model)
        assert not tree.is_classifier
        rows = probes(tree, frame, 2, unseen=False)
        predicted = model.predict(xgb.DMatrix(rows, enable_categorical=True))
        np.testing.assert_allclose(tree.predict(rows), predicted, rtol=SINGLE)
    forest = xgb.XGBRFRegressor(n_estimators=1, max_depth=4, enable_categorical=True, n_jobs=1)
    forest.fit(frame, outcome(frame, "regression", 1))
    np.testing.assert_allclose(st.as_tree(forest).predict(rows), forest.predict(rows), rtol=SINGLE)


def test_one_model_by_three_routes(tmp_path: Path) -> None:
    frame = table(3)
    model = xgb.XGBClassifier(n_estimators=1, max_depth=5, enable_categorical=True, n_jobs=1)
    model.fit(frame, outcome(frame, "binary", 3))
    # The name does not matter.
    file = save(model, tmp_path / "m.json").rename(tmp_path / "m.bin")
    trees = [st.as_tree(m) for m in (model, model.get_booster(), file)]
    space = st.FeatureSpace.from_data(frame)
    for other in trees[1:]:
        assert st.tree_distance(trees[0], other, space=space) == 0
        assert other.replace(metadata={}) == trees[0].replace(metadata={})


def test_ties_are_decided_as_single_precision_does() -> None:
    X = np.array([[0.0], [1.0]])
    settings = {"objective": "binary:logistic", "base_score": 0.5, "lambda": 0, "max_depth": 1}
    model = xgb.train({**settings, "min_child_weight": 0}, xgb.DMatrix(X, [0.0, 1.0]), 1)
    text = json.loads(bytes(model.save_raw("json")))
    nodes = text["learner"]["gradient_booster"]["model"]["trees"][0]
    for leaf in (0.0, 1e-9, 2e-8, 3e-8, 5e-8, 6e-8, 1.1e-7, 1.2e-7, 1e-6, 1e-5):
        nodes["split_conditions"][1:] = [leaf, -leaf]
        other = xgb.Booster(model_file=bytearray(json.dumps(text).encode()))
        predicted = other.predict(xgb.DMatrix(X))
        assert st.as_tree(other).predict(X).tolist() == (predicted > 0.5).astype(int).tolist()


def test_codes_without_pandas_are_the_categories() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 40, 500), rng.normal(size=500)]).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    types = ["c", "q"]
    data = xgb.DMatrix(X, np.sin(np.nan_to_num(X[:, 0]) * 3), feature_types=types)
    model = xgb.train({"max_depth": 4, "max_cat_to_onehot": 1, "nthread": 1}, data, 1)
    tree = st.as_tree(model)
    assert tree.feature_names is None
    assert tree.categories[0] == tuple(range(len(tree.categories[0] or ())))
    values = np.array([*range(-3, 50), 1e9, np.nan])
    rows = np.column_stack([np.tile(values, 20), rng.normal(size=20 * len(values))])
    predicted = model.predict(xgb.DMatrix(rows, feature_types=types))
    np.testing.assert_allclose(tree.predict(rows), predicted, rtol=SINGLE)


def test_names_of_categories_that_xgboost_cuts_off() -> None:
    frame = pd.DataFrame({"c": pd.Categorical(["é", "y", "日本"] * 50)})
    model = xgb.XGBRegressor(n_estimators=1, enable_categorical=True).fit(frame, [1, 2, 3] * 50)
    with pytest.raises(UnsupportedModelError, match="whose names XGBoost stores cut off"):
        st.as_tree(model)


# -- what is refused ------------------------------------------------------------------------------


def test_models_that_are_no_single_tree() -> None:
    frame = table(6, categories=False)
    y = outcome(frame, "multiclass", 6)
    model = xgb.XGBClassifier(n_estimators=2, n_jobs=1).fit(frame, y)
    with pytest.raises(UnsupportedModelError, match="an XGBoost model of 6; pass tree_index="):
        st.as_tree(model)
    with pytest.raises(InputError, match="expected tree_index below 6"):
        st.as_tree(model, tree_index=6)
    several = xgb.XGBRegressor(n_estimators=1, multi_strategy="multi_output_tree", n_jobs=1)
    with pytest.raises(UnsupportedModelError, match="trees of several outputs"):
        st.as_tree(several.fit(frame, np.column_stack([y, y])))
    linear = xgb.train({"booster": "gblinear", "nthread": 1}, xgb.DMatrix(frame, y), 1)
    with pytest.raises(UnsupportedModelError, match="got 'gblinear'"):
        st.as_tree(linear)
    mine = xgb.XGBClassifier(n_estimators=1, objective="reg:squarederror", n_jobs=1)
    with pytest.raises(UnsupportedModelError, match="got 'reg:squarederror'"):
        st.as_tree(mine.fit(frame, y > 0))
    numbers = xgb.XGBClassifier(n_estimators=1, missing=-1.0, n_jobs=1).fit(frame, y > 0)
    with pytest.raises(UnsupportedModelError, match="got missing=-1"):
        st.as_tree(numbers)


NAN = float("nan")
TREE = "gradient_booster.model.trees.0"
PARAMETERS = "learner_model_param"


@pytest.mark.parametrize(
    ("path", "value", "match"),
    [
        (f"{TREE}.left_children.0", 0, "a cycle or two parents"),
        (f"{TREE}.right_children.0", 10**6, "expected a child in"),
        (f"{TREE}.right_children.0", -7, "expected a child in"),
        (f"{TREE}.split_conditions.0", NAN, "a threshold, got NaN"),
        (f"{TREE}.split_conditions.-1", NAN, "finite values"),
        (f"{TREE}.split_indices.0", 2**32, "expected feature in"),
        (f"{TREE}.split_indices.0", 0.5, "expected whole numbers"),
        (f"{TREE}.sum_hessian.-1", -1, "expected a weight >= 0"),
        (f"{TREE}.left_children", [], "numbers, got shape"),
        (f"{TREE}.left_children", "1", "expected a list"),
        (f"{TREE}.left_children", [[1]], "a list of numbers, got shape"),
        (f"{TREE}.left_children", ["a"], "expected numbers, got others"),
        (f"{TREE}.default_left", None, "default_left: expected a list"),
        (f"{TREE}.tree_param", [], "tree_param: expected an object"),
        (f"{TREE}.split_type", [1] * 99, "split_type: expected"),
        ("gradient_booster.model.trees", [], "at least one"),
        ("gradient_booster.model.trees", [1], "expected an object"),
        ("gradient_booster.name", 3, "expected text"),
        (f"{PARAMETERS}.num_feature", "-3", "1 to 200,000"),
        (f"{PARAMETERS}.num_feature", "9" * 30, "1 to 200,000"),
        (f"{PARAMETERS}.num_feature", "9" * 5000, "a whole number"),
        (f"{PARAMETERS}.base_score", "[1,2]", "base_score"),
        (f"{PARAMETERS}.base_score", "[7]", "finite"),
        ("objective.name", "reg:mine", "got 'reg:mine'"),
        ("feature_names", ["a"], "distinct feature names"),
    ],
)
def test_entries_that_make_no_sense(path: str, value: Any, match: str, tmp_path: Path) -> None:
    file = sample_files(tmp_path)[0]
    document = json.loads(file.read_text())
    *parents, last = (int(k) if k.lstrip("-").isdigit() else k for k in path.split("."))
    at = document["learner"]
    for key in parents:
        at = at[key]
    at[last] = value
    assert_refused(file, json.dumps(document), match)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"categories": [-4]}, "categories of its own"),
        ({"categories": [4]}, "expected category codes below 3, got 4"),
        ({"categories_sizes": [2]}, "expected 2 categories of its own"),
        ({"categories_segments": [-1]}, "1 categories of its own"),
        ({"categories_nodes": [1]}, "node 0: expected a set of categories"),
        ({"categories_sizes": [10**12]}, "at most 250,000 categories"),
    ],
)
def test_category_sets_that_make_no_sense(
    changes: dict[str, Any], match: str, tmp_path: Path
) -> None:
    frame = pd.DataFrame({"c": pd.Categorical(["a", "b", "c"] * 50)})
    data = xgb.DMatrix(frame, [1, 2, 1] * 50, enable_categorical=True)
    model = xgb.train({"max_depth": 1, "nthread": 1}, data, 1)
    document = json.loads(bytes(model.save_raw("json")))
    stored = document["learner"]["gradient_booster"]["model"]
    stored["trees"][0].update(changes)
    assert_refused(tmp_path / "m.json", json.dumps(document), match)
    stored["cats"]["enc"] = []
    stored["trees"][0].update(categories=[10**9], categories_sizes=[1], categories_segments=[0])
    stored["trees"][0].update(categories_nodes=[0])
    assert_refused(tmp_path / "m.json", json.dumps(document), "at most 250,000 categories")


def test_files_cut_off_and_nested(tmp_path: Path) -> None:
    path = sample_files(tmp_path)[0]
    binary = bytes(xgb.Booster(model_file=path).save_raw("ubj"))
    content = path.read_bytes()
    assert_refused(path, content[: len(content) // 2], "cut off")
    assert_refused(path, binary, r"got UBJSON; save it again: xgboost.*model\.json")
    started = time.perf_counter()
    nested = b'{"learner":' + b"[" * 50_000_000
    assert_refused(tmp_path / "m.json", nested, "nested too deeply")
    assert_refused(tmp_path / "m.json", b'{"version":[1],"learner":[]}', "expected an object")
    assert time.perf_counter() - started < 5


def test_our_own_files_are_not_taken_for_theirs(tmp_path: Path) -> None:
    tree = st.as_tree(sample_files(tmp_path)[0]).replace(metadata={"learner": "mine"})
    assert st.as_tree(st.save_tree(tree, tmp_path / "tree.json")) == tree
