"""The whole diff as plain text and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from steadytree.core.words import format_number
from steadytree.diff.changes import STATUSES, Rule, RuleChange
from steadytree.diff.words import small_percent

if TYPE_CHECKING:
    from steadytree.diff.tree_diff import TreeDiff

__all__ = ["diff_markdown", "diff_text", "headline", "rule_facts"]

MOST_CHANGES = 12
"""Changes of splits that are listed; two trees with little in common have many."""

ORDER = ("moved", "relabelled", "added", "dropped", "kept")


def headline(diff: TreeDiff) -> list[str]:
    """Return the sentences that open every form of the diff."""
    counts = diff.counts
    if diff.unchanged:
        lines = [f"No rule changed: {_rules(counts['new_rules'])}, dissimilarity 0.0 %."]
    else:
        what = ", ".join(f"{counts[s]} {s}" for s in STATUSES if counts[s])
        lines = [
            f"{_rules(counts['old_rules'])} before, {counts['new_rules']} now: {what}. "
            f"Dissimilarity {small_percent(diff.dissimilarity)}."
        ]
    if diff.n_rows is not None:
        rows = f"{diff.n_rows:,} row{'s' if diff.n_rows != 1 else ''}"
        assert diff.flips is not None
        if diff.mean_value_shift is None:
            lines.append(f"Of {rows}, {small_percent(diff.flips)} get another decision.")
        else:
            shift = format_number(diff.mean_value_shift)
            lines.append(
                f"Over {rows} the prediction changes by {shift} on average, for "
                f"{small_percent(diff.flips)} of them by more than 5 % of the response range."
            )
    for what, names in (
        ("gained", diff.predictors_gained),
        ("lost", diff.predictors_lost),
    ):
        if names:
            lines.append(f"Predictors {what}: {', '.join(names)}.")
    against = diff.kept_against_share
    if against:
        numbers = ", ".join(str(r.number) for r in against)
        which = "Rule" if len(against) == 1 else "Rules"
        keeps = "keeps its label against its" if len(against) == 1 else "keep labels against their"
        lines.append(f"{which} {numbers} {keeps} own share.")
    return lines


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
            facts.append(f"label changed from {old.label} to {new.label}")
        if "value_changed" in rule.kinds:
            facts.append(
                f"{value_name(diff, new)} {value_text(diff, old)} -> {value_text(diff, new)}"
            )
    elif (lone := new or old) is not None:
        facts.append(f"{value_name(diff, lone)} {value_text(diff, lone)}")
    if new is not None and new.kept_against_share:
        facts.append("label kept against its own share")
    if diff.n_rows is not None:
        facts.append(f"rows {_two(old, new, 'share')}")
        if (old or new) is not None and _has_rate(old, new):
            facts.append(f"outcome {_two(old, new, 'outcome_rate', diff.classes is None)}")
    return facts


def _has_rate(*rules: Rule | None) -> bool:
    return any(rule is not None and rule.outcome_rate is not None for rule in rules)


def _two(old: Rule | None, new: Rule | None, name: str, number: bool = False) -> str:
    def one(rule: Rule) -> str:
        value = getattr(rule, name)
        if value is None:
            return "none"
        return format_number(value) if number else small_percent(value)

    if old is None or new is None:
        rule = old or new
        assert rule is not None
        return one(rule)
    was, now = one(old), one(new)
    return now if was == now else f"{was} -> {now}"


def value_name(diff: TreeDiff, rule: Rule) -> str:
    """Return what the number shown beside a rule is."""
    if diff.classes is None:
        return "mean"
    shown = diff.classes[1] if len(diff.classes) == 2 else rule.label
    return f"share of {shown}"


def value_text(diff: TreeDiff, rule: Rule) -> str:
    """Return the number shown beside a rule: positive or own share, or the mean."""
    if diff.classes is None:
        return format_number(rule.value[0])
    at = 1 if len(diff.classes) == 2 else diff.classes.index(rule.label)
    return small_percent(rule.value[at])


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
    shown = [split.text + _rows(split.share) for split in diff.splits[:MOST_CHANGES]]
    rest = len(diff.splits) - len(shown)
    return shown + ([f"and {rest} more"] if rest else [])


def _rows(share: float | None) -> str:
    return "" if share is None else f", {small_percent(share)} of rows"


def _rule_lines(diff: TreeDiff, rule: RuleChange) -> list[str]:
    was = rule.old
    if was is None or rule.new is None or not rule.changes:
        lines = [f"  {rule.number}. {rule.text}"]
    else:
        lines = [f"  {rule.number}. {was.text}", f"     -> {rule.new.text}"]
    facts = rule_facts(diff, rule, changes=False)
    return lines + ([f"     {'; '.join(facts)}"] if facts else [])


def diff_markdown(diff: TreeDiff) -> str:
    """Return Markdown: headline, changes of splits, one table of rules."""
    lines = ["**" + _md(headline(diff)[0]) + "**", ""]
    lines += [f"{_md(line)}  " for line in headline(diff)[1:]]
    if diff.splits:
        lines += ["", "### What changed", ""]
        lines += [f"- {_md(line)}" for line in _what_changed(diff)]
    lines += ["", "### Rules", "", "| # | status | before | now | details |"]
    lines += ["| --: | --- | --- | --- | --- |"]
    for _, rules in _sections(diff):
        for rule in rules:
            old = "" if rule.old is None else _md(rule.old.text)
            new = "" if rule.new is None else _md(rule.new.text)
            facts = "; ".join(_md(fact) for fact in rule_facts(diff, rule))
            lines.append(f"| {rule.number} | {rule.status} | {old} | {new} | {facts} |")
    return "\n".join(lines) + "\n"


def _md(text: str) -> str:
    """Keep names from being read as Markdown or HTML."""
    for mark in "\\`*_[]|":
        text = text.replace(mark, "\\" + mark)
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return " ".join(text.split())
