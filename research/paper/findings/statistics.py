"""The numbers that claims are judged by, each computed from the long table alone.

A statistic takes the observations of one protocol and the parameters of the rule, and gives a
number; how sure it is comes from leaving splits out (`research.paper.findings.intervals`). Three
kinds: a *number* has an interval; an *exact* one has none (a proposition with one exception is
false, a maximum is the maximum); a *count of data sets* runs from those where the interval of
their own number says so to those where it does not say otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from research.paper.findings.intervals import Estimate, estimate, exact
from research.paper.findings.observed import Cells, Observed
from research.paper.published import CASE_STUDY_NAMES, TABLE_3
from steadytree.distance.equations import distance_bound

__all__ = ["STATISTICS", "Statistic"]

PLACES = ("root", "left", "right")
METHODS = ("pareto_auc", "pareto_distance")
CLEAR_REDUCTION, CLEAR_PRICE = 0.25, 0.01
"""A frontier is clear where its ends differ by a quarter of the distance and a point of AUC."""

Compute = Callable[..., float]


@dataclass(frozen=True)
class Statistic:
    """How one number is computed and how its interval is found.

    Attributes
    ----------
    kind : str
        The work it reads; empty where the rule names it (parameter ``kind``).
    compute : callable
        Of the observations and the rule's parameters. For a count of data sets: of one data
        set, a number that is positive where the data set counts.
    way : {"number", "exact", "sets"}
    """

    kind: str
    compute: Compute
    way: str = "number"

    def judge(
        self,
        observed: Observed,
        parameters: dict[str, Any],
        *,
        level: float,
        overlap: dict[str, float],
    ) -> Estimate | None:
        """Return the number with its interval; None where there are no observations."""
        given = dict(parameters)
        kind = self.kind or str(given.pop("kind"))
        # Judged on the paper's six case studies; the time-ordered sets are no part of them.
        seen = observed.of(kind, CASE_STUDY_NAMES)
        if not seen.datasets:
            return None
        if self.way == "exact":
            return exact(self.compute(seen, **given))

        def statistic(some: Observed) -> float:
            return self.compute(some, **given)

        if self.way == "number":
            return estimate(statistic, seen, level=level, overlap=overlap[kind])
        each = [
            estimate(statistic, seen.of(kind, [name]), level=level, overlap=overlap[kind])
            for name in seen.datasets
        ]
        return Estimate(
            value=float(sum(e.value > 0 for e in each)),
            low=float(sum(e.low > 0 for e in each)),
            high=float(sum(e.high > 0 for e in each)),
            splits=min(e.splits for e in each),
        )


def _mean(observed: Observed, name: str, method: str, measure: str) -> float:
    return float(observed.values(name, method, measure).mean())


def _only(observed: Observed) -> str:
    (name,) = observed.datasets
    return name


# -- means over the case studies ------------------------------------------------------------------


def less(
    observed: Observed, *, measure: str, method: str, than: str, average: str = "means"
) -> float:
    """Return how much smaller one method's mean is than another's, as a share.

    ``average="means"`` divides the means over the data sets, as the paper's Table 1; "sets" and
    "median" average the ratio of each data set.
    """
    pairs = np.array(
        [[_mean(observed, n, m, measure) for m in (method, than)] for n in observed.datasets]
    )
    if average == "means":
        return float(1 - pairs[:, 0].sum() / pairs[:, 1].sum())
    ratios = 1 - pairs[:, 0] / pairs[:, 1]
    return float(np.median(ratios) if average == "median" else ratios.mean())


def difference(observed: Observed, *, measure: str, method: str, than: str) -> float:
    """Return the mean over the data sets of one method's mean minus another's."""
    return float(
        np.mean(
            [
                _mean(observed, n, method, measure) - _mean(observed, n, than, measure)
                for n in observed.datasets
            ]
        )
    )


def mean_of(observed: Observed, *, measure: str) -> float:
    """Return the mean over the data sets of what belongs to no method."""
    return float(np.mean([_mean(observed, n, "", measure) for n in observed.datasets]))


def mean_ratio(observed: Observed, *, measure: str, method: Sequence[str], than: str) -> float:
    """Return the mean over data sets and methods of a method's mean over another's."""
    return float(
        np.mean(
            [
                _mean(observed, n, m, measure) / _mean(observed, n, than, measure)
                for n in observed.datasets
                for m in method
            ]
        )
    )


# -- counts of data sets --------------------------------------------------------------------------


def ahead(observed: Observed, *, measure: str, method: str, than: Sequence[str]) -> float:
    """Return the lead of a method over the best of the others, in one data set."""
    name = _only(observed)
    best = max(_mean(observed, name, other, measure) for other in than)
    return _mean(observed, name, method, measure) - best


def steadier(observed: Observed, *, measure: str, method: str, than: str) -> float:
    """Return the logarithm of one method's standard deviation over splits over another's."""
    name = _only(observed)
    own, other = (observed.values(name, m, measure).std(ddof=1) for m in (method, than))
    return float(np.log(other / own)) if own > 0 and other > 0 else float(other - own)


def within_factor(
    observed: Observed,
    *,
    measure: str,
    method: str,
    than: Sequence[str],
    between: tuple[float, float],
) -> float:
    """Return how far a factor lies inside its limits, in logarithms; the worst of the others."""
    name = _only(observed)
    factors = [
        np.log(_mean(observed, name, method, measure) / _mean(observed, name, other, measure))
        for other in than
    ]
    low, high = np.log(between)
    return float(min(min(f - low, high - f) for f in factors))


def larger(observed: Observed, *, measures: Sequence[str], method: str, than: str) -> float:
    """Return the smallest lead of a method over another in several measures, relative."""
    name = _only(observed)
    return float(
        min(_mean(observed, name, method, m) / _mean(observed, name, than, m) - 1 for m in measures)
    )


def _importances(observed: Observed, name: str, method: str) -> Any:
    """Return importances by split and feature."""
    found = observed.beginning(name, method, "importances/")
    features = sorted(found[0])
    return np.array([[split[feature] for feature in features] for split in found])


def _spread(observed: Observed, name: str, method: str) -> float:
    return float(_importances(observed, name, method).std(axis=0, ddof=1).mean())


def _top_features(observed: Observed, name: str, method: str) -> int:
    # A tree with fewer than three features has no third: features never used do not count.
    return len(
        {
            int(j)
            for row in _importances(observed, name, method)
            for j in np.argsort(-row, kind="stable")[:3]
            if row[j] > 0
        }
    )


def set_spread(observed: Observed, *, method: str, than: Sequence[str]) -> float:
    """Return by how much a method's importances vary less than those of all others."""
    name = _only(observed)
    return min(_spread(observed, name, m) for m in than) - _spread(observed, name, method)


