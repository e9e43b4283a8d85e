"""From a result to one plain dictionary that holds everything the report shows.

Nothing that is not in this dictionary reaches the page: no row of data does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pandas as pd
from scipy.stats import norm

from steadytree._optional import library_versions
from steadytree._views import ReportContent
from steadytree.diff import TreeDiff
from steadytree.diff.changes import split_words
from steadytree.diff.tree_diff import given_up_words, kept_sentence, status_counts
from steadytree.evaluation.performance import MOVES
from steadytree.evaluation.plan_check import FEWEST_EVENTS
from steadytree.exceptions import InputError
from steadytree.publish import names_for_others, rare_words
from steadytree.publish import publish as published
from steadytree.publish.cells import (
    Cell,
    Text,
    change,
    dissimilarity,
    internal,
    measure,
    people,
    score,
    text,
    without_ends,
)
from steadytree.publish.cells import group as group_cell
from steadytree.retraining import Retraining
from steadytree.retraining.explanation import rarest_of_test, whom_words
from steadytree.tree.columns import n_rows
from steadytree.tree.printing import risk_name
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree
from steadytree.tree.words import PAGE, clean
from steadytree.views.report_trees import (
    STATUS_LETTERS,
    features_data,
    frontier_data,
    leaf_cells,
    rules_data,
    sentence,
    tree_data,
    used_features,
)

# -- whom a retraining affects, in total and by subgroup ----------------------------------

SCORES = ("AUC", "R2")

# What each measure is called on the page, what it means, and how it is written. Of two classes
# the measures of the positive one, called {it}, name it.
MEASURES = {
    "AUC": ("AUC", "how well {it} is told apart from the rest", "number"),
    "accuracy": ("Accuracy", "decisions that are right", "share"),
    "balanced accuracy": (
        "Balanced accuracy",
        "decisions that are right, each outcome counted alike",
        "share",
    ),
    "sensitivity": ("Sensitivity for {it}", "of those who are {it}, how many are flagged", "share"),
    "specificity": (
        "Specificity for {it}",
        "of those who are not {it}, how many are not flagged",
        "share",
    ),
    "positive predictive value": (
        "Positive predictive value for {it}",
        "of those flagged, how many are {it}",
        "share",
    ),
    "negative predictive value": (
        "Negative predictive value for {it}",
        "of those not flagged, how many are not {it}",
        "share",
    ),
    "flagged positive": ("Flagged as {it}", "of all people, how many are flagged", "share"),
    "calibration: mean predicted minus observed": (
        "Calibration in the large",
        "mean predicted risk of {it} minus observed rate; 0 is best",
        "signed share",
    ),
    "Brier score": (
        "Brier score",
        "mean squared error of the risk of {it}; lower is better",
        "number",
    ),
    "R2": ("R²", "share of the variation explained", "number"),
    "mean absolute error": ("Mean absolute error", "lower is better", "plain"),
    "mean error": ("Mean error", "predicted minus observed; 0 is best", "plain"),
}

# Points of risk that people are counted by, and the name of their column.
_POINTS = {key.removeprefix("moved_"): key for key in MOVES}

By = Sequence[str] | Mapping[str, Any]


def people_data(result: Retraining, *, subgroups: By, level: float) -> dict[str, Any]:
    """Return changed decisions and performance as plain data."""
    performance = result.performance(level=level)
    named = subgroups if isinstance(subgroups, Mapping) else {str(by): by for by in subgroups}
    n = len(result.rows)
    moved = result.risk_moved()
    return {
        "level": level,
        "flips": people(result.flips() * n, n),
        "moved": {points: people(moved[key] * n, n) for points, key in _POINTS.items()},
        "columns": {str(k): clean(v) for k, v in performance.attrs["columns"].items()},
        "performance": _measures(result, performance.reset_index()),
        "subgroups": [_subgroup(result, str(name), by, level=level) for name, by in named.items()],
    }


def _measures(result: Retraining, table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the measures of one group, the positive class of two named."""
    classes, positive = result.tree.classes or (), "each class"
    if len(classes) == 2:
        positive = PAGE.name(classes[result.tree.decision.position])
    return [_measure(row, positive) for row in table.to_dict("records")]


