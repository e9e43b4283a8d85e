"""A retraining on one screen, for the person who has to sign it: the answer, then why.

One line says what to do and how sure that is, one names the policy, and at most six short ones
say what changes, whom it affects, whether it is better, what is given up, what a final test
shows, and what to beware of.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from steadytree.core.one_decision import OneDecision
from steadytree.core.tree_words import risk_name
from steadytree.core.words import PLAIN, listed
from steadytree.diff.words import given_up_words
from steadytree.evaluation.flips import REGRESSION_FLIP
from steadytree.evaluation.intervals import quantile
from steadytree.retraining.answer import FEWEST_EVENTS, TOO_FEW, Forgone, Gain

if TYPE_CHECKING:
    from steadytree.core.tree import Tree
    from steadytree.retraining.result import Retraining

__all__ = ["Explanation", "alarm_words", "explain_retraining", "whom_words"]

SHOWN_EDITS = 2
_TEST_COLUMNS = ("score", "score_change", "change_low", "change_high")
REBUILD = "Consider rebuilding: a tree from scratch is clearly better."
OTHER = {
    "re-estimate": "re-estimating alone",
    "keep": "the deployed tree as it is",
    "from scratch": "a tree from scratch",
    "CART": "retrained CART",
}


@dataclass(frozen=True)
class Explanation:
    """The lines of an explanation, and the counts behind them.

    Attributes
    ----------
    headline : str
        What to do, and how sure that is.
    policy : str
        From which risk on whom the proposal flags; "" for a response.
    one_decision : str
        What it decides for everybody, if it does not tell them apart; else "".
    changes, better, forgone, test, warnings : str
        Sentences that count no people; "" where there is nothing to say.
    alarm : str
        Which classes the proposal gives up; "" where none.
    affected : str
        How many people get another decision.
    forgone_people : str
        How many decisions the candidate that is given up would change.
    advice : str
        To consider rebuilding, where that is advised.
    event, count, total
        What happens to the people concerned, to how many new rows, of how many.

    Examples
    --------
    >>> print(Explanation("Keep the deployed tree (likely).", "", "", "", "AUC 0.812.", ""))
    Keep the deployed tree (likely).
    AUC 0.812.
    """

    headline: str
    policy: str
    changes: str
    affected: str
    better: str
    forgone: str
    forgone_people: str = ""
    advice: str = ""
    test: str = ""
    warnings: str = ""
    one_decision: str = ""
    alarm: str = ""
    event: str = ""
    count: int = 0
    total: int = 0

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines in the order they are to be read."""
        policy = _joined(self.policy, self.one_decision)
        forgone = _joined(self.forgone, self.forgone_people, self.advice)
        warnings = _joined(self.alarm, self.warnings)
        after = (self.changes, self.affected, self.better, forgone, self.test, warnings)
        return tuple(line for line in (self.headline, policy, *after) if line)

    @property
    def without_counts(self) -> tuple[str, ...]:
        """Lines that count no people: what is published rounds the counts of the others."""
        parts = (self.one_decision, self.changes, self.better, _joined(self.forgone, self.advice))
        return tuple(line for line in (*parts, self.test, self.warnings) if line)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON.

        Returns
        -------
        dict
        """
        return asdict(self)

    def __str__(self) -> str:
        return "\n".join(self.lines)


def explain_retraining(result: Retraining) -> Explanation:
    """Say what to do and how sure that is, what changes, for whom, and what is given up."""
    classifier = result.deployed.is_classifier
    event = "The decision changes"
    if not classifier:
        event = (
            f"The prediction moves by more than {PLAIN.percent(REGRESSION_FLIP, 0)} of its range"
        )
    changed = result.changed_decisions
    count, total = int(changed.sum()), len(changed)
    forgone, one = result.answer.forgone, result.one_decision
    return Explanation(
        headline=_headline(result, one),
        policy=_policy(result.tree),
        one_decision="" if one is None else one.words("The tree"),
        changes=_changes(result),
        affected=_affected(result, event, count, total),
        better=_better(result),
        forgone=_forgone(result, forgone),
        forgone_people=_forgone_people(forgone, classifier),
        advice=REBUILD if result.rebuild_advised else "",
        test=_test(result),
        warnings=_warnings(result),
        alarm=alarm_words(result),
        event=event,
        count=count,
        total=total,
    )


def _joined(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def whom_words(event: str, count: int, total: int, *, rows_name: str = "new rows") -> str:
    """Sentence on how many rows something happens to."""
    if count == 0:
        return f"{event} for none of the {total:,} {rows_name}."
    return f"{event} for {count:,} of the {total:,} {rows_name} ({_percent(count / total)})."


def alarm_words(result: Retraining) -> str:
    """Say loudly which classes the proposal gives up; "" where it gives up none."""
    return given_up_words(result.classes_given_up, new="the proposal", old="the deployed tree")


def _percent(share: float) -> str:
    return PLAIN.percent(share, 1 if share < 0.1 else 0)


# -- what to do --------------------------------------------------------------------------


def _headline(result: Retraining, one: OneDecision | None) -> str:
    text = _action(result)
    if one is not None and one.threshold is not None:
        text += f" But first set a threshold, for example {one.threshold_words}."
    return text


def _action(result: Retraining) -> str:
    answer = result.answer
    sure = f"({answer.confidence})"
    if answer.action == "change":
        what, n = "Change to another tree", len(_rule_edits(result))
        if n:
            what = f"Change the deployed tree by {n} edit{'' if n == 1 else 's'}"
        return f"{what} {sure}."
    if answer.action == "re-estimate":
        values = "risks" if result.deployed.is_classifier else "predicted values"
        text = f"Re-estimate {sure}: keep every rule and update the {values}."
    else:
        text = f"Keep the deployed tree {sure}."
    if answer.reason:
        text += f" {answer.reason[:1].upper()}{answer.reason[1:]}."
    return text


def _policy(tree: Tree) -> str:
    if tree.classes is None:
        return ""
    return f"Policy: {tree.decision.words([PLAIN.name(c) for c in tree.classes])}."


def _changes(result: Retraining) -> str:
    answer = result.answer
    if answer.action == "keep":
        return ""
    relabelled = sum(rule.status == "relabelled" for rule in result.diff.rules)
    otherwise = (
        f"{relabelled} rule{'' if relabelled == 1 else 's'} with the same conditions "
        f"decide{'s' if relabelled == 1 else ''} otherwise."
        if relabelled
        else ""
    )
    if answer.action == "re-estimate":
        if not result.deployed.is_classifier:
            return "What changes: no condition."
        return f"What changes: no condition. {otherwise or 'Every rule decides as before.'}"
    edits = _rule_edits(result)
    parts = [f"{edit[:1].upper()}{edit[1:]}." for edit in edits[:SHOWN_EDITS]]
    if len(edits) > SHOWN_EDITS:
        parts.append(f"And {len(edits) - SHOWN_EDITS} more.")
    removed = result.deployed.used_features & set(result.settings["forbidden"])
    if removed:
        names = listed([repr(result.space.feature_labels[j]) for j in sorted(removed)], "and")
        parts.insert(0, f"Conditions on {names} go, as they are forbidden.")
    parts.append(f"Dissimilarity {_percent(result.dissimilarity)}.")
    return " ".join(["What changes:", *parts, otherwise]).strip()


def _rule_edits(result: Retraining) -> list[str]:
    """Edits of rules; labels are told apart."""
    return [edit for edit in result.edits if not edit.startswith("relabel")]


def _affected(result: Retraining, event: str, count: int, total: int) -> str:
    if result.action == "keep":
        return ""
    text = whom_words(event, count, total, rows_name=result.rows_name)
    if result.deployed.is_classifier:
        moved = round(result.risk_moved()["moved_5"] * total)
        words = f"The {risk_name(result.tree)} moves by more than 5 points"
        text += " " + whom_words(words, moved, total, rows_name=result.rows_name)
    return text


# -- is it better ------------------------------------------------------------------------


def _better(result: Retraining) -> str:
    answer, name = result.answer, result.score_name
    deployed = result.deployed_score
    if result.settings["folds_interrupted"]:
        return "The folds were interrupted: how well it predicts is still to be measured."
    if answer.confidence == "unmeasured":
        return f"How well a new tree would predict was not measured ({name} {deployed:.3f} today)."
    if answer.confidence == TOO_FEW:
        few = "events" if result.deployed.is_classifier else "rows"
        return (
            f"Too few {few} among the new rows ({answer.events}, at least {FEWEST_EVENTS} are "
            "needed): no improvement is claimed."
        )
    gain = answer.gains["score"]
    if result.action == "keep":
        text = f"{name} of the deployed tree on the new rows: {deployed:.3f}."
        if answer.refused:
            text += f" {_change_words(name, 'of what was refused', gain)}"
        return text
    new = float(result.frontier["score"][result.chosen])
    start = f"{name} on rows left out{_events(result)}: "
    if gain.value == 0 and gain.error == 0:
        text = f"{start}{deployed:.3f}, unchanged."
    else:
        text = f"{start}{deployed:.3f} to {new:.3f} ({_interval(gain)})."
    for words in ("Brier score", "cost"):
        other = answer.gains.get(words)
        if gain.clear == 0 and other is not None and other.clear:
            way = "falls" if other.value > 0 else "rises"
            text += f" The {words}{' of decisions' if words == 'cost' else ''} clearly {way}"
            text += f" ({_interval(Gain(-other.value, other.error), 4)})."
            break
    return text


def _events(result: Retraining) -> str:
    """Say how many rows of the rarer class the scores rest on: that class by its name."""
    classes = result.deployed.classes
    if classes is None:
        return ""
    rarer = "outside the largest class"
    if len(classes) == 2:
        rarer = PLAIN.name(classes[int(np.argmin(np.bincount(result.y_new, minlength=2)))])
    return f", {result.answer.events:,} of them {rarer}"


def _change_words(name: str, whose: str, gain: Gain) -> str:
    return f"{name} {whose}: {_interval(gain)}."


def _interval(gain: Gain, digits: int = 3) -> str:
    low, high = gain.interval
    return f"{_signed(gain.value, digits)}, 95 % interval {_signed(low, digits)} to " + _signed(
        high, digits
    )


def _signed(value: float, digits: int = 3) -> str:
    """Write a number with its sign; what rounds to nothing has none."""
    return f"{0:.{digits}f}" if round(value, digits) == 0 else PLAIN.signed(value, digits)


def _forgone(result: Retraining, forgone: Forgone | None) -> str:
    if result.answer.confidence in ("unmeasured", TOO_FEW):
        return ""
    if forgone is None:
        return "Given up: nothing; no candidate leads by a point or clearly."
    what = OTHER.get(forgone.name, f"the tree at {forgone.name}")
    if not forgone.name.startswith("price ") and forgone.name not in OTHER:
        what = f"the candidate {forgone.name!r}"
    start = "Given up" if forgone.clear else "Perhaps given up"
    text = (
        f"{start}: {what} has {result.score_name} {forgone.score:.3f} "
        f"({_signed(forgone.lead)} ± {forgone.error:.3f})."
    )
    if not forgone.keeps_locks:
        text += " It does not keep what is locked."
    return text


def _forgone_people(forgone: Forgone | None, classifier: bool) -> str:
    if forgone is None:
        return ""
    what = "decision" if classifier else "prediction"
    if forgone.flips == 0:
        return f"It would change no {what}."
    return f"It would change {PLAIN.percent(forgone.flips, 1)} of {what}s."


def _test(result: Retraining) -> str:
    table = result.test
    if table is None:
        return ""
    row = {str(name): float(table[name]["proposal"]) for name in _TEST_COLUMNS}
    first, n = float(table["score"]["deployed"]), int(table["n"]["proposal"])
    text = f"Final test on {n:,} rows: {result.score_name} {first:.3f}"
    if result.action == "keep":
        return f"{text}."
    if row["change_low"] == row["change_high"]:
        return f"{text}, unchanged."
    low, high = _signed(row["change_low"]), _signed(row["change_high"])
    change = _signed(row["score_change"])
    return f"{text} to {row['score']:.3f} ({change}, 95 % interval {low} to {high})."


def _warnings(result: Retraining) -> str:
    parts: list[str] = []
    tree = result.tree
    if result.deployed.is_classifier and result.action != "keep" and result.settings["n_folds"]:
        table = result.performance().droplevel("group")
        named = ("sensitivity", "specificity") if "sensitivity" in table.index else ("accuracy",)
        falls = [m for m in named if m in table.index and float(table["change_high"][m]) < 0]
        if falls:
            whose = ""
            if "accuracy" not in named:
                whose = f" for {PLAIN.name((tree.classes or ())[tree.decision.position])}"
            fall = "falls" if len(falls) == 1 else "fall"
            parts.append(f"Beware: {listed(falls, 'and')}{whose} clearly {fall}.")
    kind = str(result.frontier["kind"][result.chosen])
    if result.drift is not None and result.drift.detected and kind not in ("CART", "own", "keep"):
        parts.append("The new rows no longer follow the old ones: only they were learnt from.")
    error = float(result.frontier["score_se"]["keep"])
    if result.deployed.is_classifier and result.deployed_score + quantile(0.95) * error < 0.5:
        parts.append(
            "The deployed tree ranks the new rows worse than chance: are outcomes turned round?"
        )
    if result.changed_columns:
        names = listed([repr(name) for name in list(result.changed_columns)[:3]], "and")
        parts.append(f"Columns look changed: {names}.")
    if len(result.rows) < int(result.settings["n_new"]):
        parts.append(
            f"Rules and scores are from a sample of {len(result.rows):,} of the "
            f"{int(result.settings['n_new']):,} new rows."
        )
    elif int(result.settings["n_rows_structure"]) < int(result.settings["n_rows_values"]):
        parts.append(
            f"Rules were searched on a sample of {int(result.settings['n_rows_structure']):,} of "
            f"the {int(result.settings['n_rows_values']):,} rows; leaves count all of them."
        )
    if result.certificate is not None:
        parts.append(result.certificate.words())
    return " ".join(parts)