def set_features(observed: Observed, *, method: str, than: str) -> float:
    """Return how many more distinct top-3 features a method has than another."""
    name = _only(observed)
    return float(_top_features(observed, name, method) - _top_features(observed, name, than))


def less_spread(observed: Observed, *, method: str, than: str) -> float:
    """Return the reduction of the mean spread of importances, as the paper's Table 1."""
    own, other = (
        np.mean([_spread(observed, n, m) for n in observed.datasets]) for m in (method, than)
    )
    return float(1 - own / other)


def fewer_top_features(observed: Observed, *, method: str, than: str) -> float:
    """Return the reduction of the mean number of distinct top-3 features."""
    own, other = (
        np.mean([_top_features(observed, n, m) for n in observed.datasets]) for m in (method, than)
    )
    return float(1 - own / other)


# -- the distance ---------------------------------------------------------------------------------


def relaxation_gap(observed: Observed) -> float:
    """Return the largest deviation of any linear program from Corollary 1.

    Of a variable from 0 or 1, under the paper's costs and under random ones, or of the optimum
    from the distance.
    """
    return max(
        float(observed.values(name, "", f"corollary_1/largest_{what}").max())
        for name in observed.datasets
        for what in ("deviation", "random_deviation", "difference")
    )


def beyond_the_bound(observed: Observed, *, bound: str) -> float:
    """Count pairs of trees beyond a bound, for every label weight looked at."""
    ending = f"/{bound}_violated"
    return float(
        sum(
            value
            for name in observed.datasets
            for split in observed.beginning(name, "", "proposition_2/")
            for measure, value in split.items()
            if measure.endswith(ending)
        )
    )


