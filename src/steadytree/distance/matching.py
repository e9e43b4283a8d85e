"""Which rule of one tree corresponds to which rule of the other, and at what cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from steadytree._views import notebook_view
from steadytree.core.paths import Paths, coordinate_start
from steadytree.core.space import FeatureSpace
from steadytree.core.words import PLAIN
from steadytree.distance.bound import distance_bound
from steadytree.distance.options import DistanceOptions, check_options, paths_of
from steadytree.distance.variants import assign, cost_matrix, mass, outcome_vectors

__all__ = ["CostPart", "MatchedPair", "PathMatching", "UnmatchedPath", "match_paths"]


@dataclass(frozen=True)
class CostPart:
    """One feature's share of a pair's cost.

    ``side`` is "upper" or "lower" (bounds), "categories", or "missing" (whether missing
    values pass).
    """

    feature: int
    name: str
    side: str
    cost: float


@dataclass(frozen=True)
class MatchedPair:
    """A path of the first tree and its partner in the second."""

    path_a: int
    path_b: int
    leaf_a: int
    leaf_b: int
    cost: float
    outcome_cost: float
    parts: tuple[CostPart, ...]

    @property
    def feature_cost(self) -> float:
        """Cost of the different conditions, without the outcome."""
        return float(sum(part.cost for part in self.parts))


@dataclass(frozen=True)
class UnmatchedPath:
    """A path of the larger tree that has no partner; ``tree`` is "a" or "b"."""

    tree: str
    path: int
    leaf: int
    cost: float


@dataclass(frozen=True, repr=False)
class PathMatching:
    """The optimal matching of two trees' paths, eq. (distance).

    Attributes
    ----------
    distance : float
        Normalised as asked; the sum of all costs otherwise.
    relative : float
        Dissimilarity in [0, 1] (``variant="metric", normalize="relative"``), whatever
        variant the matching is for: 0 means the same rules.
    pairs : tuple of MatchedPair
        By path of the first tree.
    unmatched : tuple of UnmatchedPath
    a, b : Paths
    """

    distance: float
    relative: float
    pairs: tuple[MatchedPair, ...]
    unmatched: tuple[UnmatchedPath, ...]
    a: Paths
    b: Paths
    options: DistanceOptions

    def to_frame(self) -> pd.DataFrame:
        """One row per pair or unmatched path: both rules in words, the cost, its parts."""
        rows: list[dict[str, Any]] = [
            {
                "rule_a": self.a.rule_text(pair.path_a),
                "rule_b": self.b.rule_text(pair.path_b),
                "leaf_a": pair.leaf_a,
                "leaf_b": pair.leaf_b,
                "cost": pair.cost,
                "feature_cost": pair.feature_cost,
                "outcome_cost": pair.outcome_cost,
            }
            for pair in self.pairs
        ]
        for lone in self.unmatched:
            own = self.a if lone.tree == "a" else self.b
            rows.append(
                {
                    f"rule_{lone.tree}": own.rule_text(lone.path),
                    f"leaf_{lone.tree}": lone.leaf,
                    "cost": lone.cost,
                    "feature_cost": lone.cost,
                    "outcome_cost": 0.0,
                }
            )
        columns = ["rule_a", "rule_b", "leaf_a", "leaf_b", "cost", "feature_cost", "outcome_cost"]
        return pd.DataFrame(rows, columns=columns).astype({"leaf_a": "Int64", "leaf_b": "Int64"})

    def __repr__(self) -> str:
        return (
            f"PathMatching(distance={self.distance:.6g}, "
            f"dissimilarity={PLAIN.percent(self.relative, 1)}, "
            f"{len(self.pairs)} pairs, {len(self.unmatched)} unmatched)"
        )

    def __str__(self) -> str:
        lines = [repr(self)]
        for pair in self.pairs:
            lines.append(f"  {self.a.rule_text(pair.path_a)}")
            if pair.cost == 0:
                lines.append("    = the same rule")
                continue
            lines.append(f"    -> {self.b.rule_text(pair.path_b)}")
            causes = [f"{p.name} ({p.side}) {p.cost:.3g}" for p in pair.parts]
            causes += [f"outcome {pair.outcome_cost:.3g}"] if pair.outcome_cost else []
            lines.append(f"    cost {pair.cost:.3g}: {', '.join(causes)}")
        for lone in self.unmatched:
            own, which = (self.a, "first") if lone.tree == "a" else (self.b, "second")
            lines.append(f"  only in the {which} tree: {own.rule_text(lone.path)}")
            lines.append(f"    cost {lone.cost:.3g}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return notebook_view(self)


def match_paths(
    a: Any,
    b: Any,
    *,
    space: FeatureSpace | None = None,
    variant: str = "paper",
    label_weight: float | str = 1.0,
    outcome: str = "label",
    normalize: str | None = None,
    max_depth: int | None = None,
    merge_equal_siblings: bool = False,
) -> PathMatching:
    r"""Match the rules of two trees at the least total cost.

    Solves eq. (distance) of the paper,

    .. math:: \min_x \sum_{p,q} d(p,q)\, x_{pq} + \sum_p c(p)\, x_p,

    where every path of the smaller tree is matched with one of the larger, and paths of
    the larger tree may stay unmatched at cost c(p).

    Parameters
    ----------
    a, b : model, Tree or path of a tree file
    space, variant, label_weight, outcome, normalize, max_depth, merge_equal_siblings :
        As for :func:`tree_distance`.

    Returns
    -------
    PathMatching

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import steadytree as st
    >>> X, y = load_iris(return_X_y=True)
    >>> a = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X[::2], y[::2])
    >>> b = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    >>> len(st.match_paths(a, b, space=st.FeatureSpace.from_data(X)).pairs)
    3
    """
    options = check_options(
        variant=variant,
        label_weight=label_weight,
        outcome=outcome,
        normalize=normalize,
        max_depth=max_depth,
        merge_equal_siblings=merge_equal_siblings,
    )
    left, right = paths_of([a, b], space, options)
    return match_aligned(left, right, options)


def match_aligned(a: Paths, b: Paths, options: DistanceOptions) -> PathMatching:
    """Match paths that are already in one space with one list of classes."""
    cost = cost_matrix(a, b, options)
    rows, columns, price = assign(a, b, cost, options)
    outcome = np.abs(outcome_vectors(a, options)[rows] - outcome_vectors(b, options)[columns]).sum(
        axis=1
    )
    order = np.argsort(rows, kind="stable")
    explain = _Explainer(a.space)
    dense_a, dense_b = _Rows(a), _Rows(b)
    pairs = []
    for i in order.tolist():
        p, q = int(rows[i]), int(columns[i])
        parts = explain.parts(dense_a.row(p), dense_b.row(q))
        term = float(outcome[i])
        pairs.append(
            MatchedPair(
                p,
                q,
                int(a.leaf[p]),
                int(b.leaf[q]),
                term + sum(part.cost for part in parts),
                term,
                parts,
            )
        )
    larger, name = (a, "a") if a.n_paths >= b.n_paths else (b, "b")
    taken = set((rows if name == "a" else columns).tolist())
    unmatched = tuple(
        UnmatchedPath(name, p, int(larger.leaf[p]), float(price[p]))
        for p in range(larger.n_paths)
        if p not in taken
    )
    total = sum(pair.cost for pair in pairs) + sum(lone.cost for lone in unmatched)
    return PathMatching(
        distance=_normalised(total, a, b, options),
        relative=_dissimilarity(a, b, options, total),
        pairs=tuple(pairs),
        unmatched=unmatched,
        a=a,
        b=b,
        options=options,
    )


def relative_distance(distance: Any, mass_a: Any, mass_b: Any) -> Any:
    """2d / (m(a) + m(b) + d), in [0, 1]; 0 where there is nothing to compare."""
    total = mass_a + mass_b + distance
    return np.where(total > 0, 2 * distance / np.where(total > 0, total, 1.0), 0.0)


def _normalised(total: float, a: Paths, b: Paths, options: DistanceOptions) -> float:
    if options.normalize == "bound":
        assert options.max_depth is not None
        bound = distance_bound(options.max_depth, options.label_weight)
        return total / bound if bound > 0 else total
    if options.normalize == "relative":
        weight = options.label_weight
        return float(relative_distance(total, mass(a, weight), mass(b, weight)))
    return float(total)


def _dissimilarity(a: Paths, b: Paths, options: DistanceOptions, total: float) -> float:
    """Relative metric distance, solved anew where the matching is for another variant."""
    metric = DistanceOptions(
        "metric", options.label_weight, options.outcome, "relative", None, False
    )
    if options.variant != "metric":
        cost = cost_matrix(a, b, metric)
        rows, columns, price = assign(a, b, cost, metric)
        taken = rows if a.n_paths >= b.n_paths else columns
        total = float(cost[rows, columns].sum() + np.delete(price, taken).sum())
    return _normalised(total, a, b, metric)


class _Rows:
    """Sparse access to one path's tightenings."""

    def __init__(self, paths: Paths) -> None:
        self.paths = paths

    def row(self, p: int) -> dict[int, float]:
        span = slice(self.paths.indptr[p], self.paths.indptr[p + 1])
        return dict(
            zip(self.paths.coord[span].tolist(), self.paths.tightening[span].tolist(), strict=True)
        )


class _Explainer:
    """Split the feature part of a pair's cost by feature and side."""

    def __init__(self, space: FeatureSpace) -> None:
        self.space = space
        self.start: NDArray[np.int64] = coordinate_start(space)

    def parts(self, x: dict[int, float], y: dict[int, float]) -> tuple[CostPart, ...]:
        found: dict[tuple[int, str], float] = {}
        for coord in sorted(set(x) | set(y)):
            difference = abs(x.get(coord, 0.0) - y.get(coord, 0.0)) / 2
            if difference == 0:
                continue
            j = int(np.searchsorted(self.start, coord, side="right")) - 1
            key = (j, self._side(j, coord - int(self.start[j])))
            found[key] = found.get(key, 0.0) + difference
        return tuple(
            CostPart(j, self.space.feature_labels[j], side, cost)
            for (j, side), cost in found.items()
        )

    def _side(self, j: int, offset: int) -> str:
        cats = self.space.categories[j]
        if cats is not None:
            return "categories" if offset < len(cats) else "missing"
        return ("upper", "lower", "missing", "missing")[offset]
