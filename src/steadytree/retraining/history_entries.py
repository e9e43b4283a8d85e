"""Entries of a history before they are written: what is recorded, and what is refused.

What is written must be answerable for later: a decision that nobody signs, a score that is no
number or a date that is none is refused here, before anything is written. A tree is recorded with
the check of its plan, and told apart from the one in force by what it decides, not by its bytes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np

from steadytree.core.format import plain_json
from steadytree.core.quoting import quoted
from steadytree.core.space import FeatureSpace
from steadytree.core.tree import Tree
from steadytree.diff.directions import space_with_turned
from steadytree.distance import tree_distance
from steadytree.exceptions import FeatureAlignmentError, HistoryError, InputError
from steadytree.readers import read_model

__all__ = [
    "Date",
    "checked_name",
    "checked_scores",
    "checked_text",
    "clauses_not_held",
    "decide_alike",
    "decision_entry",
    "dissimilarities",
    "held_checks",
    "iso_date",
    "scores_of",
    "tree_of",
]

Date = date | datetime | str | None

_ROUNDING = 1e-12  # of predictions that were computed anew


# -- what is brought along ---------------------------------------------------------------------


def tree_of(subject: Any) -> tuple[Tree, bool]:
    """Return the tree to record, and whether a Retraining keeps the deployed tree by it."""
    if (refused := _refused_tree(subject)) is not None:
        return refused, False
    proposed = getattr(subject, "tree", None)
    if isinstance(proposed, Tree):
        return proposed, getattr(subject, "action", None) == "keep"
    return read_model(subject), False


def _refused_tree(subject: Any) -> Tree | None:
    """Return the tree that the plan of a Retraining refused, where it keeps the deployed one."""
    refused = getattr(subject, "refused", None)
    return refused if isinstance(refused, Tree) else None


def held_checks(*checks: Any) -> tuple[bool, dict[str, Any] | None]:
    """Return whether all checks hold, and one to record: one that does not, if there is one."""
    # A plan that asked nothing checked nothing.
    given = [check for check in checks if check is not None and getattr(check, "clauses", True)]
    for check in given:
        if not isinstance(getattr(check, "held", None), (bool, np.bool_)):
            raise InputError(
                f"expected the check of a plan, got {type(check).__name__}; pass what check(plan) "
                "of a retraining or a comparison returned"
            )
    recorded = next((check for check in given if not check.held), given[0] if given else None)
    if recorded is None:
        return True, None
    return bool(recorded.held), plain_json(recorded.to_dict())


def decide_alike(one: Tree, two: Tree) -> bool:
    """Whether two trees have the same rules, risks, labels and policy, whatever was counted."""
    if (one.classes, one.precision, one.decision) != (two.classes, two.precision, two.decision):
        return False
    if one.feature_labels != two.feature_labels:
        return False
    pairs = [(0, 0)]
    while pairs:
        a, b = pairs.pop()
        if one.is_leaf[a] != two.is_leaf[b]:
            return False
        if one.is_leaf[a]:
            if not np.allclose(one.value[a], two.value[b], rtol=0, atol=_ROUNDING):
                return False
            if one.classes is not None and one.label[a] != two.label[b]:
                return False
        elif _condition(one, a, two) != _condition(two, b, one):
            return False
        else:
            pairs.append((int(one.children_left[a]), int(two.children_left[b])))
            pairs.append((int(one.children_right[a]), int(two.children_right[b])))
    return True


def _condition(tree: Tree, node: int, other: Tree) -> tuple[Any, ...]:
    """Return what goes left, of categories also those that only the other tree knows."""
    feature = int(tree.feature[node])
    missing_left, listed = bool(tree.missing_left[node]), tree.left_categories[node]
    if listed is None:
        return feature, float(tree.threshold[node]), missing_left
    known, unseen_left = tree.categories[feature] or (), bool(tree.unseen_left[node])
    left = {known[code] for code in listed}
    if unseen_left:
        left |= set(other.categories[feature] or ()) - set(known)
    return feature, frozenset(left), missing_left, unseen_left


def scores_of(subject: Any) -> dict[str, float]:
    """Scores that a Retraining brings along: those of the candidate whose tree is recorded."""
    frontier, chosen = getattr(subject, "frontier", None), getattr(subject, "chosen", None)
    if frontier is None or chosen is None:
        return {}
    name = "auc" if subject.tree.is_classifier else "r2"
    row = frontier.loc[subject.answer.refused if _refused_tree(subject) else chosen]
    return {
        name: float(row["score"]),
        f"{name}_se": float(row["score_se"]),
        f"{name}_change": float(row["score_change"]),
        "flips": float(row["flips"]),
    }


def dissimilarities(
    tree: Tree, previous: int | None, versions: Mapping[int, Tree], path: Path
) -> dict[str, Any]:
    """Measure how far a tree is from the version before and from the first.

    Measured in the space of the first version; if that cannot hold the tree, in its own.

    Parameters
    ----------
    tree : Tree
    previous : int or None
    versions : mapping of int to Tree
        By number, in order; those that a plan refused are nobody's yardstick and left out.
    path : Path
        Of the history, for errors.
    """
    nothing = {"dissimilarity_to_previous": None, "dissimilarity_to_first": None}
    if not versions:
        return {**nothing, "space": None if tree.space is None else tree.space.digest()}
    number, first = next(iter(versions.items()))
    spaces = [space for space in (first.space, tree.space) if space is not None]
    if not spaces:
        raise HistoryError(
            f"{path}: expected a feature space stored with the tree, got none; "
            "append as_tree(model, space=FeatureSpace.from_data(X))"
        )
    problem: FeatureAlignmentError | None = None
    for space in spaces:
        try:
            return {
                "dissimilarity_to_previous": None
                if previous is None
                else _dissimilarity(versions[previous], tree, space),
                "dissimilarity_to_first": _dissimilarity(first, tree, space),
                "space": space.digest(),
            }
        except FeatureAlignmentError as error:
            problem = problem or error
    assert problem is not None
    raise HistoryError(
        f"{path}: expected a tree that can be compared with version {number}, got: {problem}; "
        "start a new history for another problem"
    ) from problem


def _dissimilarity(a: Tree, b: Tree, space: FeatureSpace) -> float:
    known = space_with_turned(a, b, space)
    return float(tree_distance(a, b, space=known, variant="metric", normalize="relative"))


def clauses_not_held(version: Mapping[str, Any]) -> str:
    """Say which clauses of the plan a refused version did not hold, as its check tells them."""
    check = version["check"] or {}
    clauses = check.get("clauses")
    listed = [one for one in clauses if isinstance(one, dict)] if isinstance(clauses, list) else []
    broken = [one.get("text") or one.get("name") for one in listed if one.get("verdict") != "held"]
    return "; ".join(map(str, broken))


# -- what people say ---------------------------------------------------------------------------


def decision_entry(number: int, status: str, by: str, reason: str, when: str) -> dict[str, Any]:
    """Return a decision about a version as a line's content."""
    entry = {"event": "decision", "number": int(number), "status": status}
    return {**entry, "by": by, "reason": reason, "date": when}


