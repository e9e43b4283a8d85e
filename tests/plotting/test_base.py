from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib import colors, pyplot

from steadytree.exceptions import InputError
from steadytree.plotting import (
    ParetoFrontierDisplay,
    SensitivityDisplay,
    SplitFrequencyDisplay,
    TreeComparisonDisplay,
    TreeMapDisplay,
)
from steadytree.views.figures import axes_for, check_lengths, literal, styled
from tests.report import samples


def test_dollar_signs_are_shown() -> None:
    assert literal("US$ and $x$") == r"US\$ and \$x\$"


def test_every_display_passes_style_keywords_to_matplotlib() -> None:
    frontier = ParetoFrontierDisplay([0.0, 1.0, 1.0], [1.0, 2.0, 0.5], [True, True, False])
    frontier.plot(figsize=(3, 2), line_kw={"color": "red"}, scatter_kw={"marker": "x", "s": 3})
    assert frontier.frontier_line_.get_color() == "red"
    assert frontier.candidates_.get_sizes().tolist() == [3]
    assert frontier.figure_.get_size_inches().tolist() == [3, 2]
    shown = TreeMapDisplay(np.eye(2), [2, 3], scores=[0.1, 0.2]).plot(scatter_kw={"cmap": "magma"})
    assert shown.trees_.get_cmap().name == "magma"
    trees = [samples.mixed_diff().old, samples.mixed_diff().new]
    bars = SplitFrequencyDisplay.from_trees(trees, bar_kw={"color": "#123456"})
    assert colors.to_hex(bars.bars_["root"][0].get_facecolor()) == "#123456"
    results = pd.DataFrame({"perturbation": "data", "amount": [0.1, 0.2], "distance": [0.0, 0.3]})
    curve = SensitivityDisplay(results).plot(line_kw={"linestyle": ":"})
    assert curve.lines_["data"].get_linestyle() == ":"
    pair = TreeComparisonDisplay.from_diff(
        samples.mixed_diff(), node_kw={"linewidth": 3}, text_kw={"fontsize": 5}
    )
    node = next(text for text in pair.ax_[0].texts if text.get_gid() == "node-0")
    assert node.get_fontsize() == 5
    assert node.get_bbox_patch().get_linewidth() == 3


def test_axes_that_are_given_are_drawn_on() -> None:
    _, pair = pyplot.subplots(1, 2)
    assert axes_for(pair, 2, size=(4, 2)) == list(pair)
    (alone,) = axes_for(None, size=(4, 2))
    assert alone.figure.get_size_inches().tolist() == [4, 2]
    with pytest.raises(InputError, match="expected one axes, got 2"):
        axes_for(pair, size=(4, 2))


def test_lengths_are_compared_where_given() -> None:
    check_lengths(points=[1, 2], scores=None, leaves=(3, 4))
    with pytest.raises(InputError, match="got points of 2, leaves of 1"):
        check_lengths(points=[1, 2], scores=None, leaves=[3])


def test_style_keywords_win_over_the_defaults() -> None:
    assert styled({"s": 3}, s=20, marker="o") == {"s": 3, "marker": "o"}
    assert styled(None, s=20) == {"s": 20}
