"""The ways to retrain that the table compares; each gives trees for one split of one set."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier

from benchmarks.retraining_data import Parts
from steadytree.core.space import FeatureSpace
from steadytree.core.tree import Tree
from steadytree.distance import tree_distance
from steadytree.estimators.distilled import DistilledTreeClassifier
from steadytree.exceptions import ClippedThresholdWarning, SteadyTreeWarning
from steadytree.growing.cart import cross_validated_cart
from steadytree.growing.encoding import ColumnEncoder
from steadytree.retraining import retrain

PRICES = (0.3, 0.2, 0.1)
FOREST = 100


class Setting:
    """One split with what all methods share: the space and the two deployed trees."""

    def __init__(self, parts: Parts, seed: int) -> None:
        self.parts, self.seed = parts, seed
        self.space = FeatureSpace.from_data(parts.X_all, parts.y_all, task="classification")
        self.coded_old = self.space.encode(parts.X_old)
        self.coded_all = self.space.encode(parts.X_all)

    def cart(self, *, everything: bool) -> Tree:
        parts = self.parts
        return cross_validated_cart(
            self.space,
            self.coded_all if everything else self.coded_old,
            parts.y_all if everything else parts.y_old,
            classes=(0, 1),
            decision_threshold=parts.base_rate,
            seed=self.seed + everything,
        )

    def own_first(self) -> Tree:
        parts = self.parts
        model = DistilledTreeClassifier(
            n_estimators=FOREST, decision_threshold=parts.base_rate, random_state=self.seed
        ).fit(parts.X_old, parts.y_old)
        return model.to_tree()


def measure(
    setting: Setting, start: str, method: str, A: Tree, T: Tree, seconds: float
) -> dict[str, Any]:
    """Everything the table needs about one retrained tree."""
    parts, space = setting.parts, setting.space
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ClippedThresholdWarning)
        paper = tree_distance(A, T, space=space)
        apart = tree_distance(A, T, space=space, variant="metric", normalize="relative")
    a, t = A.predict_proba(parts.X_test)[:, 1], T.predict_proba(parts.X_test)[:, 1]
    return {
        "start": start,
        "method": method,
        "distance": float(paper),
        "dissimilarity": float(apart),
        "flips_half": float(((a >= 0.5) != (t >= 0.5)).mean()),
        "flips_base": float((A.predict(parts.X_test) != T.predict(parts.X_test)).mean()),
        "auc": float(roc_auc_score(parts.y_test, t)),
        "leaves": T.n_leaves,
        "identical": bool(apart < 1e-9),
        "edits": len(T.metadata.get("edits", ())),
        "seconds": seconds,
    }


def timed(make: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    made = make()
    return made, time.perf_counter() - start


def baselines(setting: Setting) -> Iterator[dict[str, Any]]:
    """Retrained CART: what everybody does today."""
    A = setting.cart(everything=False)
    T, seconds = timed(lambda: setting.cart(everything=True))
    yield measure(setting, "cart", "CART retrained", A, T, seconds)


def peers(setting: Setting) -> Iterator[dict[str, Any]]:
    """The paper's method and stable-cart, which look for stable trees without a first one."""
    A = setting.cart(everything=False)
    T, seconds = timed(lambda: paper_method(setting))
    yield measure(setting, "cart", "the paper's method", A, T, seconds)
    first, _ = timed(lambda: representative(setting, everything=False))
    T, seconds = timed(lambda: representative(setting, everything=True))
    yield measure(setting, "stable-cart", "stable-cart 3.0.0", first, T, seconds)


def paper_method(setting: Setting) -> Tree:
    """Section 3.1: the least mean distance to the first collection within 2 % of the best."""
    from steadytree.estimators.stable import StableTreeClassifier

    parts = setting.parts
    mask = np.arange(len(parts.y_all)) < len(parts.y_old)
    model = StableTreeClassifier(
        n_bootstraps=5,
        select="tolerance",
        tolerance=0.02,
        decision_threshold=parts.base_rate,
        random_state=setting.seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(parts.X_all, parts.y_all, first_batch=mask)
    return model.to_tree()


def representative(setting: Setting, *, everything: bool) -> Tree:
    """stable-cart's representative of 20 CART trees, sized like cross-validated CART."""
    from stable_cart import RepresentativeEstimator

    parts, encoder = setting.parts, ColumnEncoder(setting.space)
    sized = setting.cart(everything=everything).metadata
    columns = encoder.transform(setting.coded_all if everything else setting.coded_old)
    # The package refuses missing values: they become the median.
    middle = np.nanmedian(encoder.transform(setting.coded_old), axis=0)
    columns = np.where(np.isnan(columns), middle, columns)
    model = RepresentativeEstimator(
        DecisionTreeClassifier(
            max_depth=sized["max_depth"], min_samples_leaf=sized["min_samples_leaf"]
        ),
        random_state=setting.seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(columns, parts.y_all if everything else parts.y_old)
    tree = encoder.to_tree(model.get_selected_estimator(), decision_threshold=parts.base_rate)
    # Missing values must go where the median goes.
    to_left = np.array(tree.missing_left)
    for node in np.flatnonzero(~tree.is_leaf).tolist():
        if tree.left_categories[node] is None:
            to_left[node] = (
                middle[
                    np.flatnonzero(
                        (encoder.column_feature == tree.feature[node])
                        & (encoder.column_category == -2)
                    )[0]
                ]
                <= tree.threshold[node]
            )
    return tree.replace(missing_left=to_left, label=tree.label)


def ours(setting: Setting) -> Iterator[dict[str, Any]]:
    """Priced edits at three prices, leaf values only and from scratch, from either start."""
    parts = setting.parts
    for start in ("own", "cart"):
        A = setting.own_first() if start == "own" else setting.cart(everything=False)
        yield measure(setting, start, "keep", A, A, 0.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SteadyTreeWarning)
            made, seconds = timed(
                lambda A=A: retrain(
                    A,
                    parts.X_new,
                    parts.y_new,
                    X_old=parts.X_old,
                    y_old=parts.y_old,
                    space=setting.space,
                    n_folds=0,
                    n_estimators=FOREST,
                    random_state=setting.seed,
                )
            )
        for name in ("leaf values", *(f"price {p:g}" for p in PRICES), "from scratch"):
            row = measure(setting, start, name, made.deployed, made.trees[name], seconds)
            assert made.drift is not None
            yield {**row, "drift": made.drift.statistic}
