"""From a result to one plain dictionary that holds everything the report shows.

Nothing that is not in this dictionary reaches the page, so what may be shown (no row of data,
no cell of fewer than ``min_cell`` people) is decided here and in the modules it calls.
"""

from __future__ import annotations

import math
from typing import Any

from scipy.stats import norm

from steadytree.core.tree import Tree
from steadytree.core.words import PAGE, clean
from steadytree.diff import TreeDiff, diff_trees
from steadytree.diff.words import split_words
from steadytree.exceptions import InputError
from steadytree.report.disclosure import PeopleCount, coarse_share, mask_partition
from steadytree.report.frontier_data import frontier_data
from steadytree.report.people import By, people_data
from steadytree.report.provenance import (
    Entry,
    data_entries,
    entry,
    settings_entries,
    tree_entry,
    versions_entries,
)
from steadytree.report.rule_table import RuleTable
from steadytree.report.trees import features_data, tree_data, used_features
from steadytree.retraining import Retraining
from steadytree.retraining.explanation import whom_words

__all__ = ["SCHEMA_NAME", "SCHEMA_VERSION", "summarise"]

SCHEMA_NAME = "steadytree-report"
SCHEMA_VERSION = 1


def summarise(
    result: Any,
    *,
    title: str | None = None,
    subgroups: By = (),
    min_cell: int = 5,
    level: float = 0.95,
) -> dict[str, Any]:
    """Put everything the report shows into one dictionary of plain values.

    Parameters
    ----------
    result : Retraining, TreeDiff or fitted StableTreeClassifier or StableTreeRegressor
    title : str, optional
        Heading of the page.
    subgroups : sequence of str, or mapping of str to column, array or function
        Columns to report changed decisions and performance by (Retraining only).
    min_cell : int, default 5
        Numbers about fewer people are masked.
    level : float, default 0.95
        Coverage of the intervals.

    Returns
    -------
    dict
        JSON-able; its layout is given by ``summary.schema.json`` in this package. Top level:

        ``schema``, ``version``, ``kind`` ("retraining", "diff" or "stable"), ``title``,
        ``task``, ``classes``, ``decision_threshold``, ``min_cell``, ``n_rows``;
        ``names`` (of the old and new tree), ``headline`` (``sentences``, ``facts``);
        ``dissimilarity``, ``counts`` (rules by status), ``split_changes`` (in words),
        ``predictors`` (gained, lost); ``features``; ``trees`` (``old`` or null, ``new``);
        ``rules`` (one entry per rule: number, status, changes, and for either tree its
        conditions, outcome, share of rows and outcome rate); ``people`` (changed decisions
        and performance, in total and by subgroup; null without rows); ``frontier``
        (candidates with costs and compact trees; or null); ``provenance`` (labels and
        values); ``notes``.
    """
    if min_cell < 1:
        raise InputError(f"expected min_cell of 1 or more, got {min_cell}")
    if isinstance(result, Retraining):
        return _summarise_retraining(result, title, subgroups, min_cell, level)
    if isinstance(result, TreeDiff):
        return _summarise_diff(result, title, min_cell)
    if hasattr(result, "candidates_") and hasattr(result, "best_index_"):
        return _summarise_stable(result, title, min_cell)
    raise InputError(
        "expected a Retraining, a TreeDiff or a fitted StableTree estimator for a report, "
        f"got {type(result).__name__}; compare two trees with diff_trees(old, new) first"
    )


# -- the three kinds -------------------------------------------------------------------


def _summarise_diff(diff: TreeDiff, title: str | None, min_cell: int) -> dict[str, Any]:
    names = ("Old tree", "New tree")
    out = _base("diff", title or "What changed between two decision trees", diff, min_cell, names)
    flips = None
    if diff.flips is not None and diff.n_rows is not None:
        changed = PeopleCount.of(diff.flips * diff.n_rows, diff.n_rows, min_cell)
        flips = _flips_fact(changed, min_cell, "rows")
    out["headline"] = {
        "sentences": [_change_sentence(diff, "The new tree", "the old one")],
        "facts": [_dissimilarity_fact(diff), _rules_fact(diff), *([flips] if flips else [])],
    }
    out["provenance"] = [
        tree_entry("Old tree", diff.old),
        tree_entry("New tree", diff.new),
        entry("Feature space", f"{diff.space.n_features} features, {diff.space.digest()}"),
        *([entry("Rows counted", f"{diff.n_rows:,}")] if diff.n_rows else []),
        *versions_entries(),
    ]
    return out


