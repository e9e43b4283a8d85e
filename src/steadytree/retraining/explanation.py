"""A retraining on one screen, for the person who has to sign it: the answer, then why.

One line says what to do and how sure that is, one names the policy, and at most six short ones
say what changes, whom it affects, whether it is better, what is given up, what a final test
shows, and what to beware of.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from steadytree.diff.tree_diff import given_up_words
from steadytree.evaluation.performance import REGRESSION_FLIP
from steadytree.evaluation.plan_check import FEWEST_EVENTS
from steadytree.evaluation.scores import quantile
from steadytree.publish.cells import (
    Cell,
    Text,
    cell_words,
    change,
    edit,
    internal,
    people,
    score,
    text,
)
from steadytree.retraining.frontier import TOO_FEW, Forgone, Gain
from steadytree.tree.decision import OneDecision
from steadytree.tree.printing import risk_name
from steadytree.tree.words import PLAIN, listed

if TYPE_CHECKING:
    from steadytree.retraining.result import Retraining
    from steadytree.tree.tree import Tree

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

    Lines are texts that know which of their numbers are about people
    (``steadytree.publish.cells.Text``).

    Attributes
    ----------
    headline : str
        What to do, and how sure that is.
    policy : str
        From which risk on whom the proposal flags; "" for a response.
    one_decision : str
        What it decides for everybody, if it does not tell them apart; else "".
    changes, better, forgone, test, warnings : str
        Sentences; "" where there is nothing to say.
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
    def title(self) -> Text:
        """The headline without its full stop."""
        *parts, stop = self.headline.parts if isinstance(self.headline, Text) else (self.headline,)
        return text(*parts, stop.removesuffix(".") if isinstance(stop, str) else stop)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Lines below the headline of a page, which counts the people concerned in its facts."""
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
        one_decision=text() if one is None else text(internal(one.words("The tree"))),
        changes=_changes(result),
        affected=_affected(result, event, count, total),
        better=_better(result),
        forgone=_forgone(result, forgone),
        forgone_people=_forgone_people(forgone, total, classifier),
        advice=REBUILD if result.rebuild_advised else "",
        test=_test(result),
        warnings=_warnings(result),
        alarm=alarm_words(result),
        event=event,
        count=count,
        total=total,
    )


def _joined(*parts: str) -> Text:
    out: list[str] = []
    for part in parts:
        out += ([" "] if out and part else []) + ([part] if part else [])
    return text(*out)


def whom_words(event: str, count: int, total: int, *, rows_name: str = "new rows") -> Text:
    """Sentence on how many rows something happens to."""
    if count == 0:
        return text(f"{event} for none of the ", people(total), f" {rows_name}.")
    share = people(count, total, "share")
    return text(
        f"{event} for ", people(count), " of the ", people(total), f" {rows_name} (", share, ")."
    )


def alarm_words(result: Retraining) -> str:
    """Say loudly which classes the proposal gives up; "" where it gives up none."""
    return given_up_words(result.classes_given_up, new="the proposal", old="the deployed tree")


def _percent(share: float) -> str:
    return PLAIN.percent(share, 1 if share < 0.1 else 0)


def _headline(result: Retraining, one: OneDecision | None) -> Text:
    action = _action(result)
    if one is None or one.threshold is None:
        return text(action, ".")
    advice = f". But first set a threshold, for example {one.threshold_words}"
    return text(action, internal(advice), ".")


def _action(result: Retraining) -> str:
    answer = result.answer
    sure = f"({answer.confidence})"
    if answer.action == "change":
        what, n = "Change to another tree", len(_rule_edits(result))
        if n:
            what = f"Change the deployed tree by {n} edit{'' if n == 1 else 's'}"
        return f"{what} {sure}"
    line = f"Keep the deployed tree {sure}"
    if answer.action == "re-estimate":
        values = "risks" if result.deployed.is_classifier else "predicted values"
        line = f"Re-estimate {sure}: keep every rule and update the {values}"
    if answer.reason:
        line += f". {answer.reason[:1].upper()}{answer.reason[1:]}"
    return line


def _policy(tree: Tree) -> str:
    if tree.classes is None:
        return ""
    return f"Policy: {tree.decision.words([PLAIN.name(c) for c in tree.classes])}."


