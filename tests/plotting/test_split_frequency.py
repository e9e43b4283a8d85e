"""Bars of split frequencies are direct counts, and their labels can be read."""

from __future__ import annotations

import numpy as np
import pytest

from steadytree.exceptions import InputError
from steadytree.plotting import (
    SplitFrequencyDisplay,
)
from tests.plotting.figures import bootstrap_trees, overlapping, text_boxes
from tests.report import samples


@pytest.mark.parametrize("n", [100, 1000])
def test_split_frequencies_are_direct_counts(n: int) -> None:
    few, space = bootstrap_trees(min(n, 100))
    trees = few * (n // len(few))
    display = SplitFrequencyDisplay.from_trees(trees, space=space, max_features=8)
    assert len(display.features_) == 8
    top = display.features_[0]
    root = np.mean([tree.feature[0] == top for tree in trees])
    anywhere = np.mean([top in tree.feature for tree in trees])
    assert display.bars_["root"][0].get_width() == pytest.approx(100 * root)
    assert display.bars_["anywhere"][0].get_width() == pytest.approx(100 * anywhere)
    for place in ("root", "left", "right"):
        assert display.frequencies[place].sum() <= 1 + 1e-9
    assert display.frequencies["root"].sum() == pytest.approx(1.0)
    names = [t.get_text() for t in display.ax_[0].get_yticklabels()]
    assert names == [space.feature_labels[j] for j in display.features_]
    labels = list(display.ax_[4].texts)
    assert overlapping(text_boxes(display.ax_[4], labels)) == 0
    assert overlapping(text_boxes(display.ax_[0], display.ax_[0].get_yticklabels())) == 0


def test_cut_points_by_category_and_single_leaves() -> None:
    diff = samples.mixed_diff()
    display = SplitFrequencyDisplay.from_trees([diff.old, diff.new, diff.old.truncate(0)])
    assert display.frequencies["root"].max() == pytest.approx(2 / 3)
    assert any(t.get_text() == "by category" for t in display.ax_[4].texts)
    with pytest.raises(InputError, match="one tree or more"):
        SplitFrequencyDisplay.from_trees([])
