"""The table of candidates between "keep" and "from scratch", the choice from it, and the answer.

A price is an exchange rate between predictive loss and change, fixed before the scores are seen.
Proposed is the least change on the path of prices that rows left out, and every clause of the plan,
allow; where they leave nothing, the deployed tree is kept, and the candidate that would have been
proposed is named with the clause that refused it.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from steadytree.diff.directions import space_with_turned
from steadytree.distance import tree_distance
from steadytree.estimators.selection import pareto_mask
from steadytree.evaluation.cross_fitting import CrossFitted, decides_alike, same_rules
from steadytree.evaluation.locks import forbidden_before, keeps_locks, resolve_locks
from steadytree.evaluation.performance import (
    classes_given_up,
    flipped,
    measure_policy,
    measure_score,
    moved_shares,
    response_span,
    risk_moves,
)
from steadytree.evaluation.plan import ChangePlan
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
from steadytree.evaluation.scores import (
    PerRow,
    Score,
    decision_costs,
    losses,
    predict_rows,
    quantile,
)
from steadytree.exceptions import ClippedThresholdWarning
from steadytree.tree.decision import Decision
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree
from steadytree.tree.words import listed

# No evidence, no change. A price says what a change must be worth to the teacher. On few rows a
# teacher sees patterns in noise, so the tree at the asked price is proposed only as far as rows
# that were left out confirm it: proposed is the least change that predicts and decides not clearly
# worse than that tree.

ORDER = {"re-estimate": 0, "priced edits": 1}
"""Kinds of candidates on the path: re-estimated leaves change no rule and come before any edit."""


def _clearly_worse(name: str, asked: str, scores: CrossFitted) -> bool:
    """Whether a candidate ranks, errs or decides clearly worse than another on rows left out."""
    lead = scores.score(asked).minus(scores.score(name))
    if lead.value > scores.error(lead):
        return True
    amounts: list[PerRow] = [losses]
    if scores.classifier:
        amounts.append(decision_costs(scores.own[asked].decision))
    for amount in amounts:
        excess = scores.left_out(name, amount) - scores.left_out(asked, amount)
        known = ~np.isnan(excess)
        if not known.any():
            continue
        mean = float(excess[known].mean())
        influence = np.where(known, excess - mean, 0.0) / known.sum()
        if mean > scores.error(Score(mean, influence)):
            return True
    return False


@dataclass(frozen=True)
class CandidateTree:
    """A candidate as the table shows it."""

    name: str
    kind: str
    tree: Tree
    price: float = float("nan")
    edits: tuple[str, ...] = ()
    cross_fitted: bool = True
    keeps_locks: bool = True


def build_frontier(
    candidates: list[CandidateTree], deployed: Tree, space: FeatureSpace, scores: CrossFitted
) -> pd.DataFrame:
    """One row per candidate: how far it goes, how good it is, whom it decides otherwise."""
    span, rows = response_span(space, classifier=scores.classifier), []
    for item in candidates:
        score, new = measure_score(scores, item.name), scores.predictions(item.name)[0]
        with warnings.catch_warnings():
            # Out of range on either side of the space is the same place.
            warnings.simplefilter("ignore", ClippedThresholdWarning)
            known = space_with_turned(deployed, item.tree, space)
            distance = tree_distance(deployed, item.tree, space=known)
            dissimilarity = tree_distance(
                deployed, item.tree, space=known, variant="metric", normalize="relative"
            )
        rows.append(
            {
                "candidate": item.name,
                "kind": item.kind,
                "price": item.price,
                "dissimilarity": dissimilarity,
                "distance": distance,
                # As a performance table shows them in its first line.
                "score": score.estimate.recipe.value,
                "score_se": score.error(),
                "score_change": score.estimate.change.value,
                "score_change_se": score.change_error(),
                "cross_fitted": item.cross_fitted,
                "keeps_locks": item.keeps_locks,
                "flips": float(flipped(scores.before, new, span).mean()),
                **moved_shares(risk_moves(scores.before, new, span)),
                "n_leaves": item.tree.n_leaves,
                "depth": item.tree.depth,
                "n_edits": len(item.edits),
                "edits": item.edits,
            }
        )
    table = pd.DataFrame(rows).set_index("candidate")
    # Hardly measurable differences of rounding must not decide who is on the frontier.
    points = table[["dissimilarity", "score"]].to_numpy().round(12)
    table["on_frontier"] = pareto_mask(points, [False, True])
    table["chosen"] = False
    return table


def choose(
    frontier: pd.DataFrame,
    price: float,
    scores: CrossFitted,
    *,
    allowed: Callable[[str], bool] | None,
    by_price: bool,
) -> str:
    """Name of the candidate that is proposed, of those on the path down to a price.

    Of the ``allowed`` ones (None: all) the least change that is not clearly worse than the one
    nearest the price; ``by_price`` that one itself. "keep" where none is allowed. Compared on rows
    left out: the score of the frontier (AUC, R²), the squared error of the predictions and the
    cost of the decisions; "clearly" is by more than one standard error of the paired difference.
    Where no row was left out there is no evidence, and only the leaves are estimated anew.
    """
    path = frontier[frontier["kind"].isin(list(ORDER)) & ~(frontier["price"] < price)]
    if allowed is not None:
        path = path[[allowed(str(name)) for name in path.index]]
    if path.empty:
        return "keep"
    asked = str(path["price"].idxmin())
    if by_price:
        return asked
    if not scores.folds:
        return "re-estimate" if "re-estimate" in path.index else "keep"
    # Equal but for rounding is equal; dearer trees before cheaper ones.
    order, far = path["kind"].map(ORDER), path["dissimilarity"].round(12)
    for *_, name in sorted(zip(order, far, -path["price"], path.index, strict=True)):
        if not _clearly_worse(str(name), asked, scores):
            return str(name)
    return asked


# One answer: keep the deployed tree, re-estimate its risks, or change its rules; and how sure.
# The proposal's rule ("no evidence, no change") names a candidate. Here it falls back to a smaller
# change where rows left out, or a class that would be given up, speak against it, so that the
# action and the tree are never of two minds. How sure one can be, and what is given up by not going
# further, stand beside the action and do not change it.

TOO_FEW = "too few events to measure"

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
    >>> answer.confidence
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


def measure_gains(scores: CrossFitted, name: str, decision: Decision) -> dict[str, Gain]:
    """Improvement of a candidate over the deployed tree, as on rows left out.

    In the score, and for classes in the Brier score and in the mean cost of decisions; errors
    are those of the performance table.
    """
    score = measure_score(scores, name)
    gains = {"score": Gain(score.estimate.change.value, score.change_error())}
    if scores.classifier:
        for loss in measure_policy(scores, name, decision):
            gains[loss.name] = Gain(-loss.estimate.change.value, loss.change_error())
    return gains


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


def fall_back(name: str, scores: CrossFitted, decision: Decision) -> tuple[str, str]:
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
    gains = measure_gains(scores, name, decision) if scores.folds else {}
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
    if leaves is None or (deployed.is_classifier and not decides_alike(deployed, tree)):
        return False
    one, two = deployed.value[leaves[0]], tree.value[leaves[1]]
    return np.allclose(one, two, rtol=0, atol=1e-12)


def score_name(scores: CrossFitted) -> str:
    """Name the score of the frontier."""
    return "AUC" if scores.classifier else "R²"


def draw_answer(candidates: CheckedCandidates, decision: Decision, proposal: Proposal) -> Answer:
    """Draw the answer about what is proposed."""
    frontier, scores = candidates.frontier, candidates.scores
    chosen, reason = proposal.chosen, proposal.reason
    action = "re-estimate" if frontier["kind"][chosen] != "keep" else "keep"
    if same_rules(scores.deployed, scores.own[chosen]) is None:
        action = "change"  # also to what is left of it where conditions were forbidden
    if action == "keep" and scores.classifier and _another_policy(scores.deployed, decision):
        reason = f"{reason}; {NOT_APPLIED}" if reason else NOT_APPLIED
    refused = proposal.named if proposal.named != chosen else ""
    # What the deployed tree is held against: else the least change that could have been made.
    against = chosen if action != "keep" else refused or "re-estimate"
    gains = measure_gains(scores, against, decision) if against in frontier.index else {}
    scored = scores.y if scores.scored is None else scores.y[scores.scored]
    events = count_events(scored, classifier=scores.classifier)
    confidence = _confidence(action, gains, events, measured=bool(scores.folds))
    forgone = scratch = None
    if confidence not in (TOO_FEW, "unmeasured"):
        leads = {str(name): _lead(candidates, chosen, str(name)) for name in frontier.index}
        far = [
            lead
            for lead in leads.values()
            if lead is not None
            and lead.lead >= LEAST_LEAD
            and (lead.lead >= LEAD or lead.lead > LEAD_ERRORS * lead.error)
        ]
        # Of equally good ones the one that changes fewer decisions.
        forgone = max(far, key=lambda one: (round(one.lead, 6), -one.flips), default=None)
        if forgone is not None:
            forgone = replace(forgone, within_plan=candidates.holds(forgone.name))
        scratch = leads.get(SCRATCH)
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


def _lead(candidates: CheckedCandidates, chosen: str, name: str) -> Forgone | None:
    """Lead of a candidate over the chosen one; None where it cannot be measured."""
    frontier, scores = candidates.frontier, candidates.scores
    score, flips = (float(frontier[column][name]) for column in ("score", "flips"))
    if name == chosen or math.isnan(score):
        return None
    lead = scores.score(name).minus(scores.score(chosen))
    kept = bool(frontier["keeps_locks"][name])
    return Forgone(name, lead.value, scores.error(lead), score, flips, kept)


@dataclass(frozen=True, eq=False)
class CheckedCandidates:
    """Holds the candidates of a retraining against plans.

    ``table`` are the new rows, ``changed_columns`` what is wrong with some of theirs, and ``plan``
    what the retraining was asked: edits could not touch what it locks.
    """

    frontier: pd.DataFrame
    scores: CrossFitted
    space: FeatureSpace
    table: Any
    changed_columns: Mapping[str, str]
    plan: ChangePlan

    def check(self, plan: ChangePlan, name: str) -> PlanCheck:
        """Judge every clause for a candidate."""
        return check_plan(plan, self._measures(name))

    def holds(self, name: str) -> bool:
        """Whether a candidate keeps to the limits of the plan; edits keep to the rest of it."""
        return not any(self.plan.limits()) or self.check(self.plan, name).held

    def _measures(self, name: str) -> ChangeMeasures:
        scores, space = self.scores, self.space
        tree, start = scores.own[name], scores.own["keep"]
        old, new = scores.before, scores.predictions(name)[0]
        span = response_span(space, classifier=scores.classifier)

        def keeps(item: Any) -> bool:
            if item in self.plan.locked:
                return bool(self.frontier["keeps_locks"][name])
            return keeps_locks(tree, start, resolve_locks(item, start, space), space)

        def score(rows: NDArray[np.intp] | None) -> ScoreMeasures:
            part = np.arange(len(scores.y)) if rows is None else rows
            seen = part if scores.scored is None else part[scores.scored[part]]
            return ScoreMeasures.of(measure_score(scores, name, rows), scores.y[seen])

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
    decision: Decision,
    *,
    price: float,
    by_price: bool,
) -> Proposal:
    """Choose a candidate within the plan, and fall back where evidence or a class is against it.

    ``by_price``: no rows were left out to ask, so the price decides.
    """
    frontier, scores, held = candidates.frontier, candidates.scores, candidates.holds

    def within(allowed: Callable[[str], bool] | None) -> Proposal:
        named = choose(frontier, price, scores, allowed=allowed, by_price=by_price)
        return Proposal(named, *fall_back(named, scores, decision))

    free = within(None)
    if free.chosen == "keep" or not any(candidates.plan.limits()):
        return free
    planned = within(held)
    if planned.chosen != "keep" and held(planned.chosen):
        return planned
    if held(free.chosen):
        return free
    check = candidates.check(candidates.plan, free.chosen)
    reason = f"the plan refuses the candidate {free.chosen!r}. {check.refusal()}"
    stays = changes_nothing(scores.deployed, scores.own["keep"])
    return Proposal(free.chosen, "keep", reason, free.chosen if stays else None)
