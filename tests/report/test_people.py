"""Whom a retraining affects: groups of few people stay hidden."""

from __future__ import annotations

import pytest

from steadytree.core.disclosure import PeopleCount
from steadytree.report import render, summarise
from steadytree.report.people import happened_data, people_data
from steadytree.report.render import measure_words
from tests.report import samples


def test_a_small_subgroup_is_hidden_together_with_another() -> None:
    result = samples.retraining()
    summary = summarise(result, subgroups=["site"])
    assert "ward 7" not in render(result, subgroups=["site"])  # it may be somebody's name
    (by,) = summary["people"]["subgroups"]
    groups = {group["name"]: group for group in by["groups"]}
    assert set(groups) == {"north", "south", "small group 1"}
    assert groups["small group 1"]["n"] is None
    assert sum(group["n"] is None for group in groups.values()) == 2
    for group in groups.values():
        if group["n"] is None:
            assert group["flips"] == {"share": None, "low": None, "high": None, "masked": True}
            for points in ("5", "10"):
                assert group["moved"][points] == {"share": None, "masked": True}
            for measure in group["measures"]:
                assert measure["masked"]
                assert measure["old"] == measure["new"] == [None] * 3
    shown = next(group for group in groups.values() if group["n"] is not None)
    expected = int((result.X_new["site"] == shown["name"]).sum())
    assert shown["n"] == expected


def test_numbers_that_are_rounded_for_masking_say_so() -> None:
    """A Brier score of 0.068 was told as "0.060": in steps of 0.02, with three digits."""
    result = samples.retraining()
    for min_cell, about in ((5, True), (1, False)):
        measures = summarise(result, min_cell=min_cell)["people"]["performance"]
        told = {m["name"]: measure_words(m, "old") for m in measures}
        for name in ("Brier score", "Calibration in the large"):
            assert told[name].startswith("about ") == about


def test_lower_min_cell_shows_the_small_group() -> None:
    summary = summarise(samples.retraining(), subgroups=["site"], min_cell=1)
    (by,) = summary["people"]["subgroups"]
    assert {g["name"]: g["n"] for g in by["groups"]}["ward 7"] == 3


def test_subgroups_tell_moved_risks_and_the_score_on_own_rows() -> None:
    result = samples.retraining()
    summary = summarise(result, subgroups=["site"], min_cell=1)
    flips, scores = result.flips("site", min_cell=1), result.performance("site", min_cell=1)
    for group in summary["people"]["subgroups"][0]["groups"]:
        for points in ("5", "10"):
            share = flips.loc[group["name"], f"moved_{points}"]
            assert group["moved"][points]["share"] == pytest.approx(share, abs=5e-4)
        accuracy = next(m for m in group["measures"] if m["name"] == "Accuracy")
        assert accuracy["own"] == pytest.approx(
            scores.loc[(group["name"], "accuracy"), "own"], abs=5e-4
        )
    page = render(result, subgroups=["site"], min_cell=1)
    assert (
        page.count("Risk of malignant moves by more than 5 points</th>") == 2
    )  # groups, and candidates
    assert page.count("Proposed tree, own rows</th>") == 2  # in all, and by group


def test_subgroups_by_number_do_not_show_the_extremes() -> None:
    result = samples.retraining()
    summary = summarise(result, subgroups={"size": "mean radius"})
    names = [group["name"] for group in summary["people"]["subgroups"][0]["groups"]]
    assert names[0].startswith("up to ")
    assert names[-1].startswith("over ")
    assert len(names) == 4


@pytest.mark.parametrize(
    ("hits", "n", "masked"), [(0, 100, False), (3, 100, True), (5, 100, False), (97, 100, True)]
)
def test_few_changed_decisions_are_hidden(hits: int, n: int, masked: bool) -> None:
    data = happened_data(PeopleCount.of(hits, n, 5), 5)
    assert data["masked"] is masked
    assert data["count"] == (None if masked else hits)


def test_every_measure_is_named_and_holds_its_interval() -> None:
    data = people_data(samples.retraining(), subgroups=(), min_cell=5, level=0.9)
    assert (data["level"], data["subgroups"]) == (0.9, [])
    names = [measure["name"] for measure in data["performance"]]
    assert {"AUC", "Sensitivity for malignant", "Calibration in the large"} <= set(names)
    for measure in data["performance"]:
        assert measure["meaning"]
        value, low, high = measure["new"]
        if value is not None and low is not None:
            assert low <= value <= high
