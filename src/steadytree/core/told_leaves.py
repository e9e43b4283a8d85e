"""What may be told of the leaves of a tree: their predictions, and what was observed there.

A leaf predicts the rate of the people it was trained on, so the prediction tells counts as well
as the counts do: 0.048 of about 21 people is one person. Both are told together, from here, on
every page, in every text and file.
"""

from __future__ import annotations

import math
from collections.abc import Container
from dataclasses import replace
from typing import Any

import numpy as np

from steadytree.core.disclosure import (
    ToldCount,
    coarse_mean,
    range_words,
    rests_on_few,
    share_bin,
    tell_leaves,
)
from steadytree.core.observed import Observed
from steadytree.core.space import FeatureSpace
from steadytree.core.tree import Tree
from steadytree.core.tree_words import LeafNumbers
from steadytree.core.words import PAGE, PLAIN, WordStyle, rounded_share

__all__ = ["ToldLeaves"]


class ToldLeaves:
    """What each leaf of a tree predicts and what was observed there, as far as it may be told.

    Observed are the rows the tree was trained on.

    Parameters
    ----------
    tree : Tree
    min_cell : int
    space : FeatureSpace, optional
        By default the tree's own.
    classes : tuple, optional
        Classes in whose order shares are given; by default the tree's own.
    positive : int, optional
        Position among them of the class whose share is shown; by default the positive one of
        two, else the one decided on.
    style : WordStyle
    with_counts : bool, default True
        Whether what was observed is told at all.
    rounded : container of int
        Leaves whose prediction is told as a range, whatever was observed.
    widen : int, default 1
        How many times wider than ``min_cell`` people such a range must be.

    Attributes
    ----------
    value : list
        Class shares or mean by node; None where it would tell counts, or is no leaf.
    predicted, observed : list of str or None
        The share predicted and what was observed, in words; "hidden" where not told.
    few : set of int
        Leaves that rest on too few people.
    """

    def __init__(
        self,
        tree: Tree,
        min_cell: int,
        *,
        space: FeatureSpace | None = None,
        classes: tuple[Any, ...] | None = None,
        positive: int | None = None,
        style: WordStyle = PLAIN,
        with_counts: bool = True,
        rounded: Container[int] = (),
        widen: int = 1,
    ) -> None:
        self.tree, self.min_cell, self.style, self._widen = tree, min_cell, style, widen
        self.classes = classes or tree.classes
        space = space or tree.space
        if positive is None and self.classes is not None and len(self.classes) == 2:
            positive = tree.decision.position if self.classes == tree.classes else None
        leaves = tree.leaves.tolist()
        self.few = {leaf for leaf in leaves if rests_on_few(tree, leaf, min_cell)}
        known = tree.classes or ()
        name = None if positive is None or self.classes is None else self.classes[positive]
        self.shown = {
            leaf: known.index(name) if name in known else int(tree.label[leaf]) if known else 0
            for leaf in leaves
        }
        self._seen = tree.observed or _seen_by_weight(tree, min_cell)
        at_leaves = list(self.shown.values())
        self._told = tell_leaves(tree, self._seen, min_cell, at_leaves)
        unfit = [self._told_by_label(leaf) for leaf in leaves]
        if any(unfit):
            self._told = tell_leaves(tree, self._seen, min_cell, at_leaves, unfit)
        self._unfit = {leaf for leaf, flag in zip(leaves, unfit, strict=True) if flag}
        nothing: list[Any] = [None] * tree.n_nodes
        self.value: list[list[float] | None] = list(nothing)
        self.predicted: list[str | None] = list(nothing)
        self.observed: list[str | None] = list(nothing)
        for leaf, at in self.shown.items():
            if tree.observed is not None and with_counts:
                self.observed[leaf] = self._observed(leaf, at)
            if self.classes is None:
                self.value[leaf] = [self._mean(leaf, space)]
            elif leaf not in self.few:
                # A class that only the other tree knows is predicted for nobody here.
                lacking = name is not None and name not in known
                free = leaf not in rounded and leaf not in self._unfit and self.free(leaf)
                self.predicted[leaf] = (
                    style.percent(0, 1) if lacking else self._share(leaf, at, free=free)
                )
                if free and self.predicted[leaf] is not None:
                    self.value[leaf] = self._shares(leaf)

    def words(self, leaf: int) -> str:
        """Return the decision and both numbers: "no (predicts yes 27.3 %; observed 12 of 43)"."""
        numbers = LeafNumbers.of(self.tree, leaf, self.shown[leaf])
        if self.min_cell <= 1:
            return numbers.words(self.style)
        style, value, told = self.style, self.value[leaf], []
        if self.classes is None:
            label = style.number(value[0]) if value is not None else "hidden"
        else:
            label = numbers.label_words(style)
        if self.predicted[leaf] is not None:
            told.append(f"predicts {style.name(numbers.shown)} {self.predicted[leaf]}")
        if self.observed[leaf] is not None:
            hidden = self.observed[leaf] == "hidden"
            told.append("observed: hidden" if hidden else f"observed {self.observed[leaf]}")
        return label + (f" ({'; '.join(told)})" if told else "")

    def counts(self, leaf: int) -> ToldCount | None:
        """How many rows of the leaf have the outcome; None where not even a range is told."""
        return self._told.get(leaf)

    def free(self, leaf: int) -> bool:
        """Whether the prediction says no more of single people than what is told.

        It may be told where the counts are, where none are known, and where the model that
        steadies it leaves open how many people had the outcome.
        """
        seen, told = self._seen, self._told.get(leaf)
        if seen is None or (told is not None and told.exact):
            return True
        if not np.allclose(seen.counts[leaf], seen.weighted[leaf]) or seen.old_share < 1:
            return False
        n, k = float(seen.rows()[leaf]), float(seen.strength[leaf])
        most = float(self.tree.value[leaf, self.shown[leaf]]) * (n + k)
        # Of k rows' worth of another model any part may have had the outcome.
        low, high = max(0, math.ceil(most - k)), min(n, math.floor(most))
        if told is not None:
            return low <= told.low and told.high <= high
        return high - low + 1 >= self.min_cell

    def _told_by_label(self, leaf: int) -> bool:
        """Whether the decision of a leaf leaves too few of the numbers that its range holds.

        A share from a threshold on is decided so: below it, of ten people, there is only one.
        """
        told, seen, tree = self._told.get(leaf), self._seen, self.tree
        two = tree.classes is not None and len(tree.classes) == 2
        if told is None or told.exact or seen is None or not two or tree.kept_against_share[leaf]:
            return False
        k, at = float(seen.strength[leaf]), self.shown[leaf]
        fits = 0
        for count in range(told.low, told.high + 1):
            ends = np.array([count, count + k]) / (told.total + k)
            shares = np.empty((2, 2))
            shares[:, at], shares[:, 1 - at] = ends, 1 - ends
            fits += bool((tree.decision.labels(shares) == tree.label[leaf]).any())
        return fits < max(self.min_cell - 1, 2)

    # -- one leaf ----------------------------------------------------------------------

    def _mean(self, leaf: int, space: FeatureSpace | None) -> float:
        mean = float(self.tree.value[leaf, 0])
        if leaf in self.few:
            return coarse_mean(mean, space, self.tree)
        return mean if self.min_cell <= 1 else float(f"{mean:.4g}")

    def _observed(self, leaf: int, at: int) -> str:
        told = self._told[leaf]
        if self.min_cell > 1 and told is None:
            return "hidden"
        if self.min_cell > 1 and told is not None and self.classes is not None:
            return told.words(self.style)
        numbers = LeafNumbers.of(self.tree, leaf, at)
        if self.style is PAGE:
            numbers = replace(numbers, parts=())
        return numbers.observed_words(self.style)

    def _shares(self, leaf: int) -> list[float]:
        """Predicted shares in the order of all classes."""
        assert self.classes is not None
        row = [0.0] * len(self.classes)
        for own, share in zip(self.tree.classes or (), self.tree.value[leaf].tolist(), strict=True):
            row[self.classes.index(own)] = rounded_share(share, 3)
        return row

    def _share(self, leaf: int, at: int, *, free: bool) -> str | None:
        """Share predicted of the class shown, in words; None where it would tell a count."""
        share, told, seen = float(self.tree.value[leaf, at]), self._told.get(leaf), self._seen
        if free:
            return self.style.percent(share, 1)
        n = k = 0.0
        if seen is not None:
            n, k = float(seen.rows()[leaf]), float(seen.strength[leaf])
            if (
                told is not None
                and not told.exact
                and np.allclose(seen.counts[leaf], seen.weighted[leaf])
            ):
                rough = share_bin(share, n, self.min_cell * self._widen)
                if rough is not None and leaf not in self._unfit:
                    # Steadied so much that every number of the range could predict so.
                    least, most = (end * (n + k) for end in (rough.low, rough.high))
                    if least - k <= told.low and told.high <= most:
                        return rough.words(self.style)
                # What could have been predicted, whatever the numbers that are not told.
                low, high = told.shares(k)
                if low <= share <= high:
                    return range_words(low, high, self.style)
        if leaf in self._unfit:
            return None
        rough = share_bin(share, n, self.min_cell * self._widen)
        return None if rough is None else rough.words(self.style)


def _seen_by_weight(tree: Tree, min_cell: int) -> Observed | None:
    """Return the counts that shares and weights of a tree amount to, which stores no others.

    None where the weights are no people.
    """
    if tree.classes is None or tree.weight[0] < min_cell:
        return None
    counts = np.zeros((tree.n_nodes, 2, len(tree.classes)))
    counts[:, 1] = np.round(tree.value * tree.weight[:, None])
    nothing = np.zeros((tree.n_nodes, len(tree.classes)))
    return Observed(counts, counts, nothing, np.zeros(tree.n_nodes))
