"""The frontier shows every candidate once and marks the deployed and the chosen tree."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from steadytree.estimators.selection import pareto_mask
from steadytree.exceptions import InputError
from steadytree.plotting import (
    ParetoFrontierDisplay,
)
from tests.report import samples


def frontier(n: int) -> ParetoFrontierDisplay:
    rng = np.random.default_rng(0)
    distance = rng.gamma(3, 1, n)
    score = 0.8 + 0.1 * (1 - np.exp(-distance)) + rng.normal(0, 0.02, n)
    mask = pareto_mask(np.column_stack([distance, score]), [False, True])
    chosen = int(np.flatnonzero(mask)[0])
    return ParetoFrontierDisplay(distance, score, mask, chosen=chosen, deployed=(0.0, 0.75)).plot()


@pytest.mark.parametrize("n", [100, 1000])
def test_frontier_draws_every_candidate_once(n: int) -> None:
    display = frontier(n)
    crowd, best = display.candidates_.get_offsets(), display.frontier_.get_offsets()
    assert len(crowd) + len(best) == n
    assert len(best) == display.pareto_mask.sum()
    assert np.all(np.diff(display.frontier_line_.get_xdata()) >= 0)
    assert np.all(np.diff(display.frontier_line_.get_ydata()) >= 0)
    np.testing.assert_allclose(
        display.chosen_.get_offsets()[0],
        [display.distance[display.chosen], display.score[display.chosen]],
    )
    labels = [t.get_text() for t in display.ax_.get_legend().get_texts()]
    assert labels[0] == f"Other candidates ({len(crowd)})"
    assert labels[2:] == ["Deployed tree", "Chosen tree"]
    assert display.ax_.get_xlabel().startswith("Distance")


def test_the_legend_covers_no_candidate() -> None:
    display = frontier(300)
    display.figure_.canvas.draw()
    legend = display.ax_.get_legend().get_window_extent()
    inside = display.ax_.get_window_extent()
    assert legend.y0 >= inside.y1 - 1


def test_frontier_of_a_retraining_marks_the_deployed_and_the_chosen_tree() -> None:
    result = samples.retraining()
    display = ParetoFrontierDisplay.from_retraining(result)
    table = result.frontier
    np.testing.assert_allclose(
        display.deployed_.get_offsets()[0], [0.0, table.loc["keep", "score"]]
    )
    np.testing.assert_allclose(
        display.chosen_.get_offsets()[0],
        [result.dissimilarity, table.loc[result.chosen, "score"]],
    )
    assert display.ax_.get_xlabel() == "Dissimilarity to the deployed tree"


def test_frontier_of_an_estimator_and_errors() -> None:
    model = samples.stable_result(2)
    display = ParetoFrontierDisplay.from_estimator(model)
    assert display.frontier_.get_offsets().shape[0] == model.pareto_mask_.sum()
    with pytest.raises(InputError, match="of one length"):
        ParetoFrontierDisplay([1.0], [1.0, 2.0], [True])
    with pytest.raises(InputError, match="expected columns"):
        ParetoFrontierDisplay.from_frame(pd.DataFrame({"score": [1.0]}))
