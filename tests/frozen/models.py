"""What is frozen of other libraries' models read, of small trees written, and of refusals."""

from __future__ import annotations

import json
import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import steadytree as st
from tests.frozen.data import Set, load
from tests.frozen.plain import digest, plain, strip
from tests.frozen.retraining import SEARCH
from tests.frozen.trees import short, stored, texts_of

__all__ = ["certificate", "readers", "refusals", "small_trees"]

PMML = Path(__file__).parents[1] / "formats" / "pmml" / "fixtures"

SMALL = {
    "classes": """
age <= 50:
    colour in red, "it's blue": no
    else: yes
colour is missing: yes
else: no
""",
    "response": """
weight <= 1.5 or missing: 2.25
height <= 3: -1.5
else: 10
""",
}


# -- readers -----------------------------------------------------------------------------


def readers(library: str) -> dict[str, Any]:
    """Train small models of one library and say which trees are read from them."""
    models, rows = _LIBRARIES[library]()
    facts: dict[str, Any] = {}
    words: dict[str, Any] = {}
    for name, (model, options) in models.items():
        tree = st.as_tree(model, **options)
        facts[name] = {"tree": digest(stored(tree)), "size": [tree.n_leaves, tree.depth]}
        if rows is not None:
            facts[name]["on rows"] = short(tree, rows[name])
        lines = str(tree).splitlines()
        words[name] = lines if len(lines) < 30 else digest(lines)
    return {"facts": facts, "words": words}


_Models = tuple[dict[str, tuple[Any, dict[str, Any]]], dict[str, Any] | None]


def _mixed() -> Set:
    return load("credit").part("old")


def _sklearn() -> _Models:
    mixed, wine = _mixed(), load("wine")
    texts = list(mixed.X.select_dtypes("category").columns)
    numbers = [c for c in mixed.X.columns if c not in texts]
    steps = make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numbers),
        (OneHotEncoder(handle_unknown="ignore"), texts),
    )
    small = DecisionTreeClassifier(max_leaf_nodes=6, random_state=0)
    pipeline = make_pipeline(steps, small).fit(mixed.X, mixed.y)
    balanced = DecisionTreeClassifier(max_depth=3, class_weight="balanced", random_state=0)
    numeric = mixed.numbers
    threshold = FixedThresholdClassifier(small, threshold=0.3, pos_label="bad")
    hist = HistGradientBoostingClassifier(
        max_iter=1, max_leaf_nodes=5, categorical_features="from_dtype", random_state=0
    )
    forest = RandomForestClassifier(3, max_depth=3, random_state=0, n_jobs=1)
    response = DecisionTreeRegressor(max_leaf_nodes=6, random_state=0)
    models: dict[str, tuple[Any, dict[str, Any]]] = {
        "pipeline": (pipeline, {}),
        "balanced": (balanced.fit(wine.X, wine.y), {}),
        "threshold": (threshold.fit(numeric, mixed.y), {}),
        "hist": (hist.fit(mixed.X, mixed.y), {}),
        "forest": (forest.fit(wine.X, wine.y), {"tree_index": 1}),
        "response": (response.fit(wine.X, wine.X["alcohol"] * wine.X["hue"]), {}),
        "decision": (
            clone(small).fit(numeric, mixed.y),
            {"decision_threshold": st.Decision(0.4, positive="bad")},
        ),
    }
    rows = {"pipeline": mixed.X, "hist": mixed.X, "threshold": numeric, "decision": numeric}
    return models, rows | dict.fromkeys(("balanced", "forest", "response"), wine.X)


def _lightgbm() -> _Models:
    import lightgbm

    mixed, wine = _mixed(), load("wine")
    options: dict[str, Any] = {"n_estimators": 1, "num_leaves": 6, "verbose": -1, "n_jobs": 1}
    options |= {"deterministic": True, "random_state": 0}
    two = lightgbm.LGBMClassifier(**options).fit(mixed.X, mixed.y)
    response = lightgbm.LGBMRegressor(**options).fit(wine.X, wine.X["alcohol"] * wine.X["hue"])
    models = {"two classes": (two, {}), "response": (response, {})}
    return models, {"two classes": mixed.X, "response": wine.X}


