"""What to do with a proposal: adopt it, re-estimate only, keep the old tree, or start anew.

A table of scores does not say whether a change is worth it. A verdict does, by a rule that
anyone can check against the numbers beside it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from steadytree.core.disclosure import MIN_CELL, told_share_words
from steadytree.core.words import PLAIN, listed
from steadytree.evaluation.cross_fitting import CrossFitted
from steadytree.evaluation.intervals import quantile
from steadytree.evaluation.measures import Measure, mean_cost, squared_errors
from steadytree.retraining.limits import Limits

if TYPE_CHECKING:
    from steadytree.retraining.result import Retraining

__all__ = [
    "ACTIONS",
    "FEW_DECISIONS",
    "REBUILDING_MARGIN",
    "Evidence",
    "Gain",
    "Rival",
    "Verdict",
    "draw_verdict",
    "judge",
    "kind_of_change",
]

ACTIONS = ("adopt", "re-estimate only", "keep", "consider rebuilding")

FEW_DECISIONS = 0.01
"""A proposal that changes no more decisions than this may do so without a clear gain."""

FORGONE_MARGIN = 0.005
"""Gains of a rival below this are not worth a sentence."""

REBUILDING_MARGIN = 0.02
"""A tree made anew must be better than the proposal by this much AUC or R²: two points."""

RIVAL_ERRORS = 2.0
"""The best of many is flattered, so a rival must lead by so many paired standard errors."""

REBUILT = ("from scratch", "CART", "own", "exact")


@dataclass(frozen=True)
class Gain:
    """A measured difference, better above 0, and its standard error; NaN where unmeasured."""

    value: float
    error: float

    @property
    def known(self) -> bool:
        """Whether it could be measured."""
        return not math.isnan(self.value) and not math.isnan(self.error)

    @property
    def clear(self) -> int:
        """1 or -1 where its 95 % interval lies above or below 0, else 0."""
        if not self.known or abs(self.value) <= quantile(0.95) * self.error:
            return 0
        return 1 if self.value > 0 else -1

    def words(self) -> str:
        """Write "+0.024 ± 0.006"."""
        return f"{PLAIN.signed(self.value)} ± {self.error:.3f}"


@dataclass(frozen=True)
class Rival:
    """The candidate that predicts best, where it is clearly better than the proposal."""

    name: str
    rebuilt: bool  # made anew, not by edits
    lead: Gain  # over the proposal
    flips: float
    keeps_locks: bool = True


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """All that a verdict is drawn from.

    Attributes
    ----------
    change : {"none", "values", "rules", "another tree"}
        What the proposal changes of the deployed tree.
    score : str
        What the score is called: "AUC" or "R²".
    gain : Gain
        Honest gain in the score over keeping the tree.
    fit : Gain
        How much lower the Brier score is than that of ``fit_of``: of the deployed tree, or,
        where rules change, of its rules with re-estimated leaves, which need no new rule.
        Unknown in regression, where R² says it.
    cost : Gain
        How much less the decisions cost under the policy than those of ``fit_of``.
    flips : float
        Share of the new rows whose decision changes.
    policy_asked : bool
        Another decision policy was asked for, so that changed decisions are no surprise.
    falls : tuple of str
        Measures of decisions that clearly fall: "sensitivity".
    lost : tuple of str
        Classes that are no longer predicted.
    limited : bool
        Limits on the change were set, which a rival may not hold.
    unmet : str
        Which of them left nothing but keeping the tree.
    rival : Rival or None
    n_rows : int
        How many new rows there are.
    """

    change: str
    score: str
    gain: Gain
    fit: Gain
    flips: float
    cost: Gain = Gain(math.nan, math.nan)
    fit_of: str = "the deployed tree's"
    policy_asked: bool = False
    falls: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    limited: bool = False
    unmet: str = ""
    rival: Rival | None = None
    n_rows: int = 0


@dataclass(frozen=True)
class Verdict:
    """What to do, why, and what is left on the table.

    Attributes
    ----------
    action : {"adopt", "re-estimate only", "keep", "consider rebuilding"}
    reason : str
        One plain sentence; it counts no people, so that every page may show it.
    rival : Rival or None
        A candidate that is clearly better than the proposal.
    score : str
        What the score is called.
    n_rows : int
        Rows that the flips of the rival are a share of.

    Examples
    --------
    >>> from steadytree.retraining.verdict import Verdict
    >>> print(Verdict("keep", "no candidate is clearly better"))
    Keep: no candidate is clearly better.
    """

    action: str
    reason: str
    rival: Rival | None = None
    score: str = "AUC"
    n_rows: int = 0

    @property
    def forgone_gain(self) -> str:
        """What the proposal leaves on the table, without counting people; or ""."""
        if self.rival is None:
            return ""
        name, lead = self.rival.name, self.rival.lead
        what = {
            "leaf values": "re-estimating the leaves alone",
            "labels": "re-estimating the leaves and their labels alone",
            "from scratch": "retraining from scratch",
            "CART": "independently retrained CART",
        }.get(name, f"the candidate {name!r}")
        if not self.rival.keeps_locks:
            what += ", which does not keep what is locked,"
        return f"{what} would gain another {lead.value:.3f} ± {lead.error:.3f} {self.score}"

    def forgone(self, min_cell: int = MIN_CELL) -> str:
        """Say what the proposal leaves on the table, and for how many decisions; or "".

        Parameters
        ----------
        min_cell : int, default 5
            Numbers of fewer people are masked.

        Returns
        -------
        str
        """
        if self.rival is None:
            return ""
        share, n = self.rival.flips, self.n_rows
        words = told_share_words(share * n, n, min_cell) if n else PLAIN.percent(share, 1)
        return f"{self.forgone_gain} for {words} of {_told_of(self.score)}"

    @property
    def without_counts(self) -> str:
        """The verdict as a sentence or two that count no people."""
        return self._told(self.forgone_gain)

    def text(self, min_cell: int = MIN_CELL) -> str:
        """Return the verdict as a sentence or two; numbers of too few people are masked.

        Parameters
        ----------
        min_cell : int, default 5

        Returns
        -------
        str
        """
        return self._told(self.forgone(min_cell))

    def __str__(self) -> str:
        return self.text()

    def _told(self, forgone: str) -> str:
        text = f"{self.action.capitalize()}: {self.reason}."
        return f"{text} Forgone: {forgone}." if forgone else text

    def to_dict(self, min_cell: int = MIN_CELL) -> dict[str, str]:
        """Return plain values for JSON.

        Parameters
        ----------
        min_cell : int, default 5

        Returns
        -------
        dict of str to str
        """
        return {"action": self.action, "reason": self.reason, "forgone": self.forgone(min_cell)}


def judge(evidence: Evidence) -> Verdict:
    """Draw the verdict; the first line that fits decides.

    "Clearly" means that the 95 % interval excludes 0: for the score (AUC, R²) or, where that
    shows no clear change, for the Brier score or the cost of the decisions (against re-estimated
    leaves, if rules change). This asks for more than the default proposal does, which is the
    best bet: one standard error.

    ==================================================================  ===================
    evidence                                                            verdict
    ==================================================================  ===================
    the deployed tree was chosen because no other held the limits       keep
    the gain could not be measured                                      keep
    a class is no longer predicted                                      keep
    no limits were set, and a tree made anew that keeps what is locked  consider rebuilding
    leads the proposal by more than two paired standard errors and at
    least 0.02
    the deployed tree was chosen                                        keep
    the score is clearly worse                                          keep
    clearly better, only leaf values change                             re-estimate only
    clearly better, rules change                                        adopt
    no clear change, only leaf values change, and at most 1 % of        re-estimate only
    decisions (or another policy was asked for)
    no clear change, rules change, the score is not lower, and at       adopt
    most 1 % of decisions
    anything else                                                       keep
    ==================================================================  ===================
    """
    action, reason = _action(evidence)
    if action in ("adopt", "re-estimate only") and evidence.falls:
        reason += f", though {listed(evidence.falls, 'and')} clearly falls"
    return Verdict(action, reason, evidence.rival, evidence.score, evidence.n_rows)


def _action(evidence: Evidence) -> tuple[str, str]:
    gain, fit, score = evidence.gain, evidence.fit, evidence.score
    only_values, measured = evidence.change == "values", f"{score} {gain.words()}"
    if evidence.unmet:
        return "keep", evidence.unmet
    if not gain.known:
        return "keep", (
            "what the proposal gains could not be measured on the new rows, so nothing speaks "
            "for changing the deployed tree"
        )
    if evidence.lost:
        return "keep", f"the proposal gives up predicting {listed(evidence.lost, 'and')}"
    if _rebuilding(evidence):
        return "consider rebuilding", (
            "a tree made anew predicts clearly better than the proposal, "
            f"whose own gain is {gain.words()} {score}"
        )
    if evidence.change == "none":
        return "keep", "of all candidates the deployed tree itself was chosen"
    if gain.clear < 0:
        return "keep", f"the proposal predicts worse than the deployed tree ({measured})"
    update = "re-estimate only" if only_values else "adopt"
    rules = "no rule changes, and " if only_values else ""
    if gain.clear > 0:
        return update, f"{rules}the proposal predicts better than the deployed tree ({measured})"
    if fit.clear > 0:
        return update, (
            f"{rules}the risks fit the new rows better than {evidence.fit_of} (Brier score "
            f"{PLAIN.signed(-fit.value, 4)} ± {fit.error:.4f}; {measured})"
        )
    if evidence.cost.clear > 0:
        return update, (
            f"{rules}decisions cost less than {evidence.fit_of} (mean cost under the policy "
            f"{PLAIN.signed(-evidence.cost.value, 4)} ± {evidence.cost.error:.4f}; {measured})"
        )
    few, decided = evidence.flips <= FEW_DECISIONS, _told_of(score) == "decisions"
    if only_values and (few or evidence.policy_asked):
        hardly = "hardly any decision does" if decided else "hardly any prediction moves far"
        decisions = hardly if few else "decisions follow the policy asked for"
        return update, f"no rule changes, {decisions}, and no loss is measured ({measured})"
    if few and gain.value >= 0:
        hardly = "hardly any decision changes" if decided else "hardly any prediction moves far"
        return update, f"{hardly}, and no loss is measured ({measured})"
    what = f"{_told_of(score)} change" if only_values else "rules change"
    return "keep", f"{what} for no clear gain ({measured})"


def _told_of(score: str) -> str:
    """Name what people are told: a response is predicted, nothing is decided by it."""
    return "predictions" if score == "R²" else "decisions"


def _rebuilding(evidence: Evidence) -> bool:
    rival = evidence.rival
    if rival is None or evidence.limited or evidence.change == "another tree":
        return False
    far, may = rival.lead.value >= REBUILDING_MARGIN, rival.rebuilt and rival.keeps_locks
    return may and far and rival.lead.value > RIVAL_ERRORS * rival.lead.error


# -- the evidence of a retraining -------------------------------------------------------


def draw_verdict(result: Retraining) -> Verdict:
    """Draw the verdict on a retraining from its measured scores."""
    frontier, chosen = result.frontier, result.chosen
    limits = Limits(**result.settings.get("limits", {}))
    limited = bool(limits.to_dict())
    score = result.score_name
    table = result.performance().droplevel("group")
    # Of two classes accuracy only mixes the two measures named first.
    named = ("sensitivity", "specificity") if "sensitivity" in table.index else ("accuracy",)
    falls = tuple(m for m in named if m in table.index and float(table["change_high"][m]) < 0)
    change = kind_of_change(str(frontier["kind"][chosen]), len(result.edits))
    base, fit_of = "keep", Evidence.fit_of
    if change in ("rules", "another tree") and "leaf values" in frontier.index:
        base, fit_of = "leaf values", "re-estimated leaves alone do"
    kept = frontier[frontier["keeps_locks"]]
    unmet = limits.unmet(kept, score) if limited and chosen == "keep" else ""
    if unmet and len(kept) < len(frontier):
        unmet += "; what does not keep what is locked is left out"
    return judge(
        Evidence(
            change=change,
            score=score,
            gain=Gain(
                float(frontier["score_change"][chosen]), float(frontier["score_change_se"][chosen])
            ),
            fit=_fall(result.scores, chosen, base, squared_errors),
            cost=_fall(result.scores, chosen, base, mean_cost(result.tree.decision)),
            fit_of=fit_of,
            flips=result.flips(),
            policy_asked=result.tree.decision != result.deployed.decision,
            falls=falls,
            lost=tuple(str(name) for name in result.classes_given_up),
            limited=limited,
            unmet=unmet,
            rival=_find_rival(frontier, chosen, result.scores),
            n_rows=len(result.rows),
        )
    )


def _fall(scores: CrossFitted, name: str, base: str, measure: Measure) -> Gain:
    """How much lower a candidate's honest loss is than another's; unknown for a response."""
    if not scores.classifier:
        return Gain(math.nan, math.nan)
    fall = scores.estimate(base, measure).recipe.minus(scores.estimate(name, measure).recipe)
    return Gain(fall.value, scores.error(fall))


def kind_of_change(kind: str, n_edits: int) -> str:
    """Return what a candidate changes: "none", "values", "rules" or "another tree"."""
    if kind == "keep":
        return "none"
    if kind in REBUILT:
        return "another tree"
    return "rules" if n_edits else "values"


def _find_rival(frontier: pd.DataFrame, chosen: str, scores: CrossFitted) -> Rival | None:
    """Best candidate by score among those clearly better than the chosen one."""
    best: Rival | None = None
    proposal = scores.score(chosen)
    for name in frontier.index[frontier["score"].notna()]:
        lead = scores.score(str(name)).minus(proposal)
        gain = Gain(lead.value, scores.error(lead))
        row = frontier.loc[name]
        clear = gain.known and gain.value > RIVAL_ERRORS * gain.error
        if name == chosen or not clear or gain.value < FORGONE_MARGIN:
            continue
        if best is None or gain.value > best.lead.value:
            rebuilt, kept = row["kind"] in REBUILT, bool(row["keeps_locks"])
            best = Rival(str(name), rebuilt, gain, float(row["flips"]), kept)
    return best
