"""What changed in words: one condition, one split, or the whole diff as text and Markdown.

Logs and pages speak differently (a log says "moved from 50 to 53 (+3)", a page "50 → 53"),
so each has its own phrases; what a change is called and which numbers go with it is the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from steadytree._text import harmless_words
from steadytree.publish.cells import Text, people, text
from steadytree.tree.words import PAGE, PLAIN, Condition, WordStyle, format_number, listed

if TYPE_CHECKING:
    from steadytree.diff.pairing import ConditionChange, Rule, RuleChange
    from steadytree.diff.splits import SplitChange
    from steadytree.diff.tree_diff import TreeDiff

STATUSES = ("kept", "relabelled", "moved", "added", "dropped")
"""Status of a rule: the same; other label only; other conditions; only new; only old."""

MOST_CHANGES = 12
"""Changes of splits that are listed; two trees with little in common have many."""

SAME_RATE = 1e-9
"""Rates that differ by more are not the plain share of the rows: the rows have weights."""

ORDER = ("moved", "relabelled", "added", "dropped", "kept")

_CHANGES = {
    PLAIN: {
        "moved": "{name}: {side} bound moved from {old} to {new}{shift}",
        "condition_added": "condition added: {condition}",
        "condition_removed": "condition removed: {condition}",
        "only_missing": "{name}: only missing values pass now",
        "not_only_missing": "{name}: no longer only missing values pass",
        "missing_in": "{name}: missing values now included",
        "missing_out": "{name}: missing values no longer included",
    },
    PAGE: {
        "moved": "{name}: {side} limit {old} → {new}{shift}",
        "condition_added": "new condition: {condition}",
        "condition_removed": "no longer asks: {condition}",
        **dict.fromkeys(
            ("only_missing", "not_only_missing", "missing_in", "missing_out"),
            "{name}: missing values take another way",
        ),
    },
}
_SPLITS = {
    PLAIN: {
        "moved": "{the} on {name} moved from {old} to {new}{shift}: {count}",
        "categories_changed": "{the} on {name} sends {values} the other way: {count}",
        "missing_changed": "missing values of {name} go the other way: {count}",
        "removed": "{the} on {name}{at} removed: {count}",
        "added": "{a} on {name}{new_at} added: {count}",
        "replaced": "{the} on {name}{at} replaced by {new_name}{new_at}: {count}",
    },
    PAGE: {
        "moved": "{the} on {name}: {old} → {new}{shift}, {count}",
        "categories_changed": "{the} on {name}: {values} on the other side, {count}",
        "missing_changed": "Missing values of {name} take another way, {count}",
        "removed": "{the} on {name}{at} removed, {count}",
        "added": "{a} on {name}{new_at} added, {count}",
        "replaced": "{the} on {name}{at} replaced by {new_name}{new_at}, {count}",
    },
}


def _shift(shift: float | None, share: float | None, style: WordStyle) -> str:
    """Return a shift in brackets, as far as it is known: (+3, 4.3 % of its range)."""
    if style is PAGE:
        return "" if share is None else f" ({PAGE.percent(abs(share), 1)} of its range)"
    if shift is None:
        return ""
    # Four digits: thresholds are midpoints of rounded numbers, their differences noisy.
    amount = f"{'+' if shift > 0 else ''}{style.significant(shift, 4)}"
    return f" ({amount}{'' if share is None else f', {PLAIN.percent(abs(share), 1)} of its range'})"


def _bound(value: float | None, style: WordStyle) -> str:
    return "" if value is None else style.number(value)


def concerned_by(change: ConditionChange) -> tuple[Condition | None, float | None]:
    """Condition and bound that a change is about: the new ones if added, else the old."""
    added = change.kind == "condition_added"
    return (change.new, change.new_bound) if added else (change.old, change.old_bound)


def change_words(change: ConditionChange, style: WordStyle = PLAIN) -> str:
    """Return one changed condition in words."""
    say, name = _CHANGES[style], style.name(change.name)
    if change.kind == "threshold_moved":
        return say["moved"].format(
            name=name,
            side=change.side,
            old=_bound(change.old_bound, style),
            new=_bound(change.new_bound, style),
            shift=_shift(change.shift, change.share_of_range, style),
        )
    if change.kind in ("condition_added", "condition_removed"):
        whole, bound = concerned_by(change)
        if bound is not None:
            sides = (-math.inf, bound) if change.side == "upper" else (bound, math.inf)
            whole = Condition(change.feature, change.name, *sides)
        return say[change.kind].format(condition=name if whole is None else whole.words(style))
    if change.kind == "categories_changed":
        parts = (
            f"{listed(map(style.name, categories), 'and')} {what} included"
            for categories, what in ((change.gained, "now"), (change.lost, "no longer"))
            if categories
        )
        return f"{name}: {', '.join(parts)}"
    passes = "missing_in" if change.new is None or change.new.missing else "missing_out"
    if change.new is not None and not change.new.present:
        passes = "only_missing"
    elif change.old is not None and not change.old.present:
        passes = "not_only_missing"
    return say[passes].format(name=name)


def split_words(split: SplitChange, style: WordStyle = PLAIN) -> str:
    """Return one changed split in words, with the number of rules it concerns."""
    which = "first split" if split.first else "split"
    the, a = f"the {which}", f"a {which}"
    if style is PAGE:
        the = a = which.capitalize()
    elif split.only_conditions:
        the = "a bound" if split.kind == "moved" else "a condition"
        a = the
    values = [style.name(c) for c in split.categories]
    replaced = split.kind == "replaced"
    return _SPLITS[style][split.kind].format(
        the=the,
        a=a,
        name=style.name(split.name),
        old=_bound(split.old_bound, style),
        new=_bound(split.new_bound, style),
        shift=_shift(split.shift, split.share_of_range, style),
        values=(listed(values, "and") if style is PAGE else ", ".join(values)) if values else "",
        at=_at(split.old_bound, split.categories, style),
        new_name="" if split.new_name is None else style.name(split.new_name),
        new_at=_at(split.new_bound, split.new_categories if replaced else split.categories, style),
        count=_rules(len(split.rules)),
    )


def _at(bound: float | None, categories: tuple[Any, ...], style: WordStyle) -> str:
    if bound is not None:
        return f" at {style.number(bound)}"
    return f" ({', '.join(map(style.name, categories))})" if categories else ""


# -- the whole diff --------------------------------------------------------------------


def status_counts(diff: TreeDiff, statuses: Iterable[str] = STATUSES) -> str:
    """Count the rules of each status that occurs: "3 kept, 1 added"."""
    return ", ".join(f"{diff.counts[s]} {s}" for s in statuses if diff.counts[s])


def headline(diff: TreeDiff) -> list[str]:
    """Return the sentences that open every form of the diff."""
    counts = diff.counts
    warning = given_up_words(diff.classes_given_up)
    if diff.unchanged:
        lines = [f"No rule changed: {_rules(counts['new_rules'])}, dissimilarity 0.0 %."]
    else:
        lines = [
            f"{_rules(counts['old_rules'])} before, {counts['new_rules']} now: "
            f"{status_counts(diff)}. Dissimilarity {PLAIN.percent(diff.dissimilarity, 1)}."
        ]
    lines = [*([warning] if warning else []), *lines]
    if diff.n_rows is not None:
        rows = f"{diff.n_rows:,} row{'s' if diff.n_rows != 1 else ''}"
        share = PLAIN.percent(diff.flips, 1)
        if diff.mean_value_shift is None:
            lines.append(f"Of {rows}, {share} get another decision.")
        else:
            shift = PLAIN.significant(diff.mean_value_shift, 6)
            lines.append(
                f"Over {rows} the prediction changes by {shift} on average, for "
                f"{share} of them by more than 5 % of the response range."
            )
    for what, names in (("gained", diff.predictors_gained), ("lost", diff.predictors_lost)):
        if names:
            lines.append(f"Predictors {what}: {', '.join(map(PLAIN.name, names))}.")
    if diff.kept_against_share:
        lines.append(kept_sentence(diff))
    return lines


def given_up_words(
    given_up: Mapping[Any, bool],
    *,
    new: str = "the new tree",
    old: str = "the old tree",
    style: WordStyle = PLAIN,
) -> str:
    """Warn of classes that a tree gives up; empty where it gives up none."""
    parts = []
    for nobody, words in (
        (True, "decides {names} for nobody any more, which {old} does for some"),
        (False, "hardly finds {names} any more, which {old} finds"),
    ):
        names = [style.name(name) for name, none in given_up.items() if none is nobody]
        if names:
            parts.append(words.format(names=listed(names, "and"), old=old))
    return f"WARNING: {new} {', and '.join(parts)}." if parts else ""


def kept_sentence(diff: TreeDiff) -> Text:
    """Say which rules keep their label against their share, and how many rows that concerns."""
    against = [r.new for r in diff.kept_against_share if r.new is not None]
    numbers = listed([r.number for r in diff.kept_against_share], "and")
    one = len(against) == 1
    what = f"Rule{'' if one else 's'} {numbers} keep{'s its' if one else ' their'} decision"
    counted = kept_rows(diff)
    reasons = {rule.kept.removeprefix("kept: the share ") for rule in against}
    whom = text(" (", counted, " rows)") if counted else text()
    if len(reasons) == 1 and "standard error" in (why := reasons.pop()):
        return text(f"{what}: the predicted share {why}", whom, ".")
    return text(f"{what} although the predicted share says otherwise", whom, ".")


def kept_rows(diff: TreeDiff) -> Text:
    """Count the rows at rules that keep their label against their share: "32 of 285"."""
    against = [r.new for r in diff.kept_against_share if r.new is not None]
    if diff.n_rows is not None:
        return text(people(sum(r.rows or 0 for r in against), diff.n_rows, "of"))
    counts = [r.numbers.rows for r in against]
    if None in counts:
        return text()
    return text(people(sum(c or 0 for c in counts)), " training")


def _rules(count: int) -> str:
    return f"{count} rule{'s' if count != 1 else ''}"


def rule_facts(diff: TreeDiff, rule: RuleChange, *, changes: bool = True) -> list[str]:
    """Return what there is to say about one rule beside its text, one fact per entry.

    Without ``changes`` those of its conditions are left out: both forms show them.
    """
    facts = [change.text for change in rule.changes] if changes else []
    old, new = rule.old, rule.new
    if old is not None and new is not None:
        if rule.relabelled:
            facts.append(f"label changed from {old.outcome_text} to {new.outcome_text}")
        if "value_changed" in rule.kinds:
            before, after = old.numbers.predicted_words(), new.numbers.predicted_words()
            facts.append(f"{value_name(diff, new)} {before} -> {after}")
    elif (lone := new or old) is not None:
        facts.append(f"{value_name(diff, lone)} {lone.numbers.predicted_words()}")
    if new is not None and new.kept:
        facts.append(f"label {new.kept}")
    halves = [half for half in (old, new) if half is not None]
    for what, of in (
        ("observed in training", _trained_words),
        ("rows", _share_words),
        ("observed in the rows", _observed_in_rows),
    ):
        words = [of(half) for half in halves]
        if all(words):
            facts.append(f"{what} {' -> '.join(dict.fromkeys(words))}")
    return facts


def _trained_words(rule: Rule) -> str:
    return rule.numbers.observed_words()


def _share_words(rule: Rule) -> str:
    return "" if rule.share is None else PLAIN.percent(rule.share, 1)


def _observed_in_rows(rule: Rule) -> str:
    """Return what was observed among the rows given that follow a rule: "12 of 43 (27.9 %)"."""
    if rule.rows is None:
        return ""
    if rule.outcome_rate is None:
        return "none" if rule.rows == 0 else ""
    if rule.outcomes is None:
        return f"{format_number(rule.outcome_rate)} in {rule.rows:,}"
    weighted = abs(rule.outcome_rate - rule.outcomes / rule.rows) > SAME_RATE
    rate = f"{'weighted ' if weighted else ''}{PLAIN.percent(rule.outcome_rate, 1)}"
    return f"{rule.outcomes:,} of {rule.rows:,} ({rate})"


def value_name(diff: TreeDiff, rule: Rule) -> str:
    """Return what the number shown beside a rule is."""
    if diff.classes is None:
        return "predicts"
    shown = rule.label if diff.positive is None else diff.classes[diff.positive]
    return f"predicts {PLAIN.name(shown)}"


def shown_value(diff: TreeDiff, rule: Rule) -> float:
    """Predicted share of the positive class of two, or of the rule's own label; or response."""
    if diff.classes is None:
        return rule.value[0]
    at = diff.classes.index(rule.label) if diff.positive is None else diff.positive
    return rule.value[at]


