"""How shares become decisions: the policy of a tree, kept apart from what it observed.

A share is a fact about rows; from which share on somebody is called positive is a choice
about people. The choice belongs to the tree: it is read from the model that has one, stored,
and inherited by the tree that follows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.core.quoting import quoted
from steadytree.exceptions import InputError

__all__ = ["LARGEST_SHARE", "Decision", "resolve_decision"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Decision:
    """The rule that turns class shares into a label.

    Attributes
    ----------
    threshold : float or None
        For two classes: the share of the positive class from which it is decided on. None:
        the class with the largest (weighted) share, ties to the first.
    positive : int
        Position of the positive class, 1 unless said otherwise.
    class_weight : tuple of float or None
        For several classes: the share of each class counts so much. For two classes weights
        amount to a threshold, and are kept to say where it comes from.
    origin : str
        Where the policy comes from, in words: "class weights", "costs", "prevalence".
    steady : float
        A leaf of a retrained tree keeps the deployed label while its share lies within so many
        standard errors of the threshold; 0: labels follow the shares.

    Examples
    --------
    >>> Decision.from_costs(false_positive=1, false_negative=4).threshold
    0.2
    """

    threshold: float | None = None
    positive: int = 1
    class_weight: tuple[float, ...] | None = None
    origin: str = ""
    steady: float = 0.5

    def __post_init__(self) -> None:
        if self.threshold is not None:
            try:
                number = float(self.threshold)
            except (TypeError, ValueError):
                number = float("nan")
            if not 0 <= number <= 1:
                raise InputError(
                    f"expected decision_threshold in [0, 1], got {quoted(self.threshold)}"
                )
            object.__setattr__(self, "threshold", number)
        if self.class_weight is not None:
            weight = tuple(float(w) for w in self.class_weight)
            if not weight or not np.isfinite(weight).all() or min(weight) <= 0:
                raise InputError(f"expected class weights above 0, got {quoted(self.class_weight)}")
            object.__setattr__(self, "class_weight", weight)

    @classmethod
    def of(cls, policy: Decision | float | None) -> Decision:
        """Return a policy given as such, as a threshold, or as None for the largest share.

        Parameters
        ----------
        policy : Decision, float or None

        Returns
        -------
        Decision
        """
        return policy if isinstance(policy, cls) else cls(threshold=policy)  # type: ignore[arg-type]

    @classmethod
    def from_costs(cls, *, false_positive: float, false_negative: float) -> Decision:
        """Return the threshold at which both kinds of error cost the same on average.

        Parameters
        ----------
        false_positive, false_negative : float
            What either error costs, above 0; only their ratio matters.

        Returns
        -------
        Decision
        """
        costs = np.array([false_positive, false_negative], dtype=np.float64)
        if not np.isfinite(costs).all() or (costs <= 0).any():
            raise InputError(
                f"expected costs above 0, got {false_positive!r} and {false_negative!r}"
            )
        return cls(threshold=float(costs[0] / costs.sum()), origin="costs")

    @classmethod
    def from_class_weight(cls, weight: Sequence[float]) -> Decision:
        """Return the policy on plain shares that weighting the classes amounts to.

        Parameters
        ----------
        weight : sequence of float
            One per class, in the order of the classes.

        Returns
        -------
        Decision
        """
        given = cls(class_weight=tuple(weight), origin="class weights")
        if len(weight) == 2:
            return replace(given, threshold=float(weight[0] / (weight[0] + weight[1])))
        return given

    def unweighted(self, weight: tuple[float, ...]) -> Decision:
        """Return the same policy for plain shares, of one for shares weighted by class.

        Parameters
        ----------
        weight : tuple of float
            What the shares were weighted by, one per class.

        Returns
        -------
        Decision
        """
        if self.threshold is None:
            return Decision.from_class_weight(weight)
        yes, no = weight[self.positive], weight[1 - self.positive]
        odds = self.threshold * no
        return replace(
            self, threshold=odds / (odds + (1 - self.threshold) * yes), class_weight=weight
        )

    @property
    def is_default(self) -> bool:
        """Whether the largest share decides, and the second of two classes is positive."""
        return self == Decision()

    def check(self, n_classes: int) -> None:
        """Refuse a policy that does not fit the number of classes.

        Parameters
        ----------
        n_classes : int
        """
        if self.threshold is not None and n_classes != 2:
            raise InputError(
                f"expected two classes for a decision_threshold, got {n_classes}; "
                "leave decision_threshold=None: the label is then the most frequent class"
            )
        if self.class_weight is not None and len(self.class_weight) != n_classes:
            raise InputError(
                f"expected {n_classes} class weights, one per class, got {len(self.class_weight)}"
            )
        if n_classes > 1 and not 0 <= self.positive < n_classes:
            raise InputError(
                f"expected a positive class below {n_classes}, got {quoted(self.positive)}"
            )

    def labels(self, shares: FloatArray) -> NDArray[np.int32]:
        """Label that each row of shares gives.

        Parameters
        ----------
        shares : float array of shape (n, n_classes)

        Returns
        -------
        int array of shape (n,)
            Positions in the classes.
        """
        self.check(shares.shape[1])
        if self.threshold is None:
            weighted = shares if self.class_weight is None else shares * self.class_weight
            return np.asarray(weighted.argmax(axis=1), dtype=np.int32)
        reached = shares[:, self.positive] >= self.threshold
        return np.where(reached, self.positive, 1 - self.positive).astype(np.int32)

    def clearly(
        self, shares: FloatArray, kept: int, label: int, rows: float, errors: float
    ) -> bool:
        """Whether shares speak for a label against the one in force by more than chance.

        True where the shares lie beyond the boundary between the two labels by more than
        ``errors`` standard errors of a share at the boundary, estimated from ``rows`` rows.
        If the truth lies on the boundary, chance alone gets there with the normal
        distribution's tail beyond ``errors``: 31 % for 0.5, 16 % for 1, 2.3 % for 2.

        Parameters
        ----------
        shares : float array of shape (n_classes,)
        kept, label : int
            Positions of the label in force, and of the one that may replace it.
        rows : float
            How many rows the shares rest on.
        errors : float
            Standard errors to be passed.

        Returns
        -------
        bool
        """
        if rows <= 0:
            return False
        if self.threshold is not None:
            at = self.threshold
            gap = abs(float(shares[self.positive]) - at)
            return gap > errors * float(np.sqrt(at * (1 - at) / rows))
        weight = np.ones(len(shares)) if self.class_weight is None else self.class_weight
        one, two = float(weight[label] * shares[label]), float(weight[kept] * shares[kept])
        # Where both are equal: the variance of the weighted difference of two shares.
        variance = (weight[label] * one + weight[kept] * two) / rows
        return one - two > errors * float(np.sqrt(variance))

    def words(self, classes: Sequence[Any] | None) -> str:
        """Say the policy in words: "no is decided from a share of 20.0 %".

        Parameters
        ----------
        classes : sequence or None
            None for a regression tree.

        Returns
        -------
        str
        """
        if classes is None:
            return "a response, no decision"
        if self.threshold is not None:
            source = f" ({self.origin})" if self.origin else ""
            return (
                f"{classes[self.positive]} from a share of {100 * self.threshold:.3g} % on{source}"
            )
        if self.class_weight is not None:
            return "the class with the largest share, the classes weighted"
        return "the class with the largest share"


LARGEST_SHARE = Decision()
"""The policy of a tree that says nothing else."""


def resolve_decision(
    policy: Decision | float | str | None,
    classes: Sequence[Any] | None,
    rate: Callable[[], float],
) -> Decision | None:
    """Return a policy as asked for, or say what it should have been; None where none is asked.

    "prevalence" is what ``rate`` returns: the share of the positive class (the second) in the
    training rows.
    """
    if policy is None:
        return None
    if classes is None or len(classes) < 2:
        got = "regression" if classes is None else f"{len(classes)} classes"
        raise InputError(
            f"expected two classes for a decision_threshold, got {got}; "
            "leave decision_threshold=None"
        )
    if isinstance(policy, str):
        if policy != "prevalence":
            raise InputError(
                'expected a number, "prevalence", a Decision or None as decision_threshold, '
                f"got {quoted(policy)}"
            )
        policy = Decision(threshold=rate(), origin="prevalence")
    decision = Decision.of(policy)
    if decision.threshold is not None and len(classes) != 2:
        raise InputError(
            f"expected two classes for a decision_threshold, got {len(classes)} classes; "
            "leave decision_threshold=None"
        )
    decision.check(len(classes))
    return decision
