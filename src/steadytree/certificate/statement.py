"""What a certificate says, in numbers and in words; and what it is asked for."""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import log10
from typing import Any

from steadytree.exceptions import InputError
from steadytree.retraining.given import check_number, check_whole
from steadytree.tree.tree import Tree

DEEPEST = 3
CLOSED = 1e-8
LIMITS = (
    "It says nothing of larger changes, of other cut points, nor of whether the teacher is right."
)


@dataclass(frozen=True, kw_only=True)
class CertificateOptions:
    """Which trees a certificate speaks of, and how long it may take.

    Attributes
    ----------
    depth : int, optional
        Most conditions in a rule, 1 to 3; by default 3, or 2 where that would take too long.
    cut_points : int, optional
        About how many conditions the trees are built from; by default as many as the work
        allows, up to 96. Those of the deployed tree and of the proposal are always among them.
    work : float, default 2e8
        Leaves and trees to look at: a few seconds (without numba two hundred times fewer). A
        count and not a time, so that the same rows give the same certificate.

    Examples
    --------
    >>> import steadytree as st
    >>> st.CertificateOptions(depth=2, cut_points=32)  # for certify(options=...)
    CertificateOptions(depth=2, cut_points=32, work=200000000.0)
    """

    depth: int | None = None
    cut_points: int | None = None
    work: float = 2e8

    def __post_init__(self) -> None:
        if self.depth is not None:
            check_whole(self.depth, "depth", least=1, fix=f"the deepest is {DEEPEST}")
            if self.depth > DEEPEST:
                raise InputError(
                    f"expected a depth of at most {DEEPEST} for a certificate, got {self.depth}; "
                    "deeper families are too large to go through"
                )
        if self.cut_points is not None:
            check_whole(self.cut_points, "cut_points", least=1, fix="64 are usual")
        check_number(self.work, "work", fix="the default is 2e8")


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """How much better any tree of a stated family could be than the tree at the asked price.

    The family: all trees with at most ``depth`` conditions in a rule on the stated cut points,
    and all trees that differ from the tree at the price in one part, which is then any such
    tree. The objective is that of the search: what the teacher sees and the tree misses, plus
    the price times the change; the cost of an edit counts once for every tree that is not the
    deployed one.

    Attributes
    ----------
    price : float
        The certificate is about the tree at this price, whichever candidate was chosen.
    depth, cut_points, features, n_trees
        The family: most conditions in a rule, number of cut points, features they are on, and
        the number of trees on them (of the first kind).
    min_samples_leaf : int
        Fewest real rows in every new leaf of these trees.
    objective : float
        Of the tree at the price.
    best_objective : float
        Of the best tree met; the same where none is better.
    lower_bound : float
        No tree of the family has a lower objective.
    edit_cost : float
        What an edit must save.
    tree : Tree or None
        A tree that is better by more than that, where one was met.

    Examples
    --------
    >>> from steadytree import Certificate
    >>> certificate = Certificate(
    ...     price=0.25, depth=2, cut_points=32, features=("age", "income"), n_trees=34849,
    ...     min_samples_leaf=8, objective=0.42, best_objective=0.42, lower_bound=0.41,
    ...     edit_cost=0.001,
    ... )
    >>> certificate.proved, round(certificate.gap, 6)
    (False, 0.01)
    """

    price: float
    depth: int
    cut_points: int
    features: tuple[str, ...]
    n_trees: int
    min_samples_leaf: int
    objective: float
    best_objective: float
    lower_bound: float
    edit_cost: float
    tree: Tree | None = None

    @property
    def gap(self) -> float:
        """How much lower the objective of any tree of the family could be at most."""
        return max(0.0, self.objective - self.lower_bound)

    @property
    def proved(self) -> bool:
        """Whether the best tree met is proved to be the best of the family."""
        return self.best_objective - self.lower_bound <= CLOSED

    def words(self) -> str:
        """Say it in short sentences: what was compared, what is certified, and what is not.

        Returns
        -------
        str
        """
        levels = "one condition" if self.depth == 1 else f"{self.depth} conditions"
        return (
            f"Certificate, for all trees with at most {levels} in a rule on {self.cut_points} cut "
            f"points of {len(self.features)} features ({_about(self.n_trees)}). It holds as well "
            f"for all that differ from the tree at price {self.price:g} in one part of that kind. "
            f"{self._found()} {LIMITS}"
        )

    def _found(self) -> str:
        if self.gap <= CLOSED:
            return f"None has a lower objective than that tree ({self.objective:.4f})."
        if self.tree is not None:
            rest = "" if self.proved else f" None is below {self.lower_bound:.4f}."
            return (
                f"The best one met has an objective of {self.best_objective:.4f} against "
                f"{self.objective:.4f}.{rest}"
            )
        text = (
            f"None has an objective below {self.lower_bound:.4f}; that of the tree itself is "
            f"{self.objective:.4f}. At most {self.gap:.4f} of what the teacher sees could still "
            "be gained"
        )
        small = f", less than one edit must save ({self.edit_cost:g})"
        return f"{text}{small if self.gap <= self.edit_cost else ''}."

    def to_dict(self) -> dict[str, Any]:
        """Return all entries, with the gap, whether it is proved, and the words.

        Returns
        -------
        dict
        """
        numbers = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "tree"}
        return {
            **numbers,
            "better": self.tree is not None,
            "features": list(self.features),
            "gap": self.gap,
            "proved": self.proved,
            "words": self.words(),
        }


def count_trees(depth: int, n_cuts: int) -> int:
    """Count the trees up to a depth on some cut points, those without enough rows included."""
    out = 1
    for _ in range(depth):
        out = 1 + n_cuts * out * out
    return out


def _about(count: int) -> str:
    if count < 1_000_000:
        return f"{count:,} trees"
    return f"about 10^{round(log10(count))} trees"
