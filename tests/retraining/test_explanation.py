"""Three sentences about a retraining: what is proposed, what it is worth, whom it affects."""

from __future__ import annotations

from dataclasses import replace

import pytest

from steadytree.retraining.explanation import Explanation, explain_retraining, whom_words


def choosing(result, name, **cells):
    """The same retraining, had it chosen another candidate (with other numbers)."""
    frontier = result.frontier.copy()
    for column, value in cells.items():
        frontier.at[name, column] = value
    return replace(result, chosen=name, tree=result.trees[name], frontier=frontier)


def test_three_sentences(cancer):
    _, _, _, result = cancer
    text = result.explain()
    assert text.count(". ") == 2
    assert "AUC" in text
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
    told = Explanation("What.", "Worth.", "The decision changes", 1, 4)
    assert str(told) == "What. Worth. The decision changes for 1 of the 4 new rows (25 %)."


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
    assert told.worth == f"On the new rows its AUC is {result.frontier.loc['keep', 'score']:.3f}."
    assert told.whom == f"The decision changes for none of the {len(result.y_new)} new rows."
    values = explain_retraining(choosing(result, "leaf values"))
    assert "only the risks in its leaves are updated" in values.what
    assert "is another tree" in explain_retraining(choosing(result, "from scratch")).what


@pytest.mark.parametrize(
    ("change", "verdict"),
    [(0.021, "an improvement"), (0.02, "no clear change"), (-0.021, "a loss")],
)
def test_a_change_counts_beyond_two_standard_errors(cancer, change, verdict):
    _, _, _, result = cancer
    worth = explain_retraining(
        choosing(result, "from scratch", score_change=change, score_change_se=0.01)
    ).worth
    assert worth.endswith(f"standard error 0.010: {verdict}).")


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
