"""LightGBM models, boosters and files, read as trees: the same leaf and score for every row."""

from __future__ import annotations

import re
import time
import warnings
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest

import steadytree as st
from steadytree.exceptions import (
    InputError,
    NotFittedTreeError,
    UnsupportedModelError,
)
from tests.formats.boosted import (
    assert_refused,
    outcome,
    probes,
    table,
)
from tests.formats.contract import Case

QUIET = {"verbose": -1, "min_data_in_leaf": 5, "min_data_per_group": 5, "num_threads": 1}
OBJECTIVES = ("regression", "poisson", "tweedie", "gamma", "regression_l1", "quantile", "huber")


def train(seed: int, frame: pd.DataFrame, y: Any, rounds: int = 1, **options: Any) -> lgb.Booster:
    rng = np.random.default_rng(seed)
    settings = {
        **QUIET,
        "num_leaves": int(rng.integers(2, 20)),
        "max_depth": 6,
        "learning_rate": float(rng.uniform(0.1, 1)),
        "cat_smooth": 1.0,
        "seed": seed,
        **options,
    }
    return lgb.train(settings, lgb.Dataset(frame, y), rounds)


def make_case(seed: int, folder: Path) -> Case:
    """Make a booster or a file, for each way of missing values, task and mode in turn."""
    missing = ({}, {"zero_as_missing": True}, {"use_missing": False})[seed % 3]
    kind = ("binary", "regression", "binary", "multiclass")[seed % 4]
    frame = table(seed, categories=seed % 5 < 3, zeros=True)
    y = outcome(frame, kind, seed)
    objective = OBJECTIVES[seed // 4 % len(OBJECTIVES)] if kind == "regression" else kind
    options = {**missing, "objective": objective}
    if kind == "multiclass":
        options |= {"num_class": 3}
    rounds, index = (3, seed % 3) if kind == "multiclass" or seed % 10 == 4 else (1, None)
    if seed % 10 == 4:
        options |= {"boosting": ("rf", "dart")[seed % 20 // 10], "bagging_freq": 1}
        options |= {"bagging_fraction": 0.7}
    if kind == "binary":
        options |= {"sigmoid": (1.0, 2.5)[seed % 8 // 4]}
    model: Any = train(seed, frame, y, rounds, **options)
    rows = probes(st.as_tree(model, tree_index=index), frame, seed)
    leaves = model.predict(rows, pred_leaf=True).reshape(len(rows), -1)[:, index or 0]
    if index is not None:
        turn, klass = divmod(index, 3 if kind == "multiclass" else 1)
        raw = model.predict(rows, raw_score=True, start_iteration=turn, num_iteration=1)
        expected, shares = raw.reshape(len(rows), -1)[:, klass], None
    else:
        predicted = model.predict(rows)
        expected = (predicted > 0.5).astype(int) if kind == "binary" else predicted
        shares = np.column_stack([1 - predicted, predicted]) if kind == "binary" else None
    if seed % 2:
        model = model.save_model(folder / f"{seed}.txt") and folder / f"{seed}.txt"
    exact = index is not None or objective in ("regression", "regression_l1", "quantile", "huber")
    return Case(
        model,
        rows,
        expected,
        shares,
        leaves,
        {"tree_index": index},
        tolerance=0.0 if exact else 5e-15,
    )


def sample_files(folder: Path) -> list[Path]:
    paths = []
    for seed, kind in enumerate(("binary", "regression")):
        frame = table(seed)
        paths.append(folder / f"{kind}.txt")
        train(seed, frame, outcome(frame, kind, seed), objective=kind).save_model(paths[-1])
    return paths


@pytest.mark.parametrize("labels", [("no", "yes"), (-1, 1)])
def test_estimators_with_labels_of_any_type(labels: tuple[Any, Any]) -> None:
    frame = table(0).rename(columns={"age": "the age"})
    y = np.array(labels)[outcome(table(0), "binary", 0)]
    model = lgb.LGBMClassifier(n_estimators=1, num_leaves=8, verbose=-1, n_jobs=1).fit(frame, y)
    tree = st.as_tree(model)
    assert tree.feature_names == tuple(n.replace(" ", "_") for n in frame.columns)
    tree = st.as_tree(model, feature_names=list(frame.columns))
    assert tree.classes == labels
    assert tree.metadata["source"] == f"LightGBM {lgb.__version__} LGBMClassifier"
    rows = probes(tree, frame, 0)
    np.testing.assert_array_equal(tree.predict(rows), model.predict(rows))
    np.testing.assert_allclose(
        tree.predict_proba(rows), model.predict_proba(rows), rtol=0, atol=1e-15
    )
    assert tree.weight[0] == len(frame)


def test_further_objectives() -> None:
    frame = table(3)
    y = np.clip(outcome(frame, "regression", 3) / 4, 0.01, 0.99)
    mine: Any = lambda p, data: (p - data.get_label(), np.ones(len(y)))  # noqa: E731
    for objective in ("cross_entropy", "mape", "fair", mine):
        model = train(3, frame, y, objective=objective)
        rows = probes(st.as_tree(model), frame, 3)
        np.testing.assert_allclose(st.as_tree(model).predict(rows), model.predict(rows), rtol=1e-15)
    ranker = lgb.LGBMRanker(n_estimators=1, verbose=-1, n_jobs=1)
    ranker.fit(frame, (y > 0.3).astype(int), group=[40] * 10)
    np.testing.assert_array_equal(st.as_tree(ranker).predict(rows), ranker.predict(rows))
    zeros = pd.DataFrame({"a": np.zeros(len(y))})
    one = train(3, zeros, y, objective="regression")
    assert st.as_tree(one).n_leaves == 1
    assert st.as_tree(one).predict(zeros[:1]).tolist() == one.predict(zeros[:1]).tolist()
    for classifier, options, match in (
        (False, {"reg_sqrt": True}, "got 'regression sqrt'"),
        (True, {"objective": "regression"}, r"objectives binary.*got 'regression'"),
    ):
        kind: Any = lgb.LGBMClassifier if classifier else lgb.LGBMRegressor
        model = kind(n_estimators=1, verbose=-1, n_jobs=1, **options).fit(frame, y > 0.3)
        with pytest.raises(UnsupportedModelError, match=match):
            st.as_tree(model)


def test_one_model_by_three_routes(tmp_path: Path) -> None:
    frame = table(4)
    model = lgb.LGBMClassifier(n_estimators=1, num_leaves=9, verbose=-1, n_jobs=1)
    model.fit(frame, outcome(frame, "binary", 4))
    path = tmp_path / "model"
    model.booster_.save_model(path)
    windows = tmp_path / "windows.txt"
    windows.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    trees = [st.as_tree(m) for m in (model, model.booster_, path, windows)]
    space = st.FeatureSpace.from_data(frame)
    for other in trees[1:]:
        assert st.tree_distance(trees[0], other, space=space) == 0
        assert other.replace(metadata={}) == trees[0].replace(metadata={})


def test_early_stopping_counts_as_it_does_in_predictions() -> None:
    frame = table(5)
    y = outcome(frame, "binary", 5)
    noise = np.random.default_rng(0).integers(2, size=len(y))
    data = lgb.Dataset(frame, y)
    model = lgb.train(
        {**QUIET, "objective": "binary", "learning_rate": 3.0},
        data,
        50,
        valid_sets=[lgb.Dataset(frame, noise, reference=data)],
        callbacks=[lgb.early_stopping(2, verbose=False)],
        keep_training_booster=True,
    )
    assert model.best_iteration == 1
    assert model.num_trees() > 1
    tree = st.as_tree(model)
    rows = probes(tree, frame, 5)
    np.testing.assert_allclose(tree.predict_proba(rows)[:, 1], model.predict(rows), rtol=1e-15)


def test_codes_without_pandas_are_the_categories() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(-1, 40, 500), rng.normal(size=500)]).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.sin(np.nan_to_num(X[:, 0]) * 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LightGBM's own on negative categories
        data = lgb.Dataset(X, y, categorical_feature=[0])
        settings = {**QUIET, "objective": "regression", "cat_smooth": 1.0, "num_leaves": 12}
        model = lgb.train(settings, data, 1)
    tree = st.as_tree(model)
    assert tree.categories == (tuple(range(40)), None)
    assert tree.feature_names is None
    values = np.array([*range(-3, 50), 1e9, 1e20, np.inf, -np.inf, np.nan])
    rows = np.column_stack([np.tile(values, 20), rng.normal(size=20 * len(values))])
    np.testing.assert_array_equal(tree.predict(rows), model.predict(rows))


@pytest.mark.parametrize("threshold", [-3.0, -1e-35, -1e-36, 0.0, 1e-36, 1e-35, 2.0])
@pytest.mark.parametrize("decision", [0, 2, 4, 6, 8, 10])
def test_tiny_values_are_zero_and_zero_may_be_missing(threshold: float, decision: int) -> None:
    X = np.random.default_rng(0).normal(size=(100, 1))
    settings = {**QUIET, "objective": "regression", "num_leaves": 2}
    text = lgb.train(settings, lgb.Dataset(X, X[:, 0]), 1).model_to_string()
    text = re.sub(r"(?m)^threshold=.*$", f"threshold={threshold!r}", text)
    text = re.sub(r"(?m)^decision_type=.*$", f"decision_type={decision}", text)
    text = re.sub(r"(?m)^tree_sizes=.*\n", "", text)
    model = lgb.Booster(model_str=text)
    k = float(np.float32(1e-35))
    values = [-5.0, -3.0, -1.0, -k, k, -1e-36, 1e-36, 0.0, -0.0, 1.0, 2.0, 3.0, np.nan]
    values += [np.nextafter(v, s * np.inf) for v in (-3.0, -k, k, 2.0) for s in (-1, 1)]
    rows = np.array(values)[:, None]
    np.testing.assert_array_equal(st.as_tree(model).predict(rows), model.predict(rows))


# -- what is refused --------------------------------------------------------------------------


def test_models_that_are_no_single_tree() -> None:
    frame = table(6)
    y = outcome(frame, "multiclass", 6)
    model = lgb.LGBMClassifier(n_estimators=2, verbose=-1, n_jobs=1)
    with pytest.raises(NotFittedTreeError, match="got LGBMClassifier before fit"):
        st.as_tree(model)
    model.fit(frame, y)
    with pytest.raises(UnsupportedModelError, match="a LightGBM model of 6; pass tree_index="):
        st.as_tree(model)
    with pytest.raises(InputError, match="expected tree_index below 6"):
        st.as_tree(model, tree_index=6)
    assert not st.as_tree(model, tree_index=5).is_classifier
    linear = train(6, frame[["age"]].fillna(0), y, linear_tree=True, objective="regression")
    with pytest.raises(UnsupportedModelError, match="linear_tree=True"):
        st.as_tree(linear)


# -- what pandas called its categories --------------------------------------------------------


def listed(lists: str, declared: str | None, *infos: str) -> str:
    """Return a model with these features, what it was declared of them, and lists of categories."""
    after = "" if declared is None else f"\nparameters:\n[categorical_feature: {declared}]\n"
    text = small(
        max_feature_idx=str(len(infos) - 1),
        feature_names=" ".join("abcd"[: len(infos)]),
        feature_infos=" ".join(infos),
    )
    return f"{text}{after}\npandas_categorical:{lists}\n"


def test_lists_go_to_the_features_that_are_categorical(tmp_path: Path) -> None:
    path = tmp_path / "m.txt"
    infos = ("[0:1]", "1:0", "none", "-1:2:0")
    three, two = '[["x", "y"], ["k"], [1, 2, 3]]', '[["x", "y"], [1, 2, 3]]'
    found = (None, ("x", "y"), ("k",), (1, 2, 3))
    for text, expected in (
        (listed("null", "1,3", *infos), (None, (0, 1), None, (0, 2))),
        (listed(three, "1,2,3", *infos), found),
        (listed(three, "name:b,c,d", *infos), found),
        # A text that does not say what it was declared: by what it found.
        (listed(two, None, *infos), (None, ("x", "y"), None, (1, 2, 3))),
    ):
        path.write_text(text)
        assert st.as_tree(path).categories == expected
    for lists, declared, *wrong in (
        ('[["x", "y"], ["z", "u"]]', "1", "[0:1]", "0:1"),  # an ordered one as well
        ('[["x", "y"]]', "1,2", "[0:1]", "0:1", "0:1"),  # one list too few
        ('[["x", "y"]]', "1", "[0:1]", "0:1:5"),  # codes beyond the list
    ):
        assert_refused(path, listed(lists, declared, *wrong), "to see which")
    for lists in ("3", '{"a": 1}', "[1]", "[[null]]", "[[[1]]]"):
        assert_refused(
            path, listed(lists, "1", "[0:1]", "0:1"), "lists of categories in pandas_cat"
        )
    assert_refused(path, listed('[["x"]]', "x", "[0:1]", "0:1"), "numbers in categorical_feature")
    assert_refused(path, listed("null", None, "[0:1]", "x"), "numbers in feature_infos of b")


def test_categories_that_lightgbm_itself_cannot_save() -> None:
    ages = np.arange(100.0)
    frame = pd.DataFrame({"age": pd.cut(ages, 4).as_unordered(), "n": ages})
    data = lgb.Dataset(frame, ages)
    model = lgb.train({**QUIET, "objective": "regression"}, data, 1, keep_training_booster=True)
    with pytest.raises(UnsupportedModelError, match="such as dates or intervals"):
        st.as_tree(model)
    frame = table(7)
    frame["size"] = frame["size"].cat.as_ordered()
    model = train(7, frame, outcome(frame, "binary", 7), objective="binary")
    with pytest.raises(UnsupportedModelError, match="fit on unordered pandas categories"):
        st.as_tree(model)


# -- files ------------------------------------------------------------------------------------


def small(**changes: str) -> str:
    """Return a model of one feature and two splits, with some lines exchanged."""
    head = {
        "version": "v4",
        "max_feature_idx": "0",
        "objective": "regression",
        "feature_names": "a",
        "feature_infos": "[0:3]",
    }
    lines = {
        "num_leaves": "3",
        "num_cat": "0",
        "split_feature": "0 0",
        "threshold": "1 2",
        "decision_type": "2 2",
        "left_child": "-1 -2",
        "right_child": "1 -3",
        "leaf_value": "1 2 3",
        "leaf_count": "4 5 6",
    }
    texts = [
        "\n".join(f"{k}={changes.get(k, v)}" for k, v in part.items()) for part in (head, lines)
    ]
    more = "".join(f"\n{k}={v}" for k, v in changes.items() if k not in {**head, **lines})
    return f"tree\n{texts[0]}\n\nTree=0\n{texts[1]}{more}\n\n\nend of trees\n"


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"version": "v9"}, "format v3 or v4, got 'v9'"),
        ({"objective": "lambda_of_mine"}, "got 'lambda_of_mine'"),
        ({"objective": "binary sigmoid:"}, "expected one number in sigmoid"),
        ({"max_feature_idx": "999999999999"}, "max_feature_idx= with a whole number"),
        ({"max_feature_idx": "7"}, "expected 8 feature_names"),
        ({"num_leaves": "-4"}, "num_leaves= with a whole number"),
        ({"num_leaves": "9" * 5000}, "num_leaves= with a whole number"),
        ({"num_leaves": "900000"}, "expected 899999 numbers in split_feature"),
        ({"leaf_count": "1 1"}, "numbers in leaf_count"),
        ({"split_feature": "x"}, "expected numbers in split_feature"),
        ({"is_linear": "1"}, "linear"),
        ({"right_child": "0 -3"}, "a cycle or two parents"),
        ({"left_child": "1 -2"}, "a cycle or two parents"),
        ({"right_child": "1 -30"}, "expected a child in"),
        ({"threshold": "nan 2"}, "expected a threshold, got NaN"),
        ({"split_feature": "0 4"}, "expected feature in"),
        ({"split_feature": "-1 0"}, "expected feature in"),
        ({"split_feature": "4294967296 0"}, "expected feature in"),
        ({"leaf_value": "1 nan 3"}, "expected finite values"),
        ({"leaf_value": "1 1e999 -1e999"}, "expected finite values"),
        ({"leaf_count": "1 1e308 1e308"}, "expected a weight >= 0, got inf"),
        ({"leaf_count": "4 -5 6"}, "expected a weight >= 0"),
        ({"decision_type": "14 2"}, "missing type up to 2"),
        ({"decision_type": "1 2"}, "cat_boundaries that rise"),
        ({"decision_type": "1 1", "cat_boundaries": "0 1", "cat_threshold": "3"}, "below 1, got 1"),
        (
            {"decision_type": "1 1", "threshold": "0 0", "cat_boundaries": "0 1",
             "cat_threshold": "-3"},
            "words of 32 bits",
        ),
        (
            {"decision_type": "1 1", "threshold": "0 0", "cat_boundaries": "0 9999",
             "cat_threshold": "1 " * 9999},
            "at most 250,000 categories",
        ),
        (
            {"decision_type": "1 2", "threshold": "0 1", "cat_boundaries": "0 1",
             "cat_threshold": "3"},
            "expected a category set: feature 0 is categorical",
        ),
    ],
)  # fmt: skip
def test_nodes_that_make_no_tree(changes: dict[str, str], match: str, tmp_path: Path) -> None:
    assert_refused(tmp_path / "m.txt", small(**changes), match)


