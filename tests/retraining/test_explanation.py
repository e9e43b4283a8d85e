"""A retraining in words: what to do, what is proposed, what it is worth, whom it affects."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from steadytree.retraining.verdict import Verdict

from steadytree.core.words import PLAIN
from steadytree.retraining.explanation import (
    DECISIONS,
    Explanation,
    alarm_words,
    explain_retraining,
    whom_words,
)


def choosing(result, name, **cells):
    """The same retraining, had it chosen another candidate (with other numbers)."""
    frontier = result.frontier.copy()
    for column, value in cells.items():
        frontier.at[name, column] = value
    return replace(result, chosen=name, tree=result.trees[name], frontier=frontier)


def test_the_sentences_are_those_of_the_result(cancer):
    _, _, _, result = cancer
    text = result.explain()
    assert text.startswith(str(result.verdict))
    for words in ("AUC", "sensitivity", "specificity", "The risk moves by more than 5 points"):
        assert words in text
    assert f"of the {len(result.y_new):,} new rows" in text
    assert text == str(result)
    assert result.chosen in repr(result)
    assert "price 0.2" in result._repr_html_()


@pytest.mark.parametrize(
    ("count", "masked", "words"),
    [
        (0, None, "It happens for none of the 2,000 new rows."),
        (13, None, "It happens for 13 of the 2,000 new rows (0.7 %)."),
        (1500, None, "It happens for 1,500 of the 2,000 new rows (75 %)."),
        (3, "fewer than 5", "It happens for fewer than 5 of the 2,000 new rows."),
    ],
)
def test_how_many_people_are_concerned(count, masked, words):
    assert whom_words("It happens", count, 2000, masked) == words


def test_the_sentences_stand_in_one_order():
    verdict = Verdict("keep", "no gain")
    event = "The decision changes"
    told = Explanation("", verdict, "What.", "Worth.", event, 10, 40, (("It", 0, ""),))
    assert str(told) == (
        "Keep: no gain. What. Worth. The decision changes for 10 of the 40 new rows (25 %). "
        "It for none of the 40 new rows."
    )
    few = replace(told, count=3, others=(("It", 4, "2–4 %"),))
    assert few.whom == (
        "The decision changes for fewer than 5 of the 40 new rows. It for 2–4 % of the 40 new rows."
    )
    assert "for 3 of the 40" in replace(few, min_cell=1).whom
    assert replace(told, alarm="Careful!").head == ("Careful!", "Keep: no gain.", "What.", "Worth.")


def test_the_count_is_that_of_the_changed_decisions(cancer):
    _, _, _, result = cancer
    told = explain_retraining(result)
    assert told.count == result.changed_decisions.sum()
    assert told.total == len(result.y_new)
    assert str(told) == result.explain()


def test_a_tree_that_is_kept_is_not_called_a_proposal(cancer):
    _, _, _, result = cancer
    told = explain_retraining(choosing(result, "keep"))
    assert told.what.startswith("The deployed tree is kept as it is")
    keep = result.frontier.loc["keep", "score"]
    assert told.worth.startswith(f"On the new rows its AUC is {keep:.3f}, its sensitivity ")
    assert told.whom == f"The decision changes for none of the {len(result.y_new)} new rows."
    values = explain_retraining(choosing(result, "leaf values"))
    assert "only the risks in its leaves are updated" in values.what
    assert "is another tree" in explain_retraining(choosing(result, "from scratch")).what


@pytest.mark.parametrize(
    ("change", "verdict"),
    [(0.021, "an improvement"), (0.019, "no clear change"), (-0.021, "a loss")],
)
def test_a_change_is_clear_where_its_interval_excludes_0(cancer, change, verdict):
    _, _, _, result = cancer
    worth = explain_retraining(
        choosing(result, "from scratch", score_change=change, score_change_se=0.01)
    ).worth
    assert f"standard error 0.010: {verdict})" in worth


def test_a_score_that_could_not_be_measured_is_said(cancer):
    _, _, _, result = cancer
    told = explain_retraining(choosing(result, "from scratch", score_change=float("nan")))
    assert told.worth == "How well it predicts could not be measured on the new rows."


def test_edits_are_listed_up_to_three(cancer):
    _, _, _, result = cancer
    one = explain_retraining(choosing(result, "price 0.2", edits=("cut moved",)))
    assert "makes one change to the deployed tree (cut moved) and is" in one.what
    four = explain_retraining(choosing(result, "price 0.2", edits=tuple("abcd")))
    assert "makes 4 changes to the deployed tree (a; b; c; ...) and is" in four.what


@pytest.mark.parametrize("name", ["price 0.2", "price 0.02", "from scratch", "CART"])
def test_the_headline_says_every_measure_that_clearly_changes(cancer, name):
    """It once said "no clear change" beside a clear fall of the sensitivity."""
    _, _, _, result = cancer
    other = choosing(result, name)
    worth = explain_retraining(other, min_cell=1).worth
    table = other.performance().loc["all"]
    if name == "from scratch":  # the two columns are not mistaken for each other
        assert (table["own"] != table["recipe"]).loc[list(DECISIONS[:2])].any()
    for measure in DECISIONS:
        row = table.loc[measure]
        clear = row["change_low"] > 0 or row["change_high"] < 0
        way = "rises" if row["change_low"] > 0 else "falls"
        said = f"{measure} {100 * row['recipe']:.1f} % against {100 * row['deployed']:.1f} % "
        if clear:
            points = f"(clearly {way}: {100 * row['change']:+.1f} points"
            assert said + points in worth
        elif measure == "flagged positive":
            assert measure not in worth
        else:
            assert f"{said}(no clear change)" in worth
            masked, told = explain_retraining(other).worth, other.told_performance().loc["all"]
            if told.loc[measure, "told"] == "range":
                assert said not in masked
                assert f"{measure} {told.loc[measure, 'recipe_range'].words(PLAIN)}" in masked


def test_labels_kept_and_changed_are_counted(cancer):
    _, _, _, result = cancer
    tree = result.trees["leaf values"]
    leaf = tree.leaves[0]
    label = tree.label.copy()
    label[leaf] = 1 - label[leaf]  # one leaf decides otherwise, against its own share
    other = replace(choosing(result, "leaf values"), tree=tree.replace(label=label))
    told = explain_retraining(other, min_cell=1)
    reached = int((tree.apply_coded(tree.round_values(result.rows.coded)) == leaf).sum())
    relabelled = [e for e in told.others if "decides otherwise" in e[0]]
    assert relabelled == [("One rule with the same conditions decides otherwise", reached, "")]
    (kept,) = (e for e in told.others if "against its share" in e[0])
    assert kept[1] >= reached
    assert "and the decisions they contradict are updated" in told.what


def test_people_are_counted_at_the_new_rules(cancer):
    """A rule that moved reaches other people than before."""
    _, _, _, result = cancer
    tree = result.trees["leaf values"]
    coded = tree.round_values(result.rows.coded)
    threshold, label = tree.threshold.copy(), tree.label.copy()
    threshold[0] = np.quantile(coded[:, tree.feature[0]], 0.4)
    label[tree.leaves] = 1 - tree.decision.labels(tree.value[tree.leaves])  # all against
    moved = tree.replace(threshold=threshold, label=label)
    leaf = moved.leaves[0]
    label[[n for n in moved.leaves if n != leaf]] = tree.label[
        [n for n in moved.leaves if n != leaf]
    ]
    moved = tree.replace(threshold=threshold, label=label)
    against = np.flatnonzero(moved.kept_against_share)
    assert leaf in against
    told = explain_retraining(replace(choosing(result, "price 0.2"), tree=moved))
    (kept,) = (e for e in told.others if "against its share" in e[0])
    before = int(np.isin(tree.apply_coded(coded), against).sum())
    assert kept[1] == int(np.isin(moved.apply_coded(coded), against).sum()) != before


def test_kept_rules_were_not_let_go(cancer, drifted):
    """Once: "Every rule is kept ... and it was allowed to let go" in one sentence."""
    _, _, _, result = cancer
    text = explain_retraining(replace(choosing(result, "leaf values"), drift=drifted)).what
    assert text.startswith("Every rule of the deployed tree is kept; only")
    assert "let go" not in text
    assert "The new rows no longer follow the old ones" in text
    for name in ("keep", "CART"):
        assert (
            "follow" not in explain_retraining(replace(choosing(result, name), drift=drifted)).what
        )


@pytest.fixture
def drifted():
    return SimpleNamespace(detected=True)


def test_a_class_that_nobody_gets_any_more_is_the_first_sentence(cancer):
    _, _, _, result = cancer
    tree = result.tree
    scores = replace(
        result.scores,
        own={**result.scores.own, result.chosen: tree.replace(label=np.zeros_like(tree.label))},
    )
    mute = replace(result, tree=scores.own[result.chosen], scores=scores)
    assert mute.classes_given_up == {1: True}
    assert alarm_words(result) == ""
    assert mute.explain().startswith(
        "WARNING: the proposal decides 1 for nobody any more, which the deployed tree does for "
        "some. Keep: the proposal gives up predicting 1."
    )
