"""Where along a raw number a split changes its answer: to the last double."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier

import steadytree as st
from steadytree.exceptions import UnsupportedModelError
from steadytree.formats.sklearn.pipeline_columns import PipelineColumns, pipeline_columns
from steadytree.formats.sklearn.pipeline_cuts import find_cuts

RNG = np.random.default_rng(0)
X = RNG.lognormal(3, 2, size=(300, 2))
Y = (X[:, 0] > 20).astype(int)


def columns_of(*steps: Any) -> PipelineColumns:
    return pipeline_columns(make_pipeline(*steps, DecisionTreeClassifier(max_depth=1)).fit(X, Y))


def cuts(columns: PipelineColumns, feature: int, threshold: float) -> Any:
    """Part the numbers of a column by a threshold of a transformed one."""

    def ask(at: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return np.asarray(rows[:, feature].astype(float) <= threshold)

    return find_cuts(columns, np.array([columns.source[feature]]), ask)[0]


@pytest.mark.parametrize(
    "steps",
    [
        (StandardScaler(),),
        (MinMaxScaler((-3, 7)), MaxAbsScaler()),
        (FunctionTransformer(np.negative), StandardScaler()),
        (FunctionTransformer(np.log1p), StandardScaler()),
        (FunctionTransformer(np.log),),
        (FunctionTransformer(np.square), MaxAbsScaler()),
    ],
    ids=lambda steps: "-".join(getattr(s, "func", type(s)).__name__ for s in steps),
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_the_last_number_of_each_stretch(steps: tuple[Any, ...]) -> None:
    columns = columns_of(*steps)
    for threshold in (-1.7, -1e-9, 0.0, 3e-5, 12.0, 1e20):
        check_stretches(columns, threshold)


def check_stretches(columns: PipelineColumns, threshold: float) -> None:
    found = cuts(columns, 1, threshold)
    ends = np.array([end for end, _ in found[:-1]])
    near = np.concatenate(
        [
            ends,
            np.nextafter(ends, np.inf),
            np.nextafter(ends, -np.inf),
            RNG.normal(scale=1e3, size=500),
            RNG.lognormal(0, 9, size=500),
        ]
    )
    poles = columns.poles.get(1, set())
    near = near[~np.isin(near, list(poles))]
    built = columns.probe(np.ones(len(near), dtype=int), near)[:, 1]
    sides = np.array([side for _, side in found])
    np.testing.assert_array_equal(sides[np.searchsorted(ends, near)], built <= threshold)


def test_neighbouring_stretches_that_go_the_same_way_are_one() -> None:
    columns = columns_of(KBinsDiscretizer(4, quantile_method="averaged_inverted_cdf"))
    edges = columns.breaks[0]
    assert edges.size == 3
    assert cuts(columns, 1, 0.5) == ((edges[0], True), (edges[1], False), (np.inf, True))
    assert cuts(columns, 0, 0.5) == ((edges[0], False), (np.inf, True))
    assert cuts(columns, 0, 7.0) == ((np.inf, True),)


def test_steps_that_refuse_some_numbers() -> None:
    columns = columns_of(FunctionTransformer(np.square), StandardScaler(), MaxAbsScaler())
    with pytest.raises(ValueError, match="infinity"):
        columns.probe([0], [1e200])
    ((low, first), (high, middle), (end, last)) = cuts(columns, 0, 1.0)
    assert (first, middle, last) == (False, True, False)
    assert (low, end) == (np.nextafter(-high, -np.inf), np.inf)
    # Where no step takes negative numbers, the last that is taken ends the range.
    columns = columns_of(
        FunctionTransformer(np.sqrt), FunctionTransformer(validate=True), StandardScaler()
    )
    assert columns.rows([0], [-1.0])[0] is None
    found = cuts(columns, 0, 0.0)
    assert [side for _, side in found] == [True, False]
    assert found[0][0] > 0


def test_results_that_neither_rise_nor_fall_are_refused() -> None:
    columns = columns_of(StandardScaler())

    def wild(at: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return np.asarray(np.sin(rows[:, 0].astype(float)) <= 0.5)

    with pytest.raises(UnsupportedModelError, match="'x0', got some that do neither"):
        find_cuts(columns, np.array([0]), wild)


def test_results_that_go_to_and_fro_about_a_threshold_are_refused() -> None:
    columns = columns_of(FunctionTransformer(np.log1p))
    cut = cuts(columns, 0, 2.0)[-2][0]

    def shaky(at: np.ndarray, rows: np.ndarray) -> np.ndarray:
        values = rows[:, 0].astype(float)
        return np.asarray((values <= 2.0) | (values == 2.0 + 2.0**-42))

    assert cut == pytest.approx(np.expm1(2.0))
    with pytest.raises(UnsupportedModelError, match="got step 'functiontransformer', a Function"):
        find_cuts(columns, np.array([0]), shaky)


@pytest.mark.parametrize("function", [np.log, np.log1p])
@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_trees_on_logarithms(function: Any, scaled: bool) -> None:
    holes = np.where(RNG.random(X.shape) < 0.1, np.nan, X)
    steps = (FunctionTransformer(function), StandardScaler() if scaled else "passthrough")
    pipeline = make_pipeline(*steps, DecisionTreeClassifier(max_depth=6)).fit(holes, Y)
    tree = st.as_tree(pipeline)
    t = tree.threshold[np.isfinite(tree.threshold)]
    values = np.concatenate([t, np.nextafter(t, np.inf), np.nextafter(t, -np.inf), [-5.0, np.nan]])
    values = np.concatenate([values, RNG.lognormal(3, 2, 200)])
    values = values[(values != 0) & (values != -1)]
    rows = RNG.choice(values, size=(10_000, 2))
    np.testing.assert_array_equal(tree.predict_proba(rows), pipeline.predict_proba(rows))