def _measure(row: Mapping[Any, Any], positive: str) -> dict[str, Any]:
    metric, n = str(row["metric"]), int(row["n"])
    texts = MEASURES.get(metric, (metric, "", "number"))
    title, meaning, kind = (text.replace("{it}", positive) for text in texts)

    def cell(column: str, *, ends: bool = True, change: bool = False) -> Cell:
        limits = (row[f"{column}_low"], row[f"{column}_high"]) if ends else (math.nan, math.nan)
        return measure(row[column], *limits, kind=kind, of=n, change=change, score=metric in SCORES)

    return {
        "name": title,
        "meaning": meaning,
        "old": cell("deployed"),
        "new": cell("recipe"),
        "change": cell("change", change=True),
        # The score on rows that a tree was trained on has no interval: it estimates nothing.
        "own": cell("own", ends=False),
        "n": people(n),
    }


def _subgroup(result: Retraining, name: str, by: Any, *, level: float) -> dict[str, Any]:
    flips = result.flips(by, level=level)
    table = result.performance(by, level=level).reset_index()
    inner = without_ends([str(group) for group in flips.index])
    measures = [_measures(result, rows) for _, rows in table.groupby("group", sort=False)]
    groups = []
    for (group, row), public, measured in zip(flips.iterrows(), inner, measures, strict=True):
        n, share = int(row["n"]), (row["flips"], row["low"], row["high"])
        moved = {points: people(row[key] * n, n, "share") for points, key in _POINTS.items()}
        groups.append(
            {
                "group": group_cell(clean(group), clean(public), n),
                "n": people(n),
                "flips": measure(*share, kind="share", of=n),
                "moved": moved,
                "measures": measured,
            }
        )
    return {"name": clean(name), "groups": groups}


# -- the whole ----------------------------------------------------------------------------

SCHEMA_NAME = "steadytree-report"
SCHEMA_VERSION = 2

Fact = tuple[str, str | Text, str | Text]
_LONGEST = 300
# Settings that other lines of the provenance hold already.
_ELSEWHERE = ("steadytree", "space")


def summarise(
    result: Any,
    *,
    title: str | None = None,
    subgroups: By = (),
    level: float = 0.95,
    publish: bool = False,
) -> dict[str, Any]:
    """Put everything the report shows into one dictionary of plain values.

    Numbers about people are cells (``steadytree.publish.cells``): exact, or as they may leave
    the house.

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
    publish : bool, default False
        For others: people rounded (``steadytree.publish.publish``), rare categories not named.

    Returns
    -------
    dict
        JSON-able; its layout is given by ``summary.schema.json`` in this package. Top level:

        ``schema``, ``version``, ``published``, ``kind`` ("retraining", "diff" or "stable"),
        ``title``, ``task``, ``classes``, ``decision_threshold``, ``decision`` (the policy in
        words), ``risk`` (what a prediction is called: "Risk of malignant"),
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
    >>> from steadytree.views import summarise
    >>> space = st.FeatureSpace.from_data([[20.0], [70.0]]).replace(names=("age",))
    >>> tree = st.tree_from_rules('''
    ... age <= 50: no
    ... else: yes
    ... ''')
    >>> summary = summarise(st.diff_trees(tree, tree, space=space))
    >>> summary["schema"], summary["version"], summary["counts"]["kept"]
    ('steadytree-report', 2, 2)
    """
    if not hasattr(result, "report_content"):
        raise InputError(
            "expected a Retraining, a TreeDiff or a fitted StableTree estimator for a report, "
            f"got {type(result).__name__}; compare two trees with diff_trees(old, new) first"
        )
    content: ReportContent = result.report_content()
    whole = content.diff
    if publish:
        content = replace(content, diff=names_for_others(whole))
    diff = content.diff
    drawing = _trees_and_rules(content)
    used = used_features(diff.new, diff.space) | used_features(diff.old, diff.space)
    frontier = None
    if content.candidates is not None:
        frontier = frontier_data(content.candidates, base=whole.old, space=whole.space)
    drawn = set(used)
    if frontier is not None and not publish:
        drawn.update(*(tree["f"] for tree in frontier["trees"]))
    summary = {
        "schema": SCHEMA_NAME,
        "version": SCHEMA_VERSION,
        "published": False,
        "kind": content.kind,
        "title": sentence(title or content.title),
        "task": "regression" if diff.classes is None else "classification",
        "classes": None if diff.classes is None else [PAGE.name(c) for c in diff.classes],
        "decision_threshold": diff.new.decision_threshold,
        "decision": _decision_words(content),
        "risk": _risk_words(diff),
        "warnings": _warnings(content),
        "kept": sentence(kept_sentence(diff) if diff.kept_against_share else ""),
        "predictions": sentence(_prediction_words(diff.new)),
        "rows_name": "rows" if content.affected is None else content.affected[3],
        "n_rows": None if diff.n_rows is None else people(diff.n_rows),
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
        **drawing,
        "people": None
        if content.people is None
        else people_data(content.people, subgroups=subgroups, level=level),
        "frontier": frontier,
        "provenance": [
            {"label": clean(label), "value": sentence(_cut(value))}
            for label, value in _provenance(content)
        ],
        "notes": [clean(note) for note in content.notes],
    }
    return published(summary, rare_words(whole)) if publish else summary


