"""A tree in words: its branches, and the two numbers of each leaf.

What a leaf predicts and what was observed there are two numbers that people take for one
another. Every text, page and figure gets both from here, named.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from steadytree.tree.decision import STEADY
from steadytree.tree.recoded import IMPUTED, LUMPED, TAKES_MISSING
from steadytree.tree.space import FeatureSpace
from steadytree.tree.words import PLAIN, Condition, WordStyle

if TYPE_CHECKING:
    from steadytree.tree.tree import Tree

# -- Colours that everybody can tell apart, for figures and for the pictures other tools draw --

OKABE_ITO = {
    "black": "#000000",
    "orange": "#E69F00",
    "sky": "#56B4E9",
    "green": "#009E73",
    "yellow": "#F0E442",
    "blue": "#0072B2",
    "vermillion": "#D55E00",
    "purple": "#CC79A7",
}
"""Colours that people with any kind of colour vision can tell apart (Okabe and Ito, 2008)."""

PAIR_COLOURS = tuple(
    OKABE_ITO[name] for name in ("blue", "orange", "green", "purple", "sky", "vermillion", "yellow")
)
"""Colours to take in turn; what they mark is named or numbered too, so that they may repeat."""

INK = "#222222"


def tint(colour: str, strength: float = 0.3) -> str:
    """Colour mixed with white, so that dark text can be read on it."""
    parts = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(255 + (part - 255) * strength):02X}" for part in parts)


Reach = tuple[tuple[int, ...] | None, bool, bool]
"""Categories of its feature that reach a split (None: a number), and whether missing values and
categories never met do."""


# -- branches --------------------------------------------------------------------------


def split_condition(
    tree: Tree, node: int, *, left: bool, space: FeatureSpace | None = None
) -> Condition:
    """Condition for taking one side of a split of a tree.

    Where missing values go is said where the space (by default the tree's own) knows that
    the feature can be missing.
    """
    j = int(tree.feature[node])
    asked = _split_of(tree, node, space)
    return side_condition(j, tree.feature_labels[j], None, left=left, **asked)[0]


def odd_values(tree: Tree, feature: int) -> tuple[bool, bool]:
    """Whether a tree's own pipeline takes missing values of a feature, and categories never met.

    A space may say that a column cannot be missing because the pipeline fills it in: whoever
    follows a rule by hand meets the missing values all the same.
    """
    name, known = tree.feature_labels[feature], tree.metadata.get(LUMPED)
    entry = known.get(name) if isinstance(known, Mapping) else None
    takes = entry.get("takes") or () if isinstance(entry, Mapping) else ()
    filled = tree.metadata.get(IMPUTED)
    missing = isinstance(filled, Mapping) and name in filled
    missing = missing or name in (tree.metadata.get(TAKES_MISSING) or ())
    return missing or "missing" in takes, "unseen" in takes


def _split_of(
    tree: Tree, node: int, space: FeatureSpace | None, *, all_unseen: bool = False
) -> dict[str, Any]:
    """Return a split as the words of a condition ask for it."""
    j = int(tree.feature[node])
    missing, unseen = odd_values(tree, j)
    known = _known_of(tree, j, space or tree.space)
    by_set = tree.left_categories[node] is not None
    return {
        "threshold": float(tree.threshold[node]),
        "left_codes": tree.left_categories[node],
        "categories": tree.categories[j],
        "missing_left": bool(tree.missing_left[node]),
        "unseen_left": bool(tree.unseen_left[node]) if by_set and (unseen or all_unseen) else None,
        **known,
        "can_miss": known["can_miss"] or missing,
    }


def _known_of(tree: Tree, feature: int, space: FeatureSpace | None) -> dict[str, bool]:
    """Say what a space knows of a feature: whether it can be missing, and is in order."""
    can_miss, ordered = known_missing(tree, feature), False
    j = _position_in(space, tree, feature)
    if space is not None and j is not None:
        can_miss = can_miss or bool(space.can_be_missing[j])
        listed = set(tree.categories[feature] or ())
        same = tree.categories[feature] == tuple(
            c for c in space.categories[j] or () if c in listed
        )
        ordered = bool(space.ordered[j]) and same
    return {"can_miss": can_miss, "ordered": ordered}


def known_missing(tree: Tree, feature: int) -> bool:
    """Whether a tree's own space knows that a feature can be missing.

    The space that changes are measured in need not: one row without a value widens no yardstick.
    """
    j = _position_in(tree.space, tree, feature)
    return tree.space is not None and j is not None and bool(tree.space.can_be_missing[j])


def _position_in(space: FeatureSpace | None, tree: Tree, feature: int) -> int | None:
    """Position of a tree's feature in a space; without names it has the space's columns."""
    if space is None:
        return None
    named = tree.feature_names is not None
    j = space.position.get(tree.feature_labels[feature], -1) if named else feature
    return j if 0 <= j < space.n_features else None


def reaching_in_tree(tree: Tree) -> dict[int, Reach]:
    """Say what reaches each split of a tree, see :func:`reaching_values`."""
    return reaching_values(
        tree.children_left.tolist(),
        tree.children_right.tolist(),
        tree.feature.tolist(),
        tree.left_categories,
        tree.missing_left.tolist(),
        tree.unseen_left.tolist(),
        tree.categories,
    )


def reaching_values(
    left: Sequence[int],
    right: Sequence[int],
    feature: Sequence[int],
    left_codes: Sequence[Sequence[int] | None],
    missing_left: Sequence[Any],
    unseen_left: Sequence[Any],
    categories: Sequence[Sequence[Any] | None],
) -> dict[int, Reach]:
    """Say of each split what reaches it: of its feature's categories, missing values, new ones.

    What was sent elsewhere above is not named again below.
    """
    out: dict[int, Reach] = {}
    nothing = frozenset[int]()
    stack: list[tuple[int, dict[int, tuple[int, ...]], frozenset[int], frozenset[int]]]
    stack = [(0, {}, nothing, nothing)]
    while stack:
        node, codes, elsewhere, unseen_elsewhere = stack.pop()
        if left[node] < 0:
            continue
        j, by_set = int(feature[node]), left_codes[node]
        here = codes.get(j, tuple(range(len(categories[j] or ()))))
        out[node] = (
            None if by_set is None else here,
            j not in elsewhere,
            j not in unseen_elsewhere,
        )
        inside = set(by_set or ())
        for child, is_left in ((left[node], True), (right[node], False)):
            below = codes
            if by_set is not None:
                below = {**codes, j: tuple(c for c in here if (c in inside) == is_left)}
            missing_below = elsewhere if bool(missing_left[node]) == is_left else elsewhere | {j}
            stays = bool(unseen_left[node]) == is_left
            unseen_below = unseen_elsewhere if stays else unseen_elsewhere | {j}
            stack.append((int(child), below, missing_below, unseen_below))
    return out


def side_condition(
    feature: int,
    name: str,
    reach: Reach | None,
    *,
    left: bool,
    threshold: float,
    left_codes: Iterable[int] | None,
    categories: Sequence[Any] | None,
    missing_left: bool,
    can_miss: bool,
    ordered: bool = False,
    unseen_left: bool | None = None,
) -> tuple[Condition, Sequence[Any] | None]:
    """Condition for one side of a split, and the categories it is a choice of.

    Only of what reaches the split (see :func:`reaching_values`; None: everything does).
    ``left_codes`` where it is by category, ``ordered`` where these are listed in order.
    ``unseen_left``: where categories never met go, None where none can come.
    """
    codes, missing_reaches, unseen_reaches = reach or (None, True, True)
    # A threshold of infinity asks only whether there is a value.
    asked = (can_miss and missing_reaches) or math.isinf(threshold)
    missing = missing_left == left if asked else None
    if categories is None or left_codes is None:
        low, high = (-math.inf, threshold) if left else (threshold, math.inf)
        if not low < high:
            return Condition(feature, name, present=False, missing=missing), categories
        return Condition(feature, name, low, high, missing=missing), categories
    on_left = set(left_codes)
    passing = range(len(categories)) if codes is None else codes
    inside = [at for at, code in enumerate(passing) if (code in on_left) == left]
    categories = [categories[code] for code in passing]
    unseen = None if unseen_left is None or not unseen_reaches else unseen_left == left
    condition = Condition.of_categories(
        feature, name, categories, inside, missing, ordered=ordered, unseen=unseen
    )
    return condition, categories


def branch_texts(
    tree: Tree,
    space: FeatureSpace | None = None,
    style: WordStyle = PLAIN,
    *,
    all_unseen: bool = False,
) -> dict[int, tuple[str, str]]:
    """Both sides of each split in words, by default as the listing of the tree writes them.

    ``all_unseen``: categories never met may come in every column.
    """
    out = {}
    for node, here in reaching_in_tree(tree).items():
        j, asked = int(tree.feature[node]), _split_of(tree, node, space, all_unseen=all_unseen)
        one, two = (
            condition.words(style, categories)
            for condition, categories in (
                side_condition(j, tree.feature_labels[j], here, left=left, **asked)
                for left in (True, False)
            )
        )
        out[node] = (one, two)
    return out


# -- leaves ----------------------------------------------------------------------------


def shown_class(tree: Tree, node: int) -> int:
    """Position of the class whose share is shown: the positive one of two, else the label."""
    two = tree.classes is not None and len(tree.classes) == 2
    return tree.decision.position if two else int(tree.label[node])


def risk_name(tree: Tree, style: WordStyle = PLAIN) -> str:
    """Name what a tree predicts: the risk of the positive class of two, else a prediction."""
    if tree.classes is None or len(tree.classes) != 2:
        return "prediction"
    return f"risk of {style.name(tree.classes[tree.decision.position])}"


@dataclass(frozen=True)
class LeafNumbers:
    """What a leaf predicts, and what was observed among the rows its tree was trained on.

    Two numbers that people take for one another: every text and page gets both from here.

    Attributes
    ----------
    label, shown : object or None
        The class decided on, and the one whose share is shown; None in regression.
    predicted : float
        Predicted share of that class, or the predicted response.
    rows : int or None
        Rows observed at the leaf; None where the tree stores none.
    outcomes : int or None
        Those of the class shown.
    mean : float or None
        Mean response of the rows; None for classes, or without a row.
    parts : tuple of (int, int)
        Outcomes and rows among the new and the old rows, where an old row counts less than a
        new one; empty where all count alike.
    """

    label: Any
    shown: Any
    predicted: float
    rows: int | None = None
    outcomes: int | None = None
    mean: float | None = None
    parts: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(cls, tree: Tree, node: int, shown_at: int | None = None) -> LeafNumbers:
        """Read the numbers of a node; of the class at a position, by default ``shown_class``."""
        seen, classes = tree.observed, tree.classes
        label = shown = None
        at = 0
        if classes is not None:
            at = shown_class(tree, node) if shown_at is None else shown_at
            label, shown = classes[int(tree.label[node])], classes[at]
        predicted = float(tree.value[node, at])
        if seen is None:
            return cls(label, shown, predicted)
        rows = round(float(seen.rows()[node]))
        if classes is None:
            mean = float(seen.rate()[node, 0]) if rows else None
            return cls(None, None, predicted, rows, mean=mean)
        parts = tuple(
            (round(float(seen.outcomes(at, which)[node])), round(float(seen.rows(which)[node])))
            for which in ("new", "old")
        )
        outcomes = sum(part[0] for part in parts)
        if seen.old_share == 1 or not parts[1][1]:
            parts = ()
        return cls(label, shown, predicted, rows, outcomes, parts=parts)

    def label_words(self, style: WordStyle = PLAIN) -> str:
        """Return the decision, or the predicted response."""
        return style.number(self.predicted) if self.label is None else style.name(self.label)

    def predicted_words(self, style: WordStyle = PLAIN) -> str:
        """Return what is predicted: "27.3 %"."""
        return (
            style.number(self.predicted) if self.label is None else style.percent(self.predicted, 1)
        )

    def observed_words(self, style: WordStyle = PLAIN) -> str:
        """Return what was observed: "12 of 43", "11.9 in 43 rows"; empty where unknown."""
        if self.rows is None:
            return ""
        if self.label is None:
            rows = f"{self.rows:,} row{'' if self.rows == 1 else 's'}"
            return rows if self.mean is None else f"{style.significant(self.mean, 4)} in {rows}"
        if self.parts:
            new, old = (f"{outcomes:,} of {rows:,}" for outcomes, rows in self.parts)
            return f"{new} new and {old} old rows"
        return f"{self.outcomes:,} of {self.rows:,}"

    def words(self, style: WordStyle = PLAIN) -> str:
        """Return the decision and both numbers: "no (predicts yes 27.3 %; observed 12 of 43)"."""
        numbers = []
        if self.label is not None:
            numbers.append(f"predicts {style.name(self.shown)} {self.predicted_words(style)}")
        if observed := self.observed_words(style):
            numbers.append(f"observed {observed}")
        return self.label_words(style) + (f" ({'; '.join(numbers)})" if numbers else "")


def kept_words(tree: Tree, node: int) -> str:
    """Say why a leaf's label is not the one its share gives; empty where it is."""
    shares, decision = tree.value[node], tree.decision
    if tree.classes is None:
        return ""
    kept, natural = int(tree.label[node]), int(decision.labels(shares[None, :])[0])
    if kept == natural:
        return ""
    seen = tree.observed
    if seen is not None:
        rows = seen.old_share * seen.rows("old")[node] + seen.rows("new")[node]
        if rows > 0 and not decision.clearly(shares, kept, natural, float(rows), decision.steady):
            half = decision.steady == STEADY
            errors = "half a standard error" if half else f"{decision.steady:g} standard errors"
            end = "threshold" if decision.threshold is not None else "boundary"
            return f"kept: the share is within {errors} of the {end}"
    return "kept although the share says otherwise"


# -- whole trees -----------------------------------------------------------------------


def tree_text(tree: Tree, *, shares: bool = True) -> str:
    """Return an indented listing of the tree.

    With ``shares`` each leaf says what it predicts and what was observed there (of the rows
    the tree was trained on).
    """
    sides = branch_texts(tree)
    lines: list[str] = []
    stack: list[tuple[int, int, str]] = [(0, 0, "")]
    while stack:
        node, depth, condition = stack.pop()
        indent = "|   " * (depth - 1) + ("|-- " if depth else "")
        leaf = bool(tree.is_leaf[node])
        outcome = ""
        if leaf:
            numbers = LeafNumbers.of(tree, node)
            outcome = f": {numbers.words() if shares else numbers.label_words()}"
        if depth or leaf:
            lines.append(f"{indent}{condition or 'always'}{outcome}")
        if not leaf:
            below = (int(tree.children_left[node]), int(tree.children_right[node]))
            stack += [(below[k], depth + 1, sides[node][k]) for k in (1, 0)]
    return "\n".join(lines)