def violated_triangles(observed: Observed, *, label_weight: float) -> float:
    """Count triples of trees that violate the triangle inequality, in the splits looked at."""
    measure = f"geometry/triangle/paper_{label_weight:g}/violated"
    return float(
        sum(
            split.get(measure, 0.0)
            for name in observed.datasets
            for split in observed.beginning(name, "", "")
        )
    )


def _moved(observed: Observed, way: str) -> dict[float, float]:
    """Mean distance over the bound of the tree's depth, by size of the perturbation."""
    # Trees on codes are trees of their own; clipped or not, the others are the same.
    owner = "codes" if way.startswith("codes") else ""
    prefix = "distance/"

    def shares(cells: Cells) -> dict[float, float]:
        bound = distance_bound(int(cells[owner, "depth"]))
        return {
            float(measure.removeprefix(prefix)): value / bound
            for (of, measure), value in cells.items()
            if of == way and measure.startswith(prefix)
        }

    each = [m for name in observed.datasets for m in observed.of_each(name, (way, _moved), shares)]
    sizes = sorted(each[0])
    means = np.array([[moved[size] for size in sizes] for moved in each]).mean(axis=0)
    return dict(zip(sizes, means.tolist(), strict=True))


def straightness(observed: Observed, *, way: str) -> float:
    """Return R² of a line through the mean distances against the perturbation."""
    moved = _moved(observed, way)
    return float(np.corrcoef(list(moved), list(moved.values()))[0, 1] ** 2)


def perturbed_distance(observed: Observed, *, way: str) -> float:
    """Return the mean distance at the largest perturbation, as a share of the bound."""
    moved = _moved(observed, way)
    return moved[max(moved)]


def trend(observed: Observed, *, measure: str) -> float:
    """Return the slope of the distance against the share of rows replaced, over its mean.

    0: no trend; 1: from nothing replaced to all, the distance grows by its own mean.
    """
    slopes = []
    for name in observed.datasets:
        for split in observed.beginning(name, "", f"{measure}/"):
            shares = np.array([float(share) for share in split])
            values = np.array(list(split.values()))
            if values.mean() > 0:
                slopes.append(np.polyfit(shares, values / values.mean(), 1)[0])
    return float(np.mean(slopes))


def largest_distance(observed: Observed, *, measure: str) -> float:
    """Return the largest mean distance of the two Pareto trees, breast cancer left out."""
    return max(
        _mean(observed, n, m, measure) for n in observed.datasets if n != "wdbc" for m in METHODS
    )


def breast_cancer_ahead(observed: Observed, *, measure: str) -> float:
    """Return how far breast cancer's larger mean distance lies above that of all others."""
    own = max(_mean(observed, "wdbc", m, measure) for m in METHODS)
    return own - largest_distance(observed, measure=measure)


# -- frontiers and first splits -------------------------------------------------------------------


def largest_frontier(observed: Observed) -> float:
    """Return the largest frontier of any split."""
    return max(float(observed.values(n, "", "frontier_size").max()) for n in observed.datasets)


def frontiers_as_in_the_paper(observed: Observed) -> float:
    """Count the case studies whose frontier is clear here as in the paper, or here as little."""
    corner = {"REBOA", "Splenic injury"}
    agreed = 0
    for name in observed.datasets:
        one = observed.of("study", [name])
        reduction = less(one, measure="distance", method=METHODS[1], than=METHODS[0])
        price = difference(one, measure="auc_report", method=METHODS[0], than=METHODS[1])
        clear = reduction >= CLEAR_REDUCTION and price >= CLEAR_PRICE
        agreed += clear == (CASE_STUDY_NAMES[name] not in corner)
    return float(agreed)


