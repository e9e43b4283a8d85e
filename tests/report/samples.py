"""Real results to report on: made once per process, small enough to be quick."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from jsonschema import Draft202012Validator
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from steadytree.diff import TreeDiff, diff_trees
from steadytree.estimators.results import stable_summary
from steadytree.estimators.selection import pareto_mask
from steadytree.formats.rules.read_rules import tree_from_rules
from steadytree.growing.fitting import ColumnEncoder
from steadytree.plugins import as_tree
from steadytree.retraining import Retraining, SearchOptions, retrain
from steadytree.tree.decision import Decision
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree
from steadytree.views import render, write_report

SCHEMA = json.loads(
    files("steadytree.publish").joinpath("summary.schema.json").read_text(encoding="utf-8")
)


def summary(result: Any, **options: Any) -> dict[str, Any]:
    """What the page of a result is drawn from, held against the schema."""
    if isinstance(result, Retraining):
        options = {"candidate_trees": True, **options}
    out: dict[str, Any] = result.to_dict(**options)
    assert json.loads(json.dumps(out, allow_nan=False)) == out
    Draft202012Validator(SCHEMA["$defs"][out["kind"]] | {"$defs": SCHEMA["$defs"]}).validate(out)
    return out


def page(result: Any, **options: Any) -> str:
    return render(summary(result, **options))


HOSTILE = {
    "html": "<img src=x onerror=alert(1)>&amp;</script><!--",
    "quotes": "\"double\" 'single' `back` \\n",
    "emoji": "🫀 heart-rate 👩🏽‍⚕️",
    "rtl": "ضغط الدم \u202egnp.exe",
    "long": "a very long name of a clinical variable " * 5,
    "braces": "{{ 7 * 7 }} {% raw %} ${x} %s",
}


def breast_cancer() -> tuple[pd.DataFrame, np.ndarray]:
    data = load_breast_cancer(as_frame=True)
    order = np.random.default_rng(0).permutation(len(data.data))
    X = data.data.iloc[order].reset_index(drop=True)
    return X, np.where(data.target.to_numpy()[order] == 1, "benign", "malignant")


@cache
def retraining() -> Retraining:
    """Breast cancer: a CART tree deployed on 300 rows, 269 arrive."""
    X, y = breast_cancer()
    # A column that trees do not use, for subgroups: three people in the smallest group.
    site = np.where(np.arange(len(X)) % 2 == 0, "north", "south").astype(object)
    site[[301, 333, 401]] = "ward 7"
    X["site"] = pd.Categorical(site)
    space = FeatureSpace.from_data(X, y)
    numeric = X.drop(columns="site")
    model = DecisionTreeClassifier(max_depth=4, min_samples_leaf=6, random_state=0)
    deployed = as_tree(model.fit(numeric[:300], y[:300]), Decision(0.4, positive="malignant"))
    return retrain(
        deployed,
        X[300:].reset_index(drop=True),
        y[300:],
        space=space,
        n_folds=3,
        search=SearchOptions(n_estimators=40),
        random_state=0,
    )


@cache
def graded_retraining() -> Retraining:
    """Ordered categories, some missing; a CART tree deployed on 150 rows, 150 arrive."""
    rng = np.random.default_rng(0)
    grades = pd.CategoricalDtype(["none", "low", "middle", "high", "extreme"], ordered=True)
    codes = rng.integers(-1, 5, 300)
    X = pd.DataFrame({"grade": pd.Categorical.from_codes(codes, dtype=grades)})
    X["dose"] = rng.normal(size=300)
    high = (codes > 1) ^ (codes == 4) ^ (X["dose"].to_numpy() > 1)
    y = np.where(high ^ (rng.random(300) < 0.15), "ill", "well")
    space = FeatureSpace.from_data(X, y)
    encoder = ColumnEncoder(space)
    model = DecisionTreeClassifier(max_leaf_nodes=6, min_samples_leaf=6, random_state=0)
    deployed = encoder.to_tree(model.fit(encoder.transform(space.encode(X))[:150], y[:150]))
    options: dict[str, Any] = {
        "n_folds": 2,
        "search": SearchOptions(n_estimators=10),
        "random_state": 0,
    }
    return retrain(deployed, X[150:].reset_index(drop=True), y[150:], **options)


@cache
def below_retraining() -> Retraining:
    """Rules that end just below whole numbers, of which those from 110 on decide otherwise."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.integers(-50, 200, 300)})
    y = np.where((X["x"] >= 0) ^ (rng.random(300) < 0.2), "a", "b")
    written = tree_from_rules("x < 110:\n    x >= 0: a\n    else: b\nelse: b")
    options: dict[str, Any] = {
        "n_folds": 2,
        "search": SearchOptions(n_estimators=10),
        "random_state": 0,
    }
    return retrain(written, X, y, plan={"locked": "x"}, **options)


