"""Models that no training would give: odd thresholds, every way of missing, large category sets.

Written by hand in the libraries' own formats, and decided by the libraries themselves.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb

import steadytree as st
from tests.formats.boosted import near

TINY = float(np.float32(1e-35))
ODD = [0.0, -0.0, 1e-36, -1e-36, TINY, -TINY, 1e-45, -1e-45, 1.5, -2.25, 0.1, -0.1, 3.0]
WIDE = [1e300, -1e300, 1e308, 5e-324]
TYPES = ["q", "q", "q", "c"]


def random_rows(rng: np.random.Generator, special: np.ndarray, n: int = 2000) -> np.ndarray:
    """Make three columns of numbers and one of codes."""
    rows = np.where(rng.random((n, 4)) < 0.7, rng.choice(special, (n, 4)), rng.normal(size=(n, 4)))
    rows[:, 3] = rng.integers(-3, 140, n)
    rows[rng.random((n, 4)) < 0.12] = np.nan
    return rows


def random_shape(rng: np.random.Generator) -> tuple[list[int], list[int]]:
    """Children of a random tree as XGBoost numbers them; -1 for a leaf."""
    left, right = [-1], [-1]
    for _ in range(int(rng.integers(1, 11))):
        leaf = int(rng.choice([i for i, child in enumerate(left) if child < 0]))
        left[leaf], right[leaf] = len(left), len(left) + 1
        left += [-1, -1]
        right += [-1, -1]
    return left, right


def lightgbm_text(rng: np.random.Generator) -> str:
    left, right = random_shape(rng)
    splits = [i for i, child in enumerate(left) if child >= 0]
    leaves = [i for i, child in enumerate(left) if child < 0]
    number = {i: k for k, i in enumerate(splits)} | {i: -1 - k for k, i in enumerate(leaves)}
    feature = rng.integers(0, 4, len(splits))
    thresholds, kinds, ends, words = [], [], [0], []
    for j in feature:
        kind = 2 * int(rng.integers(2)) + 4 * int(rng.integers(3))
        if j == 3:
            words += rng.integers(0, 2**32, int(rng.integers(1, 4))).tolist()
            ends.append(len(words))
        odd = rng.random() < 0.8
        thresholds.append(
            float(len(ends) - 2)
            if j == 3
            else float(rng.choice(ODD + WIDE) if odd else rng.normal())
        )
        kinds.append(kind + int(j == 3))
    lines = {
        "num_leaves": [len(leaves)],
        "num_cat": [len(ends) - 1],
        "split_feature": feature.tolist(),
        "split_gain": [1] * len(splits),
        "threshold": thresholds,
        "decision_type": kinds,
        "left_child": [number[left[i]] for i in splits],
        "right_child": [number[right[i]] for i in splits],
        "leaf_value": rng.normal(size=len(leaves)).tolist(),
        "leaf_weight": [1] * len(leaves),
        "leaf_count": [1] * len(leaves),
        "internal_value": [0] * len(splits),
        "internal_weight": [0] * len(splits),
        "internal_count": [1] * len(splits),
        **({"cat_boundaries": ends, "cat_threshold": words} if words else {}),
        "is_linear": [0],
        "shrinkage": [1],
    }
    body = "\n".join(f"{key}={' '.join(map(repr, values))}" for key, values in lines.items())
    return (
        "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\n"
        "max_feature_idx=3\nobjective=regression\n"
        "feature_names=Column_0 Column_1 Column_2 Column_3\n"
        f"feature_infos=[0:1] [0:1] [0:1] 0:1\n\nTree=0\n{body}\n\n\nend of trees\n\n"
        "feature_importances:\n\nparameters:\nend of parameters\n\npandas_categorical:null\n"
    )


@pytest.mark.parametrize("seed", range(20))
def test_lightgbm(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    path = tmp_path / "model.txt"
    path.write_text(lightgbm_text(rng))
    model = lgb.Booster(model_file=path)
    with np.errstate(over="ignore"):
        special = np.concatenate([near(ODD + WIDE), [np.inf, -np.inf]])
    rows = random_rows(rng, special)
    rows[:50, 3] = np.resize([1e9, 3e9, 1e20, np.inf, -np.inf], 50)
    for source in (path, model):
        np.testing.assert_array_equal(st.as_tree(source).predict(rows), model.predict(rows))


def xgboost_document(rng: np.random.Generator, objective: str) -> dict[str, Any]:
    X = rng.normal(size=(50, 4))
    X[:, 3] = rng.integers(0, 5, 50)
    data = xgb.DMatrix(X, (X[:, 0] > 0).astype(float), feature_types=TYPES)
    trained = xgb.train({"objective": objective, "max_depth": 1, "nthread": 1}, data, 1)
    document: dict[str, Any] = json.loads(bytes(trained.save_raw("json")))
    left, right = random_shape(rng)
    n = len(left)
    parents = [2**31 - 1] * n
    for i, child in enumerate(left):
        if child >= 0:
            parents[child] = parents[right[i]] = i
    feature = [int(j) if left[i] >= 0 else 0 for i, j in enumerate(rng.integers(0, 4, n))]
    listed = [i for i in range(n) if left[i] >= 0 and feature[i] == 3]
    sets = [np.unique(rng.integers(0, 70, int(rng.integers(1, 30)))).tolist() for _ in listed]
    odd = [left[i] >= 0 and rng.random() < 0.8 for i in range(n)]
    condition = [float(rng.choice(ODD) if o else rng.normal()) for o in odd]
    tree = document["learner"]["gradient_booster"]["model"]["trees"][0]
    tree.update(
        base_weights=[0.0] * n,
        categories=[code for codes in sets for code in codes],
        categories_nodes=listed,
        categories_segments=np.cumsum([0, *map(len, sets)])[:-1].tolist(),
        categories_sizes=[len(codes) for codes in sets],
        default_left=rng.integers(0, 2, n).tolist(),
        left_children=left,
        right_children=right,
        parents=parents,
        loss_changes=[0.0] * n,
        split_conditions=np.float32(condition).tolist(),
        split_indices=feature,
        split_type=[int(i in listed) for i in range(n)],
        sum_hessian=[1.0] * n,
    )
    tree["tree_param"]["num_nodes"] = str(n)
    base = f"[{rng.uniform(0.05, 0.95):.6E}]"
    document["learner"]["learner_model_param"]["base_score"] = base
    return document


@pytest.mark.parametrize("seed", range(20))
def test_xgboost(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    objective = ("binary:logistic", "reg:squarederror", "count:poisson")[seed % 3]
    file = tmp_path / "model.json"
    file.write_text(json.dumps(xgboost_document(rng, objective)))
    model = xgb.Booster(model_file=file)
    rows = random_rows(rng, near(ODD))
    data = xgb.DMatrix(rows, feature_types=TYPES)
    said, leaves = model.predict(data), model.predict(data, pred_leaf=True)
    for source in (model, file):
        tree = st.as_tree(source)
        found = tree.apply(rows)
        assert len(set(zip(found.tolist(), leaves.tolist(), strict=True))) == len(set(found))
        if tree.is_classifier:
            np.testing.assert_array_equal(tree.predict(rows), said > 0.5)
        values = tree.predict_proba(rows)[:, 1] if tree.is_classifier else tree.predict(rows)
        np.testing.assert_allclose(values, said, rtol=1e-6)


def test_files_are_read_without_the_libraries(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    (tmp_path / "model.txt").write_text(lightgbm_text(rng))
    document = xgboost_document(rng, "binary:logistic")
    (tmp_path / "model.json").write_text(json.dumps(document))
    code = (
        "import sys, steadytree as st; "
        "print([st.as_tree(path).n_features for path in sys.argv[1:]], "
        "{'lightgbm', 'xgboost', 'catboost', 'ydf', 'skops', 'onnx'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "model.txt", tmp_path / "model.json"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[4, 4] set()"