def _frequencies(observed: Observed, name: str, place: str) -> dict[str, float]:
    """Mean share of the trees that split on each feature at a place, most frequent first."""
    shares: dict[str, list[float]] = {}
    splits = observed.beginning(name, "", f"first_splits/{place}/")
    for split in splits:
        count = sum(split.values())
        for feature, n in split.items():
            shares.setdefault(feature, []).append(n / count)
    means = {feature: sum(values) / len(splits) for feature, values in shares.items()}
    return dict(sorted(means.items(), key=lambda item: (-item[1], item[0])))


def beyond_chance(observed: Observed) -> float:
    """Return first splits of the selected trees on common features, beyond a random tree's.

    Common: one of the two features most frequent at that place over all trees and splits. Of
    three per data set; mean over the splits, added over the data sets.
    """
    found = 0.0
    for name in observed.datasets:
        for place in PLACES:
            frequency = _frequencies(observed, name, place)
            common = list(frequency)[:2]
            chosen = observed.beginning(name, "", f"top/{place}/feature/")
            hits = np.mean([any(feature in split for feature in common) for split in chosen])
            found += float(hits) - sum(frequency[feature] for feature in common)
    return found


def features_in_order(observed: Observed, *, dataset: str) -> float:
    """Count the places and ranks of the paper's Table 3 that have the same feature here."""
    table = TABLE_3[CASE_STUDY_NAMES[dataset]]
    return float(
        sum(
            ours == theirs
            for place, two in table.items()
            for ours, (theirs, _) in zip(_frequencies(observed, dataset, place), two, strict=False)
        )
    )


def largest_frequency_difference(observed: Observed, *, dataset: str) -> float:
    """Return the largest difference from the frequencies of the paper's Table 3."""
    table = TABLE_3[CASE_STUDY_NAMES[dataset]]
    return max(
        abs(_frequencies(observed, dataset, place).get(feature, 0.0) - share)
        for place, two in table.items()
        for feature, share in two
    )


STATISTICS = {
    "less": Statistic("", less),
    "mean_of": Statistic("", mean_of),
    "difference": Statistic("study", difference),
    "mean_ratio": Statistic("study", mean_ratio),
    "less_spread": Statistic("study", less_spread),
    "fewer_top_features": Statistic("study", fewer_top_features),
    "largest_distance": Statistic("study", largest_distance),
    "breast_cancer_ahead": Statistic("study", breast_cancer_ahead),
    "beyond_chance": Statistic("study", beyond_chance),
    "largest_frequency_difference": Statistic("study", largest_frequency_difference),
    "straightness": Statistic("direct", straightness),
    "perturbed_distance": Statistic("direct", perturbed_distance),
    "trend": Statistic("indirect", trend),
    "sets_ahead": Statistic("study", ahead, "sets"),
    "sets_steadier": Statistic("study", steadier, "sets"),
    "sets_with_factor": Statistic("study", within_factor, "sets"),
    "sets_larger": Statistic("study", larger, "sets"),
    "sets_with_less_spread": Statistic("study", set_spread, "sets"),
    "sets_with_more_features": Statistic("study", set_features, "sets"),
    "violated_triangles": Statistic("study", violated_triangles, "exact"),
    "relaxation_gap": Statistic("propositions", relaxation_gap, "exact"),
    "beyond_the_bound": Statistic("propositions", beyond_the_bound, "exact"),
    "largest_frontier": Statistic("study", largest_frontier, "exact"),
    "frontiers_as_in_the_paper": Statistic("study", frontiers_as_in_the_paper, "exact"),
    "features_in_order": Statistic("study", features_in_order, "exact"),
}
"""By the name that the rules use."""
