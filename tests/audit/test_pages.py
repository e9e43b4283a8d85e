"""What people are shown of a retraining, recomputed from the raw rows by hand.

The report's data, its page, the text of the diff, ``explain()`` and the tables: every count,
share and interval that is printed about people and leaves.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

import steadytree as st
from steadytree.views.page import drawn_content, page_content
from tests.audit.audit import QUICK, QUICK_ROWS, Array, Audit, leaves
from tests.audit.by_hand import (
    check_count,
    check_percent,
    number,
    positive_at,
    rows_at_nodes,
    wilson,
)
from tests.audit.sets import make_case
from tests.report.samples import page, summary

SHOWN = ("colon", "arrests", "attrition", "contracts", "hawks", "diabetes")
"""Kept and changed with sample weights, class weights, a threshold, several classes, a response."""


@cache
def audit_of(name: str) -> Audit:
    return Audit.of(name, QUICK_ROWS, **QUICK)


@pytest.fixture(params=SHOWN)
def audit(request: pytest.FixtureRequest) -> Audit:
    return audit_of(request.param)


# -- by hand -----------------------------------------------------------------------------------


def shown_column(audit: Audit, tree: Any, leaf: int) -> int:
    """Class whose share is shown at a leaf: the positive one of two, else the one decided on."""
    if audit.classes is not None and len(audit.classes) == 2:
        return positive_at(audit.classes, audit.result.tree.decision)
    return int(tree.label[leaf])


def sides(audit: Audit) -> Iterator[tuple[str, Any, pd.DataFrame, Array]]:
    """Either tree with all the rows it was trained on and their outcomes."""
    case = audit.case
    old = pd.DataFrame(case.X_old), np.column_stack([outcomes_of(audit, case.y_old)])
    yield "old", audit.result.deployed, *old
    yield "new", audit.result.tree, *audit.trained_on


def outcomes_of(audit: Audit, y: pd.Series[Any]) -> Array:
    if audit.classes is None:
        return np.column_stack([np.ones(len(y)), y.to_numpy(dtype=float)])
    return np.column_stack([(y == c).to_numpy(dtype=float) for c in audit.classes])


def risk_of(audit: Audit) -> str:
    """What the page calls a prediction: of two classes it names the positive one."""
    if audit.classes is None or len(audit.classes) != 2:
        return "Prediction"
    return f"Risk of {audit.classes[positive_at(audit.classes, audit.result.tree.decision)]}"


def risk_moved(audit: Audit, tree: Any = None) -> Array:
    """How far the prediction of each new row moves: half the sum of the shares' changes."""
    tree = audit.result.tree if tree is None else tree
    deployed = audit.result.deployed
    old, new = (t.value[audit.leaf_of_new_rows(t)] for t in (deployed, tree))
    if audit.classes is not None:
        return np.abs(new - old).sum(axis=1) / 2
    every = pd.concat([audit.case.y_old, audit.case.y_new])  # a CART tree brings no range
    return np.abs(new - old)[:, 0] / (every.max() - every.min())


def scores_by_hand(audit: Audit, tree: Any, rows: Array) -> dict[str, tuple[float, float, int]]:
    """Value of each measure of a tree on some new rows, hits and rows where it is a share."""
    leaf, y = audit.leaf_of_new_rows(tree)[rows], audit.case.y_new.to_numpy()[rows]
    value = tree.value[leaf]
    if audit.classes is None:
        error = value[:, 0] - y
        return {"Mean error": (error.mean(), np.nan, len(y))}
    said = np.array(audit.classes)[tree.label[leaf]]
    out = {"Accuracy": (said == y).mean()}, {"Accuracy": len(y)}
    if len(audit.classes) == 2:
        no, yes = audit.classes
        for name, of, right in (
            (f"Sensitivity for {yes}", y == yes, said == yes),
            (f"Specificity for {yes}", y == no, said == no),
            (f"Positive predictive value for {yes}", said == yes, y == yes),
            (f"Negative predictive value for {yes}", said == no, y == no),
            (f"Flagged as {yes}", y == y, said == yes),
        ):
            out[0][name] = right[of].mean() if of.any() else np.nan
            out[1][name] = int(of.sum())
        out[0]["Brier score"] = ((value[:, 1] - (y == yes)) ** 2).mean()
        if len(set(y)) == 2:
            out[0]["AUC"] = roc_auc_score(y == yes, value[:, 1])
    return {
        name: (share, np.nan if name not in out[1] else share * out[1][name], out[1].get(name, 0))
        for name, share in out[0].items()
    }


