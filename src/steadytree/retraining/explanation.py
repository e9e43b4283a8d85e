"""A retraining on one screen, for the person who has to sign it: the answer, then why.

One line says what to do and how sure that is, one names the policy, and at most six short ones
say what changes, whom it affects, whether it is better, what is given up, what a final test
shows, and what to beware of. All numbers are those of the summary.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from steadytree.diff.tree_diff import given_up_words
from steadytree.evaluation.performance import REGRESSION_FLIP
from steadytree.evaluation.plan_check import FEWEST_EVENTS
from steadytree.publish.cells import Cell, cell_words, people_words
from steadytree.retraining.frontier import TOO_FEW
from steadytree.tree.words import PLAIN, WordStyle, listed

Summary = Mapping[str, Any]

SHOWN_EDITS = 2
REBUILD = "Consider rebuilding: a tree from scratch is clearly better."
OTHER = {
    "re-estimate": "re-estimating alone",
    "keep": "the deployed tree as it is",
    "from scratch": "a tree from scratch",
    "CART": "retrained CART",
}


@dataclass(frozen=True)
class Explanation:
    """The lines of an explanation; "" where there is nothing to say.

    Attributes
    ----------
    headline : str
        What to do, and how sure that is.
    policy : str
        From which risk on whom the proposal flags; "" for a response.
    one_decision : str
        What it decides for everybody, if it does not tell them apart.
    changes, affected, better, forgone, test : str
        What changes, for how many people, whether that is better, what is given up, and what a
        final test shows.
    alarm : str
        Which classes the proposal gives up.
    warnings : str
        What else to beware of.

    Examples
    --------
    >>> from steadytree.retraining.explanation import Explanation
    >>> print(Explanation("Keep the deployed tree (likely).", better="AUC 0.812."))
    Keep the deployed tree (likely).
    AUC 0.812.
    """

    headline: str
    policy: str = ""
    one_decision: str = ""
    changes: str = ""
    affected: str = ""
    better: str = ""
    forgone: str = ""
    test: str = ""
    alarm: str = ""
    warnings: str = ""

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines in the order they are to be read."""
        first = (self.headline, _joined(self.policy, self.one_decision), self.changes)
        then = (self.affected, self.better, self.forgone, self.test)
        return tuple(line for line in (*first, *then, _joined(self.alarm, self.warnings)) if line)

    def __str__(self) -> str:
        return "\n".join(self.lines)


def explain_summary(summary: Summary, style: WordStyle = PLAIN) -> Explanation:
    """Say what to do and how sure that is, what changes, for whom, and what is given up."""
    policy = summary["diff"]["policy"]["new"]
    return Explanation(
        headline=_headline(summary),
        policy="" if policy is None else f"Policy: {policy['words']}.",
        one_decision=summary["one_decision"],
        changes=_changes(summary, style),
        affected=_affected(summary, style),
        better=_better(summary, style),
        forgone=_forgone(summary, style),
        test=_test(summary, style),
        alarm=alarm_words(summary["diff"]),
        warnings=_warnings(summary, style),
    )


def alarm_words(diff: Summary, *, new: str = "the proposal", old: str = "the deployed tree") -> str:
    """Say loudly which classes the proposal gives up; "" where it gives up none."""
    lost = dict.fromkeys(diff["lost_classes"], True) | dict.fromkeys(diff["hardly_found"], False)
    return given_up_words(lost, new=new, old=old)


