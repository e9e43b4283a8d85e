"""Figures hold what they should: artists, labels, colours; nothing overlaps at real sizes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib import colors
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

from steadytree.assessment import measure_sensitivity, perturb_thresholds
from steadytree.core.space import FeatureSpace
from steadytree.diff import diff_trees
from steadytree.exceptions import InputError
from steadytree.plotting import (
    ParetoFrontierDisplay,
    SensitivityDisplay,
    SplitFrequencyDisplay,
    TreeComparisonDisplay,
    TreeMapDisplay,
)
from steadytree.plotting._base import PAIR_COLOURS, tint
from steadytree.plotting.tree_map import scale_to_plane
from steadytree.readers import as_tree
from steadytree.selection import pareto_mask
from tests.report import samples

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def closed_figures() -> Iterator[None]:
    from matplotlib import pyplot

    yield
    pyplot.close("all")


def bootstrap_trees(n: int, *, most_leaves: int = 12) -> tuple[list[Any], FeatureSpace]:
    X, y = samples.breast_cancer()
    space = FeatureSpace.from_data(X, y)
    rng = np.random.default_rng(0)
    trees = []
    for i in range(n):
        rows = rng.integers(0, len(X), len(X))
        leaves = int(rng.integers(2, most_leaves + 1))
        model = DecisionTreeClassifier(max_leaf_nodes=leaves, max_features=10, random_state=i)
        trees.append(as_tree(model.fit(X.iloc[rows], y[rows]), space=space))
    return trees, space


def text_boxes(ax: Any, texts: list[Any]) -> list[Any]:
    renderer = ax.figure.canvas.get_renderer()
    ax.figure.canvas.draw()
    return [(t.get_bbox_patch() or t).get_window_extent(renderer) for t in texts if t.get_text()]


def overlapping(boxes: list[Any]) -> int:
    return sum(
        min(a.x1, b.x1) - max(a.x0, b.x0) > 1 and min(a.y1, b.y1) - max(a.y0, b.y0) > 1
        for a, b in combinations(boxes, 2)
    )


# -- tree comparison -------------------------------------------------------------------


def leaf_colours(ax: Any) -> dict[int, tuple[float, ...]]:
    return {int(t.get_gid().split("-")[1]): t.get_bbox_patch().get_facecolor() for t in ax.texts}


def test_matched_rules_have_the_same_colour_and_number() -> None:
    diff = samples.mixed_diff()
    display = TreeComparisonDisplay.from_diff(diff)
    old, new = (leaf_colours(ax) for ax in display.ax_)
    matched = [(r.old.leaf, r.new.leaf) for r in diff.rules if r.old and r.new]
    assert len(matched) >= 3
    for i, (a, b) in enumerate(matched):
        expected = matplotlib.colors.to_rgba(tint(PAIR_COLOURS[i % len(PAIR_COLOURS)]))
        assert old[a] == new[b] == expected
        texts = [
            next(t.get_text() for t in ax.texts if t.get_gid() == f"node-{leaf}")
            for ax, leaf in zip(display.ax_, (a, b), strict=True)
        ]
        assert texts[0].split()[0] == texts[1].split()[0] == str(i + 1)
    assert [ax.get_title(loc="left") for ax in display.ax_] == ["Before", "After"]
    assert display.figure_ is display.ax_[0].figure


def test_a_moved_threshold_is_written_on_its_split() -> None:
    display = TreeComparisonDisplay.from_diff(samples.mixed_diff())
    assert display.moved_ == {1: (40.0, 44.5)}
    text = next(t.get_text() for t in display.ax_[1].texts if t.get_gid() == "node-1")
    assert text == "age\n≤ 44.5 (was 40)"


def test_every_node_is_drawn_and_unmatched_rules_are_dashed() -> None:
    trees, space = bootstrap_trees(2)
    display = TreeComparisonDisplay.from_trees(*trees, space=space, titles=("A", "B"))
    for ax, tree, colours in zip(display.ax_, trees, display.colours_, strict=True):
        assert len(ax.texts) == tree.n_nodes
        dashed = [t for t in ax.texts if t.get_bbox_patch().get_linestyle() == "--"]
        assert len(dashed) == tree.n_leaves - len(colours)


def test_large_trees_are_folded_with_a_sign() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1500, 4)), rng.integers(0, 3, 1500)
    space = FeatureSpace.from_data(X, y)
    model = DecisionTreeClassifier(max_leaf_nodes=200, random_state=0)
    tree = as_tree(model.fit(X, y), space=space)
    display = TreeComparisonDisplay.from_trees(tree, tree.truncate(3), max_leaves=20)
    signs = [t.get_text() for t in display.ax_[0].texts if t.get_text().startswith("+")]
    drawn = len(display.ax_[0].texts) - 19  # 20 ends, 19 splits
    assert drawn == 20
    leaves = 20 - len(signs)
    assert sum(int(sign.split()[0]) for sign in signs) + leaves == 200


@pytest.mark.parametrize("kind", ["retraining", "multiclass", "regression", "mixed", "single"])
def test_boxes_of_a_comparison_do_not_overlap(kind: str) -> None:
    diff = {
        "retraining": lambda: samples.retraining().diff,
        "multiclass": samples.multiclass_diff,
        "regression": samples.regression_diff,
        "mixed": samples.mixed_diff,
        "single": samples.single_leaf_diff,
    }[kind]()
    display = TreeComparisonDisplay.from_diff(diff)
    for ax in display.ax_:
        assert overlapping(text_boxes(ax, list(ax.texts))) == 0


def test_names_with_dollars_and_braces_are_drawn_as_they_are() -> None:
    X = pd.DataFrame({"US$ {x}_^": [0.0, 1, 2, 3], "b": [1.0, 1, 0, 0]})
    y = np.array(["$a$", "b_", "$a$", "b_"])
    space = FeatureSpace.from_data(X, y)
    tree = as_tree(DecisionTreeClassifier(random_state=0).fit(X, y), space=space)
    display = TreeComparisonDisplay.from_trees(tree, tree, titles=("$old$", "new"))
    display.figure_.canvas.draw()
    assert any("US$ {x}_^" in t.get_text() for t in display.ax_[0].texts)


def test_one_axes_for_two_trees_is_an_error() -> None:
    from matplotlib import pyplot

    with pytest.raises(InputError, match="two axes, one per tree, got 1"):
        TreeComparisonDisplay.from_diff(samples.mixed_diff(), ax=pyplot.subplots()[1])


# -- the frontier ------------------------------------------------------------------------


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


# -- the map -----------------------------------------------------------------------------


def test_scaling_recovers_points_of_the_plane() -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(40, 2))
    distances = np.hypot(*(points[:, None] - points[None]).transpose(2, 0, 1))
    found, stress = scale_to_plane(distances)
    again = np.hypot(*(found[:, None] - found[None]).transpose(2, 0, 1))
    np.testing.assert_allclose(again, distances, atol=1e-6)
    assert stress < 1e-6


def test_scaling_lowers_the_stress_of_the_classical_solution() -> None:
    rng = np.random.default_rng(1)
    points = rng.normal(size=(60, 8))
    distances = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))
    start = scale_to_plane(distances, max_iter=0)[1]
    end = scale_to_plane(distances)[1]
    assert end < start
    one, zero = scale_to_plane(np.zeros((1, 1)))
    assert one.shape == (1, 2)
    assert zero == 0.0


def test_map_colours_by_score_and_sizes_by_leaves() -> None:
    trees, space = bootstrap_trees(40)
    scores = np.linspace(0.8, 0.95, 40)
    display = TreeMapDisplay.from_trees(
        trees, space=space, scores=scores, marked={"deployed": 0}, score_name="AUC"
    )
    assert len(display.trees_.get_offsets()) == 40
    np.testing.assert_allclose(display.trees_.get_array(), scores)
    leaves = np.array([tree.n_leaves for tree in trees])
    sizes = display.trees_.get_sizes()
    assert np.all(np.diff(sizes[np.argsort(leaves, kind="stable")]) >= -1e-9)
    assert any(t.get_text() == "deployed" for t in display.ax_.texts)
    assert "40 trees" in display.ax_.get_xlabel()
    assert display.figure_.axes[1].get_ylabel() == "AUC"


def test_map_of_a_thousand_points_stays_light() -> None:
    rng = np.random.default_rng(0)
    small = TreeMapDisplay(rng.normal(size=(100, 2)), np.full(100, 8)).plot()
    large = TreeMapDisplay(rng.normal(size=(1000, 2)), np.full(1000, 8)).plot()
    ink = [display.trees_.get_sizes().sum() for display in (small, large)]
    # One size may stand for all points, as it does here.
    per_point = [display.trees_.get_sizes().max() for display in (small, large)]
    assert per_point[1] < per_point[0]
    assert ink[1] < 10 * ink[0]


def test_map_needs_trees() -> None:
    with pytest.raises(InputError, match="one tree or more"):
        TreeMapDisplay.from_trees([])
    with pytest.raises(
        InputError, match="points, n_leaves of one length, got points of 2, n_leaves of 1"
    ):
        TreeMapDisplay(np.zeros((2, 2)), [1])


# -- split frequency -----------------------------------------------------------------------


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


# -- sensitivity ---------------------------------------------------------------------------


def test_sensitivity_draws_means_and_spread_of_both_experiments() -> None:
    X, y = samples.breast_cancer()
    display = SensitivityDisplay.from_estimator(
        DecisionTreeClassifier(max_depth=3, random_state=0),
        X,
        y,
        amounts=(0.1, 0.5, 1.0),
        n_repeats=3,
        random_state=0,
    )
    assert set(display.lines_) == {"thresholds", "data"}
    for kind, line in display.lines_.items():
        rows = display.results[display.results["perturbation"] == kind]
        np.testing.assert_allclose(
            line.get_ydata(), rows.groupby("amount")["distance"].mean().to_numpy()
        )
    # Small shakes of the thresholds move the tree less than large ones.
    assert display.lines_["thresholds"].get_ydata()[0] < display.lines_["thresholds"].get_ydata()[2]
    assert [ax.get_xlabel() for ax in display.ax_] == [
        "Largest change of a threshold",
        "Share of the training rows replaced",
    ]


def test_perturbed_thresholds_stay_within_their_share_and_range() -> None:
    trees, space = bootstrap_trees(1)
    shaken = perturb_thresholds(trees[0], 0.2, np.random.default_rng(0), space=space)
    split = ~trees[0].is_leaf
    before, after = trees[0].threshold[split], shaken.threshold[split]
    assert np.all(np.abs(after / before - 1) <= 0.2 + 1e-12)
    assert not np.array_equal(before, after)
    assert diff_trees(trees[0], shaken, space=space).counts["kept"] < trees[0].n_leaves


def test_sensitivity_refuses_unknown_tables() -> None:
    with pytest.raises(InputError, match="expected rows with perturbation"):
        SensitivityDisplay(
            pd.DataFrame({"perturbation": ["other"], "amount": [1], "distance": [1]})
        )


# -- style -----------------------------------------------------------------------------------


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


def test_a_display_of_sensitivity_draws_what_was_measured() -> None:
    X, y = load_iris(return_X_y=True)
    model = DecisionTreeClassifier(max_depth=2, random_state=0)
    options = {"amounts": (0.2, 0.8), "n_repeats": 2, "random_state": 0}
    measured = measure_sensitivity(model, X, y, **options)
    assert not hasattr(model, "tree_")
    pd.testing.assert_frame_equal(
        SensitivityDisplay.from_estimator(model, X, y, **options).results, measured
    )
