"""From a result to one plain dictionary that holds everything the report shows.

Nothing that is not in this dictionary reaches the page: no row of data does.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np
from scipy.stats import norm

from steadytree._versions import library_versions
from steadytree._views import ReportContent
from steadytree.core.space import FeatureSpace
from steadytree.core.tabular import n_rows
from steadytree.core.tree import Tree
from steadytree.core.tree_words import risk_name
from steadytree.core.words import PAGE, clean, rounded_share
from steadytree.diff import TreeDiff
from steadytree.diff.words import given_up_words, kept_sentence, split_words, status_counts
from steadytree.exceptions import InputError
from steadytree.report.people import By, people_data
from steadytree.report.rules import RuleTable
from steadytree.report.trees import (
    STATUS_LETTERS,
    features_data,
    frontier_data,
    tree_data,
    used_features,
)
from steadytree.retraining.explanation import whom_words

__all__ = ["SCHEMA_NAME", "SCHEMA_VERSION", "summarise"]

SCHEMA_NAME = "steadytree-report"
SCHEMA_VERSION = 1

Fact = tuple[str, str, str]
_LONGEST = 300
_MINUS = re.compile(r"(?<![\w.])-(?=\d)")
# Settings that other lines of the provenance hold already.
_ELSEWHERE = ("steadytree", "space")


def summarise(
    result: Any,
    *,
    title: str | None = None,
    subgroups: By = (),
    level: float = 0.95,
) -> dict[str, Any]:
    """Put everything the report shows into one dictionary of plain values.

    Parameters
    ----------
    result : Retraining, TreeDiff or fitted StableTreeClassifier or StableTreeRegressor
        Anything with ``report_content()``.
    title : str, optional
        Heading of the page.
    subgroups : sequence of str, or mapping of str to column, array or function
        Columns to report changed decisions and performance by (Retraining only).
    level : float, default 0.95
        Coverage of the intervals.

    Returns
    -------
    dict
        JSON-able; its layout is given by ``summary.schema.json`` in this package. Top level:

        ``schema``, ``version``, ``kind`` ("retraining", "diff" or "stable"), ``title``,
        ``task``, ``classes``, ``decision_threshold``, ``decision`` (the policy in words),
        ``risk`` (what a prediction is called: "Risk of malignant"),
        ``warnings``, ``kept`` (decisions kept against their share), ``predictions`` (how they
        come from what was observed), ``n_rows``, ``rows_name``;
        ``names`` (of the old and new tree), ``headline`` (``sentences``, ``facts``);
        ``test`` (scores on rows that nothing was trained or chosen on; or null);
        ``dissimilarity``, ``counts`` (rules by status), ``split_changes`` (in words),
        ``predictors`` (gained, lost); ``features``; ``trees`` (``old`` or null, ``new``);
        ``rules`` (one entry per rule: number, status, changes, and for either tree its
        conditions, outcome, numbers of its leaf, the rows given that follow it and what was
        observed among them, in words); ``people`` (changed decisions
        and performance, in total and by subgroup; null without rows); ``frontier``
        (candidates with costs and compact trees; or null); ``provenance`` (labels and
        values); ``notes``.

    Examples
    --------
    >>> import steadytree as st
    >>> from steadytree.report import summarise
    >>> space = st.FeatureSpace.from_data([[20.0], [70.0]]).replace(names=("age",))
    >>> tree = st.tree_from_rules('''
    ... age <= 50: no
    ... else: yes
    ... ''')
    >>> summary = summarise(st.diff_trees(tree, tree, space=space))
    >>> summary["schema"], summary["version"], summary["counts"]["kept"]
    ('steadytree-report', 1, 2)
    """
    if not hasattr(result, "report_content"):
        raise InputError(
            "expected a Retraining, a TreeDiff or a fitted StableTree estimator for a report, "
            f"got {type(result).__name__}; compare two trees with diff_trees(old, new) first"
        )
    content: ReportContent = result.report_content()
    diff = content.diff
    table = RuleTable(diff)
    trees = _trees(content, table)
    used = used_features(diff.new, diff.space) | used_features(diff.old, diff.space)
    frontier = None
    if content.candidates is not None:
        frontier = frontier_data(content.candidates, base=diff.old, space=diff.space)
    drawn = used.union(*(tree["f"] for tree in frontier["trees"])) if frontier else used
    return {
        "schema": SCHEMA_NAME,
        "version": SCHEMA_VERSION,
        "kind": content.kind,
        "title": clean(title or content.title),
        "task": "regression" if diff.classes is None else "classification",
        "classes": None if diff.classes is None else [PAGE.name(c) for c in diff.classes],
        "decision_threshold": diff.new.decision_threshold,
        "decision": _decision_words(content),
        "risk": _risk_words(diff),
        "warnings": _warnings(content),
        "kept": clean(kept_sentence(diff)) if diff.kept_against_share else "",
        "predictions": _prediction_words(diff.new),
        "rows_name": "rows" if content.affected is None else content.affected[3],
        "n_rows": diff.n_rows,
        "names": {"old": content.names[0], "new": content.names[1]},
        "headline": _headline(content, level),
        "test": None if content.test is None else _test_data(content),
        "dissimilarity": round(float(diff.dissimilarity), 4),
        "counts": dict(diff.counts),
        "split_changes": [split_words(split, PAGE) for split in diff.splits],
        "predictors": {
            "gained": [PAGE.name(n) for n in diff.predictors_gained],
            "lost": [PAGE.name(n) for n in diff.predictors_lost],
        },
        "features": features_data(diff.space, used, drawn, (diff.old, diff.new)),
        "trees": trees,
        "rules": table.rows,
        "people": None
        if content.people is None
        else people_data(content.people, subgroups=subgroups, level=level),
        "frontier": frontier,
        "provenance": [
            {"label": clean(label), "value": _cut(clean(value))}
            for label, value in _provenance(content)
        ],
        "notes": [clean(note) for note in content.notes],
    }


def _trees(content: ReportContent, table: RuleTable) -> dict[str, Any]:
    """Both trees as the page draws them; of a single tree the rules' rows are filled in."""
    diff = content.diff
    training = _training_shares(diff.new) if content.single else {}
    trees: dict[str, Any] = {"old": None}
    for side, tree, name in zip(("old", "new"), (diff.old, diff.new), content.names, strict=True):
        if side == "old" and content.single:
            continue
        shares = training or table.shares(side)
        trees[side] = tree_data(
            tree,
            diff.space,
            name=name,
            classes=diff.classes,
            rules=table.leaves(side),
            shares=shares,
            changed=table.changed(side),
            positive=diff.positive,
        )
    if content.single:
        for row in table.rows:
            row["old"] = None
            share = training.get(row["new"]["leaf"])
            rows = None if share is None else PAGE.percent(share, 0)
            row["new"] |= {"share": share, "rows": rows}
    return trees


