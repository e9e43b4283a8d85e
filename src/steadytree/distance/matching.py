"""Which rule of one tree corresponds to which rule of the other, and at what cost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from steadytree.distance._solver import match, pairwise
from steadytree.distance.distances import normalised
from steadytree.distance.equations import (
    DistanceOptions,
    Measure,
    check_options,
    in_quanta,
    paths_of,
)
from steadytree.tree.paths import Paths
from steadytree.tree.space import FeatureSpace
from steadytree.tree.walk import Boxes
from steadytree.tree.words import PLAIN


@dataclass(frozen=True)
class CostPart:
    """One feature's share of a pair's cost.

    Attributes
    ----------
    feature : int
    name : str
    side : {"upper", "lower", "categories", "missing"}
        A bound, the categories, or whether missing values pass.
    cost : float

    Examples
    --------
    >>> import steadytree as st
    >>> space = st.FeatureSpace.from_data([[20.0], [70.0]]).replace(names=("age",))
    >>> old, new = (
    ...     st.tree_from_rules(f'''
    ...     age <= {cut}: no
    ...     else: yes
    ...     ''')
    ...     for cut in (50, 55)
    ... )
    >>> part = st.match_paths(old, new, space=space).pairs[0].parts[0]
    >>> part.name, part.side, round(part.cost, 6)
    ('age', 'upper', 0.05)
    """

    feature: int
    name: str
    side: str
    cost: float


@dataclass(frozen=True)
class MatchedPair:
    """A path of the first tree and its partner in the second.

    Attributes
    ----------
    path_a, path_b : int
        Numbers of the paths among those of their trees, left to right.
    leaf_a, leaf_b : int
        Node numbers of their leaves.
    cost : float
        What the pair costs: its parts and its outcome.
    outcome_cost : float
        What other labels, or other responses, cost.
    parts : tuple of CostPart

    Examples
    --------
    >>> import steadytree as st
    >>> space = st.FeatureSpace.from_data([[20.0], [70.0]]).replace(names=("age",))
    >>> old, new = (
    ...     st.tree_from_rules(f'''
    ...     age <= {cut}: no
    ...     else: yes
    ...     ''')
    ...     for cut in (50, 55)
    ... )
    >>> pair = st.match_paths(old, new, space=space).pairs[0]
    >>> round(pair.feature_cost, 6), pair.outcome_cost
    (0.05, 0.0)
    """

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
    """A path of the larger tree that has no partner.

    Attributes
    ----------
    tree : {"a", "b"}
    path, leaf : int
        Number of the path among those of its tree, and of its leaf among the nodes.
    cost : float

    Examples
    --------
    >>> import steadytree as st
    >>> space = st.FeatureSpace.from_data([[20.0], [70.0]]).replace(names=("age",))
    >>> tree = st.tree_from_rules('''
    ... age <= 50: no
    ... else: yes
    ... ''')
    >>> lone = st.match_paths(tree.truncate(0), tree, space=space).unmatched
    >>> [(path.tree, path.path) for path in lone]
    [('b', 1)]
    """

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
    options : DistanceOptions
        What was asked for: variant, label weight, normalisation.

    Examples
    --------
    >>> import steadytree as st
    >>> space = st.FeatureSpace.from_data([[20.0], [70.0]]).replace(names=("age",))
    >>> old, new = (
    ...     st.tree_from_rules(f'''
    ...     age <= {cut}: no
    ...     else: yes
    ...     ''')
    ...     for cut in (50, 55)
    ... )
    >>> print(st.match_paths(old, new, space=space))
    PathMatching(distance=0.1, dissimilarity=6.5 %, 2 pairs, 0 unmatched)
      age <= 50: no
        -> age <= 55: no
        cost 0.05: age (upper) 0.05
      age > 50: yes
        -> age > 55: yes
        cost 0.05: age (lower) 0.05
    """

    distance: float
    relative: float
    pairs: tuple[MatchedPair, ...]
    unmatched: tuple[UnmatchedPath, ...]
    a: Paths
    b: Paths
    options: DistanceOptions

    def to_frame(self) -> pd.DataFrame:
        """One row per pair or unmatched path: both rules in words, the cost, its parts.

        Returns
        -------
        DataFrame
            Columns: rule_a, rule_b, leaf_a, leaf_b, cost, feature_cost, outcome_cost.
        """
        columns = ["rule_a", "rule_b", "leaf_a", "leaf_b", "cost", "feature_cost", "outcome_cost"]
        rows: list[dict[str, Any]] = []
        for pair in self.pairs:
            rules = self.a.rule_text(pair.path_a), self.b.rule_text(pair.path_b)
            values = [*rules, *(getattr(pair, name) for name in columns[2:])]
            rows.append(dict(zip(columns, values, strict=True)))
        for lone in self.unmatched:
            own = self.a if lone.tree == "a" else self.b
            rule = {f"rule_{lone.tree}": own.rule_text(lone.path), f"leaf_{lone.tree}": lone.leaf}
            costs = {"cost": lone.cost, "feature_cost": lone.cost, "outcome_cost": 0.0}
            rows.append(rule | costs)
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


