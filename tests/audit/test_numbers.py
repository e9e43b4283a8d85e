"""Twenty-six real data sets: every number about a leaf, recomputed from the raw rows by hand."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

import steadytree as st
from tests.audit.audit import QUICK, QUICK_ROWS, Array, Audit, leaves, weights
from tests.audit.by_hand import (
    check_percent,
    clopper_pearson,
    follow_rule,
    follow_words,
    label_by_policy,
    outcome_columns,
    positive_at,
    rows_at_nodes,
    wilson,
)
from tests.audit.sets import SETS

MIN_LEAF = 8  # the default of retrain
EXACT = {"rtol": 1e-9, "atol": 1e-9}


# -- what a tree stores ------------------------------------------------------------------------


def check_observed(tree: Any, parts: list[tuple[pd.DataFrame, Array, Array]]) -> None:
    """Rows and outcomes at every node, counted and weighted, the old and the new apart."""
    for which, (X, outcomes, weight) in enumerate(parts):
        for node, rows in enumerate(rows_at_nodes(tree, X)):
            counted = outcomes[rows].sum(axis=0)
            weighted = (weight[rows, None] * outcomes[rows]).sum(axis=0)
            np.testing.assert_allclose(tree.observed.counts[node, which], counted, **EXACT)
            np.testing.assert_allclose(tree.observed.weighted[node, which], weighted, **EXACT)


def check_rates(tree: Any, parts: list[tuple[pd.DataFrame, Array, Array]]) -> None:
    """Rows and rates as the tree tells them: of old rows, of new rows, of all."""
    reached = [rows_at_nodes(tree, X) for X, _, _ in parts]
    for which, chosen in (("old", [0]), ("new", [1]), ("all", [0, 1])):
        told_rows, told_rate = tree.observed.rows(which), tree.observed.rate(which)
        for node in leaves(tree):
            found = np.concatenate([parts[i][1][reached[i][node]] for i in chosen])
            assert told_rows[node] == len(found)
            mean = found.mean(axis=0) if len(found) else np.full(found.shape[1], np.nan)
            expected = mean if tree.classes is not None else mean[1:]
            np.testing.assert_allclose(told_rate[node], expected, **EXACT)


def check_predictions(tree: Any, parts: list[tuple[pd.DataFrame, Array, Array]]) -> None:
    """What a leaf predicts: (old_share s_old + s_new + k t) / (old_share n_old + n_new + k)."""
    share, reached = tree.observed.old_share, [rows_at_nodes(tree, X) for X, _, _ in parts]
    for node in leaves(tree):
        total = sum(
            factor * (weight[rows[node], None] * outcomes[rows[node]]).sum(axis=0)
            for factor, rows, (_, outcomes, weight) in zip(
                (share, 1.0), reached, parts, strict=True
            )
        )
        n, s = (total[0], total[1:]) if tree.classes is None else (total.sum(), total)
        k, t = tree.observed.strength[node], tree.observed.steadied_by[node]
        np.testing.assert_allclose(tree.value[node], (s + k * t) / (n + k), **EXACT)
        rows = sum(
            weight[at[node]].sum() for at, (_, _, weight) in zip(reached, parts, strict=True)
        )
        np.testing.assert_allclose(tree.weight[node], rows, **EXACT)
        if tree.classes is not None:
            np.testing.assert_allclose(t.sum(), 1, **EXACT)
            np.testing.assert_allclose(tree.value[node].sum(), 1, **EXACT)


def check_close_to_observed(tree: Any) -> None:
    """No leaf of 20 rows or more predicts outside the 99 % intervals of what it observed."""
    share, seen = tree.observed.old_share, tree.observed
    unit = seen.weighted[0].sum() / seen.counts[0].sum() if tree.classes is not None else None
    for node in leaves(tree):
        if tree.classes is None:
            continue
        rows = share * seen.weighted[node, 0] + seen.weighted[node, 1]
        n = rows.sum() / unit
        if n < 20:
            continue
        for k, predicted in enumerate(tree.value[node]):
            rate = rows[k] / rows.sum()
            for interval in (wilson, clopper_pearson):
                low, high = interval(rate, n, 0.99)
                assert low - 1e-9 <= predicted <= high + 1e-9, (node, k, n, rate, predicted)


def check_leaf_sizes(audit: Audit, tree: Any) -> None:
    """Enough real rows in every leaf that the deployed tree does not have as it is."""
    X = pd.concat([part[0] for part in audit.parts], ignore_index=True)
    deployed = audit.result.deployed
    reached, before = rows_at_nodes(tree, X), rows_at_nodes(deployed, X)
    untouched = {tuple(before[node]) for node in leaves(deployed)}
    for node in leaves(tree):
        rows = reached[node]
        assert tuple(rows) in untouched or len(rows) >= MIN_LEAF, (node, len(rows))


def check_labels(audit: Audit, tree: Any, name: str) -> None:
    """Labels follow the policy, but for those kept within half a standard error of it.

    Where the deployed tree is kept, every label is the one in force.
    """
    if tree.classes is None:
        return
    X = pd.concat([part[0] for part in audit.parts], ignore_index=True)
    reached, deployed = rows_at_nodes(tree, X), audit.result.deployed
    before = np.full(len(X), -1)
    for node, rows in enumerate(rows_at_nodes(deployed, X)):
        if deployed.children_left[node] < 0:
            before[rows] = deployed.label[node]
    seen = tree.observed
    unit = seen.weighted[0].sum() / seen.counts[0].sum()
    for node in leaves(tree):
        policy = label_by_policy(tree.value[node], tree.decision, tree.classes)
        kept = int(tree.label[node])
        if name == "keep":
            assert (before[reached[node]] == kept).all()
            continue
        assert bool(tree.kept_against_share[node]) == (kept != policy)
        if kept == policy or not len(reached[node]):
            continue
        assert name != "from scratch"
        assert kept in before[reached[node]]
        n = seen.weighted[node].sum() / unit
        at, share = tree.decision.threshold, tree.value[node]
        if at is not None:
            gap = abs(share[positive_at(tree.classes, tree.decision)] - at)
            error = np.sqrt(at * (1 - at) / n)
        else:
            w = np.array(tree.decision.class_weight or np.ones(len(share)))
            gap = w[policy] * share[policy] - w[kept] * share[kept]
            error = np.sqrt((w[policy] ** 2 * share[policy] + w[kept] ** 2 * share[kept]) / n)
        assert gap <= 0.5 * error + 1e-9


def check_policy(audit: Audit) -> None:
    """The policy of the model in force is inherited: its threshold, or what weights amount to."""
    kind, y, policy = SETS[audit.case.name].model, audit.case.y_old, audit.result.tree.decision
    if audit.classes is None or len(audit.classes) > 2:
        assert policy.threshold is None
        if kind == "balanced":
            rates = y.value_counts(normalize=True).loc[list(audit.classes or ())]
            ratio = np.array(policy.class_weight) * rates.to_numpy()
            np.testing.assert_allclose(ratio, ratio[0], rtol=1e-6)
        return
    rate = (y == audit.classes[1]).mean()
    expected = {"balanced": rate, "prevalence": rate, "threshold": 0.2}.get(kind)
    if expected is None:
        assert policy.threshold is None
    else:
        assert policy.threshold == pytest.approx(expected, abs=1e-9)


def check_deployed(audit: Audit) -> None:
    """The model in force is never rewritten: it decides as it decided, and says plain rates."""
    tree, case = audit.result.deployed, audit.case
    leaf = audit.leaf_of_new_rows(tree)
    if tree.classes is None:
        np.testing.assert_allclose(tree.value[leaf, 0], audit.decided_before, **EXACT)
    else:
        assert (np.array(tree.classes)[tree.label[leaf]] == audit.decided_before).all()
    if tree.observed is None:  # scikit-learn keeps no rows of a model with sample weights
        assert case.w_old is not None
        return
    outcomes, weight = outcome_columns(case.y_old, tree.classes), weights(case.w_old, case.y_old)
    nothing = case.X_old[:0], outcomes[:0], weight[:0]
    balanced = SETS[case.name].model == "balanced"
    if not balanced:  # weighted counts then hold the class weights
        check_observed(tree, [nothing, (case.X_old, outcomes, weight)])
    check_rates(tree, [nothing, (case.X_old, outcomes, weight)])
    if not isinstance(case.model, st.DistilledTreeClassifier | st.DistilledTreeRegressor):
        for node, rows in enumerate(rows_at_nodes(tree, case.X_old)):
            rate = outcomes[rows].mean(axis=0)
            expected = rate[1:] if tree.classes is None else rate
            np.testing.assert_allclose(tree.value[node], expected, rtol=1e-6, atol=1e-6)


# -- what it says ------------------------------------------------------------------------------


def check_diff(audit: Audit) -> None:
    """Rows that follow each rule, their outcomes, what it predicts; and whose decision changes."""
    result, X, y = audit.result, audit.case.X_new, audit.case.y_new
    told, listed = result.diff.to_dict(), {rule.number: rule for rule in result.diff.rules}
    leaf = {
        "old": audit.leaf_of_new_rows(result.deployed),
        "new": audit.leaf_of_new_rows(result.tree),
    }
    trees = {"old": result.deployed, "new": result.tree}
    assert told["n_rows"]["count"] == len(X)
    assert (told["flips"]["count"], told["flips"]["of"]) == (audit.changed.sum(), len(X))
    assert result.diff.flips == pytest.approx(audit.changed.mean(), abs=1e-9)
    assert (result.diff.changed_decisions == audit.changed).all()
    for row in told["rules"]:
        rule, values = listed[row["number"]], []
        for side in ("old", "new"):
            half, counted = row[side], getattr(rule, side)
            if half is None:
                continue
            rows, value = leaf[side] == half["leaf"], trees[side].value[half["leaf"]]
            values.append(value)
            assert counted.share == pytest.approx(rows.mean(), abs=1e-9)
            assert (half["rows"] or {"count": 0})["count"] == rows.sum()
            assert (follow_rule(half["conditions"], X) == rows).all()
            if audit.classes is None:
                assert half["predicted"]["mean"] == pytest.approx(value[0], rel=1e-12)
            else:
                shown = value[list(audit.classes).index(half["shown"])]
                assert half["predicted"]["risk"] == pytest.approx(shown, rel=1e-12)
            if not rows.any():
                assert (half["observed"], counted.outcome_rate) == (None, None)
            elif audit.classes is None:
                assert half["observed"]["mean"] == pytest.approx(y[rows].mean(), rel=1e-9)
            else:
                outcome = audit.classes[1] if len(audit.classes) == 2 else half["label"]
                hits = (y[rows] == outcome).sum()
                assert (half["observed"]["count"], half["observed"]["of"]) == (hits, rows.sum())
                assert counted.outcome_rate == pytest.approx(hits / rows.sum(), abs=1e-9)
        if len(values) == 2:
            both = (leaf["old"] == row["old"]["leaf"]) & (leaf["new"] == row["new"]["leaf"])
            assert rule.share_in_both == pytest.approx(both.mean(), abs=1e-9)
            one, two = values
            change = np.abs(two - one).sum() / 2 if len(one) > 2 else (two - one)[-1]
            assert rule.value_change == pytest.approx(change, abs=1e-9)


def check_flips(audit: Audit) -> None:
    """The share of changed decisions everywhere, and in words."""
    result, count, total = audit.result, int(audit.changed.sum()), len(audit.changed)
    assert result.flips() == pytest.approx(count / total, abs=1e-9)
    assert result.frontier["flips"][result.chosen] == pytest.approx(count / total, abs=1e-9)
    found = re.search(r"for (none|[\d,]+) of the ([\d,]+) new rows", result.explain())
    if result.action == "keep":
        assert (found, count) == (None, 0)
    else:
        assert found is not None
        told = 0 if found[1] == "none" else int(found[1].replace(",", ""))
        assert (told, int(found[2].replace(",", ""))) == (count, total)
    half = np.arange(total) % 2
    table = result.flips(half)
    for group in (0, 1):
        assert table.loc[group, "n"] == (half == group).sum()
        assert table.loc[group, "flips"] == pytest.approx(audit.changed[half == group].mean())


def check_performance(audit: Audit) -> None:
    """Deployed and own column: either tree on the new rows, scored by hand."""
    result, y = audit.result, audit.case.y_new.to_numpy()
    table = result.performance().loc["all"]
    for column, tree in (("deployed", result.deployed), ("own", result.tree)):
        leaf = audit.leaf_of_new_rows(tree)
        value = tree.value[leaf]
        if audit.classes is None:
            error = value[:, 0] - y
            expected = {
                "R2": 1 - (error**2).sum() / ((y - y.mean()) ** 2).sum(),
                "mean absolute error": np.abs(error).mean(),
                "mean error": error.mean(),
            }
        else:
            said = np.array(audit.classes)[tree.label[leaf]]
            expected = {"accuracy": (said == y).mean()}
            if len(audit.classes) == 2:
                yes = y == audit.classes[1]
                expected |= {
                    "AUC": roc_auc_score(yes, value[:, 1]),
                    "sensitivity": (said == y)[yes].mean(),
                    "specificity": (said == y)[~yes].mean(),
                    "flagged positive": (said == audit.classes[1]).mean(),
                    "Brier score": ((value[:, 1] - yes) ** 2).mean(),
                    "calibration: mean predicted minus observed": (value[:, 1] - yes).mean(),
                }
        for metric, number in expected.items():
            assert table.loc[metric, column] == pytest.approx(number, rel=1e-9, abs=1e-9), metric


def check_risk_moved(audit: Audit) -> None:
    """Share of the new rows whose risk moves by more than 5 and 10 points."""
    result = audit.result
    if audit.classes is None:
        return
    before, now = (t.value[audit.leaf_of_new_rows(t)] for t in (result.deployed, result.tree))
    moved = np.abs(now - before).sum(axis=1) / 2
    for points in (5, 10):
        expected = (moved > points / 100).mean()
        assert result.risk_moved()[f"moved_{points}"] == pytest.approx(expected, abs=1e-9)
        told = result.frontier[f"moved_{points}"][result.chosen]
        assert told == pytest.approx(expected, abs=1e-9)


def check_rules_text(audit: Audit) -> None:
    """A printed rule finds its people again, and its numbers are theirs."""
    tree = audit.result.tree
    X, outcomes = audit.trained_on
    reached = rows_at_nodes(tree, X)
    listed, drawn = (audit.result.model.rules(style=style) for style in ("list", "tree"))
    if tree.observed is None:  # a weighted model that is kept
        assert audit.result.action == "keep"
        assert "observed" not in listed + drawn
        return
    ends = [line for line in drawn.splitlines() if "observed" in line]
    assert len(ends) == sum(1 for _ in leaves(tree))
    found = []
    for line in listed.splitlines():
        words, said, numbers = _cut_rule(line, audit.classes)
        follows, sure = follow_words(words, X)
        fits = [
            n
            for n in leaves(tree)
            if (np.isin(np.arange(len(X)), reached[n]) == follows)[sure].all()
        ]
        # Leaves that nobody reaches cannot be told from one another by their people.
        assert fits, line
        node = next((n for n in fits if n not in found), fits[0])
        found.append(node)
        check_printed_numbers(tree, node, said, numbers, outcomes[reached[node]])
        assert any(end.endswith(f": {said} ({numbers})") for end in ends), line


def _cut_rule(line: str, classes: tuple[Any, ...] | None) -> tuple[str, str, str]:
    """Conditions, decision (or predicted response) and the numbers in brackets."""
    names = "|".join(re.escape(str(c)) for c in classes) if classes is not None else r"-?[\d.e]+"
    cut = re.fullmatch(rf"(.*): ({names}) \((.*)\)", line)
    assert cut is not None, line
    return cut[1], cut[2], cut[3]


def check_printed_numbers(tree: Any, node: int, said: str, numbers: str, found: Array) -> None:
    """Prediction and observation as printed, to the digits printed."""
    if tree.classes is None:
        assert float(said) == pytest.approx(tree.value[node, 0], rel=1e-5)
        told = re.match(r"observed (\S+) in ([\d,]+) rows?", numbers)
        assert told is not None, numbers
        assert int(told[2].replace(",", "")) == len(found)
        assert float(told[1]) == pytest.approx(found[:, 1].mean(), rel=5.01e-4)
        return
    assert said == str(tree.classes[tree.label[node]])
    two = len(tree.classes) == 2
    shown = positive_at(tree.classes, tree.decision) if two else int(tree.label[node])
    pattern = rf"predicts {re.escape(str(tree.classes[shown]))} ([<> \d.]+ %); observed (.*)"
    told = re.match(pattern, numbers)
    assert told is not None, numbers
    check_percent(told[1], tree.value[node, shown])
    counted = re.match(r"([\d,]+) of ([\d,]+)", told[2])
    assert counted is not None, numbers
    a, b = (int(n.replace(",", "")) for n in counted.groups())
    if tree.observed.old_share == 1:
        assert (a, b) == (found[:, shown].sum(), len(found))


CHECKS = [
    *(check_policy, check_deployed, check_diff, check_flips, check_performance),
    *(check_risk_moved, check_rules_text),
]


def audit_everything(audit: Audit) -> None:
    for name, tree in audit.proposed_trees.items():
        check_observed(tree, audit.parts)
        check_rates(tree, audit.parts)
        check_predictions(tree, audit.parts)
        check_close_to_observed(tree)
        check_leaf_sizes(audit, tree)
        check_labels(audit, tree, name)
    for check in CHECKS:
        check(audit)


def test_there_are_twenty_sets_or_more() -> None:
    assert len(SETS) >= 20


@pytest.mark.parametrize("name", SETS)
def test_every_number_can_be_recomputed(name: str) -> None:
    audit_everything(Audit.of(name, QUICK_ROWS, **QUICK))


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_every_number_can_be_recomputed_on_all_rows(name: str) -> None:
    audit_everything(Audit.of(name, None, search=st.SearchOptions(n_estimators=50), n_folds=2))
