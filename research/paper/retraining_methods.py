"""The ways to retrain that are compared; each gives trees for one deployment."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeVar

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from research.paper.cart import cross_validated_cart
from research.paper.retraining_protocol import Deployment, measure
from steadytree._optional import import_optional
from steadytree.estimators.distilled import DistilledTreeClassifier
from steadytree.estimators.stable import StableTreeClassifier
from steadytree.exceptions import SteadyTreeWarning
from steadytree.growing.fitting import ColumnEncoder
from steadytree.retraining import Retraining, retrain
from steadytree.tree.rows import CodedRows
from steadytree.tree.tree import Tree

__all__ = [
    "METHOD_KINDS",
    "PRICES",
    "baselines",
    "cart",
    "distilled_first",
    "ours",
    "peers",
    "priced_edits",
]

PRICES = (0.3, 0.25, 0.2, 0.1)
OF_DECISIONS = (
    *("balanced_accuracy", "sensitivity", "specificity"),
    *("calibration", "brier", "moved_5", "moved_10"),
)
IDENTICAL = 1e-9
"""Dissimilarity below which two trees have the same rules."""

T = TypeVar("T")
Row = dict[str, Any]


def cart(deployment: Deployment, seed: int, *, everything: bool) -> Tree:
    """Grow cross-validated CART on the deployment rows, or on all rows there are."""
    X, y = _training_rows(deployment, everything=everything)
    return cross_validated_cart(
        deployment.space,
        CodedRows(deployment.space.encode(X), y),
        classes=(0, 1),
        decision=deployment.base_rate,
        seed=seed + everything,
    )


def distilled_first(deployment: Deployment, seed: int) -> Tree:
    """Grow our own first tree, distilled from a forest on the deployment rows."""
    model = DistilledTreeClassifier(decision_threshold=deployment.base_rate, random_state=seed)
    return model.fit(deployment.X_old, deployment.y_old).to_tree()


def priced_edits(
    deployment: Deployment, deployed: Tree, seed: int, *, n_folds: int = 0
) -> Retraining:
    """Retrain by priced edits; the trees of all prices come from one call.

    Scores are taken on the test rows here, so that folds are needed only by the default
    choice, which asks rows left out whether they confirm what the price buys.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SteadyTreeWarning)
        return retrain(
            deployed,
            deployment.X_new,
            deployment.y_new,
            old=(deployment.X_old, deployment.y_old),
            space=deployment.space,
            n_folds=n_folds,
            random_state=seed,
        )


def baselines(deployment: Deployment, seed: int) -> Iterator[Row]:
    """Retrained CART: what everybody does today."""
    before = cart(deployment, seed, everything=False)
    after, seconds = _timed(partial(cart, deployment, seed, everything=True))
    yield _row(deployment, "cart", "CART retrained", before, after, seconds)


def peers(deployment: Deployment, seed: int) -> Iterator[Row]:
    """Grow the paper's tree and stable-cart's, which look for stable trees without a first one."""
    before = cart(deployment, seed, everything=False)
    after, seconds = _timed(partial(_paper_method, deployment, seed))
    yield _row(deployment, "cart", "the paper's method", before, after, seconds)
    before = _representative(deployment, seed, everything=False)
    after, seconds = _timed(partial(_representative, deployment, seed, everything=True))
    yield _row(deployment, "stable-cart", "stable-cart 3.0.0", before, after, seconds)


def ours(deployment: Deployment, seed: int) -> Iterator[Row]:
    """Trees at three prices, with the same rules, and from scratch; and the default proposal."""
    starts = {
        "own": distilled_first(deployment, seed),
        "cart": cart(deployment, seed, everything=False),
    }
    for start, deployed in starts.items():
        yield _row(deployment, start, "keep", deployed, deployed, 0.0)
        result, seconds = _timed(partial(priced_edits, deployment, deployed, seed, n_folds=5))
        assert result.drift is not None
        names = ("leaf values", "labels", *(f"price {p:g}" for p in PRICES), "from scratch")
        for method, tree in (("default", result.tree), *((n, result.trees[n]) for n in names)):
            row = _row(deployment, start, method, result.deployed, tree, seconds)
            yield {**row, "drift": result.drift.statistic, "chosen": result.chosen}


METHOD_KINDS = {"baselines": baselines, "ours": ours, "peers": peers}
"""Methods that are computed, and stored, together."""


def _row(
    deployment: Deployment, start: str, method: str, before: Tree, after: Tree, seconds: float
) -> Row:
    found = measure(deployment, before, after)
    return {
        "start": start,
        "method": method,
        "distance": found["distance"],
        "dissimilarity": found["dissimilarity"],
        "flips_half": found["flips_half"],
        "flips_base": found["flips"],
        "auc": found["auc_after"],
        **{name: found[name] for name in OF_DECISIONS},
        "leaves": after.n_leaves,
        "identical": found["dissimilarity"] < IDENTICAL,
        "edits": len(after.metadata.get("edits", ())),
        "seconds": seconds,
    }


def _timed(work: Callable[[], T]) -> tuple[T, float]:
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def _training_rows(deployment: Deployment, *, everything: bool) -> tuple[Any, Any]:
    if everything:
        return deployment.X_all, deployment.y_all
    return deployment.X_old, deployment.y_old


def _paper_method(deployment: Deployment, seed: int) -> Tree:
    """Section 3.1: the least mean distance to the first collection within 2 % of the best."""
    first = np.arange(len(deployment.y_all)) < len(deployment.y_old)
    model = StableTreeClassifier(
        n_bootstraps=5,
        select="tolerance",
        tolerance=0.02,
        decision_threshold=deployment.base_rate,
        random_state=seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(deployment.X_all, deployment.y_all, first_batch=first)
    return model.to_tree()


def _representative(deployment: Deployment, seed: int, *, everything: bool) -> Tree:
    """stable-cart's representative of 20 CART trees, sized like cross-validated CART."""
    stable_cart = import_optional("stable_cart", extra="bench", purpose="stable-cart's row")
    space, encoder = deployment.space, ColumnEncoder(deployment.space)
    X, y = _training_rows(deployment, everything=everything)
    sized = cart(deployment, seed, everything=everything).metadata
    columns = encoder.transform(space.encode(X))
    # The package refuses missing values: they become the median.
    middle = np.nanmedian(encoder.transform(space.encode(deployment.X_old)), axis=0)
    columns = np.where(np.isnan(columns), middle, columns)
    model = stable_cart.RepresentativeEstimator(
        DecisionTreeClassifier(
            max_depth=sized["max_depth"], min_samples_leaf=sized["min_samples_leaf"]
        ),
        random_state=seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(columns, y)
    tree = encoder.to_tree(model.get_selected_estimator(), decision=deployment.base_rate)
    # Missing values must go where the median goes.
    to_left = np.array(tree.missing_left)
    numeric = encoder.column_category == -2
    for node in np.flatnonzero(~tree.is_leaf).tolist():
        if tree.left_categories[node] is None:
            column = np.flatnonzero((encoder.column_feature == tree.feature[node]) & numeric)[0]
            to_left[node] = middle[column] <= tree.threshold[node]
    return tree.replace(missing_left=to_left)
