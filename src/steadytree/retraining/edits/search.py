r"""Change a deployed tree only where it pays: greedy search over priced edits.

Retraining from scratch throws the deployed rules away; keeping them throws the new data
away. The search starts at the deployed tree A and minimises

.. math:: J(T) = missed(T; teacher) + \mu\,\frac{d'(A, T)}{m(A)} + c \cdot (edits),

with "missed" the share of what the teacher sees that T does not say (``criterion``), d' the
paper's path distance in its metric form (eq. distance; exact for every candidate) and m(A) the
deployed tree's mass. Decreasing prices, each started from the tree before, give the whole path
from "keep" to "retrain" in one run; at each price the best tree met anywhere on the way is
taken, so that a lower price never means less change.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from steadytree.evaluation.locks import lock_nodes
from steadytree.exceptions import InputError
from steadytree.growing.best_first import BinnedTable, FloatArray, TaughtRows
from steadytree.growing.leaf_values import shares_of
from steadytree.growing.nodes import NodeFactory, SearchNode, export_tree, leaves_of
from steadytree.retraining.edits.candidates import (
    MOVED,
    REPLACED,
    SAME_ROWS,
    Candidate,
    EditLimits,
    Exchange,
    Words,
    candidates_of,
    edit_words,
    forget,
)
from steadytree.retraining.edits.objective import AnchoredDistance, Criterion, Place, TreeInParts
from steadytree.tree.columns import share_of_range
from steadytree.tree.decision import Decision
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree

MAX_STEPS = 80

EDIT_COST = {False: 0.001, True: 0.005}
"""What an edit costs beyond its price, of classes and of a response (True): squared error is
easily saved by chance, and of a response less bought more change for no gain."""


@dataclass(frozen=True)
class EditedTree:
    """The tree at one price, the edits that made it, and how far it has gone."""

    price: float
    tree: Tree
    edits: tuple[str, ...]  # in words, in the order they were made; relabelled leaves last.
    # A condition that was exchanged more than once is told once, by what it was and became.
    distance: float  # d'(A, T) of the metric variant
    root: SearchNode | None = None  # the tree while the search's rows are at hand


class _Edit(NamedTuple):
    """An edit in words, and the sides that the way to its place takes."""

    words: Words
    sides: tuple[bool, ...]


class PricedEdits:
    """Search over edits of one deployed tree, written in the features of ``space``.

    The taught rows are rounded as the deployed tree compares them. Edits do not touch
    ``locked`` nodes of the deployed tree: the condition of an inner node; the
    whole rule and the label of a leaf. ``decision`` is the policy of the edited trees (by
    default the deployed tree's).
    """

    def __init__(
        self,
        deployed: Tree,
        taught: TaughtRows,
        space: FeatureSpace,
        *,
        limits: EditLimits,
        locked: Iterable[int] = (),
        decision: Decision | None = None,
    ) -> None:
        self.deployed = deployed
        self.space = space
        self.limits = limits
        self.n_classes = taught.n_classes
        self.decision = deployed.decision if decision is None else decision
        table = BinnedTable(taught.coded, space, taught.n_real)
        self.make = NodeFactory(taught, table, min_leaf=limits.min_leaf)
        rows = np.arange(len(taught.weight))
        kept = lock_nodes(deployed, locked)
        self.root = self.make.from_tree(deployed, rows, kept)
        self.edit_cost = EDIT_COST[self.n_classes is None]
        self.criterion = Criterion(self.make)
        self.anchor = AnchoredDistance(
            space,
            self.root,
            anchor_outcome=self._deployed_outcome,
            classifier=self.n_classes is not None,
        )
        policy = replace(self.decision, steady=deployed.decision.steady)
        if self.n_classes is not None and policy != deployed.decision:
            # Labels that a new policy gives the deployed tree are the ones to be steady about.
            self.root = self.make.from_tree(deployed.relabelled(self.decision), rows, kept)
        self.start = self.root
        self.edits: list[_Edit] = []
        self._in_parts: TreeInParts | None = None

    # -- outcomes -----------------------------------------------------------------

    def _scaled(self, value: FloatArray) -> float:
        if self.space.response_range is None:
            raise InputError(
                "expected a space with a response range for a regression tree, got none; "
                "make it with FeatureSpace.from_data(X, y, task='regression')"
            )
        low, high = self.space.response_range
        response = min(max(float(value[0]), low), high)
        return share_of_range(response, low, high) if high > low else 0.0

    def _deployed_outcome(self, leaf: SearchNode) -> float:
        if self.n_classes is not None:
            return leaf.inherited_label
        return self._scaled(leaf.prior if leaf.prior is not None else leaf.value)

    def outcome(self, leaf: SearchNode) -> float:
        """Label of a leaf, or its response scaled to [0, 1]."""
        if self.n_classes is not None:
            return self._label(leaf, self.n_classes)
        return self._scaled(leaf.value)

    def _label(self, leaf: SearchNode, n_classes: int) -> int:
        """Return the deployed label unless the evidence against it is more than chance.

        A label is a decision about people, and a share that hovers at the threshold would
        flip it with every retraining. So it stays while the share lies within half a standard
        error of the boundary (``Decision.steady``, ``Decision.clearly``).
        """
        kept: int | None = leaf.cache.get("label")
        if kept is None:
            shares = shares_of(leaf.value, n_classes)
            kept, old = int(self.decision.labels(shares[None, :])[0]), leaf.inherited_label
            if old >= 0 and old != kept:
                rows = leaf.real_weight / self.make.unit
                clear = self.decision.clearly(shares, old, kept, rows, self.decision.steady)
                kept = old if leaf.locked or not clear else kept
            leaf.cache["label"] = kept
        return kept

    def distance(self, root: SearchNode) -> float:
        """D' of a candidate, in units of the deployed tree's mass."""
        return self.anchor.distance(root, self.outcome) / self.anchor.mass

    # -- search -------------------------------------------------------------------

    def path(self, prices: Sequence[float]) -> list[EditedTree]:
        """Edited trees for decreasing prices; an infinite price re-estimates leaves only."""
        steps = [(self.root, len(self.edits))]  # each tree on the way, and how many edits it took
        for price in prices:
            if np.isfinite(price):
                for _ in range(MAX_STEPS):
                    if not self._step(price):
                        break
                    steps.append((self.root, len(self.edits)))
        missed = np.array([self.criterion.missed(root) for root, _ in steps])
        missed += self.edit_cost * np.array([n_edits for _, n_edits in steps])
        distances = np.array([self.distance(root) for root, _ in steps])
        best = [
            int((missed + price * distances).argmin()) if np.isfinite(price) else 0
            for price in prices
        ]
        return [
            self.export(root, _words_of(self.edits[:n_edits]), float(price))
            for price, (root, n_edits) in zip(prices, (steps[at] for at in best), strict=True)
        ]

    def _step(self, price: float) -> bool:
        """Make the best edit at a price; False if none pays."""
        tree = self._in_parts
        if tree is None or tree.root is not self.root:
            tree = self._in_parts = TreeInParts(self.root, self.anchor, self.outcome)
        now, missed = tree.distance / self.anchor.mass, self.criterion.missed(self.root)
        most = max(self.limits.max_leaves, self.root.n_leaves)
        edits = [
            (place, edit)
            for place in tree.places
            for edit in self._candidates(place, price)
            if self.root.n_leaves - place.node.n_leaves + edit.node.n_leaves <= most
        ]
        with_edit = self.criterion.missed_by_each(
            [tree.sums_with(place, edit.node) for place, edit in edits],
            [self.root.loss - edit.gain for _, edit in edits],
        )
        gains = missed - with_edit - self.edit_cost
        best_gain, best = 1e-9, None
        for i in np.argsort(-gains, kind="stable").tolist():
            gain, (place, edit) = float(gains[i]), edits[i]
            # No edit can bring the tree closer to A than A itself.
            if gain + price * now <= best_gain:
                break
            distance = tree.distance_with(place, edit.node) / self.anchor.mass
            gain -= price * (distance - now)
            if gain > best_gain:
                best_gain, best = gain, (place, edit)
        if best is None:
            return False
        place, edit = best
        self.root = self._with_edit(place, edit.node)
        words = edit_words(place.node, edit, place.way)
        self.edits.append(_Edit(words, tuple(left for _, left in place.way)))
        return True

    def _candidates(self, place: Place, price: float) -> list[Candidate]:
        return candidates_of(
            place.node,
            len(place.way),
            self.limits,
            price_per_move=min(price, 1e6) * 0.5 / self.anchor.mass * self.criterion.spread,
            least=max(1e-4, self.edit_cost) * self.criterion.spread,
        )

    def _with_edit(self, place: Place, new: SearchNode) -> SearchNode:
        """Put a node in its place; what was computed for nodes that are no more is dropped."""
        forget(place.node, below=True)
        for above, on_left in reversed(place.way):
            split, left, right = above.parts
            sides = (new, right) if on_left else (left, new)
            new = self.make.join(above.rows, split, *sides, prior=above.prior, locked=above.locked)
            # The rows are the same, so is what would be grown on them.
            new.cache |= {key: above.cache[key] for key in SAME_ROWS if key in above.cache}
            forget(above)
        return new

    # -- any tree -----------------------------------------------------------------

    def objective(self, root: SearchNode, price: float) -> float:
        """J of any tree on the rows of the search, without the cost of edits."""
        return self.criterion.missed(root) + price * self.distance(root)

    # -- results ------------------------------------------------------------------

    def export(self, found: SearchNode, edits: Sequence[str], price: float) -> EditedTree:
        """Write a tree with the edits that made it."""
        root = self.make.whole(found)
        labels: dict[int, int] = {}
        relabelled: list[str] = []
        for node in leaves_of(root) if self.n_classes is not None else ():
            labels[id(node)] = label = self._label(node, self.n_classes or 0)
            if node.prior is not None and node.inherited_label not in (-1, label):
                classes = self.deployed.classes or ()
                relabelled.append(
                    f"relabel a leaf from {classes[node.inherited_label]} to {classes[label]}"
                )
        edits = (*edits, *relabelled)
        tree = export_tree(
            root,
            self.space,
            classes=self.deployed.classes,
            decision=self.decision,
            labels=labels,
            precision=self.deployed.precision,
            metadata={
                "price": price if np.isfinite(price) else "infinite",
                "edits": list(edits),
            },
        )
        distance = self.anchor.distance(root, self.outcome)
        return EditedTree(price, tree, edits, distance, found)


def _words_of(edits: Iterable[_Edit]) -> list[str]:
    """Edits in words; those of one condition as one, and none where it is as before."""
    out: list[_Edit] = []
    for edit in edits:
        words = edit.words
        for at, (before, sides) in enumerate(out):
            if not (isinstance(words, Exchange) and isinstance(before, Exchange)):
                continue
            if sides == edit.sides and before.now == words.was:
                text = MOVED if before.text == words.text == MOVED else REPLACED
                del out[at]
                if before.was != words.now:
                    out.insert(at, _Edit(Exchange(text, before.was, words.now), sides))
                break
        else:
            out.append(edit)
    return [str(edit.words) for edit in out]
