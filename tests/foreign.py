"""Random trees and rows that put a reader or a writer to the test.

``random_tree`` makes trees of every kind; ``probe_rows`` makes rows for a tree: missing values,
categories it never met, and values at and next to every threshold.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

import steadytree as st
from steadytree.tree.nested import Branch, Leaf, Node, build_tree

NAMES = ("age", "blood pressure", 'income "net"', "colour", "size", "has_car")
CATEGORIES = {
    "colour": ("red", "green", "it's blue", "n/a", ""),
    "size": (1, 2, 3, 10),
    "has_car": (False, True),
}


def random_tree(
    seed: int,
    *,
    kind: str = "binary",
    depth: int = 5,
    categorical: bool = True,
    missing: bool = True,
    unseen: bool = True,
    precision: str = "float64",
    kept_labels: bool = False,
    decision: Any = None,
    names: tuple[str, ...] = NAMES,
) -> st.Tree:
    """Grow a random tree; ``kind``: "binary", "multiclass" or "regression".

    ``missing``: some splits ask only whether a value is there; ``unseen``: categories never met
    may go another way than missing values; ``kept_labels``: some labels contradict their shares.
    """
    rng = np.random.default_rng(seed)
    classes: Any = {"binary": ("no", "yes"), "multiclass": ("a", "b", "c"), "regression": None}[
        kind
    ]
    used = [n for n in names if categorical or n not in CATEGORIES]
    categories = tuple(CATEGORIES.get(n) for n in used)

    def leaf() -> Leaf:
        if classes is None:
            return Leaf([float(rng.normal(scale=100))], float(rng.integers(1, 100)))
        shares = rng.dirichlet(np.ones(len(classes)))
        kept = int(rng.integers(len(classes))) if kept_labels and rng.random() < 0.3 else None
        return Leaf(shares, float(rng.integers(1, 100)), kept)

    def grow(level: int) -> Node:
        if level == depth or (level > 1 and rng.random() < 0.25):
            return leaf()
        j = int(rng.integers(len(used)))
        missing_left = bool(rng.random() < 0.5)
        left, right = grow(level + 1), grow(level + 1)
        cats = categories[j]
        if cats is not None:
            codes = tuple(int(c) for c in np.flatnonzero(rng.random(len(cats)) < 0.5))
            unseen_left = bool(rng.random() < 0.5) if unseen else None
            return Branch(
                feature=j,
                left=left,
                right=right,
                left_categories=codes,
                missing_left=missing_left,
                unseen_left=unseen_left,
            )
        threshold = float(rng.normal(scale=10.0 ** int(rng.integers(-3, 6))))
        if rng.random() < 0.3:
            threshold = float(np.float32(threshold))
        if missing and rng.random() < 0.1:
            threshold = float(np.inf)
        return Branch(
            feature=j, left=left, right=right, threshold=threshold, missing_left=missing_left
        )

    return build_tree(
        grow(0),
        n_features=len(used),
        feature_names=tuple(used),
        categories=categories,
        classes=classes,
        precision=precision,
        **({} if decision is None else {"decision": decision}),
    )


def probe_rows(
    tree: st.Tree,
    n: int = 10_000,
    seed: int = 0,
    *,
    missing: bool = True,
    unseen: bool = True,
    singles: bool = False,
    fresh: dict[str, Any] | None = None,
) -> pd.DataFrame:
    """Make rows for a tree: among them values at and next to each of its thresholds.

    ``singles``: only values that single precision holds. ``fresh``: a category never met by
    feature, where the default does not suit.
    """
    rng = np.random.default_rng(seed)
    columns: dict[str, Any] = {}
    for j, (name, cats) in enumerate(zip(tree.feature_labels, tree.categories, strict=True)):
        if cats is None:
            t = tree.threshold[(tree.feature == j) & np.isfinite(tree.threshold)]
            t = t if t.size else np.zeros(1)
            single = t.astype(np.float32)
            near = np.concatenate(
                [
                    t,
                    np.nextafter(t, np.inf),
                    np.nextafter(t, -np.inf),
                    single,
                    np.nextafter(single, np.float32(np.inf)),
                    np.nextafter(single, np.float32(-np.inf)),
                    [0.0, -0.0, 1e-36, -1e-36],
                ]
            ).astype(np.float64)
            wide = rng.normal(scale=2 * (1 + np.abs(t).max()), size=n)
            values = np.where(rng.random(n) < 0.6, rng.choice(near, size=n), wide)
            if singles:
                values = values.astype(np.float32).astype(np.float64)
            columns[name] = np.where(missing & (rng.random(n) < 0.15), np.nan, values)
            continue
        met = np.array([*cats, None], dtype=object)
        drawn = met[rng.integers(len(cats), size=n)]
        if unseen:
            other = (fresh or {}).get(name, fresh_category(cats))
            drawn[rng.random(n) < 0.1] = other
        if missing:
            drawn[rng.random(n) < 0.15] = None
        columns[name] = pd.Series(drawn, dtype=object)
    return pd.DataFrame(columns)


def fresh_category(categories: tuple[Any, ...]) -> Any:
    """Return a category that is not in the list, of the same kind as far as there is one."""
    if all(isinstance(c, bool) for c in categories):
        return "neither"
    return 77 if all(isinstance(c, (int, float)) for c in categories) else "never met"
