"""Which raw column each column comes from; steps that mix columns are refused by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.feature_selection import RFE, SelectFromModel, SelectKBest, VarianceThreshold
from sklearn.impute import IterativeImputer, KNNImputer, MissingIndicator, SimpleImputer
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.tree import DecisionTreeClassifier

from steadytree.exceptions import NotFittedTreeError, UnsupportedModelError
from steadytree.formats.sklearn.pipeline_steps import Origin, RawColumns, is_missing, trace

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
Y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)
CODES = RNG.integers(3, size=(80, 3)).astype(float)


def traced(step: Any, table: np.ndarray = X) -> tuple[list[tuple[int, str]], RawColumns]:
    raw = RawColumns(("a", "b", "c"))
    found = trace(step.fit(table, Y), "it", [Origin(j, "same") for j in range(3)], raw)
    assert len(found) == step.transform(table).shape[1]
    return [(o.raw, o.how) for o in found], raw


@pytest.mark.parametrize(
    "step",
    [
        StandardScaler(),
        MinMaxScaler(clip=True),
        MaxAbsScaler(),
        RobustScaler(),
        Binarizer(),
        KBinsDiscretizer(encode="ordinal", quantile_method="averaged_inverted_cdf"),
        FunctionTransformer(np.sqrt),
    ],
    ids=lambda s: type(s).__name__,
)
def test_steps_that_compute_with_each_number(step: Any) -> None:
    found, raw = traced(step, np.abs(X))
    assert found == [(0, "number"), (1, "number"), (2, "number")]
    assert raw.numbers[2] == f"step 'it' ({type(step).__name__})"


def test_logarithms_break_at_their_pole() -> None:
    for function, pole in ((np.log, 0.0), (np.log2, 0.0), (np.log10, 0.0), (np.log1p, -1.0)):
        found, raw = traced(FunctionTransformer(function), np.abs(X))
        assert found == [(0, "number"), (1, "number"), (2, "number")]
        assert raw.breaks[1] == {np.nextafter(pole, -np.inf), pole}
        assert raw.poles[1] == {pole}
        assert raw.rounded[1] == "step 'it', a FunctionTransformer"


def test_steps_that_look_categories_up() -> None:
    found, raw = traced(OneHotEncoder(drop="first", max_categories=2), CODES)
    assert found == [(0, "category"), (1, "category"), (2, "category")]
    assert raw.categories == {j: [0.0, 1.0, 2.0] for j in range(3)}
    assert traced(OrdinalEncoder(), CODES)[0] == found
    multiclass, _ = traced(TargetEncoder(target_type="multiclass", cv=2), CODES)
    assert [j for j, _ in multiclass] == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    again, _ = traced(make_pipeline(OrdinalEncoder(), StandardScaler(), OneHotEncoder()), CODES)
    assert again == [(j, "category") for j in range(3) for _ in range(3)]


@pytest.mark.filterwarnings("ignore:Skipping features without:UserWarning")
def test_imputers_leave_values_alone_and_drop_empty_columns() -> None:
    holes = X.copy()
    holes[:, 1] = np.nan
    holes[0, 2] = np.nan
    found, raw = traced(SimpleImputer(add_indicator=True, strategy="median"), holes)
    assert found == [(0, "same"), (2, "same"), (1, "flag"), (2, "flag")]
    assert raw.fills[2] == [np.nanmedian(holes[:, 2])]
    kept, _ = traced(SimpleImputer(keep_empty_features=True), holes)
    assert kept == [(0, "same"), (1, "same"), (2, "same")]
    assert traced(MissingIndicator(), holes)[0] == [(1, "flag"), (2, "flag")]
    assert len(traced(MissingIndicator(features="all"), holes)[0]) == 3


def test_a_number_that_stands_for_missing_breaks_the_column_in_three() -> None:
    _, raw = traced(SimpleImputer(missing_values=-9), np.where(X > 2, -9, X))
    assert raw.breaks[0] == {np.nextafter(-9.0, -np.inf), -9.0}
    assert raw.stand_ins[0] == [-9]


@pytest.mark.parametrize(
    "step",
    [
        VarianceThreshold(0.5),
        SelectKBest(k=2),
        SelectFromModel(DecisionTreeClassifier(random_state=0)),
        RFE(DecisionTreeClassifier(random_state=0), n_features_to_select=1),
    ],
    ids=lambda s: type(s).__name__,
)
def test_selection_keeps_columns_as_they_are(step: Any) -> None:
    found, _ = traced(step)
    assert found == [(int(j), "same") for j in step.get_support(indices=True)]


def test_unions_and_bins() -> None:
    union = FeatureUnion(
        [("same", "passthrough"), ("no", "drop"), ("scaled", StandardScaler())],
        transformer_weights={"same": -2.0},
    )
    assert traced(union)[0] == [(j, "number") for j in (0, 1, 2, 0, 1, 2)]
    bins = KBinsDiscretizer(n_bins=3, quantile_method="averaged_inverted_cdf")
    found, raw = traced(bins)
    assert found == [(j, "number") for j in range(3) for _ in range(3)]
    assert raw.breaks[0] == set(np.nextafter(bins.bin_edges_[0][1:-1], -np.inf))


class Own(TransformerMixin, BaseEstimator):
    """A step that nobody knows."""

    def fit(self, X: Any, y: Any = None) -> Own:
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X: Any) -> Any:
        return X * 2


@pytest.mark.parametrize(
    ("step", "why"),
    [
        (PCA(), "PCA, which makes each of its columns from several"),
        (PolynomialFeatures(), "PolynomialFeatures, which multiplies columns"),
        (SplineTransformer(), "SplineTransformer, which makes columns that rise and fall"),
        (KNNImputer(), "KNNImputer, which fills in missing values from other columns"),
        (IterativeImputer(), "IterativeImputer, which fills in missing values from other"),
        (Normalizer(), "Normalizer, which divides each row"),
        (PowerTransformer(), "PowerTransformer, which rounds in ways"),
        (QuantileTransformer(n_quantiles=10), "QuantileTransformer, which rounds in ways"),
        (Own(), "Own, which is not known to change one column at a time"),
        (FunctionTransformer(np.exp), "FunctionTransformer, which runs exp"),
        (FunctionTransformer(lambda x: x), "FunctionTransformer, which runs <lambda>"),
        (make_pipeline(StandardScaler(), OneHotEncoder()), "OneHotEncoder, which takes what an"),
        (make_pipeline(StandardScaler(), SimpleImputer(missing_values=0)), "takes 0 for missing"),
        (make_pipeline(StandardScaler(), FunctionTransformer(np.abs)), "runs absolute after"),
        (
            make_pipeline(
                StandardScaler(), KBinsDiscretizer(quantile_method="averaged_inverted_cdf")
            ),
            "one column per interval",
        ),
    ],
    ids=lambda s: s if isinstance(s, str) else type(s).__name__,
)
def test_steps_that_cannot_be_told_in_one_column_are_refused_by_name(step: Any, why: str) -> None:
    with pytest.raises(UnsupportedModelError, match="got step 'it") as refused:
        traced(step)
    assert why in str(refused.value)


def test_a_step_before_fit() -> None:
    with pytest.raises(NotFittedTreeError, match="step 'it', a StandardScaler before fit"):
        trace(StandardScaler(), "it", [Origin(0, "same")], RawColumns(("a",)))


def test_what_missing_means() -> None:
    import pandas as pd

    assert all(is_missing(v) for v in (None, np.nan, float("nan"), pd.NA, pd.NaT))
    assert not any(is_missing(v) for v in (0, "", False, "nan"))