def _changes(result: Retraining) -> Text:
    answer = result.answer
    if answer.action == "keep":
        return text()
    relabelled = sum(rule.status == "relabelled" for rule in result.diff.rules)
    otherwise = (
        f"{relabelled} rule{'' if relabelled == 1 else 's'} with the same conditions "
        f"decide{'s' if relabelled == 1 else ''} otherwise."
        if relabelled
        else ""
    )
    if answer.action == "re-estimate":
        if not result.deployed.is_classifier:
            return text("What changes: no condition.")
        return text(f"What changes: no condition. {otherwise or 'Every rule decides as before.'}")
    edits = _rule_edits(result)
    parts = [text(edit(f"{words[:1].upper()}{words[1:]}"), ".") for words in edits[:SHOWN_EDITS]]
    if len(edits) > SHOWN_EDITS:
        parts.append(text(f"And {len(edits) - SHOWN_EDITS} more."))
    removed = result.deployed.used_features & set(result.settings["forbidden"])
    if removed:
        names = listed([repr(result.space.feature_labels[j]) for j in sorted(removed)], "and")
        parts.insert(0, text(f"Conditions on {names} go, as they are forbidden."))
    # In the facts of a page it is rounded when published: with a shift it tells a range.
    parts.append(text(internal(f"Dissimilarity {_percent(result.dissimilarity)}.")))
    return _joined("What changes:", *parts, otherwise)


def _rule_edits(result: Retraining) -> list[str]:
    """Edits of rules; labels are told apart."""
    return [words for words in result.edits if not words.startswith("relabel")]


def _affected(result: Retraining, event: str, count: int, total: int) -> Text:
    if result.action == "keep":
        return text()
    line = whom_words(event, count, total)
    if result.deployed.is_classifier:
        moved = round(result.risk_moved()["moved_5"] * total)
        words = f"The {risk_name(result.tree)} moves by more than 5 points"
        line = _joined(line, whom_words(words, moved, total))
    return line


def _better(result: Retraining) -> Text:
    answer, name, rarest = result.answer, result.score_name, rarest_rows(result)
    deployed = score(result.deployed_score, rarest)
    if result.settings["nothing_new"]:
        return text("The deployed tree was made from these very rows: no score is given.")
    if answer.confidence == "unmeasured":
        words = f"How well a new tree would predict was not measured ({name} "
        return text(words, deployed, " today).")
    if answer.confidence == TOO_FEW:
        what = "events" if result.deployed.is_classifier else "rows"
        needed = f", at least {FEWEST_EVENTS} are needed): no improvement is claimed."
        return text(f"Too few {what} among the new rows (", people(answer.events), needed)
    gain = answer.gains["score"]
    same = gain.value == 0 and gain.error == 0
    if result.action == "keep":
        line = text(f"{name} of the deployed tree on the new rows: ", deployed, ".")
        if not answer.refused:
            return line
        if same:
            return _joined(line, "What was refused leaves it as it is.")
        return _joined(line, text("What was refused changes it by ", _interval(gain, rarest), "."))
    new = score(float(result.frontier["score"][result.chosen]), rarest)
    line = text(f"{name} on rows left out", _events(result), ": ", deployed)
    line = text(
        line, *([", unchanged."] if same else [" to ", new, " (", _interval(gain, rarest), ")."])
    )
    for words in ("Brier score", "cost"):
        other = answer.gains.get(words)
        if gain.clear == 0 and other is not None and other.clear:
            way = "falls" if other.value > 0 else "rises"
            which = f"The {words}{' of decisions' if words == 'cost' else ''} clearly {way}"
            # Published with two decimals it would say nothing.
            fall = _interval(Gain(-other.value, other.error), rarest, 4)
            line = _joined(line, text(which, internal(f" ({cell_words(fall, PLAIN)})"), "."))
            break
    return line


def rarest_rows(result: Retraining) -> int:
    """Rows of the rarest class, which a score rests on; of a response all rows."""
    if not result.deployed.is_classifier:
        return len(result.rows)
    counts = np.bincount(result.y_new)
    return int(counts[counts > 0].min())