def _summarise_retraining(
    result: Retraining, title: str | None, subgroups: By, min_cell: int, level: float
) -> dict[str, Any]:
    diff = result.diff
    names = ("Deployed tree", "Proposed tree")
    heading = title or "Proposed update of a deployed decision tree"
    out = _base("retraining", heading, diff, min_cell, names)
    people = people_data(result, subgroups=subgroups, min_cell=min_cell, level=level)
    out["people"] = people
    score = "AUC" if result.deployed.is_classifier else "R²"
    told = result.explanation
    changed = PeopleCount.of(told.count, told.total, min_cell)
    sentences = [told.what, told.worth]
    if not result.deployed.is_classifier and changed.total is not None:
        # What counts as a changed decision is told nowhere else on the page.
        sentences.append(whom_words(told.event, told.count, told.total, changed.replaced))
    out["headline"] = {
        "sentences": [clean(" ".join(sentences)).replace(" <= ", " ≤ ")],
        "facts": [
            _dissimilarity_fact(diff),
            _rules_fact(diff),
            *_score_fact(result, score, level),
            _flips_fact(changed, min_cell, "new rows"),
        ],
    }
    frame = result.frontier.reset_index()
    renamed = frame.rename(columns={"candidate": "name", "distance": "paper_distance"})
    renamed = renamed.rename(columns={"dissimilarity": "distance"})
    out["frontier"] = frontier_data(
        [{str(k): v for k, v in record.items()} for record in renamed.to_dict("records")],
        [result.trees[str(name)] for name in frame["candidate"]],
        base=result.deployed,
        base_name="the deployed tree",
        space=result.space,
        n_rows=len(result.changed_decisions),
        min_cell=min_cell,
        distance_name="Dissimilarity to the deployed tree",
        distance_is_share=True,
        score_name=f"{score} on the new rows",
        objectives="less change and a better score",
    )
    cross = bool(result.frontier.loc[result.chosen, "cross_fitted"])
    how = (
        f"{score} on the new rows, cross-fitted: each row is scored by a tree made the same way "
        "without it"
        if cross
        else f"{score} on the new rows"
    )
    out["provenance"] = [
        *data_entries(result.X_new, result.y_new, "New data"),
        tree_entry("Deployed tree", result.deployed),
        tree_entry("Proposed tree", result.tree),
        entry("How the score was estimated", how),
        *_selection_entry(result.selection_cost),
        *_drift_entry(result.drift),
        entry("Feature space", f"{result.space.n_features} features, {result.space.digest()}"),
        *settings_entries(result.settings),
        *versions_entries(),
    ]
    out["notes"] = [clean(note) for note in result.notes]
    return out


def _summarise_stable(model: Any, title: str | None, min_cell: int) -> dict[str, Any]:
    trees = [_tree_of(candidate) for candidate in model.candidates_]
    best = int(model.best_index_)
    space = model.feature_space_
    diff = diff_trees(trees[best], trees[best], space=space)
    out = _base(
        "stable",
        title or "A stable decision tree",
        diff,
        min_cell,
        ("", "Chosen tree"),
        single=True,
    )
    frontier = model.pareto_mask_
    settings = _candidate_settings(model, len(trees))
    results = getattr(model, "results_", None)
    errors = (
        [float(v) for v in results["selection_score_se"]]
        if results is not None and "selection_score_se" in results
        else [math.nan] * len(trees)
    )
    out["frontier"] = frontier_data(
        [
            {
                "name": f"Candidate {i + 1}",
                "distance": float(model.mean_distances_[i]),
                "score": float(model.scores_[i]),
                "score_se": errors[i],
                "on_frontier": bool(frontier[i]),
                "chosen": i == best,
                "settings": settings[i],
            }
            for i in range(len(trees))
        ],
        trees,
        base=trees[best],
        base_name="the chosen tree",
        space=space,
        n_rows=None,
        min_cell=min_cell,
        distance_name="Mean distance to the first collection of trees",
        distance_is_share=False,
        score_name="Score used for choosing",
        objectives="a smaller distance and a better score",
    )
    out["headline"] = {
        "sentences": [
            f"One tree was chosen among {len(trees):,} candidates; "
            f"{int(sum(frontier)):,} of them offer a trade-off that no other one beats."
        ],
        "facts": [
            _steadiness_fact(model, best),
            _honest_fact(model, float(model.scores_[best])),
            _fact("Rules", str(trees[best].n_leaves), f"depth {trees[best].depth}"),
        ],
    }
    try:
        parameters: dict[str, Any] = model.get_params(deep=False)
    except AttributeError:
        parameters = {}
    out["provenance"] = [
        tree_entry("Chosen tree", trees[best]),
        entry(
            "How the score was estimated",
            "on rows held out from growing. The score that a tree is chosen by flatters it; the "
            "headline's estimate is of the choosing as a whole, on folds it was not made on",
        ),
        entry("Feature space", f"{space.n_features} features, {space.digest()}"),
        *settings_entries(parameters),
        *versions_entries(),
    ]
    return out