def _trees_and_rules(content: ReportContent) -> dict[str, Any]:
    """Both trees as the page draws them, and their rules; of one tree that one alone."""
    diff, shares = content.diff, None
    cells = {side: leaf_cells(diff, side) for side in ("old", "new")}
    rules = rules_data(diff, cells)
    if content.single:
        shares = _training_shares(diff.new)
        for row in rules:
            row["old"] = None
            row["new"]["rows"] = shares.get(row["new"]["leaf"])
    trees: dict[str, Any] = {
        side: tree_data(diff, side, cells[side], name=name, shares=shares)
        for side, name in zip(cells, content.names, strict=True)
    }
    return {"trees": {**trees, "old": None} if content.single else trees, "rules": rules}


def _training_shares(tree: Tree) -> dict[int, Cell]:
    """Share of the training rows at each leaf, where no other rows were counted."""
    total = float(tree.weight[0])
    if total <= 0:
        return {}
    return {i: people(float(tree.weight[i]), total, "share") for i in tree.leaves.tolist()}


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


def _prediction_words(tree: Tree) -> Text:
    """Say how a prediction comes from what was observed; empty where nothing is stored."""
    seen = tree.observed
    if seen is None:
        return text()
    rate = "share" if tree.is_classifier else "mean"
    strength = seen.strength[tree.leaves]
    if not (strength > 0).any():
        return text(internal(f"A prediction is the observed {rate}."))
    further = " to ".join(dict.fromkeys(f"{rows:.0f}" for rows in (strength.min(), strength.max())))
    words = (
        f"A prediction is the observed {rate}, steadied by what a larger model expects of the "
        f"same people, which counts as {further} further rows: "
        "much where few people were observed, little where many were."
    )
    if seen.old_share < 1:
        share = PAGE.percent(seen.old_share)
        words += f" An old row counts {share} of a new one, because the new ones contradict them."
    return text(internal(words))


def _headline(content: ReportContent, level: float) -> dict[str, Any]:
    """Sentences and facts for the head of the page."""
    diff = content.diff
    sentences: list[str] = list(content.sentences)
    facts: list[Fact] = [*([] if content.single else _change_facts(diff)), *content.facts]
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
    return {
        "sentences": [sentence(line) for line in sentences or [_change_sentence(diff)]],
        "facts": [
            {"label": label, "value": sentence(value), "detail": sentence(detail)}
            for label, value, detail in facts
        ],
    }