def test_files_cut_off_and_broken(tmp_path: Path) -> None:
    path = sample_files(tmp_path)[0]
    content = path.read_bytes()
    assert_refused(path, content[: len(content) // 3], "the file may be cut off")
    assert_refused(path, content[:2000] + b"\xff\xfe" + content[2000:], "expected UTF-8 text")
    assert_refused(path, b"tree\nversion=v4\n", "at least one tree")
    lists = content.replace(b"pandas_categorical:[", b"pandas_categorical:[[null],")
    assert_refused(path, lists, "lists of categories in pandas_categorical")
    assert_refused(path, content.replace(b"pandas_categorical:", b"pandas_categorical:[1"), "JSON")
    deep = b"pandas_categorical:" + b"[" * 10_000_000
    started = time.perf_counter()
    assert_refused(path, content.replace(b"pandas_categorical:", deep), "nested too deeply")
    assert time.perf_counter() - started < 5


def test_a_deep_chain_and_a_table_of_zeros_stay_bounded(tmp_path: Path) -> None:
    def chain(n: int, threshold: int, kind: int) -> str:
        return small(
            num_leaves=str(n + 1),
            split_feature="0 " * n,
            threshold=f"{threshold} " * n,
            decision_type=f"{kind} " * n,
            left_child=" ".join(str(-1 - i) for i in range(n)),
            right_child=" ".join(str(i + 1) for i in range(n - 1)) + f" {-n - 1}",
            leaf_value="1 " * (n + 1),
            leaf_count="1 " * (n + 1),
        )

    assert_refused(tmp_path / "chain.txt", chain(5000, 1, 2), "at most 1000 levels")
    # Where zero is missing every split is written out twice: 2 ** 40 times without a bound.
    started = time.perf_counter()
    assert_refused(tmp_path / "zeros.txt", chain(40, -1, 6), "at most 1,000,000 nodes")
    assert time.perf_counter() - started < 20