def _events(result: Retraining) -> Text:
    """Say how many rows of the rarer class the scores rest on: that class by its name."""
    classes = result.deployed.classes
    if classes is None:
        return text()
    rarer = "outside the largest class"
    if len(classes) == 2:
        rarer = PLAIN.name(classes[int(np.argmin(np.bincount(result.y_new, minlength=2)))])
    return text(", ", people(result.answer.events), f" of them {rarer}")


def _interval(gain: Gain, rarest: int, digits: int = 3) -> Cell:
    return change(gain.value, *gain.interval, rarest, digits)


def _forgone(result: Retraining, forgone: Forgone | None) -> Text:
    if result.answer.confidence in ("unmeasured", TOO_FEW):
        return text()
    if forgone is None:
        return text("Given up: nothing; no candidate leads by a point or clearly.")
    at_price = forgone.name.startswith("price ")
    other = f"the tree at {forgone.name}" if at_price else f"the candidate {forgone.name!r}"
    start = "Given up" if forgone.clear else "Perhaps given up"
    rarest = rarest_rows(result)
    lead, error = change(forgone.lead, math.nan, math.nan, rarest), score(forgone.error, rarest)
    line = text(
        f"{start}: {OTHER.get(forgone.name, other)} has {result.score_name} ",
        *(score(forgone.score, rarest), " (", lead, " ± ", error, ")."),
    )
    locks = "" if forgone.keeps_locks else "It does not keep what is locked."
    plan = "" if forgone.within_plan else "The plan does not allow it."
    return _joined(line, locks, plan)


def _forgone_people(forgone: Forgone | None, total: int, classifier: bool) -> Text:
    if forgone is None:
        return text()
    what = "decision" if classifier else "prediction"
    if forgone.flips == 0:
        return text(f"It would change no {what}.")
    return text("It would change ", people(forgone.flips * total, total, "share"), f" of {what}s.")


def _test(result: Retraining) -> Text:
    table = result.test
    if table is None:
        return text()
    row = {str(name): float(table[name]["proposal"]) for name in _TEST_COLUMNS}
    first, n = float(table["score"]["deployed"]), int(table["n"]["proposal"])
    rarest, classifier = rarest_of_test(table), result.deployed.is_classifier
    start = text("Final test on ", people(n), " rows")
    if rarest < FEWEST_EVENTS:
        what = "events" if classifier else "rows"
        needed = f", at least {FEWEST_EVENTS} are needed): no change is measured."
        return text(start, f": too few {what} (", people(rarest), needed)
    if classifier:
        start = text(start, ", ", people(rarest), " of them outside the largest class")
    line = text(start, f": {result.score_name} ", score(first, rarest))
    if result.action == "keep":
        return text(line, ".")
    if row["change_low"] == row["change_high"]:
        return text(line, ", unchanged.")
    moved = change(row["score_change"], row["change_low"], row["change_high"], rarest)
    return text(line, " to ", score(row["score"], rarest), " (", moved, ").")


def rarest_of_test(table: Any) -> int:
    """Test rows outside the largest class; of a response all of them."""
    events = table["events"].iloc[0]
    return int(table["n"].iloc[0] if events is None or math.isnan(events) else events)


def _warnings(result: Retraining) -> Text:
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
    if result.drift is not None and result.drift.detected and kind != "keep":
        parts.append("The new rows no longer follow the old ones: only they were learnt from.")
    error = float(result.frontier["score_se"]["keep"])
    if result.deployed.is_classifier and result.deployed_score + quantile(0.95) * error < 0.5:
        parts.append(
            "The deployed tree ranks the new rows worse than chance: are outcomes turned round?"
        )
    if result.changed_columns:
        names = listed([repr(name) for name in list(result.changed_columns)[:3]], "and")
        parts.append(f"Columns look changed: {names}.")
    if int(result.settings["n_rows_structure"]) < int(result.settings["n_rows_values"]):
        sample = people(int(result.settings["n_rows_structure"]))
        all_rows = people(int(result.settings["n_rows_values"]))
        start = "Rules were searched on a sample of "
        end = " rows; leaves count all of them."
        parts.append(text(start, sample, " of the ", all_rows, end))
    return _joined(*parts)
