"""One change of a condition or of a split in words, for logs and for pages.

The two places speak differently (a log says "moved from 50 to 53 (+3)", a page "50 → 53"),
so each has its own phrases; what a change is called and which numbers go with it is the same.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from steadytree.core.words import PAGE, PLAIN, Condition, WordStyle, listed

if TYPE_CHECKING:
    from steadytree.diff.changes import ConditionChange
    from steadytree.diff.splits import SplitChange

__all__ = ["change_words", "small_percent", "split_words"]

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


def small_percent(share: float) -> str:
    """Return a share to a tenth of a per cent: "4.3 %", "< 0.1 %"."""
    return "< 0.1 %" if 0 < 100 * share < 0.05 else PLAIN.percent(share, 1)


def _shift(shift: float | None, share: float | None, style: WordStyle) -> str:
    """Return a shift in brackets, as far as it is known: (+3, 4.3 % of its range)."""
    if style is PAGE:
        return "" if share is None else f" ({PAGE.percent(abs(share), 1)} of its range)"
    if shift is None:
        return ""
    # Four digits: thresholds are midpoints of rounded numbers, their differences noisy.
    amount = f"{'+' if shift > 0 else ''}{style.significant(shift, 4)}"
    return f" ({amount}{'' if share is None else f', {small_percent(abs(share))} of its range'})"


def _bound(value: float | None, style: WordStyle) -> str:
    return "" if value is None else style.number(value)


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
        added = change.kind == "condition_added"
        bound = change.new_bound if added else change.old_bound
        whole = change.new if added else change.old
        if bound is not None:
            upper = change.side == "upper"
            sides = (-math.inf, bound) if upper else (bound, math.inf)
            whole = Condition(change.feature, change.name, *sides)
        return say[change.kind].format(condition=name if whole is None else whole.words(style))
    if change.kind == "categories_changed":
        parts = []
        for categories, what in ((change.gained, "now"), (change.lost, "no longer")):
            if categories:
                parts.append(f"{listed(map(style.name, categories), 'and')} {what} included")
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
    count = f"{len(split.rules)} rule{'' if len(split.rules) == 1 else 's'}"
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
        count=count,
    )


def _at(bound: float | None, categories: tuple[Any, ...], style: WordStyle) -> str:
    if bound is not None:
        return f" at {style.number(bound)}"
    return f" ({', '.join(map(style.name, categories))})" if categories else ""