# -- shared parts ----------------------------------------------------------------------


def _base(
    kind: str,
    title: str,
    diff: TreeDiff,
    min_cell: int,
    names: tuple[str, str],
    *,
    single: bool = False,
) -> dict[str, Any]:
    table = RuleTable(diff, min_cell)
    trees: dict[str, Any] = {"old": None}
    for side, tree, name in (("old", diff.old, names[0]), ("new", diff.new, names[1])):
        if side == "old" and single:
            continue
        shares = table.shares(side)
        if single:
            shares = _training_shares(tree, min_cell)
        trees[side] = tree_data(
            tree,
            diff.space,
            name=name,
            classes=diff.classes,
            rules=table.leaves(side),
            shares=shares,
            hidden_values=set(),
            changed=table.changed(side),
            min_cell=min_cell,
        )
    rows = table.rows
    if single:
        for row in rows:
            row["old"] = None
            row["new"]["share"] = trees["new"]["share"][row["new"]["leaf"]]
            row["new"]["masked"] = row["new"]["share"] is None
    used = used_features(diff.new, diff.space) | used_features(diff.old, diff.space)
    return {
        "schema": SCHEMA_NAME,
        "version": SCHEMA_VERSION,
        "kind": kind,
        "title": clean(title),
        "task": "regression" if diff.classes is None else "classification",
        "classes": None if diff.classes is None else [PAGE.name(c) for c in diff.classes],
        "decision_threshold": diff.new.decision_threshold,
        "min_cell": min_cell,
        "n_rows": diff.n_rows if diff.n_rows and diff.n_rows >= min_cell else None,
        "names": {"old": names[0], "new": names[1]},
        "headline": {"sentences": [], "facts": []},
        "dissimilarity": round(float(diff.dissimilarity), 4),
        "counts": dict(diff.counts),
        "split_changes": [split_words(split, PAGE) for split in diff.splits],
        "predictors": {
            "gained": [PAGE.name(n) for n in diff.predictors_gained],
            "lost": [PAGE.name(n) for n in diff.predictors_lost],
        },
        "features": features_data(diff.space, used),
        "trees": trees,
        "rules": rows,
        "people": None,
        "frontier": None,
        "provenance": [],
        "notes": [],
    }


def _training_shares(tree: Tree, min_cell: int) -> dict[int, float | None]:
    """Share of the training rows at each leaf, where no other rows were counted."""
    leaves, total = tree.leaves.tolist(), float(tree.weight[0])
    weights = [float(tree.weight[leaf]) for leaf in leaves]
    if total < min_cell:
        return {}
    masked = mask_partition(weights, min_cell)
    return {
        leaf: None if flag else coarse_share(weight / total, total, min_cell)
        for leaf, weight, flag in zip(leaves, weights, masked, strict=True)
    }


def _fact(label: str, value: str, detail: str) -> dict[str, str]:
    return {"label": label, "value": value, "detail": detail}


def _dissimilarity_fact(diff: TreeDiff) -> dict[str, str]:
    return _fact(
        "Dissimilarity",
        PAGE.percent(diff.dissimilarity),
        "0\u202f% means the same rules; trees that share no feature are at about 80\u202f%",
    )


def _rules_fact(diff: TreeDiff) -> dict[str, str]:
    counts = diff.counts
    others = [
        f"{counts[status]} {status}"
        for status in ("moved", "relabelled", "added", "dropped")
        if counts[status]
    ]
    return _fact(
        "Rules kept",
        f"{counts['kept']} of {counts['old_rules']}",
        ", ".join(others) if others else "none moved, relabelled, added or dropped",
    )