def _xgboost() -> _Models:
    import xgboost

    mixed, wine = _mixed(), load("wine")
    options: dict[str, Any] = {"n_estimators": 1, "max_depth": 3, "n_jobs": 1, "random_state": 0}
    y = (mixed.y == "bad").astype(int)
    two = xgboost.XGBClassifier(enable_categorical=True, **options).fit(mixed.X, y)
    response = xgboost.XGBRegressor(**options).fit(wine.X, wine.X["alcohol"] * wine.X["hue"])
    models = {"two classes": (two, {}), "response": (response, {})}
    return models, {"two classes": mixed.X, "response": wine.X}


def _catboost() -> _Models:
    import catboost

    wine = load("wine")
    options: dict[str, Any] = {"iterations": 1, "depth": 3, "verbose": 0, "random_seed": 0}
    options |= {"allow_writing_files": False, "thread_count": 1}
    two = catboost.CatBoostClassifier(**options).fit(wine.X, (wine.y > 0).astype(int))
    response = catboost.CatBoostRegressor(**options).fit(wine.X, wine.X["alcohol"] * wine.X["hue"])
    models = {"two classes": (two, {}), "response": (response, {})}
    return models, dict.fromkeys(models, wine.X)


def _ydf() -> _Models:
    import ydf

    ydf.verbose(0)
    mixed = _mixed()
    texts = mixed.X.select_dtypes("category").columns
    table = mixed.X.astype(dict.fromkeys(texts, object)).assign(outcome=list(mixed.y))
    cart = ydf.CartLearner(
        label="outcome", max_depth=4, validation_ratio=0.0, random_seed=0, num_threads=1
    ).train(table)
    return {"two classes": (cart, {})}, None


def _onnx() -> _Models:
    from skl2onnx import to_onnx

    wine = load("wine")
    X = wine.X.to_numpy(np.float32)
    models: dict[str, tuple[Any, dict[str, Any]]] = {}
    kinds = (DecisionTreeClassifier, wine.y), (DecisionTreeRegressor, wine.X["hue"])
    for kind, y in kinds:
        model = kind(max_leaf_nodes=5, random_state=0).fit(X, y)
        models[kind.__name__] = (to_onnx(model, X[:1]), {})
    return models, None


def _files() -> _Models:
    wine = load("wine")
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(wine.X, wine.y)
    trees = {path.stem: st.as_tree(path) for path in sorted(PMML.glob("*.pmml"))}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tree.pkl"
        path.write_bytes(pickle.dumps(tree))
        trees["pickle"] = st.as_tree(path, allow_pickle=True)
        trees["ours"] = st.as_tree(st.save_tree(st.as_tree(tree), Path(folder) / "tree.json"))
        for name, text in SMALL.items():
            rules = Path(folder) / f"{name}.rules"
            rules.write_text(text, encoding="utf-8")
            trees[f"rules of {name}"] = st.as_tree(rules)
            nested = Path(folder) / f"{name}.json"
            content = st.export_tree(st.tree_from_rules(text), "dict")
            nested.write_text(json.dumps(content), encoding="utf-8")
            trees[f"nested {name}"] = st.as_tree(nested)
    return {name: (tree, {}) for name, tree in trees.items()}, None


_LIBRARIES: dict[str, Callable[[], _Models]] = {
    "scikit-learn": _sklearn,
    "lightgbm": _lightgbm,
    "xgboost": _xgboost,
    "catboost": _catboost,
    "ydf": _ydf,
    "onnx": _onnx,
    "files": _files,
}


# -- small trees, whole ------------------------------------------------------------------


def small_trees() -> dict[str, Any]:
    """Write two small trees in every format, as they can be read."""
    rows = {
        "classes": pd.DataFrame(
            {"age": [20, 50, 50.5, 70, None, 70], "colour": ["red", "n", "red", None, "red", "n"]}
        ),
        "response": pd.DataFrame({"weight": [1, None, 2, 2.0], "height": [0, 0, 3, 4.0]}),
    }
    trees = {name: st.tree_from_rules(text) for name, text in SMALL.items()}
    facts = {
        name: {
            "tree": stored(tree),
            "predictions": tree.predict(rows[name]),
            "leaves": tree.apply(rows[name]),
        }
        for name, tree in trees.items()
    }
    words = {
        name: {
            form: [strip(line) for line in text] if isinstance(text, list) else text
            for form, text in texts_of(tree, whole=True).items()
        }
        for name, tree in trees.items()
    }
    return {"facts": facts, "words": words}


