"""What is proposed within a plan: the least change that the evidence and every clause allow.

Limits choose among the trees on the path of prices, at or above the asked price; what they leave
is judged by the same evidence as without them. Where they leave nothing, the deployed tree is
kept, and the candidate that would have been proposed is named with the clause that refused it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from steadytree.core.decision import Decision
from steadytree.core.forbidden import forbidden_before
from steadytree.core.space import FeatureSpace
from steadytree.evaluation.cross_fitting import CrossFitted, decides_alike
from steadytree.evaluation.flips import flipped, response_span, risk_moves
from steadytree.evaluation.locks import keeps_locks, resolve_locks
from steadytree.evaluation.performance import measure_score
from steadytree.evaluation.plan import LIMITS, ChangePlan
from steadytree.evaluation.plan_check import (
    MEASURES,
    ChangeMeasures,
    PlanCheck,
    PlanFault,
    ScoreMeasures,
    check_plan,
)
from steadytree.retraining.answer import changes_nothing, fall_back
from steadytree.retraining.frontier import choose

__all__ = ["CheckedCandidates", "Proposal", "propose", "selection_cost"]


@dataclass(frozen=True, eq=False)
class CheckedCandidates:
    """Holds the candidates of a retraining against plans.

    ``table`` are the new rows, ``changed_columns`` what is wrong with some of theirs, and
    ``locked`` what the edits could not touch.
    """

    frontier: pd.DataFrame
    scores: CrossFitted
    space: FeatureSpace
    table: Any
    changed_columns: Mapping[str, str]
    locked: Collection[Any]
    _known: dict[Any, PlanCheck] = field(default_factory=dict)

    def check(self, plan: ChangePlan, name: str, leave_out: int | None = None) -> PlanCheck:
        """Judge every clause for a candidate; ``leave_out`` is a fold that scores go without."""
        return check_plan(plan, self._measures(name, leave_out))

    def holds(self, plan: ChangePlan, name: str, leave_out: int | None = None) -> bool:
        """Whether a candidate keeps to the limits of a plan; edits keep to the rest of it."""
        limits = {limit for limit, *_ in plan.limits()}
        if not limits:
            return True
        scored = any(LIMITS[limit].measure == "score_change" for limit in limits)
        key = name, leave_out if scored else None
        if key not in self._known:
            self._known[key] = self.check(plan, *key)
        return self._known[key].held

    def _measures(self, name: str, leave_out: int | None) -> ChangeMeasures:
        scores, space = self.scores, self.space
        tree, start = scores.own[name], scores.own["keep"]
        old, new = scores.before, scores.predictions(name)[0]
        span = response_span(space, classifier=scores.classifier)

        def keeps(item: Any) -> bool:
            if item in self.locked:
                return bool(self.frontier["keeps_locks"][name])
            return keeps_locks(tree, start, resolve_locks(item, start, space), space)

        def score(rows: NDArray[np.intp] | None) -> ScoreMeasures:
            part = np.arange(len(scores.y)) if rows is None else rows
            seen = part if scores.scored is None else part[scores.scored[part]]
            return ScoreMeasures.of(measure_score(scores, name, rows, leave_out), scores.y[seen])

        labels = space.feature_labels
        used = {labels[j] for j in tree.used_features}
        seen_columns = used | {labels[j] for j in scores.deployed.used_features}
        return ChangeMeasures(
            dissimilarity=float(self.frontier["dissimilarity"][name]),
            n_leaves=tree.n_leaves,
            used=used,
            forbidden=forbidden_before(scores.deployed),
            keeps=keeps,
            changed=flipped(old, new, span),
            moves=risk_moves(old, new, span),
            table=self.table,
            score=score,
            same_tree=changes_nothing(scores.deployed, tree),
            same_decisions=scores.classifier and decides_alike(scores.deployed, tree),
            # The proposal was learnt from such rows: nothing that is said of it counts.
            faults=[
                PlanFault.of_column(column, words, MEASURES)
                for column, words in self.changed_columns.items()
                if column in seen_columns
            ],
        )


@dataclass(frozen=True)
class Proposal:
    """The candidate that is proposed, and why it is not the one that was named first.

    ``named`` may have been given up for ``chosen``; ``refused`` is what the plan did not allow,
    where nothing but keeping the deployed tree was left.
    """

    named: str
    chosen: str
    reason: str = ""
    refused: str | None = None


def propose(
    candidates: CheckedCandidates,
    plan: ChangePlan,
    decision: Decision,
    *,
    price: float,
    by_price: bool,
    leave_out: int | None = None,
) -> Proposal:
    """Choose a candidate within a plan, and fall back where evidence or a class speaks against it.

    ``by_price``: no rows were left out to ask, so the price decides.
    """
    scores = candidates.scores

    def within(allowed: Callable[[str], bool]) -> Proposal:
        named = choose(
            candidates.frontier,
            price,
            scores,
            allowed=allowed,
            by_price=by_price,
            leave_out=leave_out,
        )
        return Proposal(named, *fall_back(named, scores, decision, leave_out))

    free = within(lambda name: True)

    def held(name: str) -> bool:
        return candidates.holds(plan, name, leave_out)

    if free.chosen == "keep" or not any(plan.limits()):
        return free
    planned = within(held)
    if planned.chosen != "keep" and held(planned.chosen):
        return planned
    if held(free.chosen):
        return free
    check = candidates.check(plan, free.chosen, leave_out)
    reason = f"the plan refuses the candidate {free.chosen!r}. {check.refusal()}"
    stays = changes_nothing(scores.deployed, scores.own["keep"])
    return Proposal(free.chosen, "keep", reason, free.chosen if stays else None)


def selection_cost(
    chosen: str, scores: CrossFitted, choose_without: Callable[[int], str], *, by_price: bool
) -> float:
    """Score of the chosen candidate minus that of the procedure that chose it.

    For each fold the choice is repeated as if the fold's rows had not come, and what it picks is
    scored on them, beside the candidate chosen with them.
    """
    if by_price:
        return 0.0
    if len(scores.folds) < 3:
        return float("nan")
    total, weight = 0.0, 0
    for fold in range(len(scores.folds)):
        picked = choose_without(fold)
        flattery = scores.fold_gain(chosen, fold) - scores.fold_gain(picked, fold)
        if not np.isnan(flattery):
            rows = len(scores.folds[fold][1])
            total, weight = total + rows * flattery, weight + rows
    return total / weight if weight else float("nan")
