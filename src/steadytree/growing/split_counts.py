"""Tables about a collection of trees: where they split, where they cut, what matters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from steadytree.core.space import FeatureSpace
from steadytree.core.tree import Tree

__all__ = [
    "LEAF_NODE",
    "PLACES",
    "TOP",
    "all_cuts",
    "count_splits",
    "cut_point_table",
    "importance_table",
    "split_table",
    "spread_of",
    "top_feature_table",
]

LEAF_NODE = "Leaf node"
"""Row of the split table for trees that have no split in that place, as in the paper."""

PLACES = ("root", "left", "right", "anywhere")
"""The first split, the splits left and right of it, and anywhere in the tree."""

TOP = 3
"""The paper counts features among the three most important ones."""


def spread_of(values: NDArray[Any]) -> dict[str, float]:
    """Mean, sd, min, median and max of the numbers that are there."""
    seen = values[~np.isnan(values.astype(np.float64))]
    if not seen.size:
        return dict.fromkeys(("mean", "sd", "min", "median", "max"), np.nan)
    return {
        "mean": float(seen.mean()),
        "sd": float(seen.std(ddof=1)) if seen.size > 1 else np.nan,
        "min": float(seen.min()),
        "median": float(np.median(seen)),
        "max": float(seen.max()),
    }


def count_splits(trees: Sequence[Tree], space: FeatureSpace) -> pd.DataFrame:
    """Count the trees that split on each feature in each place.

    One row per feature of the space, in its order, and a last one, ``LEAF_NODE``, for trees
    without a split there; columns as ``PLACES``.
    """
    labels = [*space.feature_labels, LEAF_NODE]
    counts = np.zeros((len(labels), len(PLACES)), dtype=np.int64)
    for grown in trees:
        tree = grown.in_space(space)
        left, right = int(tree.children_left[0]), int(tree.children_right[0])
        for place, node in enumerate((0, left, right)):
            # Without a first split there is nothing left or right of it either.
            j = int(tree.feature[node]) if node >= 0 else -1
            counts[j, place] += 1
        used = np.unique(tree.feature[tree.feature >= 0])
        counts[used, 3] += 1
        counts[-1, 3] += used.size == 0
    return pd.DataFrame(counts, index=pd.Index(labels, name="feature"), columns=list(PLACES))


def split_table(trees: Sequence[Tree], space: FeatureSpace) -> pd.DataFrame:
    """Share of trees that split on each feature in each place (the paper's split table)."""
    shares = count_splits(trees, space) / len(trees)
    order = shares.iloc[:-1].sort_values(["root", "anywhere"], ascending=False, kind="stable")
    return pd.concat([order, shares.iloc[-1:]])


def all_cuts(trees: Sequence[Tree], space: FeatureSpace) -> pd.DataFrame:
    """List every split of every tree, one row each."""
    rows = []
    for i, grown in enumerate(trees):
        tree = grown.in_space(space)
        for node in np.flatnonzero(~tree.is_leaf).tolist():
            j = int(tree.feature[node])
            codes, cats = tree.left_categories[node], space.categories[j]
            named = None
            if codes is not None and cats is not None:
                # A set and its complement are the same cut: write the smaller one.
                rest = tuple(sorted(set(range(len(cats))).difference(codes)))
                chosen = min(tuple(codes), rest, key=lambda s: (len(s), s))
                named = " or ".join(str(cats[c]) for c in chosen) or "(any)"
            name, depth = space.feature_labels[j], int(tree.node_depth[node])
            rows.append((i, name, depth, tree.threshold[node], named))
    columns = ["resample", "feature", "depth", "threshold", "categories"]
    return pd.DataFrame(rows, columns=columns)


def cut_point_table(cuts: pd.DataFrame, space: FeatureSpace, n_trees: int) -> pd.DataFrame:
    """Spread of the thresholds of each feature, over all splits on it."""
    rows = {}
    for j, name in enumerate(space.feature_labels):
        mine = cuts[cuts["feature"] == name]
        if mine.empty:
            continue
        row: dict[str, Any] = {
            "n_cuts": len(mine),
            "share_of_trees": mine["resample"].nunique() / n_trees,
        }
        values = mine["threshold"].to_numpy(dtype=np.float64)
        values = values[np.isfinite(values)]
        if space.categories[j] is not None:
            counted = mine["categories"].value_counts()
            row["most_common_set"] = counted.index[0]
            row["share_of_cuts"] = counted.iloc[0] / len(mine)
        elif values.size:
            at = np.quantile(values, [0, 0.25, 0.5, 0.75, 1])
            row |= zip(("min", "q25", "median", "q75", "max"), at, strict=True)
            row["sd"] = values.std(ddof=1) if values.size > 1 else np.nan
            # The interquartile range as a share of the feature's range.
            width = float(space.upper[j] - space.lower[j])
            row["relative_spread"] = (at[3] - at[1]) / width if width > 0 else 0.0
        rows[name] = row
    table = pd.DataFrame.from_dict(rows, orient="index").rename_axis("feature")
    if table.empty:
        return table
    return table.sort_values(["share_of_trees", "n_cuts"], ascending=False, kind="stable")


def importance_table(by_resample: pd.DataFrame) -> pd.DataFrame:
    """Mean, sd, min and max of each feature's importance, the most important first."""
    table = by_resample.agg(["mean", "std", "min", "max"]).T.rename(columns={"std": "sd"})
    table = table.rename_axis("feature")
    return table.sort_values("mean", ascending=False, kind="stable")


def top_feature_table(by_resample: pd.DataFrame) -> pd.DataFrame:
    """Count how often each feature is among the three most important (Section 3.5)."""
    times = pd.Series(0, index=by_resample.columns)
    for _, row in by_resample.iterrows():
        best = row[row > 0].sort_values(ascending=False, kind="stable").index[:TOP]
        times[best] += 1
    times = times[times > 0].sort_values(ascending=False, kind="stable")
    return pd.DataFrame({"times": times, "share": times / len(by_resample)}).rename_axis("feature")
