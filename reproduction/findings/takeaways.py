"""The claims of Sections 3.6 and 4.2, judged."""

from __future__ import annotations

from reproduction import published
from reproduction.findings.judge import (
    Finding,
    Tables,
    by_majority,
    change_text,
    count_text,
    points,
    share,
)
from reproduction.settings import PROTOCOLS
from reproduction.tables import mean

__all__ = ["takeaway_findings"]


def takeaway_findings(tables: Tables) -> list[Finding]:
    """Judge the price of stability, its side effects, and the selected trees."""
    return [finding for rule in (_takeaways, _splits, _representative) for finding in rule(tables)]


def _takeaways(tables: Tables) -> list[Finding]:
    found = []
    for protocol in PROTOCOLS if "price_of_stability" in tables else ():
        rows = tables["price_of_stability"].where(protocol=protocol)
        if not rows:
            continue
        reduction = mean(r["reduction"] for r in rows)
        price = mean(r["price"] for r in rows)
        assert reduction is not None
        assert price is not None
        gain, cost = reduction >= 0.25, 0.02 <= price <= 0.06
        verdict = ("does not hold", "holds in part", "holds")[gain + cost]
        gained = "as large as" if gain else "smaller than"
        if price < 0.01:
            paid = "it is almost free: the closest tree predicts about as well"
        elif cost:
            paid = "its price is of the size the paper reports"
        else:
            paid = "its price is not of the size the paper reports"
        found.append(
            Finding(
                "takeaways",
                protocol,
                "A 38 % improvement in stability costs 0.04 (4.6 %) in AUC.",
                "38 % less distance for 3.7 AUC points",
                f"{change_text(reduction, 'distance')} for {points(price)} points (mean of "
                f"{len(rows)} data sets)",
                verdict,
                f"The gain in stability is {gained} the paper reports; {paid}.",
            )
        )
        found += _reductions(tables, protocol)
    return found


def _reductions(tables: Tables, protocol: str) -> list[Finding]:
    """Side effects of choosing the closest tree, from the means of Table 1."""
    best, least = (
        tables["takeaways"].where(protocol=protocol, method=method)[0]
        for method in ("pareto_auc", "pareto_distance")
    )
    names = {
        "importance_spread": "spread of importances",
        "top_features": "distinct top-3 features",
        "nodes": "nodes",
        "depth": "depth",
    }
    theirs, ours, same = [], [], 0
    for key, name in names.items():
        paper = 1 - (
            published.TAKEAWAYS["pareto_distance"][key] / published.TAKEAWAYS["pareto_auc"][key]
        )
        value = 1 - least[key] / best[key] if best[key] and least[key] is not None else None
        theirs.append(f"{name} {_signed(-paper)}")
        ours.append(f"{name} {_signed(None if value is None else -value)}")
        same += value is not None and value > 0
    return [
        Finding(
            "takeaways",
            protocol,
            "The distance-minimising tree also has a smaller spread of importances, fewer "
            "important features, fewer nodes and less depth.",
            ", ".join(theirs),
            ", ".join(ours),
            by_majority(same, len(names)),
            f"{same} of the {len(names)} side effects have the sign the paper reports.",
        )
    ]


def _signed(change: float | None) -> str:
    return f"+{share(change)}" if change is not None and change > 0 else share(change)


def _splits(tables: Tables) -> list[Finding]:
    """Compare the split frequencies on breast cancer, the only data that are the paper's own."""
    if "split_frequencies_all" not in tables:
        return []
    rows = tables["split_frequencies_all"].where(dataset="wdbc", protocol="paper")
    if not rows:
        return []
    found = []
    for place, pairs in published.SPLIT_FREQUENCIES.items():
        theirs, ours, near = [], [], 0
        for feature, frequency in pairs:
            row = next((r for r in rows if r["place"] == place and r["feature"] == feature), None)
            ours_here = row["frequency"] if row else 0.0
            error = row["standard_error"] if row else 0.0
            theirs.append(f"{feature} {share(frequency)}")
            ours.append(f"{feature} {share(ours_here)} ± {share(error)}")
            near += error is not None and abs(ours_here - frequency) <= 2 * error
        first = next(r["feature"] for r in rows if r["place"] == place)
        words = (
            "the same feature as in the paper"
            if first == pairs[0][0]
            else f"{first} here, {pairs[0][0]} in the paper"
        )
        found.append(
            Finding(
                "split-frequencies",
                "paper",
                f"Breast cancer, most frequent features at the {place} split.",
                ", ".join(theirs),
                ", ".join(ours),
                ("does not hold", "holds in part", "holds")[near],
                f"{near} of {len(pairs)} frequencies lie within two standard errors of the "
                f"paper's; the most frequent feature is {words}.",
            )
        )
    return found


def _representative(tables: Tables) -> list[Finding]:
    found = []
    for protocol in PROTOCOLS if "first_levels" in tables else ():
        rows = tables["first_levels"].where(protocol=protocol)
        if not rows:
            continue
        common = sum(r["rank"] is not None and r["rank"] <= 2 for r in rows)
        found.append(
            Finding(
                "first-levels",
                protocol,
                "The selected trees split on the features that all trees split on most.",
                "13 of 18 first splits on one of the two most frequent features",
                f"{count_text(common, len(rows))} first splits",
                "holds"
                if 18 * common >= 13 * len(rows)
                else "holds in part"
                if 2 * common >= len(rows)
                else "does not hold",
                f"{common} of the {len(rows)} first splits of the selected trees are on one of the "
                "two features most frequent at that place.",
            )
        )
    return found