# The options are spelt out as in tree_distance, for help() and editors.
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
        variant, label_weight, outcome, normalize, max_depth, merge_equal_siblings
    )
    a, b = paths_of([a, b], space, options)
    measure = Measure.of(options)
    (left, right), coordinates = in_quanta([a, b], measure)
    found = match(left, right)
    start = np.array(Boxes(a.space).start, dtype=np.int64)
    pairs = []
    for p, q in sorted(zip(found.rows.tolist(), found.columns.tolist(), strict=True)):
        features = np.abs(left.x[p] - right.x[q])
        pairs.append(
            MatchedPair(
                path_a=p,
                path_b=q,
                leaf_a=int(a.leaf[p]),
                leaf_b=int(b.leaf[q]),
                cost=float(found.cost[p, q]) * measure.quantum,
                outcome_cost=float(found.cost[p, q] - features.sum()) * measure.quantum,
                parts=_parts(a.space, start, coordinates, features, measure.quantum),
            )
        )
    larger, name, taken = (a, "a", found.rows)
    if b.n_paths > a.n_paths:
        larger, name, taken = (b, "b", found.columns)
    lone = np.delete(np.arange(larger.n_paths), taken)
    unmatched = tuple(
        UnmatchedPath(name, p, int(larger.leaf[p]), int(found.price[p]) * measure.quantum)
        for p in lone.tolist()
    )
    metric = replace(options, variant="metric", normalize="relative")
    raw = np.array([[found.total * measure.quantum]])
    raw_metric = raw if options.variant == "metric" else pairwise([a], [b], Measure.of(metric))
    return PathMatching(
        distance=float(normalised(raw, [a], [b], options)[0, 0]),
        relative=float(normalised(raw_metric, [a], [b], metric)[0, 0]),
        pairs=tuple(pairs),
        unmatched=unmatched,
        a=a,
        b=b,
        options=options,
    )


def _parts(
    space: FeatureSpace,
    start: NDArray[np.int64],
    coordinates: NDArray[np.int64],
    amounts: NDArray[np.float64],
    quantum: float,
) -> tuple[CostPart, ...]:
    """Split the feature part of a pair's cost, in quanta by coordinate, by feature and side."""
    found: dict[tuple[int, str], float] = {}
    for k in amounts.nonzero()[0].tolist():
        j = int(np.searchsorted(start, coordinates[k], side="right")) - 1
        offset, categories = int(coordinates[k] - start[j]), space.categories[j]
        if categories is None:
            side = ("upper", "lower", "missing", "missing")[offset]
        else:
            side = "categories" if offset < len(categories) else "missing"
        found[j, side] = found.get((j, side), 0.0) + float(amounts[k])
    return tuple(
        CostPart(j, space.feature_labels[j], side, amount * quantum)
        for (j, side), amount in found.items()
    )
