"""What a page, a notebook and a listing say of a handful of people: nothing that counts them."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from steadytree.core.observed import Observed
from steadytree.core.tree import Tree
from steadytree.estimators import TreeClassifier
from steadytree.report import render, summarise
from steadytree.report.notebook import notebook_view
from steadytree.retraining.answer import Gain
from tests.golden import build
from tests.report import samples


def counted(leaves: list[tuple[int, ...]]) -> Tree:
    """A stump with so many rows of each outcome at its two leaves."""
    counts = np.array(leaves, dtype=float).reshape(2, 2, 2)
    both = np.concatenate([counts.sum(axis=0, keepdims=True), counts])
    steady = np.full((3, 2), 0.5)
    observed = Observed(both, both, steady, np.full(3, 10.0))
    return build(
        (0, 0.5, "no", "yes"),
        n_features=1,
        value=observed.predicted(),
        weight=both.sum(axis=(1, 2)),
        observed=observed,
    )


def test_no_listing_of_a_notebook_counts_a_handful_of_people() -> None:
    few = notebook_view(TreeClassifier(counted([(20, 10, 20, 13), (2, 28, 0, 30)])))
    assert "58 of 60" not in few
    assert "33 of 63" not in few
    shown = counted([(20, 10, 20, 13), (9, 28, 9, 30)])
    assert "observed 23 of 63" in notebook_view(TreeClassifier(shown))
    assert TreeClassifier(shown)._repr_html_inner() == notebook_view(TreeClassifier(shown))


@pytest.mark.parametrize("kind", ["retraining", "large_diff", "multiclass_diff", "regression_diff"])
def test_what_was_observed_in_training_is_on_no_page_of_two_trees(kind: str) -> None:
    result = getattr(samples, kind)()
    masked, whole = summarise(result), summarise(result, min_cell=1)
    for side in ("old", "new"):
        assert set(masked["trees"][side]["observed"]) == {None}
        assert set(whole["trees"][side]["observed"]) != {None}


def _visible(page: str) -> str:
    """Text of a page without its script and data."""
    page = re.sub(r"<(script|style).*?</\1>", "", page, flags=re.S)
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


@pytest.mark.parametrize("hits", [3, 218])
@pytest.mark.parametrize("view", ["report", "notebook"])
@pytest.mark.parametrize("kind", ["regression_retraining", "retraining"])
def test_no_view_of_a_retraining_counts_a_handful_of_people(
    kind: str, view: str, hits: int
) -> None:
    whole = getattr(samples, kind)()
    n = len(whole.X_new)
    hits = hits if hits < 5 else n - 3
    result = samples.with_changed_decisions(whole, hits)
    text = _visible(render(result) if view == "report" else result._repr_html_())
    assert re.search(rf"\b{hits} of (the )?{n}\b", text) is None
    assert f"fewer than 5 of {'the ' if view == 'notebook' else ''}{n}" in text


def test_a_mean_over_people_is_told_without_its_digits() -> None:
    """Nobody may solve a Brier score or a cost for the counts that it is made of."""
    result = samples.retraining()
    gains = {**result.answer.gains, "Brier score": Gain(0.0212, 0.001)}
    better = replace(result, answer=replace(result.answer, gains=gains))
    assert "The Brier score clearly falls." in better.explain()
    assert "The Brier score clearly falls (-0.0212, 95 % interval" in better.explain(min_cell=1)
    for view in (render(better), better._repr_html_()):
        assert "0212" not in _visible(view)
