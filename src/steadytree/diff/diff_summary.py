"""A difference of two trees as plain data: the one account that texts, pages and JSON draw from.

Weights, bounds of the space (extremes are values of single people) and the values of inner nodes
are left out.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from steadytree._optional import CORE, library_versions
from steadytree.diff.changes import Rule, change_words, split_words
from steadytree.evaluation.performance import MOVES
from steadytree.publish import published_values
from steadytree.publish.cells import SUMMARY, Cell, group, mean, measure, people, risk, without_ends
from steadytree.tree.alignment import align_tree
from steadytree.tree.columns import codes_in
from steadytree.tree.json import plain_json
from steadytree.tree.printing import known_missing, odd_values
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree
from steadytree.tree.words import PAGE, PLAIN, clean

if TYPE_CHECKING:
    from steadytree.diff.tree_diff import TreeDiff

_CONDITION = "feature=name lower upper categories=allowed present missing"
_CHANGE = "kind feature=name side from=old_bound to=new_bound shift share_of_range gained lost"
_SPLIT = (
    "kind only_conditions feature=name new_feature=new_name first from=old_bound to=new_bound "
    "shift share_of_range categories new_categories rules share"
)


def _plain(item: Any, fields: str) -> dict[str, Any]:
    """Attributes as plain values, by their own names or, "from=old_bound", by others."""
    named = (field.partition("=") for field in fields.split())
    return {key: plain_json(getattr(item, name or key)) for key, _, name in named}


def diff_summary(diff: TreeDiff, *, drawn: Collection[int] = ()) -> dict[str, Any]:
    """Return everything about a diff; ``drawn`` are features whose categories others need."""
    used = {side: used_features(getattr(diff, side), diff.space) for side in ("old", "new")}
    values = {side: published_values(getattr(diff, side)) for side in used}
    rules = [
        {
            **_plain(row, "number status kinds relabelled"),
            "changes": [
                {**_plain(one, _CHANGE), "words": change_words(one, PAGE)} for one in row.changes
            ],
            **{side: _rule(diff, getattr(row, side), side, values[side]) for side in used},
        }
        for row in diff.rules
    ]
    lost = diff.classes_given_up
    return {
        **SUMMARY,
        "kind": "diff",
        "published": False,
        "task": "regression" if diff.classes is None else "classification",
        "classes": plain_json(diff.classes),
        "positive": None
        if diff.positive is None
        else plain_json((diff.classes or ())[diff.positive]),
        "policy": {"old": policy_data(diff.old), "new": policy_data(diff.new)},
        **_plain(diff, "unchanged dissimilarity distance counts"),
        "predictors": _plain(
            diff, "gained=predictors_gained lost=predictors_lost kept=predictors_kept"
        ),
        "lost_classes": plain_json([c for c, nobody in lost.items() if nobody]),
        "hardly_found": plain_json([c for c, nobody in lost.items() if not nobody]),
        "n_rows": None if diff.n_rows is None else people(diff.n_rows),
        "flips": None
        if diff.flips is None or diff.n_rows is None
        else people(diff.flips * diff.n_rows, diff.n_rows),
        "mean_value_shift": diff.mean_value_shift,
        "predictions": _prediction_words(diff.new),
        "kept": kept_data(diff),
        "splits": [{**_plain(one, _SPLIT), "words": split_words(one, PAGE)} for one in diff.splits],
        "rules": rules,
        "features": _features(diff, used["old"] | used["new"], drawn),
        "trees": {side: _tree(diff, side, rules) for side in used},
        "versions": library_versions(CORE),
    }


def policy_data(tree: Tree) -> dict[str, Any] | None:
    """Return the policy that turns shares into decisions; None in regression."""
    if tree.classes is None:
        return None
    decision = tree.decision
    two = len(tree.classes) == 2
    return {
        "words": decision.words([PLAIN.name(c) for c in tree.classes]),
        "threshold": decision.threshold,
        "positive": plain_json(tree.classes[decision.position]) if two else None,
        "class_weight": plain_json(decision.class_weight),
        "origin": decision.origin,
        "steady": decision.steady,
    }


def kept_data(diff: TreeDiff) -> dict[str, Any] | None:
    """Return which rules keep their label against their share, and how many rows that concerns.

    Of the rows given, else of those that the new tree was trained on; None without such a rule.
    """
    against = [(r.number, r.new) for r in diff.kept_against_share if r.new is not None]
    if not against:
        return None
    counts = [one.numbers.rows if diff.n_rows is None else one.rows for _, one in against]
    total = sum(count or 0 for count in counts)
    reasons = {one.kept.removeprefix("kept: the share ") for _, one in against}
    why = reasons.pop() if len(reasons) == 1 else ""
    return {
        "rules": [number for number, _ in against],
        "rows": None if None in counts else people(total, diff.n_rows, "of"),
        "reason": why if "standard error" in why else "",
    }


def _prediction_words(tree: Tree) -> str:
    """Say how a prediction comes from what was observed; empty where nothing is stored."""
    seen = tree.observed
    if seen is None:
        return ""
    rate = "share" if tree.is_classifier else "mean"
    strength = seen.strength[tree.leaves]
    if not (strength > 0).any():
        return f"A prediction is the observed {rate}."
    further = " to ".join(dict.fromkeys(f"{rows:.0f}" for rows in (strength.min(), strength.max())))
    words = (
        f"A prediction is the observed {rate}, steadied by what a larger model expects of the "
        f"same people, which counts as {further} further rows: "
        "much where few people were observed, little where many were."
    )
    if seen.old_share < 1:
        share = PAGE.percent(seen.old_share)
        words += f" An old row counts {share} of a new one, because the new ones contradict them."
    return words


# -- whom a change affects ---------------------------------------------------------------


def moved_cells(shares: Any, n: int, form: str = "share") -> dict[str, Cell]:
    """Count the people whose risk moves, by points: ``moved_5`` and ``moved_10`` are shares."""
    return {key.removeprefix("moved_"): people(float(shares[key]) * n, n, form) for key in MOVES}


def affected_groups(name: Any, table: pd.DataFrame) -> dict[str, Any]:
    """Return a table of changed decisions by group, as ``flips(by)`` makes it, as cells."""
    names = [clean(value) for value in table.index]
    groups = []
    for value, public, (_, row) in zip(names, without_ends(names), table.iterrows(), strict=True):
        n, share = int(row["n"]), (row["flips"], row["low"], row["high"])
        groups.append(
            {
                "group": group(value, clean(public), n),
                "n": people(n),
                "flips": measure(*share, kind="share", of=n),
                "moved": moved_cells(row, n),
            }
        )
    return {"name": clean(name), "groups": groups}


def rarest_rows(y: NDArray[Any], *, classifier: bool) -> int:
    """Rows of the rarest class, which a score rests on; of a response all rows."""
    if not classifier:
        return len(y)
    counts = np.bincount(y.astype(np.intp))
    return int(counts[counts > 0].min())


# -- rules -----------------------------------------------------------------------------


def _rule(diff: TreeDiff, rule: Rule | None, side: str, values: Any) -> dict[str, Any] | None:
    """Return one rule of a side; ``values`` are what its tree predicts for others."""
    if rule is None:
        return None
    numbers, classes = rule.numbers, getattr(diff, side).classes
    if classes is None:
        predicted = mean(numbers.predicted, float(values[rule.leaf, 0]))
    else:
        at = classes.index(numbers.shown) if numbers.shown in classes else None
        predicted = risk(numbers.predicted, 0.0 if at is None else values[rule.leaf, at])
    trained_on = counted = None
    if numbers.outcomes is not None:
        trained_on = people(numbers.outcomes, numbers.rows, "of")
    elif numbers.mean is not None:
        trained_on = mean(numbers.mean, of=numbers.rows)
    if rule.rows and rule.outcome_rate is not None:
        counted = mean(rule.outcome_rate, of=rule.rows)
        if rule.outcomes is not None:
            counted = people(rule.outcomes, rule.rows)
    return {
        **_plain(rule, "leaf label"),
        "conditions": [
            {**_plain(c, _CONDITION), "words": c.words(PAGE, diff.space.categories[c.feature])}
            for c in rule.conditions
        ],
        "shown": plain_json(numbers.shown),
        "predicted": predicted,
        "trained_on": trained_on,
        "rows": None if rule.rows is None else people(rule.rows, diff.n_rows, "rows"),
        "observed": counted,
        "kept": rule.kept,
    }


# -- trees -----------------------------------------------------------------------------


def used_features(tree: Tree, space: FeatureSpace) -> set[int]:
    """Positions in the space of the features that a tree splits on."""
    feature = align_tree(tree, space).feature
    return {int(j) for j in feature[feature >= 0]}


def _features(diff: TreeDiff, used: set[int], drawn: Collection[int]) -> list[dict[str, Any]]:
    """Features by position in the space: name, kind, categories and whether a tree uses them.

    What can be missing or a category never met is known to the space, or to the trees. Categories
    of a feature that no tree uses stay out: they may be names of people.
    """
    space = diff.space
    missing, unseen = set(np.flatnonzero(space.can_be_missing).tolist()), set[int]()
    for tree in (diff.old, diff.new):
        aligned = align_tree(tree, space)
        for own, j in zip(aligned.tree.feature.tolist(), aligned.feature.tolist(), strict=True):
            if j < 0:
                continue
            takes_missing, takes_unseen = odd_values(aligned.tree, own)
            if takes_missing or known_missing(aligned.tree, own):
                missing.add(j)
            if takes_unseen:
                unseen.add(j)
    return [
        {
            "name": clean(space.feature_labels[j]),
            "categories": None
            if known is None
            else [clean(c) for c in known if j in used or j in drawn],
            "ordered": bool(space.ordered[j]),
            "missing": j in missing,
            "unseen": j in unseen and known is not None,
            "used": j in used,
        }
        for j, known in enumerate(space.categories)
    ]


def _tree(diff: TreeDiff, side: str, rules: list[dict[str, Any]]) -> dict[str, Any]:
    """One tree in full, an entry per node, numbers as the model compares them."""
    aligned = align_tree(getattr(diff, side), diff.space)
    grown = aligned.tree
    numbers = {row[side]["leaf"]: row["number"] for row in rules if row[side] is not None}
    nodes = range(grown.n_nodes)
    return {
        "n_rules": grown.n_leaves,
        "depth": grown.depth,
        "precision": grown.precision,
        "left": grown.children_left.tolist(),
        "right": grown.children_right.tolist(),
        "feature": aligned.feature.tolist(),
        "threshold": [None if math.isnan(t) else finite(t) for t in grown.threshold.tolist()],
        "categories": [
            None if mask is None else category_codes(mask, diff.space, int(aligned.feature[i]))
            for i, mask in enumerate(aligned.left_mask)
        ],
        "missing_left": [int(v) for v in grown.missing_left],
        "unseen_left": [int(v) for v in grown.unseen_left],
        "label": [
            label_code(grown, i, diff.classes) if grown.is_leaf[i] and diff.classes else None
            for i in nodes
        ],
        "rule": [numbers.get(i) for i in nodes],
    }


def finite(value: float) -> float | str:
    """Return a number that JSON can hold: "inf" and "-inf" as words."""
    return value if math.isfinite(value) else str(value)


def category_codes(mask: int, space: FeatureSpace, feature: int) -> list[int]:
    """Codes of the categories in a bit set."""
    return codes_in(mask, len(space.categories[feature] or ()))


def label_code(tree: Tree, node: int, classes: tuple[Any, ...]) -> int:
    """Position among the classes of a diff of what a leaf decides."""
    return classes.index((tree.classes or ())[int(tree.label[node])])