def _test_data(content: ReportContent) -> dict[str, Any]:
    """Scores on rows that nothing was trained or chosen on, a row per tree."""
    table: Any = content.test
    n, first = int(table["n"].iloc[0]), str(table.index[0])
    named = dict(zip(("deployed", "proposal"), content.names, strict=True))
    rarest = rarest_of_test(table)
    heads = ["Tree", "R²" if content.diff.classes is None else "AUC", "Change"]
    heads += ["Decisions that change"]
    words = {"brier": "Brier score", "cost": "Cost of a decision"}
    extra = [name for name in words if name in table.columns]
    rows = []
    for name, row in table.iterrows():
        moved: str | Cell = "–"
        if name != first:
            low, high = row["change_low"], row["change_high"]
            if rarest < FEWEST_EVENTS:
                moved = "too few events" if content.diff.classes else "too few rows"
            elif low < high:
                moved = change(row["score_change"], low, high, rarest)
            else:
                moved = "unchanged"
        cells = [
            named.get(str(name), str(name).capitalize()),
            text(score(row["score"], rarest)),
            text(moved),
            text(people(float(row["flips"]) * n, n, "share")),
            *(text(internal(f"{row[key]:.4f}")) for key in extra),
        ]
        rows.append([sentence(cell) for cell in cells])
    return {"n": people(n), "heads": [*heads, *(words[key] for key in extra)], "rows": rows}


def _change_facts(diff: TreeDiff) -> list[Fact]:
    scale = "0\u202f% means the same rules; trees that share no feature are at about 80\u202f%"
    others = status_counts(diff, (s for s in STATUS_LETTERS if s != "kept"))
    kept = f"{diff.counts['kept']} of {diff.counts['old_rules']}"
    return [
        ("Dissimilarity", text(dissimilarity(diff.dissimilarity)), scale),
        ("Rules kept", kept, others or "none moved, relabelled, added or dropped"),
    ]


def _score_fact(
    name: str, old: float, new: float, gain: float, error: float, rarest: int, level: float
) -> list[Fact]:
    """Score of the proposal and of the deployed tree, as on the frontier."""
    if not all(map(math.isfinite, (old, new))):
        return []
    after = score(new, rarest)
    if not math.isfinite(gain):
        return [(name, text(after), "on the new rows")]
    if gain == error == 0:
        return [(name, text(after), "unchanged")]
    half = float(norm.ppf(0.5 + level / 2)) * error
    interval = change(gain, gain - half, gain + half, rarest, level=level)
    return [(name, text(score(old, rarest), " → ", after), text("change ", interval))]


def _people_fact(label: str, count: int, total: int, what: str) -> Fact:
    value, detail = people(count, total, "share"), people(count, total, "of")
    return (label, text(value), text(detail, f" {what}"))


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


def _provenance(content: ReportContent) -> Iterator[tuple[str, str]]:
    """Lines of the table: data and trees, settings, and when and with what it was written."""
    for label, value in content.provenance:
        if isinstance(value, Tree):
            # Its digest belongs to the history.
            yield label, f"{value.n_leaves} rules, depth {value.depth}"
        elif isinstance(value, FeatureSpace):
            yield label, f"{value.n_features} features"
        elif isinstance(value, tuple):
            X, _ = value
            yield label, text(people(n_rows(X)), f" rows × {int(X.shape[1]):,} columns")
        else:
            yield label, text(internal(clean(value)))
    for name, value in content.settings.items():
        if name not in _ELSEWHERE:
            # A setting may be a count of rows, or hold some of them.
            yield name.replace("_", " ").capitalize(), text(internal(_setting_words(value)))
    yield "Report made", datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    found = library_versions(("steadytree", "numpy", "scipy", "scikit-learn", "pandas"))
    found = {"Python": found.pop("python"), **found}
    yield "Versions", ", ".join(f"{name} {version}" for name, version in found.items())


def _cut(words: str) -> str:
    if len(words) <= _LONGEST:
        return words
    short = f"{words[:_LONGEST]}…"
    return text(internal(short)) if isinstance(words, Text) else short


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
