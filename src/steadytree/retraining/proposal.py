"""What is proposed within a plan: the least change that the evidence and every clause allow.

Limits choose among the trees on the path of prices, at or above the asked price; what they leave
is judged by the same evidence as without them. Where they leave nothing, the deployed tree is
kept, and the candidate that would have been proposed is named with the clause that refused it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from steadytree.evaluation.cross_fitting import CrossFitted, decides_alike, same_rules
from steadytree.evaluation.locks import forbidden_before, keeps_locks, resolve_locks
from steadytree.evaluation.performance import (
    classes_given_up,
    flipped,
    measure_policy,
    measure_score,
    response_span,
    risk_moves,
)
from steadytree.evaluation.plan import LIMITS, ChangePlan
from steadytree.evaluation.plan_check import (
    FEWEST_EVENTS,
    MEASURES,
    ChangeMeasures,
    PlanCheck,
    PlanFault,
    ScoreMeasures,
    check_plan,
    count_events,
)
from steadytree.evaluation.scores import predict_rows, quantile
from steadytree.retraining.frontier import choose
from steadytree.tree.decision import Decision
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree
from steadytree.tree.words import listed

# -- One answer: keep the deployed tree, re-estimate its risks, or change its rules; and how sure --
# The proposal's rule ("no evidence, no change") names a candidate. Here it falls back to a smaller
# change where rows left out, or a class that would be given up, speak against it, so that the
# action and the tree are never of two minds. How sure one can be, and what is given up by not going
# further, stand beside the action and do not change it.

ACTIONS = ("keep", "re-estimate", "change")
TOO_FEW = "too few events to measure"
CONFIDENCES = ("confirmed", "likely", "unconfirmed", TOO_FEW, "unmeasured")

WORSE_ERRORS = 2.0
"""A proposal that is worse than the deployed tree by so many standard errors is not made."""
LEAD, LEAD_ERRORS = 0.01, 2.0
"""A candidate is named as given up if it leads by so much AUC or R², or by so many errors."""
LEAST_LEAD = 0.001
"""Leads that a score of three decimals does not show are not named."""
SCRATCH = "from scratch"
NOT_APPLIED = "the policy asked for is not applied"


@dataclass(frozen=True)
class Gain:
    """A measured improvement with its standard error.

    Attributes
    ----------
    value, error : float
        Better above 0; NaN where unmeasured.

    Examples
    --------
    >>> Gain(0.02, 0.005).clear, Gain(0.02, 0.02).clear
    (1, 0)
    """

    value: float
    error: float

    @property
    def known(self) -> bool:
        """Whether it could be measured."""
        return not math.isnan(self.value) and not math.isnan(self.error)

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval."""
        half = quantile(0.95) * self.error
        return self.value - half, self.value + half

    @property
    def clear(self) -> int:
        """1 or -1 where the 95 % interval lies above or below 0, else 0."""
        low, high = self.interval
        return int(low > 0) - int(high < 0)

    @property
    def clearly_worse(self) -> bool:
        """Whether it lies below 0 by more than two standard errors."""
        return self.known and self.value < -WORSE_ERRORS * self.error


@dataclass(frozen=True)
class Forgone:
    """The best candidate that the action leaves aside: its lead over the action's tree.

    Attributes
    ----------
    name : str
        Its row in the frontier.
    lead, error : float
        In the score (AUC, R²), as on rows left out, with the paired standard error.
    score : float
    flips : float
        Share of the new rows whose decision it would change.
    keeps_locks : bool
        False: it does not keep what is locked, so it could not be chosen.
    within_plan : bool
        False: the plan does not allow it, so it could not be chosen.

    Examples
    --------
    >>> Forgone("from scratch", lead=0.03, error=0.01, score=0.84, flips=0.12).clear
    True
    """

    name: str
    lead: float
    error: float
    score: float
    flips: float
    keeps_locks: bool = True
    within_plan: bool = True

    @property
    def clear(self) -> bool:
        """Whether it leads by two paired errors and one point."""
        return self.lead >= LEAD and self.lead > LEAD_ERRORS * self.error


