"""A retraining in a few plain sentences, for the person who has to sign it.

Sentences that count people mask numbers of too few. Every number is one that a table shows as
well: the frontier, :meth:`Retraining.told_performance`, the diff or the flips.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from steadytree.core.decision import LABEL_ERRORS
from steadytree.core.disclosure import MIN_CELL, PeopleCount
from steadytree.core.words import PLAIN
from steadytree.diff.words import given_up_words
from steadytree.evaluation.flips import REGRESSION_FLIP
from steadytree.evaluation.told_tables import told_words
from steadytree.retraining.verdict import Gain, Verdict, kind_of_change

if TYPE_CHECKING:
    from steadytree.diff.changes import RuleChange
    from steadytree.retraining.result import Retraining

__all__ = ["Explanation", "alarm_words", "explain_retraining", "whom_words"]

DECISIONS = ("sensitivity", "specificity", "flagged positive")
"""Measures of decisions with two classes; the last is said only where it clearly changes."""


@dataclass(frozen=True)
class Explanation:
    """What to do, what is proposed, what it is worth, and whom it affects.

    Attributes
    ----------
    alarm : str
        What nobody may overlook: a class that is no longer predicted; else "".
    verdict : Verdict
    what, worth : str
        Sentences that count no people.
    event, count, total
        What happens to the people concerned, to how many new rows, of how many.
    others : tuple of (str, int, str)
        Further events with their counts, and what is told in their place where these are not:
        risks that move, labels kept or changed.
    certificate : str
        What a certificate says; "" where none was asked for.
    rows_name : str
        What is counted: "new rows", or those of a sample of them.
    min_cell : int
        Numbers about fewer people are masked.

    Examples
    --------
    >>> from steadytree.retraining.explanation import Explanation
    >>> from steadytree.retraining.verdict import Verdict
    >>> told = Explanation(
    ...     alarm="", verdict=Verdict("keep", "no candidate is clearly better"),
    ...     what="The deployed tree is kept.", worth="", event="The decision changes",
    ...     count=0, total=300,
    ... )
    >>> told.whom
    'The decision changes for none of the 300 new rows.'
    """

    alarm: str
    verdict: Verdict
    what: str
    worth: str
    event: str
    count: int
    total: int
    others: tuple[tuple[str, int, str], ...] = ()
    certificate: str = ""
    rows_name: str = "new rows"
    min_cell: int = MIN_CELL

    @property
    def whom(self) -> str:
        """Sentences on whom it affects, as far as it may be told."""
        events = ((self.event, self.count, ""), *self.others)
        return " ".join(self._whom_words(*event) for event in events)

    def _whom_words(self, event: str, count: int, told: str) -> str:
        masked = told or PeopleCount.of(count, self.total, self.min_cell).replaced
        return whom_words(event, count, self.total, masked, rows_name=self.rows_name)

    @property
    def head(self) -> tuple[str, ...]:
        """Sentences that count no people, in the order they are to be read."""
        parts = (self.alarm, self.verdict.without_counts, self.what, self.worth, self.certificate)
        return tuple(part for part in parts if part)

    def __str__(self) -> str:
        verdict = self.verdict.text(self.min_cell)
        parts = (self.alarm, verdict, self.what, self.worth, self.whom, self.certificate)
        return " ".join(part for part in parts if part)


def explain_retraining(result: Retraining, min_cell: int = MIN_CELL) -> Explanation:
    """Say what to do, what is proposed, what it is worth, and whom it affects."""
    classifier = result.deployed.is_classifier
    event = "The decision changes"
    if not classifier:
        event = f"The prediction moves by more than {REGRESSION_FLIP:.0%} of its range"
    changed = result.changed_decisions
    others: list[tuple[str, int, str]] = []
    if classifier and result.chosen != "keep":
        total = len(changed)
        moved = round(result.risk_moved()["moved_5"] * total)
        others = [("The risk moves by more than 5 points", moved, "")]
        others += _label_events(result, total, min_cell)
    return Explanation(
        alarm_words(result),
        result.verdict,
        _what(result),
        _worth(result, min_cell),
        event,
        int(changed.sum()),
        len(changed),
        tuple(others),
        "" if result.certificate is None else result.certificate.words(),
        result.rows_name,
        min_cell,
    )


def whom_words(
    event: str,
    count: int,
    total: int,
    masked: str | None = None,
    *,
    rows_name: str = "new rows",
) -> str:
    """Sentence on how many rows something happens to.

    ``masked`` stands in place of a count that is not shown: "fewer than 5".
    """
    if masked is not None:
        return f"{event} for {masked} of the {total:,} {rows_name}."
    if count == 0:
        return f"{event} for none of the {total:,} {rows_name}."
    return f"{event} for {count:,} of the {total:,} {rows_name} ({_percent(count / total)})."


def alarm_words(result: Retraining) -> str:
    """Say loudly which classes the proposal gives up; "" where it gives up none."""
    return given_up_words(result.classes_given_up, new="the proposal", old="the deployed tree")


def _percent(share: float) -> str:
    return PLAIN.percent(share, 1 if share < 0.1 else 0)


# -- what is proposed -------------------------------------------------------------------


def _what(result: Retraining) -> str:
    edits, kind = len(result.edits), str(result.frontier["kind"][result.chosen])
    change = kind_of_change(kind, edits)
    if change == "none":
        return "The deployed tree is kept as it is."
    if change == "values":
        values = "the risks in its leaves"
        if not result.deployed.is_classifier:
            values = "its predicted values"
        elif any(rule.status == "relabelled" for rule in result.diff.rules):
            values += " and the decisions they contradict"
        text = f"Every rule of the deployed tree is kept; only {values} are updated."
    elif change == "another tree":
        text = (
            f"The proposal ({result.chosen}) is another tree, "
            f"{_percent(result.dissimilarity)} dissimilar to the deployed one."
        )
    else:
        changes = "one change" if edits == 1 else f"{edits} changes"
        text = (
            f"The proposal makes {changes} to the deployed tree "
            f"({'; '.join(result.edits[:3])}{'; ...' if edits > 3 else ''}) and is "
            f"{_percent(result.dissimilarity)} dissimilar to it."
        )
    # Only our own recipe asks the teacher that the drift switch chooses.
    if result.drift is not None and result.drift.detected and kind not in ("CART", "own"):
        text += " The new rows no longer follow the old ones, so it was learnt from them alone."
    rules, values = (result.settings[f"n_rows_{kind}"] for kind in ("structure", "values"))
    if rules < values and kind not in ("CART", "own"):
        text += (
            f" Its rules were searched on a sample of {rules:,} of the {values:,} rows; what its "
            "leaves predict and count comes from all of them."
        )
    return text


def _label_events(result: Retraining, total: int, min_cell: int) -> list[tuple[str, int, str]]:
    """Leaves whose label is kept against their share or changed, with the rows that reach them."""
    events = []
    changed = [rule for rule in result.diff.rules if rule.status == "relabelled"]
    if changed:
        events.append((f"{_rules(changed)} with the same conditions decides otherwise", changed))
    kept = list(result.diff.kept_against_share)
    if kept:
        why = f'within {LABEL_ERRORS:g} standard errors; labels="follow" turns this off'
        if result.frontier["kind"][result.chosen] == "leaf values":
            why = "re-estimating leaves changes no label"
        events.append((f"{_rules(kept)} keeps its label against its share ({why})", kept))
    diff = result.diff.told(min_cell)
    return [
        (event, _rows_of(rules, total), "" if diff.all_exact(rules) else diff.rows_at(rules))
        for event, rules in events
    ]


def _rules(rules: list[RuleChange]) -> str:
    return "One rule" if len(rules) == 1 else f"Each of {len(rules)} rules"


def _rows_of(rules: list[RuleChange], total: int) -> int:
    return round(sum((rule.new.share or 0.0) * total for rule in rules if rule.new is not None))


# -- what it is worth -------------------------------------------------------------------


def _worth(result: Retraining, min_cell: int) -> str:
    """Say how well it predicts; where the rows in memory are a sample, of how many."""
    scored, n_new = (int(result.settings[key]) for key in ("n_rows_scores", "n_new"))
    words = _worth_words(result, min_cell)
    if len(result.rows) == n_new:
        return words
    return f"{words} Scores are of a sample of {scored:,} of the {n_new:,} new rows."


def _worth_words(result: Retraining, min_cell: int) -> str:
    row = result.frontier.loc[result.chosen].to_dict()
    name, keep = result.score_name, float(result.frontier["score"]["keep"])
    table = result.told_performance(min_cell=min_cell).droplevel("group")
    clear = result.performance().droplevel("group")
    decisions = [m for m in DECISIONS if m in table.index]
    if not decisions and "accuracy" in table.index:
        decisions = ["accuracy"]
    if row["kind"] == "keep":
        shown = [m for m in decisions[:2] if pd.notna(table["deployed"][m])]
        more = "".join(f", its {m} {told_words(_line(table, m), 'deployed')}" for m in shown)
        return f"On the new rows its {name} is {keep:.3f}{more}."
    gain = Gain(float(row["score_change"]), float(row["score_change_se"]))
    if result.settings["folds_interrupted"]:
        return "The folds were interrupted: how well it predicts is still to be measured."
    if not gain.known:
        return "How well it predicts could not be measured on the new rows."
    how = "As on rows it has not seen," if row["cross_fitted"] else "On the new rows"
    verdict = {1: "an improvement", 0: "no clear change", -1: "a loss"}[gain.clear]
    text = (
        f"{how} its {name} is {float(row['score']):.3f} against {keep:.3f} for the deployed "
        f"tree ({PLAIN.signed(gain.value)}, standard error {gain.error:.3f}: {verdict})"
    )
    for measure in decisions:
        words = _decision_words(measure, table, clear)
        if words:
            text += f"; {words}"
    return f"{text}."


def _line(table: pd.DataFrame, measure: str) -> dict[str, Any]:
    return {str(column): table[column][measure] for column in table.columns}


def _decision_words(measure: str, table: pd.DataFrame, exact: pd.DataFrame) -> str:
    """One measure of decisions, with its interval where it clearly changes and may be told."""
    row = _line(exact, measure)
    low, high = 100 * float(row["change_low"]), 100 * float(row["change_high"])
    told = _line(table, measure)
    if math.isnan(low) or math.isnan(float(told["recipe"])):
        return ""
    clear = low > 0 or high < 0
    if measure == "flagged positive" and not clear:
        return ""
    text = f"{measure} {told_words(told, 'recipe')} against {told_words(told, 'deployed')}"
    if not clear:
        return f"{text} (no clear change)"
    way = "rises" if low > 0 else "falls"
    if told["told"] != "exact":
        return f"{text} (clearly {way})"
    points = PLAIN.signed(100 * float(row["change"]), 1)
    interval = f"{PLAIN.signed(low, 1)} to {PLAIN.signed(high, 1)}"
    return f"{text} (clearly {way}: {points} points, {interval})"
