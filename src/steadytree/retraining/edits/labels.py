"""When a leaf of the deployed tree changes its label.

A label is the decision people act on, and a share that hovers at the threshold would flip it
with every retraining. So a leaf keeps the deployed label until the evidence against it is
worth what relabelling costs at the current price.
"""

from __future__ import annotations

from dataclasses import dataclass

from steadytree.growing.binning import FloatArray
from steadytree.growing.nodes import SearchNode, natural_label, shares_of

__all__ = ["LabelRule", "label_evidence"]


@dataclass(frozen=True)
class LabelRule:
    """The label of a leaf at a price.

    Attributes
    ----------
    n_classes : int
    decision_threshold : float or None
    scale : float
        S: evidence is a loss, and counts in its units.
    label_weight, mass : float
        Relabelling one rule moves the tree by λ, of the deployed tree's mass m(A).
    """

    n_classes: int
    decision_threshold: float | None
    scale: float
    label_weight: float
    mass: float

    def label(self, leaf: SearchNode, price: float) -> int:
        """Return the deployed label unless the evidence pays for another."""
        kept = leaf.cache.get("label")
        if kept is not None and kept[0] == price:
            return int(kept[1])
        shares = shares_of(leaf.value, self.n_classes)
        label = natural_label(shares, self.decision_threshold)
        old = leaf.inherited_label
        if old >= 0 and old != label:
            evidence = label_evidence(leaf.weight, shares, old, label, self.decision_threshold)
            cost = price * self.label_weight / self.mass
            if leaf.locked or not evidence / self.scale > cost:
                label = old
        leaf.cache["label"] = (price, label)
        return label


def label_evidence(
    weight: float, shares: FloatArray, kept: int, natural: int, decision_threshold: float | None
) -> float:
    """Squared error that speaks against the label kept: the shares' way to the boundary.

    On the scale of a loss with one column for two classes and one per class for more.
    """
    if shares.size == 2:
        boundary = 0.5 if decision_threshold is None else decision_threshold
        return float(weight * (shares[1] - boundary) ** 2)
    return float(weight * (shares[natural] - shares[kept]) ** 2 / 2)