@dataclass(frozen=True)
class Answer:
    """What to do, how sure one can be, and what is given up.

    Attributes
    ----------
    action : {"keep", "re-estimate", "change"}
    confidence : str
        "confirmed": the 95 % interval lies above 0 in score, Brier score or cost; "likely": the
        estimate does; "unconfirmed"; "too few events to measure"; "unmeasured" (no folds). Of
        "keep" the same is said of the deployed tree against what would have been proposed.
    reason : str
        Why the deployed tree is kept, or only its risks are re-estimated; else "".
    gains : mapping of str to Gain
        Improvement over the deployed tree, better above 0: of the action's tree, or where the
        deployed tree is kept of the candidate that was refused.
    events : int
        New rows of the rarer class (several classes: outside the largest one; a response: all).
    refused : str
        Candidate that the action fell back from, or that the plan refused; else "".
    forgone : Forgone or None
    rebuild_advised : bool
        A tree from scratch leads the action's tree by two paired errors and one point, and
        breaks no lock.

    Examples
    --------
    >>> answer = Answer("re-estimate", "likely", "", {"score": Gain(0.01, 0.02)}, events=120)
    >>> answer.to_dict()["confidence"]
    'likely'
    """

    action: str
    confidence: str
    reason: str
    gains: Mapping[str, Gain]
    events: int
    refused: str = ""
    forgone: Forgone | None = None
    rebuild_advised: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON.

        Returns
        -------
        dict
        """
        return {
            "action": self.action,
            "confidence": self.confidence,
            "reason": self.reason,
            "events": self.events,
            "refused": self.refused or None,
            "forgone": None if self.forgone is None else asdict(self.forgone),
            "rebuild_advised": self.rebuild_advised,
        }


# -- from a proposal to an action --------------------------------------------------------


def measure_gains(
    scores: CrossFitted, name: str, decision: Decision, leave_out: int | None = None
) -> dict[str, Gain]:
    """Improvement of a candidate over the deployed tree, as on rows left out.

    In the score, and for classes in the Brier score and in the mean cost of decisions; errors
    are those of the performance table.
    """
    score = measure_score(scores, name, leave_out=leave_out)
    out = {"score": Gain(score.estimate.change.value, score.change_error())}
    if scores.classifier:
        for loss in measure_policy(scores, name, decision, leave_out):
            out[loss.name] = Gain(-loss.estimate.change.value, loss.change_error())
    return out


def given_up(scores: CrossFitted, name: str, decision: Decision) -> tuple[str, ...]:
    """Classes that a candidate no longer decides on, or hardly finds any more.

    What the user's own new policy gives up is not the candidate's doing: then the deployed
    tree counts as it would decide under that policy.
    """
    if not scores.classifier:
        return ()
    deployed, old = scores.deployed, scores.before
    if _another_policy(deployed, decision):
        deployed = deployed.relabelled(decision)
        old = predict_rows(deployed, scores.coded)
    new, tree = scores.predictions(name)[0], scores.own[name]
    labels = [tree.label[tree.leaves].tolist() for tree in (deployed, tree)]
    lost = classes_given_up((labels[0], labels[1]), (old.label, new.label), scores.y)
    return tuple(str((tree.classes or ())[int(at)]) for at in lost)


def _another_policy(deployed: Tree, decision: Decision) -> bool:
    return replace(decision, steady=deployed.decision.steady) != deployed.decision


def fall_back(
    name: str, scores: CrossFitted, decision: Decision, leave_out: int | None = None
) -> tuple[str, str]:
    """Return the candidate to be proposed in the end, and why if it is not the one named.

    A candidate that gives up a class falls back to re-estimated leaves; one that rows left out
    show to be clearly worse than the deployed tree, or that changes nothing, to that tree. What
    is forbidden cannot be kept: then nothing falls back to it.
    """
    reason, stays = "", same_rules(scores.deployed, scores.own["keep"]) is not None
    lost = given_up(scores, name, decision)
    if lost:
        reason = f"the candidate {name!r} would give up predicting {listed(lost, 'and')}"
        fits = name != "re-estimate" and not given_up(scores, "re-estimate", decision)
        name = "re-estimate" if fits else "keep" if stays else name
    if name == "keep" or not stays:
        return name, reason
    gains = measure_gains(scores, name, decision, leave_out) if scores.folds else {}
    worse = [words for words, gain in gains.items() if gain.clearly_worse]
    if worse:
        what = {"score": score_name(scores), "Brier score": "Brier score", "cost": "cost"}
        which = listed([what[words] for words in worse], "and")
        return "keep", f"the candidate {name!r} is clearly worse on rows left out ({which})"
    if changes_nothing(scores.deployed, scores.own[name]):
        return "keep", reason or "the new rows change nothing"
    return name, reason


def changes_nothing(deployed: Tree, tree: Tree) -> bool:
    """Whether two trees have the same rules, labels and predictions."""
    leaves = same_rules(deployed, tree)
    if leaves is None:
        return False
    one, two = leaves
    if not np.allclose(deployed.value[one], tree.value[two], rtol=0, atol=1e-12):
        return False
    return deployed.classes is None or bool((deployed.label[one] == tree.label[two]).all())


def score_name(scores: CrossFitted) -> str:
    """Name the score of the frontier."""
    return "AUC" if scores.classifier else "R²"


# -- the answer --------------------------------------------------------------------------


def draw_answer(
    candidates: CheckedCandidates, plan: ChangePlan, decision: Decision, proposal: Proposal
) -> Answer:
    """Draw the answer about what is proposed."""
    frontier, scores = candidates.frontier, candidates.scores
    proposed, chosen, reason = proposal.named, proposal.chosen, proposal.reason
    tree = scores.own[chosen]
    action = "re-estimate" if frontier["kind"][chosen] != "keep" else "keep"
    if same_rules(scores.deployed, tree) is None:
        action = "change"  # also to what is left of it where conditions were forbidden
    if action == "keep" and scores.classifier and _another_policy(scores.deployed, decision):
        reason = f"{reason}; {NOT_APPLIED}" if reason else NOT_APPLIED
    refused = proposed if proposed != chosen else ""
    against = chosen if action != "keep" else refused or _asked(frontier)
    gains = measure_gains(scores, against, decision) if against else {}
    scored = scores.y if scores.scored is None else scores.y[scores.scored]
    events = count_events(scored, classifier=scores.classifier)
    confidence = _confidence(action, gains, events, measured=bool(scores.folds))
    forgone = scratch = None
    if confidence not in (TOO_FEW, "unmeasured"):
        forgone = _find_forgone(frontier, scores, chosen)
        if forgone is not None:
            within = candidates.holds(plan, forgone.name)
            forgone = replace(forgone, within_plan=within)
        scratch = _lead(frontier, scores, chosen, SCRATCH)
    return Answer(
        action=action,
        confidence=confidence,
        reason=reason,
        gains=gains,
        events=events,
        refused=refused,
        forgone=forgone,
        rebuild_advised=scratch is not None and scratch.clear and scratch.keeps_locks,
    )


def _asked(frontier: pd.DataFrame) -> str:
    """Return what would have been proposed beside the deployed tree: the least change."""
    return "re-estimate" if "re-estimate" in frontier.index else ""


def _confidence(action: str, gains: Mapping[str, Gain], events: int, *, measured: bool) -> str:
    known = [gain for gain in gains.values() if gain.known]
    if not measured or not known:
        return "unmeasured"
    if events < FEWEST_EVENTS:
        return TOO_FEW
    sign = -1 if action == "keep" else 1
    if any(gain.clear == sign for gain in known):
        return "confirmed"
    # Trees that rank alike have the same score: then the next measure says which is better.
    first = next((gain.value for gain in known if gain.value != 0), 0.0)
    likely = first > 0 if action != "keep" else first <= 0
    return "likely" if likely else "unconfirmed"


def _lead(frontier: pd.DataFrame, scores: CrossFitted, chosen: str, name: str) -> Forgone | None:
    """Lead of a candidate over the chosen one; None where it cannot be measured."""
    if name == chosen or name not in frontier.index or pd.isna(frontier["score"][name]):
        return None
    lead = scores.score(name).minus(scores.score(chosen))
    return Forgone(
        name,
        lead.value,
        scores.error(lead),
        float(frontier["score"][name]),
        float(frontier["flips"][name]),
        bool(frontier["keeps_locks"][name]),
    )


def _find_forgone(frontier: pd.DataFrame, scores: CrossFitted, chosen: str) -> Forgone | None:
    """Best candidate whose estimate leads by a point or by two paired errors."""
    leads = [_lead(frontier, scores, chosen, str(name)) for name in frontier.index]
    far = [
        one
        for one in leads
        if one is not None
        and one.lead >= LEAST_LEAD
        and (one.lead >= LEAD or one.lead > LEAD_ERRORS * one.error)
    ]
    # Of equally good ones the one that changes fewer decisions.
    return max(far, key=lambda one: (round(one.lead, 6), -one.flips), default=None)


# -- What is proposed within a plan: the least change that the evidence and every clause allow --


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