def checked_name(by: Any) -> str:
    """Return the name of who decides; a decision that nobody signs is refused."""
    if not isinstance(by, str) or not any(character.isalnum() for character in by):
        raise InputError(f"expected the name of who decides, got {quoted(by)}; pass by='...'")
    return checked_text(by, "by")


def checked_text(text: Any, name: str) -> str:
    """Return a text that can be written down."""
    if not isinstance(text, str):
        raise InputError(f"expected text as {name}, got {quoted(text)}; pass {name}='...'")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(
            f"expected {name} in whole characters, got half of one in {quoted(text)}; correct it"
        ) from None
    return text


def checked_scores(scores: Any) -> dict[str, float]:
    """Return scores as numbers by name; what was not measured is not recorded."""
    if not isinstance(scores, Mapping):
        raise InputError(f"expected scores by name, got {quoted(scores)}; pass {{'auc': 0.81}}")
    checked = {}
    for name, value in scores.items():
        number = math.nan
        # numpy's numbers as well, but nothing that would have to be guessed from text.
        if isinstance(value, (int, float, np.number)) and not isinstance(value, bool):
            with suppress(OverflowError, TypeError):  # beyond a float, or a complex number
                number = float(value)
        if not math.isfinite(number):
            raise InputError(
                f"expected a finite number as the score {quoted(name)}, got {quoted(value)}; "
                "leave out what was not measured"
            )
        checked[checked_text(name, "the name of a score")] = number
    return checked


def iso_date(on: Date) -> str:
    """Return a date in ISO form; now, in UTC, if none is given."""
    if on is None:
        return datetime.now(UTC).isoformat(timespec="seconds")
    text = on.isoformat() if isinstance(on, (date, datetime)) else on
    try:
        datetime.fromisoformat(text)  # checks dates as well: pandas' NaT is one
    except (TypeError, ValueError):
        raise InputError(
            f"expected a date such as 2024-05-31 or 2024-05-31T09:00, got {quoted(on)}; "
            "pass on='...', or leave it out for today"
        ) from None
    return text