ENCODERS: dict[str, Any] = {
    "one-hot": OneHotEncoder(handle_unknown="ignore"),
    "codes": OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
}


def pipeline_rows(n: int, seed: int, new: str | None = None) -> pd.DataFrame:
    """Rows of which some lack a value, and some have the ``new`` category."""
    rng = np.random.default_rng(seed)
    towns = np.array(["Bern", "Kiev", "Oslo", "Rome"], dtype=object)
    jobs = np.array(["cook", "guide", "clerk"], dtype=object)
    X = pd.DataFrame(
        {
            "age": rng.normal(50, 15, n).round(1),
            "income": rng.normal(30, 8, n).round(1),
            "town": rng.choice(towns, n, p=[0.19, 0.01, 0.3, 0.5]),
            "job": rng.choice(jobs, n),
        }
    )
    for name in ("town", "job") if new is not None else ():
        X.loc[rng.random(n) < 0.1, name] = new
    for name in X:
        X.loc[rng.random(n) < 0.1, name] = np.nan
    X.loc[:4, "town"] = "Kiev"  # rare, but met
    return X


def pipeline_outcome(X: pd.DataFrame, seed: int) -> np.ndarray:
    noise = np.random.default_rng(seed).random(len(X)) < 0.1
    high = (X["age"].fillna(40) > 50) ^ (X["town"] == "Oslo") ^ (X["job"] == "cook") ^ noise
    return np.where(high, "yes", "no")


@cache
def pipeline(encoder: str, fills: bool) -> Any:
    """A pipeline that fills in numbers, and categories too or not: then missing is one more."""
    category = ENCODERS[encoder]
    if fills:
        category = make_pipeline(SimpleImputer(strategy="most_frequent"), category)
    columns = make_column_transformer(
        (SimpleImputer(strategy="median"), ["age", "income"]), (category, ["town", "job"])
    )
    tree = DecisionTreeClassifier(max_leaf_nodes=9, min_samples_leaf=5, random_state=0)
    X = pipeline_rows(400, 0)
    return make_pipeline(columns, tree).fit(X, pipeline_outcome(X, 1))


@cache
def pipeline_retraining(encoder: str = "codes", fills: bool = True) -> Retraining:
    """A pipeline that takes missing values and new categories; 300 rows arrive."""
    X = pipeline_rows(300, 3)
    options: dict[str, Any] = {
        "n_folds": 2,
        "search": SearchOptions(n_estimators=10),
        "random_state": 0,
    }
    return retrain(pipeline(encoder, fills), X, pipeline_outcome(X, 4), price=0.02, **options)


@cache
def regression_retraining() -> Retraining:
    """Diabetes: a CART tree deployed on 221 rows, 221 arrive."""
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    deployed = DecisionTreeRegressor(max_depth=2, min_samples_leaf=12, random_state=0)
    return retrain(
        deployed.fit(X[:221], y[:221]),
        X[221:].reset_index(drop=True),
        y[221:].to_numpy(),
        n_folds=2,
        search=SearchOptions(n_estimators=20),
        random_state=0,
    )


def _diff(model: Any, X: Any, y: Any, space: FeatureSpace, **options: Any) -> TreeDiff:
    half = len(X) // 2
    old = as_tree(model.fit(X[:half], y[:half]), space=space, **options)
    new = as_tree(model.fit(X, y), space=space, **options)
    return diff_trees(old, new, X, y=y)


@cache
def multiclass_diff() -> TreeDiff:
    data = load_iris(as_frame=True)
    order = np.random.default_rng(1).permutation(150)
    X, y = data.data.iloc[order].reset_index(drop=True), data.target_names[data.target][order]
    model = DecisionTreeClassifier(max_depth=3, min_samples_leaf=5, random_state=0)
    return _diff(model, X, y, FeatureSpace.from_data(X, y))


@cache
def regression_diff() -> TreeDiff:
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    model = DecisionTreeRegressor(max_depth=3, min_samples_leaf=12, random_state=0)
    return _diff(model, X, y.to_numpy(), FeatureSpace.from_data(X, y, task="regression"))