# -- the report: trees and rules ---------------------------------------------------------------


def test_leaves_as_drawn(audit: Audit) -> None:
    """Predicted and observed at each leaf, among the rows that the tree was trained on."""
    drawn = drawn_content(audit.result.to_dict())["trees"]
    exact = 0
    for side, tree, X, outcomes in sides(audit):
        told, reached = drawn[side], rows_at_nodes(tree, X)
        for leaf in leaves(tree):
            rows = outcomes[reached[leaf]]
            if audit.classes is not None:
                at = shown_column(audit, tree, leaf)
                check_percent(told["predicted"][leaf]["words"], tree.value[leaf, at])
            cell = told["observed"][leaf]
            text = None if cell is None else cell["words"]
            if text is None:
                # scikit-learn keeps no rows of a weighted tree.
                assert tree.observed is None
            elif audit.classes is None:
                assert number(text.split(" in ")[1].split()[0]) == len(rows)
                assert float(text.split()[0]) == pytest.approx(rows[:, 1].mean(), rel=5.01e-4)
                exact += 1
            else:
                yes = rows[:, shown_column(audit, tree, leaf)].sum()
                assert check_count(text, yes, len(rows))
                exact += 1
    assert exact or audit.result.tree.observed is None


def test_rules_as_listed(audit: Audit) -> None:
    """Rows that follow each rule and their outcomes, among the new rows."""
    result, y = audit.result, outcomes_of(audit, audit.case.y_new)
    follows = {tree: audit.leaf_of_new_rows(getattr(result, tree)) for tree in ("deployed", "tree")}
    told = 0
    for row in result.diff.to_dict()["rules"]:
        for side, name in (("old", "deployed"), ("new", "tree")):
            half, tree = row[side], getattr(result, name)
            if half is None:
                continue
            here = follows[name] == half["leaf"]
            counted = re.fullmatch(r"([\d,]+) \((.*)\)", half["rows"]["words"])
            assert counted is not None
            told += 1
            assert number(counted[1]) == here.sum()
            check_percent(counted[2], here.mean())
            text = None if half["observed"] is None else half["observed"]["words"]
            if text is None:
                assert not here.any()
            elif audit.classes is None:
                assert float(text.split(" in ")[0].replace("−", "-")) == pytest.approx(
                    y[here, 1].mean(), rel=5.01e-4
                )
            else:
                yes = y[here, shown_column(audit, tree, half["leaf"])]
                assert check_count(text, yes.sum(), len(yes))
                check_percent(text.split("(")[1], yes.mean())
    assert told


# -- the report: people ------------------------------------------------------------------------


def test_changed_decisions_and_moved_risks(audit: Audit) -> None:
    """Counts and shares, in the head of the page and in its tables."""
    n, result = len(audit.changed), audit.result
    content = summary(result)
    affected, moved = content["affected"], risk_moved(audit)
    for told, hits in (
        (affected["flips"], audit.changed.sum()),
        (affected["moved"]["5"], (moved > 0.05).sum()),
        (affected["moved"]["10"], (moved > 0.10).sum()),
    ):
        assert (told["count"], told["of"]) == (hits, n)
    facts = {fact["label"]: fact for fact in page_content(content)["facts"]}
    heads = {"Decisions that change": audit.changed.sum()}
    if audit.classes is not None:
        heads[f"{risk_of(audit)} moves over 5 points"] = (moved > 0.05).sum()
    for label, hits in heads.items():
        assert facts[label]["detail"] == f"{hits:,} of {n:,} new rows"
        check_percent(facts[label]["value"], hits / n)
    text = " ".join(page(result).split())
    assert f"The decision changes for {audit.changed.sum():,} of {n:,} (" in text