def _training_shares(tree: Tree) -> dict[int, float]:
    """Share of the training rows at each leaf, where no other rows were counted."""
    total = float(tree.weight[0])
    if total <= 0:
        return {}
    return {i: rounded_share(float(tree.weight[i]) / total, 4) for i in tree.leaves.tolist()}


def _warnings(content: ReportContent) -> list[str]:
    """Sentences that nobody may overlook: classes that the new tree gives up."""
    old, new = (f"the {name[:1].lower()}{name[1:]}" for name in content.names)
    lost = given_up_words(content.diff.classes_given_up, new=new, old=old, style=PAGE)
    return [clean(lost)] if lost else []


def _decision_words(content: ReportContent) -> str:
    """Say once on the page from which share on which decision is taken; empty in regression."""
    old, new = (
        "" if tree.classes is None else tree.decision.words([PAGE.name(c) for c in tree.classes])
        for tree in (content.diff.old, content.diff.new)
    )
    if old == new or content.single:
        return new
    return f"{content.names[0]}: {old}. {content.names[1]}: {new}"


def _risk_words(diff: TreeDiff) -> str:
    name = risk_name(diff.new, PAGE)
    return f"{name[:1].upper()}{name[1:]}"


def _prediction_words(tree: Tree) -> str:
    """Say how a prediction comes from what was observed; empty where nothing is stored."""
    seen = tree.observed
    if seen is None:
        return ""
    rate = "share" if tree.is_classifier else "mean"
    if not (seen.strength[tree.leaves] > 0).any():
        return f"A prediction is the observed {rate}."
    words = (
        f"A prediction is the observed {rate}, steadied by what a larger model expects of the "
        f"same people, which counts as {_range_words(seen.strength[tree.leaves])} further rows: "
        "much where few people were observed, little where many were."
    )
    if seen.old_share < 1:
        share = PAGE.percent(seen.old_share)
        words += f" An old row counts {share} of a new one, because the new ones contradict them."
    return words


def _range_words(strength: np.ndarray[Any, Any]) -> str:
    low, high = round(float(strength.min())), round(float(strength.max()))
    return f"{low}" if low == high else f"{low} to {high}"


def _headline(content: ReportContent, level: float) -> dict[str, Any]:
    """Sentences and facts for the head of the page."""
    diff = content.diff
    sentences = list(content.sentences)
    facts: list[Fact] = [*content.facts]
    if not content.single:
        facts = [*_change_facts(diff), *facts]
    facts += _score_fact(*content.score, level) if content.score is not None else []
    if content.affected is not None:
        event, count, total, what = content.affected
        facts.append(_people_fact("Decisions that change", round(count), total, what))
        if content.people is not None and diff.classes is not None:
            moved = round(content.people.risk_moved()["moved_5"] * total)
            label = f"{_risk_words(diff)} moves over 5 points"
            facts.append(_people_fact(label, moved, total, what))
        if event:
            sentences.append(whom_words(event, round(count), total, rows_name=what))
    texts = [_MINUS.sub(PAGE.minus, clean(sentence)) for sentence in sentences]
    texts = [text.replace(" <= ", " ≤ ").replace(" >= ", " ≥ ") for text in texts]
    names = ("label", "value", "detail")
    return {
        "sentences": texts or [_change_sentence(diff)],
        "facts": [dict(zip(names, fact, strict=True)) for fact in facts],
    }