def _score_fact(result: Retraining, name: str, level: float) -> list[dict[str, str]]:
    """Score of the proposal and of the deployed tree, as on the frontier."""
    row: dict[Any, Any] = result.frontier.loc[result.chosen].to_dict()
    keep = float(result.frontier["score"]["keep"])
    score, change = float(row["score"]), float(row["score_change"])
    if not all(map(math.isfinite, (keep, score))):
        return []
    if row["kind"] == "keep" or not math.isfinite(change):
        return [_fact(name, f"{score:.3f}", "on the new rows")]
    half = float(norm.ppf(0.5 + level / 2)) * float(row["score_change_se"])
    low, high = PAGE.signed(change - half), PAGE.signed(change + half)
    interval = f"{PAGE.percent(level, 0)} interval {low} to {high}"
    return [_fact(name, f"{keep:.3f} → {score:.3f}", f"change {PAGE.signed(change)}, {interval}")]


def _steadiness_fact(model: Any, best: int) -> dict[str, str]:
    """How far the chosen tree is from the first collection, in per cent where known."""
    distance = f"{float(model.mean_distances_[best]):.2f}"
    results = getattr(model, "results_", None)
    if results is None or "mean_dissimilarity" not in results:
        return _fact("Mean distance", distance, "to the trees of the first collection")
    share = float(results["mean_dissimilarity"].iloc[best])
    detail = f"to the trees of the first collection; distance {distance}"
    return _fact("Mean dissimilarity", PAGE.percent(share), detail)


def _honest_fact(model: Any, chosen_by: float) -> dict[str, str]:
    """Score of the choosing as a whole where it was estimated, else the one chosen by."""
    estimate = float(getattr(model, "score_estimate_", math.nan))
    error = float(getattr(model, "score_estimate_se_", math.nan))
    if not math.isfinite(estimate):
        return _fact("Score", f"{chosen_by:.3f}", "on the rows used for choosing: it flatters")
    spread = f", standard error {error:.3f}" if math.isfinite(error) else ""
    return _fact("Score", f"{estimate:.3f}", f"estimate{spread}; chosen by {chosen_by:.3f}")


def _flips_fact(changed: PeopleCount, min_cell: int, what: str) -> dict[str, str]:
    label, total = "Decisions that change", changed.total
    if total is None:
        return _fact(label, "not shown", f"fewer than {min_cell} {what}")
    if changed.replaced is None:
        detail = f"{changed.count:,} of {total:,} {what}"
        return _fact(label, PAGE.percent(changed.share), detail)
    few = changed.replaced.startswith("fewer")
    value = f"< {PAGE.percent(min_cell / total)}" if few else "nearly all"
    return _fact(label, value, f"{changed.replaced} of {total:,} {what}")


def _change_sentence(diff: TreeDiff, new: str, old: str) -> str:
    if diff.unchanged:
        return f"{new} has the same rules as {old}."
    counts = diff.counts
    parts = [
        f"{counts[status]} {status}"
        for status in ("kept", "moved", "relabelled", "added", "dropped")
        if counts[status]
    ]
    text = f"{new} differs from {old}: of the rules, {', '.join(parts)}."
    for verb, names in (
        ("now uses", diff.predictors_gained),
        ("no longer uses", diff.predictors_lost),
    ):
        if names:
            text += f" It {verb} {', '.join(PAGE.name(n) for n in names)}."
    return text


def _selection_entry(cost: float) -> list[Entry]:
    if cost != cost:
        return [entry("Flattery of the score by choosing", "not measured")]
    return [entry("Flattery of the score by choosing", f"{cost:.4f}")]


def _drift_entry(drift: Any) -> list[Entry]:
    if drift is None:
        return [entry("Drift", "not tested: no old rows were given")]
    found = bool(getattr(drift, "detected", False))
    return [
        entry(
            "Drift", "found: the new rows no longer follow the old ones" if found else "none found"
        )
    ]


def _tree_of(candidate: Any) -> Tree:
    from steadytree.readers import as_tree

    return as_tree(candidate)


def _candidate_settings(model: Any, count: int) -> list[str]:
    """Hyper-parameters of each candidate, where the results list them."""
    results = getattr(model, "results_", None)
    columns = [
        c for c in getattr(results, "columns", []) if str(c).startswith("param_") or c == "params"
    ]
    if results is None or not columns or len(results) != count:
        return [""] * count
    out = []
    for record in results[columns].to_dict("records"):
        whole = record.get("params")
        pairs = (
            whole.items()
            if isinstance(whole, dict)
            else ((str(k).removeprefix("param_"), v) for k, v in record.items())
        )
        out.append(", ".join(f"{k} {v}" for k, v in pairs))
    return out