@cache
def large_diff() -> TreeDiff:
    """Two trees of 200 leaves on noisy data."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(2400, 6)), columns=[f"lab value {i}" for i in range(6)])
    y = np.where(X["lab value 0"] + rng.normal(size=2400) > 0, "treat", "wait")
    model = DecisionTreeClassifier(max_leaf_nodes=200, random_state=0)
    return _diff(model, X, y, FeatureSpace.from_data(X, y))


@cache
def single_leaf_diff() -> TreeDiff:
    X, y = breast_cancer()
    space = FeatureSpace.from_data(X, y)
    stump = as_tree(DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y), space=space)
    return diff_trees(stump.truncate(0), stump, X, y=y)


def hand_tree(space: FeatureSpace, *, swap: bool = False, cut: float = 40.0) -> Tree:
    """A tree over one category, one number that can be missing and one that cannot.

    Node 0 splits the category, 1 and 2 the numbers, 3 is "is missing"; float32 rounding counts.
    """
    return Tree(
        children_left=[1, 3, 5, -1, -1, 7, -1, -1, -1],
        children_right=[2, 4, 6, -1, -1, 8, -1, -1, -1],
        feature=[0, 1, 2, -1, -1, 1, -1, -1, -1],
        threshold=[np.nan, cut, 0.1, 0, 0, np.inf, 0, 0, 0],
        left_categories=((0, 2), None, None, None, None, None, None, None, None),
        missing_left=[False, True, False, False, False, not swap, False, False, False],
        value=[[0.5, 0.5]] * 3
        + [[0.9, 0.1], [0.3, 0.7], [0.5, 0.5], [0.2, 0.8]]
        + [[0.6, 0.4], [0.1, 0.9]],
        weight=[200, 100, 100, 60, 40, 60, 40, 45, 15],
        n_features=3,
        classes=space.classes,
        feature_names=space.names,
        categories=space.categories,
        precision="float32",
        space=space,
    )


def mixed_rows(n: int, names: tuple[str, ...], categories: tuple[str, ...]) -> pd.DataFrame:
    """Rows with categories (some unseen), missing values and numbers at the float32 edge."""
    rng = np.random.default_rng(3)
    values = rng.choice(np.array([*categories, "never seen", None], dtype=object), n)
    number = np.round(rng.normal(40, 12, n), 1)
    number[rng.random(n) < 0.2] = np.nan
    edge = rng.choice([0.1, np.float64(np.float32(0.1)), 0.1000000001, 0.05, 0.3], n)
    return pd.DataFrame({names[0]: values, names[1]: number, names[2]: edge})


@cache
def mixed_diff(hostile: bool = False) -> TreeDiff:
    """Categories and missing values; with hostile names, everything is named to do harm."""
    names = ("colour", "age", "share")
    categories = ("red", "green", "blue", "black")
    classes = ("low", "high")
    if hostile:
        names = (HOSTILE["html"], HOSTILE["rtl"], HOSTILE["long"])
        categories = (HOSTILE["quotes"], HOSTILE["emoji"], HOSTILE["braces"], "</title>")
        classes = (HOSTILE["emoji"], HOSTILE["html"])
    X = mixed_rows(400, names, categories)
    space = FeatureSpace(
        lower=[0, 0, 0],
        upper=[0, 100, 1],
        categories=(categories, None, None),
        can_be_missing=[True, True, False],
        names=names,
        classes=classes,
    )
    y = np.where(np.random.default_rng(0).random(400) < 0.5, *classes)
    return diff_trees(hand_tree(space), hand_tree(space, swap=True, cut=44.5), X, y=y)


class StableResult(SimpleNamespace):
    """What a fitted StableTree holds."""

    def to_dict(self, *, publish: bool = False) -> dict[str, Any]:
        return stable_summary(self, publish=publish)

    def report(self, path: Any, **options: Any) -> Any:
        return write_report(self.to_dict(), path, **options)


def candidate_results(distances: Any, scores: Any, mask: Any) -> dict[str, Any]:
    """What a fitted StableTree says of its candidates."""
    columns = {
        "mean_distance": distances,
        "mean_dissimilarity": distances / (1 + distances),
        "selection_score": scores,
        "selection_score_se": np.nan,
        "on_frontier": mask,
    }
    best = int(np.flatnonzero(mask)[0])
    return {
        "best_index_": best,
        "results_": pd.DataFrame(columns),
        "mean_distances_": distances,
        "scores_": scores,
        "pareto_mask_": mask,
        "selection_score_": scores[best],
        "score_estimate_": np.nan,
        "score_estimate_se_": np.nan,
    }


@cache
def stable_result(n_bootstraps: int = 10) -> Any:
    """What a fitted StableTree holds, for 50 settings per bootstrap, without its running time."""
    X, y = breast_cancer()
    space = FeatureSpace.from_data(X, y)
    rng = np.random.default_rng(0)
    trees = []
    for _ in range(n_bootstraps):
        rows = rng.integers(0, len(X), len(X))
        full = as_tree(
            DecisionTreeClassifier(min_samples_leaf=3, random_state=0).fit(X.iloc[rows], y[rows]),
            space=space,
        )
        trees += [full.truncate(depth) for depth in (1, 2, 3, 4, 5)] * 10
    scores = np.array([0.9 + 0.01 * min(tree.depth, 4) for tree in trees])
    scores = scores + rng.normal(0, 0.01, len(trees))
    distances = np.array([tree.n_leaves for tree in trees]) + rng.random(len(trees))
    mask = pareto_mask(np.column_stack([distances, scores]), [False, True])
    return StableResult(
        candidates_=trees,
        feature_space_=space,
        **candidate_results(distances, scores, mask),
        get_params=lambda deep=False: {"random_state": 0, "select": "tolerance"},
    )