def _test_data(content: ReportContent) -> dict[str, Any]:
    """Scores on rows that nothing was trained or chosen on, a row per tree."""
    table: Any = content.test
    n, first = int(table["n"].iloc[0]), str(table.index[0])
    named = dict(zip(("deployed", "proposal"), content.names, strict=True))
    score = "R²" if content.diff.classes is None else "AUC"
    heads = ["Tree", score, "Change", "95\u202f% interval", "Decisions that change"]
    extra = [name for name in ("brier", "cost") if name in table.columns]
    rows = []
    for name, row in table.iterrows():
        change = ["–", "–"]
        if name != first:
            low, high = row["change_low"], row["change_high"]
            change = ["unchanged", "–"]
            if low < high:
                interval = f"{PAGE.signed(low)} to {PAGE.signed(high)}"
                change = [PAGE.signed(row["score_change"]), interval]
        flips = PAGE.percent(float(row["flips"]), 1)
        cells = [named.get(str(name), str(name).capitalize()), f"{row['score']:.3f}", *change]
        rows.append([*cells, flips, *(f"{row[key]:.4f}" for key in extra)])
    words = {"brier": "Brier score", "cost": "Cost of a decision"}
    return {"n": n, "heads": [*heads, *(words[key] for key in extra)], "rows": rows}


def _change_facts(diff: TreeDiff) -> list[Fact]:
    scale = "0\u202f% means the same rules; trees that share no feature are at about 80\u202f%"
    others = status_counts(diff, (s for s in STATUS_LETTERS if s != "kept"))
    kept = f"{diff.counts['kept']} of {diff.counts['old_rules']}"
    return [
        ("Dissimilarity", PAGE.percent(diff.dissimilarity), scale),
        ("Rules kept", kept, others or "none moved, relabelled, added or dropped"),
    ]


def _score_fact(
    name: str, old: float, new: float, change: float, error: float, level: float
) -> list[Fact]:
    """Score of the proposal and of the deployed tree, as on the frontier."""
    if not all(map(math.isfinite, (old, new))):
        return []
    if not math.isfinite(change):
        return [(name, f"{new:.3f}", "on the new rows")]
    if change == error == 0:
        return [(name, f"{new:.3f}", "unchanged")]
    half = float(norm.ppf(0.5 + level / 2)) * error
    low, high = PAGE.signed(change - half), PAGE.signed(change + half)
    interval = f"{PAGE.percent(level, 0)} interval {low} to {high}"
    return [(name, f"{old:.3f} → {new:.3f}", f"change {PAGE.signed(change)}, {interval}")]


def _people_fact(label: str, count: int, total: int, what: str) -> Fact:
    return (label, PAGE.percent(count / total), f"{count:,} of {total:,} {what}")


def _change_sentence(diff: TreeDiff) -> str:
    if diff.unchanged:
        return "The new tree has the same rules as the old one."
    counts = status_counts(diff, STATUS_LETTERS)
    text = f"The new tree differs from the old one: of the rules, {counts}."
    changes = {"now uses": diff.predictors_gained, "no longer uses": diff.predictors_lost}
    for verb, names in changes.items():
        if names:
            text += f" It {verb} {', '.join(PAGE.name(n) for n in names)}."
    return text


# -- where the report comes from -------------------------------------------------------


def _provenance(content: ReportContent) -> Iterator[tuple[str, Any]]:
    """Lines of the table: data and trees, settings, and when and with what it was written."""
    for label, value in content.provenance:
        if isinstance(value, Tree):
            yield label, _tree_words(value)
        elif isinstance(value, FeatureSpace):
            yield label, f"{value.n_features} features"
        elif isinstance(value, tuple):
            X, _ = value
            yield label, f"{n_rows(X):,} rows × {int(X.shape[1]):,} columns"
        else:
            yield label, value
    for name, value in content.settings.items():
        if name not in _ELSEWHERE:
            yield name.replace("_", " ").capitalize(), _setting_words(value)
    yield "Report made", datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    found = library_versions(("steadytree", "numpy", "scipy", "scikit-learn", "pandas"))
    found = {"Python": found.pop("python"), **found}
    yield "Versions", ", ".join(f"{name} {version}" for name, version in found.items())


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _tree_words(tree: Tree) -> str:
    """Size of a tree: its digest belongs to the history."""
    return f"{tree.n_leaves} rules, depth {tree.depth}"


def _setting_words(value: Any) -> str:
    """Write a setting that is short enough to read; data passed as one is only described."""
    if value is None or (isinstance(value, (list, tuple, Mapping)) and not value):
        return "none"
    if isinstance(value, (str, int, float, bool)):
        return str(value)
    if isinstance(value, (list, tuple, set, frozenset)) and len(value) <= 12:
        return repr(value)
    if isinstance(value, Mapping):
        return ", ".join(f"{k}: {v!r}" for k, v in value.items())
    if hasattr(value, "shape"):
        return f"given ({' × '.join(str(n) for n in value.shape)})"
    return getattr(value, "__name__", None) or type(value).__name__
