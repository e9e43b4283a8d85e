"""How shares become decisions: the policy of a tree, kept apart from what it observed.

A share is a fact about rows; from which share on somebody is called positive is a choice
about people. The choice belongs to the tree: it is read from the model that has one, stored,
and inherited by the tree that follows.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from steadytree._text import quoted, some_of
from steadytree.exceptions import InputError, OneDecisionWarning
from steadytree.tree.words import PLAIN

if TYPE_CHECKING:
    from steadytree.tree.tree import Tree

PREVALENCE = "prevalence"
STEADY = 0.5
"""Standard errors by which a share must pass the threshold before a label in force changes."""

FloatArray = NDArray[np.float64]


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")


def _checked_costs(costs: Any) -> dict[Any, float]:
    if not isinstance(costs, Mapping):
        raise InputError(
            f"expected costs by class name, got {quoted(costs)}; "
            'write for example costs={"bad": 9, "good": 1}'
        )
    out = {name: _number(cost) for name, cost in costs.items()}
    if not out or not all(0 < cost < float("inf") for cost in out.values()):
        raise InputError(f"expected costs above 0, got {some_of(list(costs.values()))}")
    return out


@dataclass(frozen=True)
class Decision:
    """The rule that turns class shares into a label.

    Parameters
    ----------
    threshold : float or "prevalence", optional
        For two classes: the share of the positive class from which it is decided on;
        "prevalence" is its rate in the training rows, looked up by whoever has them. By
        default the class with the largest share, ties to the first.
    positive : class label, optional
        Name of the class to be detected, of two. By default 1 of {0, 1} and {-1, 1}, True of
        {False, True}, "yes" of {"no", "yes"}; of others the second class, as in scikit-learn,
        but a threshold or costs then need the name.
    costs : mapping, optional
        What it costs to miss a case of each class, by its name; only ratios matter. For two
        classes they amount to a threshold, for several the share of each class counts so much.
    steady : float, default 0.5
        How many standard errors a share must pass the threshold before a retrained leaf's
        label changes; 0: labels follow their shares.
    class_weight, origin, resolved
        Set by the package: weights that shares carry, where the policy comes from in words
        ("costs", "prevalence"), and the position of the positive class in a tree.

    Examples
    --------
    >>> policy = Decision(positive="bad", costs={"bad": 9, "good": 1}).resolve(("bad", "good"))
    >>> policy.threshold
    0.1
    >>> policy.words(("bad", "good"))
    'flags bad from a risk of 10 % on (costs)'
    """

    threshold: float | None = None
    _: KW_ONLY
    positive: Any = None
    costs: Mapping[Any, float] | None = field(default=None, hash=False)
    steady: float = STEADY
    class_weight: tuple[float, ...] | None = None
    origin: str = ""
    resolved: int | None = field(default=None, compare=False, repr=False)

    if TYPE_CHECKING:

        def __init__(
            self,
            threshold: float | Literal["prevalence"] | None = None,
            *,
            positive: Any = None,
            costs: Mapping[Any, float] | None = None,
            steady: float = STEADY,
            class_weight: tuple[float, ...] | None = None,
            origin: str = "",
            resolved: int | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        given: Any = self.threshold
        if isinstance(given, str) and given == PREVALENCE:
            object.__setattr__(self, "threshold", None)
            object.__setattr__(self, "origin", PREVALENCE)
        if self.threshold is not None:
            number = _number(self.threshold)
            if not 0 <= number <= 1:
                raise InputError(
                    f"expected decision_threshold in [0, 1], got {quoted(self.threshold)}"
                )
            object.__setattr__(self, "threshold", number)
        steady = _number(self.steady)
        if not 0 <= steady < float("inf"):
            raise InputError(
                f"expected steady to be standard errors >= 0, got {quoted(self.steady)}"
            )
        object.__setattr__(self, "steady", steady)
        if self.costs is not None:
            object.__setattr__(self, "costs", _checked_costs(self.costs))
            if self.threshold is not None or self.asks_rate:
                raise InputError(
                    "expected a threshold or costs, got both; leave one out: costs are a threshold"
                )
        if self.class_weight is not None:
            weight = tuple(float(w) for w in self.class_weight)
            if not weight or not np.isfinite(weight).all() or min(weight) <= 0:
                raise InputError(f"expected class weights above 0, got {quoted(self.class_weight)}")
            object.__setattr__(self, "class_weight", weight)

    @classmethod
    def of(cls, policy: Decision | float | str | None) -> Decision:
        """Return a policy given as such, as a threshold, or as None for the largest share.

        Parameters
        ----------
        policy : Decision, float, "prevalence" or None

        Returns
        -------
        Decision
        """
        return policy if isinstance(policy, cls) else cls(threshold=policy)  # type: ignore[arg-type]

    @property
    def asks_rate(self) -> bool:
        """Whether the threshold is the rate of the positive class, which is yet to be counted."""
        return self.threshold is None and self.origin == PREVALENCE

    @property
    def position(self) -> int:
        """Position of the positive class in the tree that the policy belongs to."""
        if self.resolved is None and self.positive is not None:
            raise InputError(
                f"expected a policy of a tree, got one whose positive class "
                f"{quoted(self.positive)} was not looked up; call resolve(classes) first"
            )
        return 1 if self.resolved is None else self.resolved

    def resolve(self, classes: Sequence[Any]) -> Decision:
        """Return the policy of a tree with these classes: its positive class found, costs settled.

        A policy that belongs to a tree already keeps its position, and takes the new name.

        Parameters
        ----------
        classes : sequence

        Returns
        -------
        Decision
        """
        n = len(classes)
        if self.asks_rate:
            raise InputError(
                'expected a policy whose threshold is a number, got "prevalence"; pass it as '
                "decision_threshold to whoever knows the rows: fit, retrain or as_tree"
            )
        if n != 2:
            if self.threshold is not None:
                raise InputError(
                    f"expected two classes for a decision_threshold, got {n} classes; "
                    "leave decision_threshold=None: the label is then the most frequent class"
                )
            if self.positive is not None and (n > 2 or self.positive not in classes):
                raise InputError(
                    f"expected two classes for a positive class, got {n}: {some_of(classes)}; "
                    "leave positive=None"
                )
        self._check_weights(n)
        at = self._find(classes)
        policy = self._without_costs(classes, at)
        named = n == 2 and (policy.positive is not None or policy.threshold is not None)
        return replace(policy, positive=classes[at] if named else None, resolved=at)

    def _check_weights(self, n: int) -> None:
        if self.class_weight is not None and len(self.class_weight) != n:
            raise InputError(
                f"expected {n} class weights, one per class, got {len(self.class_weight)}"
            )

    def _find(self, classes: Sequence[Any]) -> int:
        if len(classes) != 2:
            return 0
        if self.resolved is not None:
            if self.resolved not in (0, 1):
                raise InputError(f"expected a positive class below 2, got {quoted(self.resolved)}")
            return self.resolved
        if self.positive is None:
            found = obvious_positive(classes)
            return 1 if found is None else found
        _check_name(self.positive, classes, "positive")
        return list(classes).index(self.positive)

    def _without_costs(self, classes: Sequence[Any], at: int) -> Decision:
        """Return the threshold, or the class weights, at which mistakes cost the same."""
        if self.costs is None:
            return self
        if set(self.costs) != set(classes):
            raise InputError(
                f"expected costs for each of the classes {some_of(classes)}, "
                f"got {some_of(list(self.costs))}"
            )
        cost = tuple(self.costs[c] for c in classes)
        if len(classes) != 2:
            return replace(self, costs=None, class_weight=cost, origin="costs")
        threshold = cost[1 - at] / (cost[0] + cost[1])
        return replace(self, costs=None, threshold=threshold, origin="costs")

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
        weighted = replace(self, class_weight=tuple(weight))
        if self.threshold is None:
            weighted = replace(weighted, origin="class weights")
        if len(weight) != 2:
            return weighted
        yes, no = weight[self.position], weight[1 - self.position]
        at = 0.5 if self.threshold is None else self.threshold
        return replace(weighted, threshold=at * no / (at * no + (1 - at) * yes))

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
        n = shares.shape[1]
        if self.threshold is not None and n != 2:
            raise InputError(f"expected two classes for a decision_threshold, got {n}")
        self._check_weights(n)
        if self.threshold is None:
            weighted = shares if self.class_weight is None else shares * self.class_weight
            return np.asarray(weighted.argmax(axis=1), dtype=np.int32)
        reached = shares[:, self.position] >= self.threshold
        return np.where(reached, self.position, 1 - self.position).astype(np.int32)

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
            gap = abs(float(shares[self.position]) - at)
            return gap > errors * float(np.sqrt(at * (1 - at) / rows))
        weight = np.ones(len(shares)) if self.class_weight is None else self.class_weight
        one, two = float(weight[label] * shares[label]), float(weight[kept] * shares[kept])
        # Where both are equal: the variance of the weighted difference of two shares.
        variance = (weight[label] * one + weight[kept] * two) / rows
        return one - two > errors * float(np.sqrt(variance))

    def words(self, classes: Sequence[Any] | None) -> str:
        """Say the policy in words: "flags bad from a risk of 20 % on".

        Parameters
        ----------
        classes : sequence or None
            The classes as they are to be named; None for a regression tree.

        Returns
        -------
        str
        """
        if classes is None:
            return "a response, no decision"
        policy = self if self.resolved is not None else self.resolve(classes)
        steady = ""
        if policy.steady != STEADY:
            steady = f"; labels change beyond {policy.steady:g} standard errors"
        if policy.threshold is not None:
            source = f" ({policy.origin})" if policy.origin else ""
            name, share = classes[policy.position], 100 * policy.threshold
            return f"flags {name} from a risk of {share:.3g} % on{source}{steady}"
        words = "the class with the largest share"
        if policy.class_weight is not None:
            words += ", the classes weighted"
        if len(classes) == 2:
            if policy.positive is not None:
                words += f"; {classes[policy.position]} is the positive class"
            elif obvious_positive(classes) is None:
                words += f"; {classes[policy.position]} is the positive class, as nobody named one"
        return words + steady


LARGEST_SHARE = Decision()
"""The policy of a tree that says nothing else."""

_OBVIOUS = ((0, 1), (-1, 1), ("0", "1"), ("false", "true"), ("no", "yes"))


def obvious_positive(classes: Sequence[Any]) -> int | None:
    """Position of the class that everybody would call positive; None where that is not clear."""
    plain = [c.lower() if isinstance(c, str) else c for c in classes]
    for negative, positive in _OBVIOUS:
        if len(plain) == 2 and negative in plain and positive in plain:
            return plain.index(positive)
    return None


def resolve_decision(
    policy: Decision | float | str | None,
    classes: Sequence[Any] | None,
    rate: Callable[[int], float],
    *,
    positive: Any = None,
    known: Decision = LARGEST_SHARE,
    spelled: str = "positive",
) -> Decision | None:
    """Return a policy as asked for, or say what it should have been; None where none is asked.

    "prevalence" is what ``rate`` returns for the position of the positive class: its share in
    the training rows. ``positive`` names that class beside a bare threshold, in an argument
    called ``spelled``. What is not said is taken from the policy ``known`` before.
    """
    if policy is None and positive is None:
        return None
    if classes is None or len(classes) < 2:
        got = "regression" if classes is None else f"{len(classes)} classes"
        what = spelled if policy is None else "decision_threshold"
        raise InputError(f"expected two classes for a {what}, got {got}; leave {what}=None")
    if isinstance(policy, str) and policy != PREVALENCE:
        raise InputError(
            'expected a number, "prevalence", a Decision or None as decision_threshold, '
            f"got {quoted(policy)}"
        )
    if isinstance(policy, Decision):
        asked = replace(policy, resolved=None)
    else:
        asked = replace(Decision.of(policy), steady=known.steady)
    asked = replace(asked, positive=_one_name(asked.positive, positive, classes, spelled))
    if asked.threshold is None and asked.costs is None and not asked.asks_rate:
        return _continued(asked, known, classes)
    if asked.positive is None:
        asked = replace(asked, positive=known.positive)
    if len(classes) == 2 and asked.positive is None and obvious_positive(classes) is None:
        one, two = (f"{spelled}={quoted(c)}" for c in classes)
        where = " in Decision(...)" if spelled == "positive" else ""
        raise InputError(
            "expected the class to be detected, by name, with a threshold, costs or "
            f'"prevalence", got none; say {one} or {two}{where}'
        )
    if asked.asks_rate:
        found = replace(asked, threshold=0.0).resolve(classes)  # 0 until the class is known
        return replace(found, threshold=rate(found.position))
    return asked.resolve(classes)


def _one_name(own: Any, given: Any, classes: Sequence[Any], spelled: str) -> Any:
    """Return the positive class that the policy or the argument beside it names."""
    if given is None:
        return own
    if own is not None and own != given:
        raise InputError(
            f"expected one positive class, got {spelled}={quoted(given)} beside a policy for "
            f"{quoted(own)}; leave one out"
        )
    _check_name(given, classes, spelled)
    return given


def _check_name(name: Any, classes: Sequence[Any], spelled: str) -> None:
    if name not in classes:
        raise InputError(
            f"expected {spelled}= to name one of the classes {some_of(classes)}, got {quoted(name)}"
        )


def _continued(asked: Decision, known: Decision, classes: Sequence[Any]) -> Decision:
    """Return the policy known before where another sets neither threshold nor costs."""
    if asked.class_weight is not None:
        return asked.resolve(classes)
    if asked.positive is None:
        asked = replace(asked, positive=known.positive)
    if known.threshold is not None and asked.positive != known.positive:
        raise InputError(
            f"expected {quoted(known.positive)} as positive class, which the tree's threshold of "
            f"{known.threshold:g} is for, got {quoted(asked.positive)}; "
            f"give a threshold for {quoted(asked.positive)} as well"
        )
    return replace(
        asked, threshold=known.threshold, class_weight=known.class_weight, origin=known.origin
    ).resolve(classes)


# -- a tree that decides the same for everybody ------------------------------------------
# What it misses, and the threshold that would help. With a rare outcome the largest share is the
# other class's in every leaf. The risks may be right and yet nobody is flagged; decisions, and how
# many of them change, then say nothing.


@dataclass(frozen=True)
class OneDecision:
    """What a tree decides for everybody.

    Attributes
    ----------
    label : class label
        What it decides for every row.
    positive : class label or None
        The class to be detected: where nobody named one, the one that nobody gets. None for
        several classes.
    event_share : float or None
        Share of the rows that are of the positive class; None where outcomes are not known, or
        where all or none of them are.
    n_rows : int or None
        None where the tree does not say how many rows it saw.
    threshold : float or None
        The largest threshold at which at least half of the events would be flagged; None
        where the share of events is, or the risk is the same for everybody.
    needed : float or None
        The risk from which the positive class is decided on; None for several classes.
    """

    label: Any
    positive: Any
    event_share: float | None
    n_rows: int | None
    threshold: float | None
    needed: float | None = None

    def words(self, who: str = "the tree") -> str:
        """Say it in two short sentences: what is decided, and which threshold would help.

        Parameters
        ----------
        who : str, default "the tree"
            What decides so.

        Returns
        -------
        str
        """
        rows = "rows" if self.n_rows is None else f"{self.n_rows:,} rows"
        text = f'{who} decides "{PLAIN.name(self.label)}" for all {rows}'
        if self.positive is None:
            return f"{text}."
        event = PLAIN.name(self.positive)
        if self.needed is not None:
            text += f': "{event}" needs a risk of {_percent(self.needed)}'
            if self.event_share is not None:
                text += f" and {_percent(self.event_share)} of rows are {event}"
        if self.threshold is None:
            return f"{text}."
        still = "still " if self.label == self.positive else ""
        return f"{text}. A threshold of {self.threshold_words} would {still}catch half of them."

    @property
    def threshold_words(self) -> str:
        """The threshold in per cent, rounded down so that it does catch half; "" where none."""
        return "" if self.threshold is None else _percent(self.threshold, down=True)


def find_one_decision(
    tree: Tree, risk: FloatArray, events: NDArray[Any] | None, weight: FloatArray | None = None
) -> OneDecision | None:
    """Return what a tree decides for all rows; None where it tells rows apart.

    Parameters
    ----------
    tree : Tree
    risk : float array
        What the tree predicts for each row: the share of the positive class of two. Of several
        classes only the number of rows is read.
    events : array or None
        Whether each row is of the positive class; or, for rows counted together, their share.
    weight : float array, optional
        How many rows each entry stands for, by default one.

    Returns
    -------
    OneDecision or None
    """
    if tree.classes is None or len(tree.classes) < 2 or not len(risk):
        return None
    two, at = len(tree.classes) == 2, tree.decision.position
    leaves = tree.leaves
    if two:
        reached = np.isin(tree.value[leaves, at], risk)
        leaves = leaves[reached] if reached.any() else leaves
    labels = np.unique(tree.label[leaves])
    if len(labels) > 1:
        return None
    rows = np.ones(len(risk)) if weight is None else np.asarray(weight, dtype=np.float64)
    counted = rows.sum() > 0
    n_rows = round(float(rows.sum())) if counted else None
    label = tree.classes[int(labels[0])]
    if not two:
        return OneDecision(label, None, None, n_rows, None)
    unnamed = tree.decision.positive is None and tree.decision.threshold is None
    # The positive class is then only the second by the alphabet.
    if at == labels[0] and unnamed and obvious_positive(tree.classes) is None:
        at, risk = 1 - at, 1 - risk
        events = None if events is None else 1 - np.asarray(events, dtype=np.float64)
    share = threshold = None
    if events is not None and counted:
        happened = np.asarray(events, dtype=np.float64) * rows
        n_events = float(happened.sum())
        if 0 < n_events < float(rows.sum()):
            share = n_events / float(rows.sum())
            threshold = _catches_half(np.asarray(risk, dtype=np.float64), happened)
    needed, weight_of = tree.decision.threshold, tree.decision.class_weight or (1.0, 1.0)
    if needed is None:
        needed = weight_of[1 - at] / sum(weight_of)
    return OneDecision(label, tree.classes[at], share, n_rows, threshold, needed)


def one_decision_of_leaves(tree: Tree) -> OneDecision | None:
    """Return what a tree decides for everybody by what is stored in its leaves.

    Rows are spoken of only where the tree says how many it saw.

    Parameters
    ----------
    tree : Tree

    Returns
    -------
    OneDecision or None
    """
    if tree.classes is None or len(tree.classes) < 2:
        return None
    leaves, at = tree.leaves, tree.decision.position
    risk = tree.value[leaves, at]
    if tree.observed is not None:
        rows = tree.observed.rows()[leaves]
        with np.errstate(invalid="ignore"):
            happened = tree.observed.counts[leaves].sum(axis=1)[:, at] / np.maximum(rows, 1)
        return find_one_decision(tree, risk, happened, rows)
    counted = tree.weight[leaves] if tree.counts_rows else np.zeros(len(leaves))
    return find_one_decision(tree, risk, risk, counted)


def warn_of_one_decision(
    found: OneDecision | None, who: str = "the tree", *, stacklevel: int = 3
) -> None:
    """Warn that a policy decides nothing.

    Parameters
    ----------
    found : OneDecision or None
    who : str, default "the tree"
    stacklevel : int, default 3
    """
    if found is not None:
        warnings.warn(found.words(who), OneDecisionWarning, stacklevel=stacklevel)


def _catches_half(risk: FloatArray, happened: FloatArray) -> float | None:
    """Return the largest risk from which on half of what happened lies; None where all are one."""
    if not happened.sum() > 0 or risk.min() == risk.max():
        return None
    levels, step = np.unique(risk, return_inverse=True)
    by_level = np.bincount(step, happened, levels.size)
    caught = np.cumsum(by_level[::-1])[::-1]
    return float(levels[np.flatnonzero(2 * caught >= caught[0])[-1]])


def _percent(share: float, *, down: bool = False) -> str:
    """Write a share in whole per cent, below one per cent to one digit."""
    if not 0 < share < 1:
        return f"{100 * share:g} %"
    digits = 0 if share >= 0.01 else -math.floor(math.log10(100 * share))
    scaled = 100 * share * 10**digits
    number = math.floor(scaled + 1e-9) if down else round(scaled)
    return f"{number / 10**digits:.{digits}f} %"
