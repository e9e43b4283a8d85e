"""Pipelines of random composition, and raw rows that they take."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectFromModel, SelectKBest, VarianceThreshold
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.model_selection import KFold
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import steadytree as st
from tests.foreign import probe_rows

NUMBERS = ("age", "income", "visits", "score")


def table(rng: np.random.Generator, n: int = 200) -> tuple[pd.DataFrame, np.ndarray]:
    """Make raw rows of every kind, with holes, and a score that depends on them."""
    X = pd.DataFrame(
        {
            "age": rng.normal(40, 12, n),
            "income": rng.lognormal(10, 1, n),
            "visits": rng.poisson(3, n).astype(float),
            "score": rng.normal(size=n) * 1e-3,
            "colour": rng.choice(["red", "green", "it's blue", ""], n, p=[0.5, 0.3, 0.15, 0.05]),
            "town": rng.choice([f"t{i}" for i in range(9)], n),
            "grade": rng.choice([1, 2, 3, 10], n),
            "member": rng.choice([False, True], n),
            "id": [f"customer {i}" for i in range(n)],
        }
    )
    y = (
        (X["age"] - 40) / 12
        + np.log(X["income"])
        - 10
        + (X["colour"] == "red")
        + (X["grade"] > 2)
        + X["town"].isin(["t1", "t4"])
        + 500 * X["score"]
        + rng.normal(size=n) / 3
    ).to_numpy()
    for name in (*NUMBERS, "colour", "town"):
        X.loc[rng.random(n) < 0.12, name] = np.nan
    y = y + np.where(X["age"].isna(), 1.5, 0)
    return X, y


def numeric_step(rng: np.random.Generator) -> Any:
    """Draw what is done with some numbers."""
    scale = (
        StandardScaler(),
        MinMaxScaler((-1, 3)),
        MinMaxScaler(clip=True),
        MaxAbsScaler(),
        RobustScaler(),
        FunctionTransformer(np.negative),
        "passthrough",
        FunctionTransformer(),
    )[rng.integers(8)]
    fill = (
        SimpleImputer(),
        SimpleImputer(strategy="median", add_indicator=True),
        SimpleImputer(strategy="most_frequent"),
        SimpleImputer(strategy="constant", fill_value=-1.0, keep_empty_features=True),
        "passthrough",
    )[rng.integers(5)]
    more = (
        "passthrough",
        StandardScaler(),
        SelectKBest(k=1) if fill != "passthrough" else VarianceThreshold(),
        make_pipeline(MaxAbsScaler(), "passthrough"),
    )[rng.integers(4)]
    kind = rng.integers(7)
    if kind == 0:
        return make_pipeline(SimpleImputer(), Binarizer(threshold=float(rng.normal(20, 20))))
    if kind == 1:
        encode = ("ordinal", "onehot", "onehot-dense")[rng.integers(3)]
        bins = KBinsDiscretizer(
            n_bins=4, encode=encode, quantile_method="averaged_inverted_cdf", subsample=None
        )
        return make_pipeline(SimpleImputer(strategy="median"), bins)
    if kind == 2:
        return make_pipeline(SimpleImputer(), SimpleImputer(missing_values=3.0), scale, more)
    if kind == 3:
        return FeatureUnion(
            [
                ("flag", MissingIndicator(error_on_new=False)),
                ("scaled", make_pipeline(fill, scale)),
            ],
            transformer_weights={"scaled": float(rng.normal())},
        )
    order = (fill, scale) if rng.random() < 0.7 else (scale, fill)
    return Pipeline([("first", order[0]), ("second", order[1]), ("more", more)])


def categorical_step(rng: np.random.Generator) -> Any:
    """Draw what is done with some categories."""
    frequent = SimpleImputer(strategy="most_frequent")
    return (
        OneHotEncoder(handle_unknown="ignore"),
        OneHotEncoder(handle_unknown="ignore", drop="first", sparse_output=False),
        OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=0.1),
        OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=3, drop="if_binary"),
        OneHotEncoder(handle_unknown="warn", max_categories=3, dtype=np.float32),
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
        OrdinalEncoder(
            handle_unknown="use_encoded_value",
            unknown_value=np.nan,
            encoded_missing_value=-2,
            max_categories=4,
        ),
        TargetEncoder(cv=KFold(3)),
        make_pipeline(frequent, OneHotEncoder(handle_unknown="ignore")),
        make_pipeline(
            SimpleImputer(strategy="constant", fill_value="none given"),
            OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=99),
            StandardScaler(),
        ),
        make_pipeline(
            SimpleImputer(strategy="constant", fill_value="t2"),
            SimpleImputer(missing_values="t1", strategy="most_frequent"),
            OneHotEncoder(handle_unknown="ignore"),
        ),
    )[rng.integers(11)]


def random_pipeline(seed: int) -> tuple[Any, pd.DataFrame, Any]:
    """Fit a pipeline of random composition; returns it with its training rows."""
    rng = np.random.default_rng(seed)
    X, y = table(rng)
    classes = int(rng.integers(4))
    outcome: Any = y
    if classes:
        outcome = np.digitize(y, np.quantile(y, [0.5] if classes < 3 else [0.3, 0.7]))
        outcome = np.array(["no", "yes", "perhaps"])[outcome]
    numbers, texts = rng.permutation(NUMBERS).tolist(), rng.permutation(["colour", "town"]).tolist()
    parts = [
        ("n1", numeric_step(rng), numbers[:2]),
        ("n2", numeric_step(rng), numbers[2:]),
        ("c1", categorical_step(rng), texts[:1]),
        ("c2", categorical_step(rng), texts[1:]),
        ("grade", (OneHotEncoder(), OrdinalEncoder(), "passthrough")[rng.integers(3)], ["grade"]),
    ]
    parts = [parts[k] for k in sorted(rng.permutation(5)[:3])]
    rest = ColumnTransformer([("member", "passthrough", ["member"])])
    kind: Any = DecisionTreeClassifier if classes else DecisionTreeRegressor
    leaf = kind(max_depth=int(rng.integers(2, 8)), min_samples_leaf=4, random_state=seed)
    steps: list[Any] = [
        ("columns", ColumnTransformer(parts, remainder="drop" if rng.random() < 0.8 else rest)),
        ("same", "passthrough"),
        ("tree", leaf),
    ]
    if rng.random() < 0.3:
        selector = SelectFromModel(
            kind(max_depth=6, random_state=1), threshold=-np.inf, max_features=8
        )
        steps.insert(1, ("select", selector))
    if rng.random() < 0.2:
        steps = [("inside", Pipeline(steps[:-1])), steps[-1]]
    return Pipeline(steps).fit(X, outcome), X, outcome


def accepted_rows(pipeline: Any, tree: st.Tree, X: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Rows for a pipeline: what it refuses (unseen or missing values) is not asked."""
    rng = np.random.default_rng(seed)
    drawn = probe_rows(tree, seed=seed)
    rows = X.iloc[np.zeros(len(drawn), dtype=int)].reset_index(drop=True)
    usual = X[X.notna().all(axis=1)].iloc[:1]
    for j in sorted(tree.used_features):
        name, met = tree.feature_labels[j], tree.categories[j]
        values = drawn[name]
        if met is None:
            special = rng.random(len(values)) < 0.1
            values = values.mask(special, rng.choice([3.0, -1.0, 0.0], len(values)))
        values = values.where(values.notna(), np.nan)
        missing = values.isna()
        unseen = ~missing & ~values.isin(met) if met else missing
        for odd in (missing, unseen):
            if odd.any() and not takes(pipeline, usual, name, values[odd].iloc[0]):
                values = values.mask(odd, usual[name].iloc[0])
        numeric = met is None or all(type(c) in (int, float) for c in met)
        rows[name] = values.astype(float) if numeric else values.astype(object)
    return rows


def takes(pipeline: Any, usual: pd.DataFrame, name: str, value: Any) -> bool:
    """Whether a pipeline predicts a row with this value."""
    kind = object if name in ("colour", "town", "member") else float
    row = usual.assign(**{name: pd.Series([value], index=usual.index, dtype=kind)})
    try:
        pipeline.predict(row)
    except ValueError:
        return False
    return True
