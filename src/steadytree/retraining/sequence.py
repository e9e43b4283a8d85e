"""Several batches, one tree for each: the sequence of trees that changes least in all.

Retraining one batch after the other takes the small change now and may pay for it later.
Here the candidates of all batches are laid side by side, and the cheapest way through
them is found: among the trees that predict each batch within tolerance of the best, the
sequence with the least total change (the idea of "slowly varying sequences").
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from steadytree.core.rows import stack_tables
from steadytree.core.space import FeatureSpace, has_fractions
from steadytree.core.tree import Tree
from steadytree.distance import pairwise_tree_distances
from steadytree.estimators.predictor import predictor_of
from steadytree.evaluation.scores import predict_rows, score_rows
from steadytree.exceptions import InputError, SteadyTreeWarning
from steadytree.readers import read_model
from steadytree.retraining.problem import prepare_problem
from steadytree.retraining.result import Retraining
from steadytree.retraining.retrain import DEFAULT_PRICE, retrain
from steadytree.retraining.runs import Progress
from steadytree.selection import within_tolerance

__all__ = ["SequenceStep", "TreeSequence", "least_change_path", "retrain_sequence"]

FloatArray = NDArray[np.float64]

# Total changes closer than this are equal: the better score decides.
TIE = 1e-12


@dataclass(frozen=True)
class SequenceStep:
    """The tree for one batch.

    Attributes
    ----------
    batch : int
        From 0.
    candidate : str
        Its name, as in the frontier of the batch it was made for.
    made_for : int
        The batch whose retraining made it; earlier than ``batch`` where a tree is kept.
    tree : Tree
    score, best_score : float
        Its score on the batch, and the best of all candidates.
    dissimilarity : float
        To the tree of the batch before (NaN for the first tree of all).

    Examples
    --------
    >>> import math
    >>> import steadytree as st
    >>> from steadytree.retraining.sequence import SequenceStep
    >>> tree = st.tree_from_rules('''
    ... age <= 50: no
    ... else: yes
    ... ''')
    >>> step = SequenceStep(0, "keep", 0, tree, score=0.79, best_score=0.8, dissimilarity=math.nan)
    >>> round(step.best_score - step.score, 3)
    0.01
    """

    batch: int
    candidate: str
    made_for: int
    tree: Tree
    score: float
    best_score: float
    dissimilarity: float


@dataclass(frozen=True, repr=False)
class TreeSequence:
    """One tree per batch, made by :func:`steadytree.retrain_sequence`.

    Attributes
    ----------
    steps : tuple of SequenceStep
    total_change : float
        Sum of the dissimilarities from one batch to the next.
    alternatives : DataFrame
        Total change and mean score of this sequence, of taking each retraining in turn
        as it comes, and of always taking the best score.
    candidates : DataFrame
        Every candidate of every batch: batch, candidate, made_for, score, allowed
        (within tolerance), chosen.
    retrainings : tuple of Retraining
        What the candidates came from, one per batch that was retrained.

    Examples
    --------
    >>> import math
    >>> import pandas as pd
    >>> import steadytree as st
    >>> from steadytree.retraining import TreeSequence
    >>> from steadytree.retraining.sequence import SequenceStep
    >>> tree = st.tree_from_rules('''
    ... age <= 50: no
    ... else: yes
    ... ''')
    >>> step = SequenceStep(0, "keep", 0, tree, score=0.8, best_score=0.8, dissimilarity=math.nan)
    >>> sequence = TreeSequence((step,), 0.0, pd.DataFrame(), pd.DataFrame(), ())
    >>> sequence
    TreeSequence(1 batches, total change 0.000)
    >>> sequence.models[0].predict([[60.0]]).tolist()
    ['yes']
    """

    steps: tuple[SequenceStep, ...]
    total_change: float
    alternatives: pd.DataFrame
    candidates: pd.DataFrame
    retrainings: tuple[Retraining, ...]

    @property
    def trees(self) -> tuple[Tree, ...]:
        """The tree of each batch."""
        return tuple(step.tree for step in self.steps)

    @property
    def models(self) -> tuple[Any, ...]:
        """The trees as scikit-learn predictors."""
        return tuple(predictor_of(tree) for tree in self.trees)

    def to_frame(self) -> pd.DataFrame:
        """One row per batch: candidate, made_for, score, best_score, dissimilarity, leaves.

        Returns
        -------
        DataFrame
        """
        rows = [{**vars(step), "n_leaves": step.tree.n_leaves} for step in self.steps]
        return pd.DataFrame(rows).drop(columns="tree").set_index("batch")

    def __repr__(self) -> str:
        return f"TreeSequence({len(self.steps)} batches, total change {self.total_change:.3f})"


def retrain_sequence(
    batches: Sequence[tuple[Any, Any]],
    *,
    deployed: Any = None,
    tolerance: float = 0.02,
    price: float = DEFAULT_PRICE,
    accumulate: bool = True,
    random_state: Any = None,
    progress: Progress | None = None,
    **options: Any,
) -> TreeSequence:
    r"""Give each batch a tree so that the trees change as little as possible in all.

    Solves, by dynamic programming over the candidates :math:`C_t` of each batch,

    .. math:: \min_{T_t \in C_t} \sum_t d(T_{t-1}, T_t)
              \quad\text{with}\quad s_t(T_t) \ge s_t^{\max} - \epsilon\, |s_t^{\max}| ,

    where d is the dissimilarity and :math:`s_t` the score on batch t. The candidates of
    a batch are the frontier of its retraining (cross-fitted scores; what is locked is kept)
    and every candidate of earlier batches (scored on the batch as they are: they never saw it).

    Parameters
    ----------
    batches : sequence of (X, y)
        In the order in which they came.
    deployed : model, Tree or path, optional
        The tree in force before the first batch. Without it the first batch gets a
        distilled tree of its own, and the sequence starts there.
    tolerance : float, default 0.02
        The share of the best score of a batch that may be given up for less change.
    price : float, default 0.25
        Price of the retraining that each next one starts from.
    accumulate : bool, default True
        Retrain with the rows of all earlier batches as old rows.
    random_state : int or None
    progress : callable, optional
        Called as ``progress(step, done, total)``.
    **options
        Passed to :func:`retrain`.

    Returns
    -------
    TreeSequence

    References
    ----------
    D. Bertsimas, V. Digalakis Jr, Y. Ma, P. Paschalidis, "Towards Stable Machine Learning
    Model Retraining via Slowly Varying Sequences", arXiv:2403.19871.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> import steadytree as st
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> batches = [(X[:250], y[:250]), (X[250:400], y[250:400]), (X[400:], y[400:])]
    >>> sequence = st.retrain_sequence(batches, n_folds=2, n_estimators=20, random_state=0)
    >>> sequence.to_frame()["candidate"].to_list()  # the first tree is good enough throughout
    ['deployed', 'deployed', 'deployed']
    >>> sequence.total_change
    0.0
    """
    parts = _checked(batches, tolerance)
    if deployed is None:
        start = _first_tree(*parts[0], random_state, options.get("decision_threshold"))
        if len(parts) < 2:
            raise InputError(
                "expected two batches or more without a deployed tree, got one; "
                "fit a tree on it, or pass deployed=..."
            )
    else:
        start = read_model(deployed)
    first = 1 if deployed is None else 0
    policy = None if deployed is None else options.get("decision_threshold")
    retrainings: list[Retraining] = []
    anchor, space = _one_space(start, parts, options.get("space"))
    X_old, y_old = parts[0] if deployed is None else (None, None)
    for t in range(first, len(parts)):
        X, y = parts[t]
        if progress is not None:
            progress(f"batch {t + 1} of {len(parts)}", t, len(parts))
        result = retrain(
            anchor,
            X,
            y,
            X_old=X_old if accumulate else None,
            y_old=y_old if accumulate else None,
            price=price,
            random_state=random_state,
            **{**options, "decision_threshold": policy, "space": space},
        )
        retrainings.append(result)
        anchor, policy = result.tree, None  # inherited from now on
        X_old = X if X_old is None else stack_tables([X_old, X])
        y_old = np.asarray(y) if y_old is None else np.concatenate([y_old, np.asarray(y)])
    return _choose(retrainings, first, tolerance)


def _checked(batches: Any, tolerance: float) -> list[tuple[Any, Any]]:
    parts = list(batches)
    for t, part in enumerate(parts):
        if not isinstance(part, (tuple, list)) or len(part) != 2:
            raise InputError(
                f"expected each batch to be a pair (X, y), got {type(part).__name__} as batch {t}"
            )
    if not parts:
        raise InputError("expected at least one batch, got none")
    if not tolerance >= 0:
        raise InputError(f"expected tolerance >= 0, got {tolerance!r}")
    return [(part[0], part[1]) for part in parts]


def _one_space(
    tree: Tree, parts: list[tuple[Any, Any]], space: FeatureSpace | None
) -> tuple[Tree, FeatureSpace]:
    """Fix one space for all batches, so that every change is on one scale."""
    X = parts[0][0] if len(parts) == 1 else stack_tables([X for X, _ in parts])
    y = np.concatenate([np.asarray(y) for _, y in parts])
    with warnings.catch_warnings():
        # That later batches go beyond the first is what they are looked at for here.
        warnings.simplefilter("ignore", SteadyTreeWarning)
        problem = prepare_problem(tree, X, y, space=space)
    found, coded = problem.space, problem.deployed.round_values(problem.new.coded)
    numeric = np.array([c is None for c in found.categories])
    wide = found.replace(
        lower=np.where(numeric, np.fmin(found.lower, np.fmin.reduce(coded)), 0.0),
        upper=np.where(numeric, np.fmax(found.upper, np.fmax.reduce(coded)), 0.0),
    )
    return tree.in_space(wide), wide


def _first_tree(X: Any, y: Any, random_state: Any, decision_threshold: Any) -> Tree:
    from steadytree.estimators.distilled import DistilledTreeClassifier, DistilledTreeRegressor

    if has_fractions(np.asarray(y)):
        return read_model(DistilledTreeRegressor(random_state=random_state).fit(X, y))
    model = DistilledTreeClassifier(
        random_state=random_state, decision_threshold=decision_threshold
    )
    return read_model(model.fit(X, y))


# -- candidates ----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Candidate:
    name: str
    made_for: int
    tree: Tree


def _same(a: Tree, b: Tree) -> bool:
    """Whether two trees are the same rules with the same values."""
    return (
        a.n_nodes == b.n_nodes
        and np.array_equal(a.children_left, b.children_left)
        and np.array_equal(a.feature, b.feature)
        and np.array_equal(a.threshold, b.threshold, equal_nan=True)
        and a.left_categories == b.left_categories
        and np.array_equal(a.value, b.value)
        and np.array_equal(a.label, b.label)
    )


def _find(tree: Tree, candidates: Sequence[_Candidate], space: FeatureSpace) -> int | None:
    """Position of the candidate that is this tree."""
    found = (i for i, c in enumerate(candidates) if _same(tree, c.tree.in_space(space)))
    return next(found, None)


def _add_candidates(candidates: list[_Candidate], result: Retraining, batch: int) -> FloatArray:
    """Add the candidates of one batch that are new, and score all on it."""
    coded, y = result.rows.coded, result.y_new
    scores = []
    for candidate in candidates:
        value = predict_rows(candidate.tree.in_space(result.space), coded).value
        scored = score_rows(y, value, classifier=candidate.tree.is_classifier).value
        # Without folds the new candidates have no score, so none is compared.
        scores.append(scored if result.scores.folds else np.nan)
    for name, tree in result.trees.items():
        if result.frontier["keeps_locks"][name] and _find(tree, candidates, result.space) is None:
            candidates.append(_Candidate(str(name), batch, tree))
            scores.append(float(result.frontier["score"][name]))
    # A candidate that cannot be scored can be chosen only where none can.
    return np.where(np.isnan(scores), -np.inf, scores)


# -- the way through them ------------------------------------------------------------------


def least_change_path(
    changes: Sequence[FloatArray], scores: Sequence[FloatArray], allowed: Sequence[NDArray[Any]]
) -> list[int]:
    """Find the cheapest way through the candidates of each batch (shortest path).

    ``changes[0][j]`` is the change from the start to candidate j of the first batch,
    ``changes[t][i, j]`` from candidate i of batch t - 1 to candidate j of batch t. Scores
    decide between paths of equal change. At least one candidate per batch must be allowed.
    """
    total = np.where(allowed[0], changes[0], np.inf)
    merit = np.array(scores[0], dtype=np.float64)
    came_from: list[NDArray[np.intp]] = []
    for t in range(1, len(changes)):
        through = total[:, None] + changes[t]
        least = through.min(axis=0)
        tied = through <= least + TIE
        best = np.where(tied, merit[:, None], -np.inf).argmax(axis=0)
        came_from.append(best)
        total = np.where(allowed[t], least, np.inf)
        merit = merit[best] + scores[t]
    tied = total <= total.min() + TIE
    at = int(np.where(tied, merit, -np.inf).argmax())
    path = [at]
    for best in reversed(came_from):
        path.append(int(best[path[-1]]))
    return path[::-1]


def _choose(retrainings: list[Retraining], first: int, tolerance: float) -> TreeSequence:
    start = retrainings[0].deployed
    space = retrainings[-1].space  # each keeps the space before, or adds to it
    # Candidates only accumulate, so positions never change; each batch knows the first few.
    candidates = [_Candidate("deployed", first - 1, start)]
    scores: list[FloatArray] = []
    in_turn: list[int] = []
    for t, result in enumerate(retrainings, start=first):
        scores.append(_add_candidates(candidates, result, t))
        own = _find(result.tree, candidates, result.space)
        assert own is not None
        in_turn.append(own)
    allowed = [
        within_tolerance(v, tolerance) if np.isfinite(v).any() else np.ones(len(v), dtype=bool)
        for v in scores
    ]
    between = pairwise_tree_distances(
        [candidate.tree.in_space(space) for candidate in candidates],
        space=space,
        variant="metric",
        normalize="relative",
    )
    changes = [between[0, : len(scores[0])]]
    changes += [between[: len(one), : len(two)] for one, two in pairwise(scores)]
    usable = [np.where(np.isfinite(v), v, 0.0) for v in scores]
    path = least_change_path(changes, usable, allowed)
    ways = {
        "least total change": path,
        "each retraining in turn": in_turn,
        "best score of each batch": [int(v.argmax()) for v in scores],
    }
    nan = float("nan")
    steps = [SequenceStep(0, "deployed", 0, start, nan, nan, nan)] if first == 1 else []
    rows = []
    for t, (at, previous) in enumerate(zip(path, [0, *path], strict=False)):
        steps.append(
            SequenceStep(
                batch=first + t,
                candidate=candidates[at].name,
                made_for=max(candidates[at].made_for, 0),
                tree=candidates[at].tree.in_space(space),
                score=_known(scores[t][at]),
                best_score=_known(scores[t].max()),
                dissimilarity=float(between[previous, at]),
            )
        )
        rows += [
            {
                "batch": first + t,
                "candidate": candidates[i].name,
                "made_for": max(candidates[i].made_for, 0),
                "score": _known(score),
                "allowed": bool(allowed[t][i]),
                "chosen": i == at,
            }
            for i, score in enumerate(scores[t])
        ]
    return TreeSequence(
        steps=tuple(steps),
        total_change=_total(path, between),
        alternatives=_alternatives(ways, between, scores),
        candidates=pd.DataFrame(rows),
        retrainings=tuple(retrainings),
    )


def _known(value: float) -> float:
    return float(value) if np.isfinite(value) else float("nan")


def _total(path: Sequence[int], between: FloatArray) -> float:
    return float(sum(between[a, b] for a, b in zip([0, *path[:-1]], path, strict=True)))


def _alternatives(
    ways: dict[str, list[int]], between: FloatArray, scores: list[FloatArray]
) -> pd.DataFrame:
    rows = [
        {
            "sequence": name,
            "total_change": _total(path, between),
            "mean_score": _known(float(np.mean([s[i] for s, i in zip(scores, path, strict=True)]))),
        }
        for name, path in ways.items()
    ]
    return pd.DataFrame(rows).set_index("sequence")
