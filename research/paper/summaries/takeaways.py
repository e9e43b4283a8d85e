"""The paper's closing tables: takeaways, the tops of the selected trees, the first splits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from research.paper.runs import Results
from research.paper.settings import PROTOCOLS
from research.paper.summaries.paper import DATASET, METHOD, METHODS, PROTOCOL, SPLITS, studies
from research.paper.tables import Column, Table, mean, standard_error

__all__ = ["takeaway_tables"]

RULE_TITLES = {"balanced": "d of the bound, D = 12", "balanced_relative": "d as dissimilarity"}


def takeaway_tables(results: Results, sections: Mapping[str, Table]) -> list[Table]:
    """Tables of Sections 3.6 and 4.2.

    Parameters
    ----------
    results : Results
    sections : mapping
        The tables of the sections before, by name, which the takeaways sum up.
    """
    if not any(results.datasets("study", protocol) for protocol in PROTOCOLS):
        return []
    return [
        *_takeaways(results, sections),
        _balanced(results),
        _first_levels(results),
        *_split_frequencies(results),
    ]


def _takeaways(results: Results, sections: Mapping[str, Table]) -> list[Table]:
    summary, price = [], []
    for protocol in PROTOCOLS:
        names = results.datasets("study", protocol)
        for method in METHODS:
            at = {"protocol": protocol, "method": method}
            row: dict[str, Any] = {**at, "method_name": METHODS[method], "datasets": len(names)}
            for source, keys in (
                ("accuracy", ("auc", "auc_sd")),
                ("distances", ("distance", "bound", "pair", "dissimilarity")),
                ("importances", ("importance_spread", "top_features")),
                ("interpretability", ("nodes", "depth")),
            ):
                for key in keys:
                    row[key] = mean(r[key] for r in sections[source].where(**at))
            if names:
                summary.append(row)
        for name in names:
            price.append(_price(results.of("study", name, protocol), name, protocol))
    return [
        Table(
            "takeaways",
            "takeaways",
            "Means over the case studies",
            (
                PROTOCOL,
                METHOD,
                Column("auc", "AUC", "auc"),
                Column("auc_sd", "(mean sd)", "auc"),
                Column("distance", "Distance", "num"),
                Column("bound", "of the bound, D = 12", "small"),
                Column("pair", "of the bound, depth of the pair", "share"),
                Column("dissimilarity", "Dissimilarity", "share"),
                Column("importance_spread", "Feat. import. std.", "num"),
                Column("top_features", "Feat. in top 3", "num"),
                Column("nodes", "Nodes", "num"),
                Column("depth", "Depth", "num"),
            ),
            summary,
        ),
        Table(
            "price_of_stability",
            "takeaways",
            "What the distance-minimising tree gains and costs against the AUC-maximising one",
            (
                DATASET,
                PROTOCOL,
                SPLITS,
                Column("reduction", "Less distance", "share"),
                Column("reduction_se", "± se", "share"),
                Column("price", "AUC points lost", "points"),
                Column("price_se", "± se", "error"),
                Column("selected_reduction", "Selected: less distance", "share"),
                Column("selected_price", "Selected: AUC points lost", "points"),
            ),
            price,
            "Reduction of the mean distance (ratio of the means over the splits); price = AUC of "
            "Pareto AUC minus AUC of Pareto Distance on the reported rows, in points "
            "(hundredths). A negative price is a gain.",
        ),
    ]


def _price(units: Sequence[dict[str, Any]], name: str, protocol: str) -> dict[str, Any]:
    row: dict[str, Any] = {"dataset": name, "protocol": protocol, "splits": len(units)}
    best = [u["methods"]["pareto_auc"] for u in units]
    total = sum(b["distance"] for b in best)
    for method, prefix in (("pareto_distance", ""), ("selected", "selected_")):
        other = [u["methods"][method] for u in units]
        each = [
            1 - o["distance"] / b["distance"] if b["distance"] else 0.0
            for o, b in zip(other, best, strict=True)
        ]
        lost = [b["auc_report"] - o["auc_report"] for o, b in zip(other, best, strict=True)]
        row[f"{prefix}reduction"] = 1 - sum(o["distance"] for o in other) / total if total else None
        row[f"{prefix}reduction_se"] = standard_error(each)
        row[f"{prefix}price"] = mean(lost)
        row[f"{prefix}price_se"] = standard_error(lost)
    return row


def _balanced(results: Results) -> Table:
    rows = []
    for protocol, name, units in studies(results):
        for rule, title in RULE_TITLES.items():
            found = [u["methods"][rule] for u in units]
            same = [u["same_tree"][rule] for u in units]
            rows.append(
                {
                    "dataset": name,
                    "protocol": protocol,
                    "method": rule,
                    "method_name": title,
                    "splits": len(units),
                    **{f"same_{other}": mean(s[other] for s in same) for other in same[0]},
                    "auc": mean(f["auc_report"] for f in found),
                    "distance": mean(f["distance"] for f in found),
                    "dissimilarity": mean(f["dissimilarity"] for f in found),
                    "nodes": mean(f["nodes"] for f in found),
                }
            )
    return Table(
        "balanced_rule",
        "balanced",
        "The tree with the largest (AUC − d) / 2",
        (
            DATASET,
            PROTOCOL,
            METHOD,
            SPLITS,
            Column("same_pareto_auc", "Same tree as Pareto AUC", "share"),
            Column("same_pareto_distance", "as Pareto Distance", "share"),
            Column("same_selected", "as Selected", "share"),
            Column("auc", "AUC, reported rows", "auc"),
            Column("distance", "Distance", "num"),
            Column("dissimilarity", "Dissimilarity", "share"),
            Column("nodes", "Nodes", "num"),
        ),
        rows,
        "d is the mean distance over the bound with D = 12, which is so small beside an AUC that "
        "the rule may as well maximise the AUC; or the mean dissimilarity, between 0 and 1.",
    )


def _first_levels(results: Results) -> Table:
    rows = []
    for protocol, name, units in studies(results):
        common = _frequencies(units)
        for place in ("root", "left", "right"):
            node = units[0]["top"].get(place)
            if node is None:
                continue
            ranked = [feature for feature, *_ in common[place]]
            rank = ranked.index(node["feature"]) + 1 if node["feature"] in ranked else None
            rows.append(
                {"dataset": name, "protocol": protocol, "place": place, **node, "rank": rank}
            )
    return Table(
        "first_levels",
        "first-levels",
        "First two levels of the tree selected on the first split",
        (
            DATASET,
            PROTOCOL,
            Column("place", "Place"),
            Column("split", "Goes left if"),
            Column("share_of_rows", "Rows", "share"),
            Column("share_of_events", "Events", "share"),
            Column("label", "Label", "int"),
            Column("rank", "Rank of the feature among all trees", "int"),
        ),
        rows,
        "Selected: the least mean distance among AUCs within 2 % of the best. Rank 1 is the "
        "feature most often split on at that place over all trees and splits.",
    )


def _frequencies(
    units: Sequence[dict[str, Any]],
) -> dict[str, list[tuple[str, float, float | None]]]:
    """For each place the features with mean frequency and its standard error, most first."""
    found: dict[str, list[tuple[str, float, float | None]]] = {}
    for place in ("root", "left", "right"):
        shares = []
        for u in units:
            counts = u["first_splits"][place]
            total = sum(counts.values())
            shares.append({feature: count / total for feature, count in counts.items()})
        features = sorted({feature for share in shares for feature in share})
        listed = []
        for feature in features:
            values = [share.get(feature, 0.0) for share in shares]
            listed.append((feature, float(np.mean(values)), standard_error(values)))
        found[place] = sorted(listed, key=lambda item: (-item[1], item[0]))
    return found


def _split_frequencies(results: Results) -> list[Table]:
    wide, long = [], []
    for protocol, name, units in studies(results):
        for place, listed in _frequencies(units).items():
            row: dict[str, Any] = {"dataset": name, "protocol": protocol, "place": place}
            for rank, (feature, share, error) in enumerate(listed, start=1):
                long.append(
                    {
                        **{k: row[k] for k in ("dataset", "protocol", "place")},
                        "rank": rank,
                        "feature": feature,
                        "frequency": share,
                        "standard_error": error,
                    }
                )
                if rank <= 2:
                    row[f"feature_{rank}"] = feature
                    row[f"frequency_{rank}"] = share
                    row[f"se_{rank}"] = error
            wide.append(row)
    columns = (DATASET, PROTOCOL, Column("place", "Split"))
    return [
        Table(
            "split_frequencies",
            "split-frequencies",
            "The two features most often split on in the first two levels, over all trees",
            (
                *columns,
                Column("feature_1", "Feature 1"),
                Column("frequency_1", "Frequency", "share"),
                Column("se_1", "± se", "share"),
                Column("feature_2", "Feature 2"),
                Column("frequency_2", "Frequency", "share"),
                Column("se_2", "± se", "share"),
            ),
            wide,
            "Mean over the splits and its standard error. The trees of one bootstrap share most "
            "of their first splits, so the number of trees says little about the precision.",
        ),
        Table(
            "split_frequencies_all",
            "split-frequencies",
            "All features at each place",
            (
                *columns,
                Column("rank", "Rank", "int"),
                Column("feature", "Feature"),
                Column("frequency", "Frequency", "share"),
                Column("standard_error", "± se", "share"),
            ),
            long,
            on_page=False,
        ),
    ]