def _sections(diff: TreeDiff) -> list[tuple[str, Sequence[RuleChange]]]:
    return [(s, diff.with_status(s)) for s in ORDER if diff.counts[s]]


def diff_text(diff: TreeDiff) -> str:
    """Return plain text, at most one idea per line."""
    lines = headline(diff)
    if diff.splits:
        lines += ["", "What changed"]
        lines += [f"  - {line}" for line in _what_changed(diff)]
    for status, rules in _sections(diff):
        lines += ["", f"{status.capitalize()} ({len(rules)})"]
        for rule in rules:
            lines += _rule_lines(diff, rule)
    return "\n".join(lines)


def _what_changed(diff: TreeDiff) -> list[str]:
    """Return the changes of splits in words, the smaller ones counted."""
    shown = [
        split.text + ("" if split.share is None else f", {PLAIN.percent(split.share, 1)} of rows")
        for split in diff.splits[:MOST_CHANGES]
    ]
    rest = len(diff.splits) - len(shown)
    return shown + ([f"and {rest} more"] if rest else [])


def _rule_lines(diff: TreeDiff, rule: RuleChange) -> list[str]:
    texts = [half.text for half in (rule.old, rule.new) if half is not None]
    if len(texts) == 1 or not rule.changes:
        lines = [f"  {rule.number}. {texts[-1]}"]
    else:
        lines = [f"  {rule.number}. {texts[0]}", f"     -> {texts[1]}"]
    facts = rule_facts(diff, rule, changes=False)
    return lines + ([f"     {'; '.join(facts)}"] if facts else [])


def diff_markdown(diff: TreeDiff) -> str:
    """Return Markdown: headline, changes of splits, one table of rules."""
    first, *rest = headline(diff)
    lines = ["**" + _md(first) + "**", ""]
    lines += [f"{_md(line)}  " for line in rest]
    if diff.splits:
        lines += ["", "### What changed", ""]
        lines += [f"- {_md(line)}" for line in _what_changed(diff)]
    lines += ["", "### Rules", "", "| # | status | before | now | details |"]
    lines += ["| --: | --- | --- | --- | --- |"]
    for _, rules in _sections(diff):
        for rule in rules:
            old = "" if rule.old is None else _md(harmless_words(rule.old.text))
            new = "" if rule.new is None else _md(harmless_words(rule.new.text))
            facts = "; ".join(_md(fact) for fact in rule_facts(diff, rule))
            lines.append(f"| {rule.number} | {rule.status} | {old} | {new} | {facts} |")
    return "\n".join(lines) + "\n"


def _md(text: str) -> str:
    """Keep names from being read as Markdown or HTML."""
    for mark in "\\`*_[]|":
        text = text.replace(mark, "\\" + mark)
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return " ".join(text.split())
