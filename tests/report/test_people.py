"""Whom a retraining affects: in all, and group by group."""

from __future__ import annotations

import pytest

from steadytree.views import render, summarise
from steadytree.views.summarise import people_data
from tests.report import samples


def test_the_owner_sees_every_group() -> None:
    summary = summarise(samples.retraining(), subgroups=["site"])
    (by,) = summary["people"]["subgroups"]
    assert {g["group"]["group"]: g["n"]["count"] for g in by["groups"]}["ward 7"] == 3


def test_subgroups_tell_moved_risks_and_the_score_on_own_rows() -> None:
    result = samples.retraining()
    summary = summarise(result, subgroups=["site"])
    flips, scores = result.flips("site"), result.performance("site")
    for group in summary["people"]["subgroups"][0]["groups"]:
        for points in ("5", "10"):
            share, moved = flips.loc[group["group"]["group"], f"moved_{points}"], group["moved"]
            assert moved[points]["count"] == round(share * moved[points]["of"])
        accuracy = next(m for m in group["measures"] if m["name"] == "Accuracy")
        assert accuracy["own"]["measure"] == pytest.approx(
            scores.loc[(group["group"]["group"], "accuracy"), "own"]
        )
    page = render(result, subgroups=["site"])
    assert (
        page.count("Risk of malignant moves by more than 5 points</th>") == 2
    )  # groups, and candidates
    assert page.count("Proposed tree, own rows</th>") == 2  # in all, and by group


def test_every_measure_is_named_and_holds_its_interval() -> None:
    data = people_data(samples.retraining(), subgroups=(), level=0.9)
    assert (data["level"], data["subgroups"]) == (0.9, [])
    names = [measure["name"] for measure in data["performance"]]
    assert {"AUC", "Sensitivity for malignant", "Calibration in the large"} <= set(names)
    for measure in data["performance"]:
        assert measure["meaning"]
        value, low, high = (measure["new"][key] for key in ("measure", "low", "high"))
        if value is not None and low is not None:
            assert low <= value <= high