def certificate() -> dict[str, Any]:
    """Say how much better any tree of a stated family could be."""
    data = load("tumours")
    X, old, new = data.X.iloc[:, :6], slice(250), slice(250, None)
    first = st.DistilledTreeClassifier(
        max_leaf_nodes=4, n_estimators=10, random_state=0, n_jobs=1, pos_label=0
    ).fit(X[old], data.y[old])
    before = (X[old], data.y[old])
    result = st.retrain(
        first, X[new], data.y[new], old=before, n_folds=0, search=SEARCH, random_state=0, n_jobs=1
    )
    found = st.certify(result, before, cut_points=8, n_jobs=1)
    return {"facts": {"certificate": found.to_dict()}, "words": {"certificate": str(found)}}


# -- refusals ----------------------------------------------------------------------------


def refusals() -> dict[str, Any]:
    """Say what is refused, with which words."""
    wine, response = load("wine"), load("diabetes")
    X, y = wine.X, wine.y
    tree = DecisionTreeClassifier(max_leaf_nodes=4, random_state=0).fit(X, y)
    other = DecisionTreeRegressor(max_leaf_nodes=4, random_state=0).fit(response.X, response.y)
    mixed = _mixed()
    space = st.FeatureSpace.from_data(X, y)
    asked: dict[str, Callable[[], Any]] = {
        "no tree": lambda: st.as_tree(42),
        "not fitted": lambda: st.as_tree(DecisionTreeClassifier()),
        "several trees": lambda: st.as_tree(RandomForestClassifier(2, random_state=0).fit(X, y)),
        "pickle": lambda: st.as_tree(Path("model.pkl")),
        "no space": lambda: st.tree_distance(tree, tree),
        "other features": lambda: st.tree_distance(tree, other, space=space),
        "unknown variant": lambda: st.tree_distance(tree, tree, space=space, variant="papers"),
        "bound without depth": lambda: st.tree_distance(tree, tree, space=space, normalize="bound"),
        "relative to the paper": lambda: st.match_paths(
            tree, tree, space=space, normalize="relative"
        ),
        "columns gone": lambda: st.retrain(tree, X.drop(columns="proline"), y, n_folds=0),
        "lengths": lambda: st.retrain(tree, X, y[:-1], n_folds=0),
        "outcome of another kind": lambda: st.retrain(tree, X, X["hue"], n_folds=0),
        "unknown price": lambda: st.retrain(tree, X, y, price=-1.0),
        "one fold": lambda: st.retrain(tree, X, y, n_folds=1),
        "unknown clause": lambda: st.retrain(tree, X, y, plan={"max_flip": 0.1}),
        "clause out of range": lambda: st.ChangePlan(max_flips=1.5),
        "locked nothing": lambda: st.retrain(tree, X, y, plan={"locked": "colour"}, n_folds=0),
        "threshold of several classes": lambda: st.as_tree(tree, decision_threshold=0.3),
        "no positive class": lambda: st.DistilledTreeClassifier(decision_threshold=0.2).fit(
            mixed.X, mixed.y
        ),
        "threshold out of range": lambda: st.Decision(threshold=2.0),
        "format": lambda: st.export_tree(tree, "cobol"),
        "option of a format": lambda: st.export_tree(tree, "sql", colour="red"),
        "rules": lambda: st.tree_from_rules("age <= fifty: yes"),
        "rules without end": lambda: st.tree_from_rules("age <= 50: yes"),
        "empty rows": lambda: st.DistilledTreeClassifier().fit(X[:0], y[:0]),
        "one class": lambda: st.DistilledTreeClassifier().fit(X, y * 0),
        "unknown rule": lambda: st.StableTreeClassifier(select="best").fit(X, y),
        "too few resamples": lambda: st.assess_stability(tree, X, y, n_resamples=1),
        "no file": lambda: st.load_tree(Path("absent.json")),
        "no name": lambda: st.nothing,  # type: ignore[attr-defined]
    }
    words = {}
    for name, ask in asked.items():
        try:
            ask()
        except Exception as error:
            words[name] = f"{type(error).__name__}: {error}"
        else:
            words[name] = "accepted"
    return {"words": plain(words)}