def test_what_other_candidates_would_change(audit: Audit) -> None:
    """The same of the trees that could be chosen instead."""
    result = audit.result
    told = {c["name"]: c for c in result.to_dict()["candidates"]}
    for name, tree in audit.proposed_trees.items():
        if name not in told:
            continue
        leaf = audit.leaf_of_new_rows(tree)
        moved = risk_moved(audit, tree)
        changed = moved > 0.05
        if audit.classes is not None:
            changed = np.array(audit.classes)[tree.label[leaf]] != audit.decided_before
        assert told[name]["flips"]["count"] == changed.sum()
        assert told[name]["moved"]["5"]["count"] == (moved > 0.05).sum()
        assert told[name]["n_leaves"] == sum(1 for _ in leaves(tree))


def test_tables_by_subgroup(audit: Audit) -> None:
    """People, changed decisions with Wilson's interval, moved risks and scores of each group."""
    result, n = audit.result, len(audit.changed)
    group = np.array(["first", "second", "third"])[np.arange(n) * 3 // n]
    moved = risk_moved(audit)
    content = summary(result, by={"part": group})
    (by,) = content["groups"]
    assert [g["group"]["group"] for g in by["groups"]] == ["first", "second", "third"]
    for told in by["groups"]:
        rows = np.flatnonzero(group == told["group"]["group"])
        assert told["n"]["count"] == len(rows)
        share = audit.changed[rows].mean()
        assert told["flips"]["measure"] == pytest.approx(share)
        interval = told["flips"]["low"], told["flips"]["high"]
        assert interval == pytest.approx(wilson(share, len(rows), 0.95), abs=5e-4)
        for points, limit in (("5", 0.05), ("10", 0.10)):
            assert told["moved"][points]["count"] == (moved[rows] > limit).sum()
        check_measures(audit, told["measures"], rows)
    check_measures(audit, content["performance"]["measures"], np.arange(n))


def check_measures(audit: Audit, told: list[dict[str, Any]], rows: Array) -> None:
    """Deployed and own column of a table, intervals of the deployed tree's shares, rows."""
    found = {measure["name"]: measure for measure in told}
    deployed = scores_by_hand(audit, audit.result.deployed, rows)
    own = scores_by_hand(audit, audit.result.tree, rows)
    for name, (value, hits, of) in deployed.items():
        if not found[name]["n"]["count"]:  # nobody is behind it, in one of the trees
            assert not min(of, own[name][2]) or np.isnan(value)
            continue
        if np.isnan(value) or np.isnan(own[name][0]):
            continue
        old = found[name]["deployed"]
        assert old["measure"] == pytest.approx(value, rel=1e-9, abs=1e-9), name
        assert found[name]["own"]["measure"] == pytest.approx(own[name][0], abs=1e-9), name
        if np.isfinite(hits):
            assert (old["low"], old["high"]) == pytest.approx(wilson(value, of, 0.95)), name
            assert found[name]["n"]["count"] == min(of, own[name][2]), name


def test_performance_and_its_intervals(audit: Audit) -> None:
    """``performance()``: deployed and own column, and Wilson's interval of each share."""
    table = audit.result.performance(level=0.9).loc["all"]
    rows = np.arange(len(audit.changed))
    yes = risk_of(audit).removeprefix("Risk of ")
    names = {f"{name.capitalize()} for {yes}": name for name in table.index}
    names |= {name.capitalize(): name for name in table.index}
    names |= {f"Flagged as {yes}": "flagged positive", "AUC": "AUC", "Brier score": "Brier score"}
    own = scores_by_hand(audit, audit.result.tree, rows)
    for name, (value, hits, of) in scores_by_hand(audit, audit.result.deployed, rows).items():
        told = table.loc[names[name]]
        if not told["n"]:  # nobody is behind it, in one of the trees
            assert not min(of, own[name][2])
            continue
        assert told["deployed"] == pytest.approx(value, rel=1e-9, abs=1e-9), name
        assert told["own"] == pytest.approx(own[name][0], rel=1e-9, abs=1e-9), name
        if np.isfinite(hits):
            limits = told["deployed_low"], told["deployed_high"]
            assert limits == pytest.approx(wilson(value, of, 0.9), abs=1e-9), name


# -- in words ----------------------------------------------------------------------------------


def test_the_text_of_the_diff(audit: Audit) -> None:
    """Each rule's lines: predicted, observed in training, rows, observed in the rows."""
    result, y = audit.result, outcomes_of(audit, audit.case.y_new)
    text = result.diff.to_text()
    if audit.classes is not None:
        found = re.search(r"Of ([\d,]+) rows, (.*) get another decision", text)
        assert found is not None
        assert number(found[1]) == len(y)
        check_percent(found[2], audit.changed.mean())
    trained = {side: (rows_at_nodes(tree, X), o) for side, tree, X, o in sides(audit)}
    rules = {rule["number"]: rule for rule in result.diff.to_dict()["rules"]}
    blocks = re.findall(r"^  (\d+)\. (.*(?:\n     .*)*)", text, flags=re.M)
    assert len(blocks) == len(rules)
    trees = {"old": result.deployed, "new": result.tree}
    follows = {side: audit.leaf_of_new_rows(tree) for side, tree in trees.items()}
    facts = re.compile(r"(predicts|observed in training|observed in the rows|rows) (.*?)(?:;|$)")
    for shown, block in blocks:
        rule = rules[int(shown)]
        halves = [(s, rule[s]["leaf"]) for s in ("old", "new") if rule[s] is not None]
        for what, of in facts.findall(block):
            numbers = of.split(" -> ")
            # A number that did not change is printed once.
            for i, (side, leaf) in enumerate(halves):
                at = 1 if audit.classes is None else shown_column(audit, trees[side], leaf)
                told = numbers[min(i, len(numbers) - 1)]
                here = y[follows[side] == leaf]
                if what == "predicts":
                    check_predicted(audit, told, trees[side].value[leaf], at)
                elif what == "rows":
                    check_percent(told, len(here) / len(y))
                else:
                    rows, outcomes = trained[side]
                    trained_on = outcomes[rows[leaf]]
                    check_observed(audit, told, trained_on if "training" in what else here, at)


def check_predicted(audit: Audit, told: str, value: Array, at: int) -> None:
    if audit.classes is None:
        assert float(told) == pytest.approx(value[0], rel=1e-5)
    else:
        check_percent(told.removeprefix(f"{audit.classes[at]} "), value[at])


def check_observed(audit: Audit, told: str, rows: Array, at: int) -> None:
    if told == "none":
        assert not len(rows)
    elif audit.classes is None:
        mean, count = told.split(" in ")
        assert number(count.split()[0]) == len(rows)
        assert float(mean) == pytest.approx(rows[:, 1].mean(), rel=5.01e-4)
    else:
        assert check_count(told, rows[:, at].sum(), len(rows))
        if "(" in told:
            check_percent(told.split("(")[1], rows[:, at].mean())


def test_explain_counts_the_people_concerned(audit: Audit) -> None:
    """Changed decisions, moved risks, rules that keep or change their label."""
    result, n = audit.result, len(audit.changed)
    text = result.explain()
    expected = {"The decision changes": audit.changed.sum()}
    if audit.classes is None:
        expected = {"The prediction moves": audit.changed.sum()}
    else:
        risk = risk_of(audit)
        moved = f"The {risk[0].lower()}{risk[1:]} moves by more than 5 points"
        expected[moved] = (risk_moved(audit) > 0.05).sum()
    if result.action == "keep":
        assert not re.search(r"for (none|[\d,]+) of the [\d,]+ new rows", text)
        assert not any(expected.values())
        return
    for words, count in expected.items():
        found = re.search(rf"(?:{words}).*? for (none|[\d,]+) of the ([\d,]+) new rows", text)
        assert found is not None, (words, text)
        assert (0 if found[1] == "none" else number(found[1])) == count, words
        assert number(found[2]) == n


def test_the_headline_is_of_the_recipe() -> None:
    """``explain()``, the head of the report and the frontier quote the honest column."""
    case = make_case("nhefs", QUICK_ROWS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        result = case.retrain(n_folds=2, search=st.SearchOptions(n_estimators=10, copies=1))
    table = result.performance().loc["all"]
    assert abs(table.loc["AUC", "own"] - table.loc["AUC", "recipe"]) > 0.001
    text = result.explain()
    found = re.search(
        r"AUC on rows left out, \d+ of them \w+: ([\d.]+) to ([\d.]+) "
        r"\(([+-][\d.]+), 95 % interval ([+-][\d.]+) to ([+-][\d.]+)\)",
        text,
    )
    columns = ["deployed", "recipe", "change", "change_low", "change_high"]
    expected = table.loc["AUC", columns].tolist()
    assert [float(number) for number in found.groups()] == pytest.approx(expected, abs=5.1e-4)
    content = summary(result)
    (fact,) = [f for f in page_content(content)["facts"] if f["label"] == "AUC"]
    before, after = table.loc["AUC", ["deployed", "recipe"]]
    assert fact["value"] == f"{before:.3f} → {after:.3f}"
    low, high = (f"{table.loc['AUC', f'change_{end}']:+.3f}" for end in ("low", "high"))
    assert fact["detail"].endswith(f"interval {low} to {high}".replace("-", "−"))
    told = {m["name"]: m for m in content["performance"]["measures"]}
    assert told["AUC"]["recipe"]["measure"] == pytest.approx(table.loc["AUC", "recipe"], abs=5e-4)
    assert told["AUC"]["own"]["measure"] == pytest.approx(table.loc["AUC", "own"], abs=5e-4)
    for name in ("sensitivity", "specificity"):
        shown = told[f"{name.capitalize()} for 1"]
        assert shown["recipe"]["measure"] == pytest.approx(table.loc[name, "recipe"], abs=5e-4)
        assert shown["deployed"]["measure"] == pytest.approx(table.loc[name, "deployed"], abs=5e-4)
    assert result.frontier["score"][result.chosen] == pytest.approx(table.loc["AUC", "recipe"])


def test_compared_trees_and_their_scores() -> None:
    """``compare`` on rows that neither tree was trained on: every number of its text."""
    audit = audit_of("attrition")
    case, old, new = audit.case, st.as_tree(audit.case.model), audit.result.trees["from scratch"]
    half = len(case.y_new) // 2
    X, y = case.X_new[:half], case.y_new[:half]
    told = st.compare(old, new, X, y, trained_on="neither")
    leaf = [np.full(half, -1) for _ in range(2)]
    for tree, where in zip((old, new), leaf, strict=True):
        for node, rows in enumerate(rows_at_nodes(tree, X)):
            if tree.children_left[node] < 0:
                where[rows] = node
    share = [tree.value[where, 1] for tree, where in zip((old, new), leaf, strict=True)]
    label = [tree.label[where] for tree, where in zip((old, new), leaf, strict=True)]
    yes = (y == old.classes[1]).to_numpy()
    assert told.flips() == pytest.approx((label[0] != label[1]).mean())
    assert told.score.old == pytest.approx(roc_auc_score(yes, share[0]))
    assert told.score.new == pytest.approx(roc_auc_score(yes, share[1]))
    moved = np.abs(share[1] - share[0])
    text = told.to_text()
    for points in (5, 10):
        found = re.search(rf"more than {points} points for ([\d.<> ]+ %)", text)
        check_percent(found[1], (moved > points / 100).mean())
    found = re.search(r"AUC: ([\d.]+) -> ([\d.]+) \(([+-][\d.]+), ", text)
    assert [float(v) for v in found.groups()] == pytest.approx(
        [told.score.old, told.score.new, told.score.new - told.score.old], abs=5.1e-4
    )