def _joined(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def whom_words(
    event: str, flips: Cell, affected: Mapping[str, Any], style: WordStyle = PLAIN
) -> str:
    """Sentence on how many of the rows affected something happens to."""
    rows = f"{cell_words(affected['n'], style)} new rows"
    if flips["count"] == 0:
        return f"{event} for none of the {rows}."
    count, share = (people_words(flips, form, style) for form in ("count", "share"))
    return f"{event} for {count} of the {rows} ({share})."


def event_words(summary: Summary, style: WordStyle = PLAIN) -> str:
    """Say what counts as a changed decision."""
    if summary["diff"]["task"] == "classification":
        return "The decision changes"
    return f"The prediction moves by more than {style.percent(REGRESSION_FLIP, 0)} of its range"


def _headline(summary: Summary) -> str:
    sure, action = f"({summary['confidence']})", summary["action"]
    n = len(_rule_edits(summary))
    line = f"Keep the deployed tree {sure}"
    if action == "change":
        line = "Change to another tree"
        if n:
            line = f"Change the deployed tree by {n} edit{'' if n == 1 else 's'}"
        line += f" {sure}"
    elif action == "re-estimate":
        values = "risks" if summary["diff"]["task"] == "classification" else "predicted values"
        line = f"Re-estimate {sure}: keep every rule and update the {values}"
    if summary["reason"] and action != "change":
        line += f". {summary['reason'][:1].upper()}{summary['reason'][1:]}"
    if summary["one_decision"] and summary["threshold_advised"]:
        line += f". But first set a threshold, for example {summary['threshold_advised']}"
    return f"{line}."


def _rule_edits(summary: Summary) -> list[str]:
    """Edits of rules; labels are told apart."""
    return [words for words in summary["edits"] if not words.startswith("relabel")]


def _changes(summary: Summary, style: WordStyle) -> str:
    if summary["action"] == "keep":
        return ""
    relabelled = summary["diff"]["counts"]["relabelled"]
    otherwise = (
        f"{relabelled} rule{'' if relabelled == 1 else 's'} with the same conditions "
        f"decide{'s' if relabelled == 1 else ''} otherwise."
        if relabelled
        else ""
    )
    if summary["action"] == "re-estimate":
        if summary["diff"]["task"] == "regression":
            return "What changes: no condition."
        return f"What changes: no condition. {otherwise or 'Every rule decides as before.'}"
    edits = _rule_edits(summary)
    parts = [f"{words[:1].upper()}{words[1:]}." for words in edits[:SHOWN_EDITS]]
    if len(edits) > SHOWN_EDITS:
        parts.append(f"And {len(edits) - SHOWN_EDITS} more.")
    if summary["forbidden"]:
        names = listed(map(repr, summary["forbidden"]), "and")
        parts.insert(0, f"Conditions on {names} go, as they are forbidden.")
    share = summary["dissimilarity"]
    # In the facts of a page it is rounded when published: with a shift it tells a range.
    if not summary["published"]:
        parts.append(f"Dissimilarity {style.percent(share, 1 if share < 0.1 else 0)}.")
    return _joined("What changes:", *parts, otherwise)


def _affected(summary: Summary, style: WordStyle) -> str:
    if summary["action"] == "keep":
        return ""
    affected, line = summary["affected"], event_words(summary, style)
    line = whom_words(line, affected["flips"], affected, style)
    if summary["diff"]["task"] == "classification":
        words = f"The {summary['risk']} moves by more than 5 points"
        line = _joined(line, whom_words(words, affected["moved"]["5"], affected, style))
    return line


def _better(summary: Summary, style: WordStyle) -> str:
    scores, events = summary["performance"], summary["events"]
    name = scores["score"]
    deployed, new = (cell_words(scores[key], style) for key in ("deployed", "proposal"))
    if summary["nothing_new"]:
        return "The deployed tree was made from these very rows: no score is given."
    if summary["confidence"] == "unmeasured":
        return f"How well a new tree would predict was not measured ({name} {deployed} today)."
    classifier = summary["diff"]["task"] == "classification"
    if summary["confidence"] == TOO_FEW:
        return (
            f"Too few {'events' if classifier else 'rows'} among the new rows "
            f"({cell_words(events['n'], style)}, at least {FEWEST_EVENTS} are needed): "
            "no improvement is claimed."
        )
    gains = {gain["of"]: gain for gain in summary["gains"]}
    gain = gains.pop("score")
    moved, same = cell_words(gain["gain"], style), gain["direction"] == "unchanged"
    if summary["action"] == "keep":
        line = f"{name} of the deployed tree on the new rows: {deployed}."
        if summary["refused"] is None:
            return line
        what = "leaves it as it is" if same else f"changes it by {moved}"
        return f"{line} What was refused {what}."
    whose = ""
    if classifier:
        outcome = events["class"]
        rarer = "outside the largest class" if outcome is None else style.name(outcome)
        whose = f", {cell_words(events['n'], style)} of them {rarer}"
    line = f"{name} on rows left out{whose}: {deployed}"
    line += ", unchanged." if same else f" to {new} ({moved})."
    if gain["direction"] in ("better", "worse"):
        return line
    for words, other in gains.items():
        if other["direction"] in ("better", "worse"):
            way = "falls" if other["direction"] == "better" else "rises"
            which = f"The {words}{' of decisions' if words == 'cost' else ''} clearly {way}"
            # Published with two decimals it would say nothing.
            by = "" if summary["published"] else f" ({cell_words(_turned(other['gain']), style)})"
            return f"{line} {which}{by}."
    return line


def _turned(cell: Cell) -> Cell:
    """Return an improvement as the change of a loss."""
    value, low, high = (None if cell[k] is None else -cell[k] for k in ("change", "low", "high"))
    return {**cell, "change": value, "low": high, "high": low}


def _forgone(summary: Summary, style: WordStyle) -> str:
    if summary["confidence"] in ("unmeasured", TOO_FEW):
        return ""
    forgone, line = (
        summary["forgone"],
        "Given up: nothing; no candidate leads by a point or clearly.",
    )
    if forgone is not None:
        name, start = forgone["name"], "Given up" if forgone["clear"] else "Perhaps given up"
        other = f"the tree at {name}" if name.startswith("price ") else f"the candidate {name!r}"
        value, lead, error = (cell_words(forgone[key], style) for key in ("score", "lead", "error"))
        what = "decision" if summary["diff"]["task"] == "classification" else "prediction"
        share = f"{cell_words(forgone['flips'], style)} of {what}s"
        line = _joined(
            f"{start}: {OTHER.get(name, other)} has {summary['performance']['score']} {value} "
            f"({lead} ± {error}).",
            "" if forgone["keeps_locks"] else "It does not keep what is locked.",
            "" if forgone["within_plan"] else "The plan does not allow it.",
            f"It would change {f'no {what}' if forgone['flips']['count'] == 0 else share}.",
        )
    return _joined(line, REBUILD if summary["rebuild_advised"] else "")


def _test(summary: Summary, style: WordStyle) -> str:
    test = summary["test"]
    if test is None:
        return ""
    classifier = summary["diff"]["task"] == "classification"
    n, events = (cell_words(test[key], style) for key in ("n", "events"))
    start = f"Final test on {n} rows"
    if not test["measured"]:
        what = "events" if classifier else "rows"
        needed = f"at least {FEWEST_EVENTS} are needed"
        return f"{start}: too few {what} ({events}, {needed}): no change is measured."
    if classifier:
        start += f", {events} of them outside the largest class"
    rows = {row["name"]: row for row in test["trees"]}
    proposal = rows["proposal"]
    first, then, moved = (
        cell_words(cell, style)
        for cell in (rows["deployed"]["score"], proposal["score"], proposal["change"])
    )
    line = f"{start}: {summary['performance']['score']} {first}"
    if summary["action"] == "keep":
        return f"{line}."
    return f"{line}, unchanged." if proposal["unchanged"] else f"{line} to {then} ({moved})."


def _warnings(summary: Summary, style: WordStyle) -> str:
    parts: list[str] = []
    if falls := summary["falls"]:
        policy = summary["diff"]["policy"]["new"]
        whose = "" if "accuracy" in falls else f" for {style.name(policy['positive'])}"
        fall = "falls" if len(falls) == 1 else "fall"
        parts.append(f"Beware: {listed(falls, 'and')}{whose} clearly {fall}.")
    if summary["learnt_from_new_rows"]:
        parts.append("The new rows no longer follow the old ones: only they were learnt from.")
    if summary["worse_than_chance"]:
        parts.append(
            "The deployed tree ranks the new rows worse than chance: are outcomes turned round?"
        )
    if summary["changed_columns"]:
        names = [repr(entry["column"]) for entry in summary["changed_columns"][:3]]
        parts.append(f"Columns look changed: {listed(names, 'and')}.")
    if (data := summary["data"])["searched_on_sample"]:
        sample, rows = (cell_words(data[key], style) for key in ("n_searched", "n_counted"))
        parts.append(
            f"Rules were searched on a sample of {sample} of the {rows} rows; "
            "leaves count all of them."
        )
    return _joined(*parts)
