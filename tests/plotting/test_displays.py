"""What figures show is what was measured, and nothing overlaps at real sizes."""

from __future__ import annotations

from functools import cache
from itertools import combinations
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib import colors, pyplot
from sklearn.tree import DecisionTreeClassifier

import steadytree as st
from steadytree.estimators.assessment import measure_sensitivity
from steadytree.exceptions import InputError
from steadytree.plotting import (
    ParetoFrontierDisplay,
    SensitivityDisplay,
    SplitFrequencyDisplay,
    TreeComparisonDisplay,
    TreeMapDisplay,
)
from steadytree.tree.printing import PAIR_COLOURS, tint
from steadytree.views.many_trees import scale_to_plane
from tests.report import samples


@cache
def bootstrap_trees() -> tuple[list[st.Tree], st.FeatureSpace]:
    X, y = samples.breast_cancer()
    space, rng, trees = st.FeatureSpace.from_data(X, y), np.random.default_rng(0), []
    for i in range(40):
        rows, leaves = rng.integers(0, len(X), len(X)), int(rng.integers(2, 13))
        model = DecisionTreeClassifier(max_leaf_nodes=leaves, max_features=10, random_state=i)
        trees.append(st.as_tree(model.fit(X.iloc[rows], y[rows]), space=space))
    return trees, space


def overlapping(ax: Any, texts: list[Any]) -> int:
    ax.figure.canvas.draw()
    renderer = ax.figure.canvas.get_renderer()
    shown = [text.get_bbox_patch() or text for text in texts if text.get_text()]
    boxes = [text.get_window_extent(renderer) for text in shown]
    return sum(
        min(a.x1, b.x1) - max(a.x0, b.x0) > 1 and min(a.y1, b.y1) - max(a.y0, b.y0) > 1
        for a, b in combinations(boxes, 2)
    )


def test_every_display_passes_style_keywords_to_matplotlib() -> None:
    frontier = ParetoFrontierDisplay([0.0, 1.0, 1.0], [1.0, 2.0, 0.5], [True, True, False])
    frontier.plot(figsize=(3, 2), line_kw={"color": "red"}, scatter_kw={"marker": "x", "s": 3})
    assert frontier.frontier_line_.get_color() == "red"
    assert frontier.candidates_.get_sizes().tolist() == [3]
    assert frontier.figure_.get_size_inches().tolist() == [3, 2]
    shown = TreeMapDisplay(np.eye(2), [2, 3], scores=[0.1, 0.2])
    assert shown.plot(scatter_kw={"cmap": "magma"}).trees_.get_cmap().name == "magma"
    trees = [samples.mixed_diff().old, samples.mixed_diff().new]
    bars = SplitFrequencyDisplay.from_trees(trees, bar_kw={"color": "#123456"})
    assert colors.to_hex(bars.bars_["root"][0].get_facecolor()) == "#123456"
    results = pd.DataFrame({"perturbation": "data", "amount": [0.1, 0.2], "distance": [0.0, 0.3]})
    curve = SensitivityDisplay(results).plot(line_kw={"linestyle": ":"})
    assert curve.lines_["data"].get_linestyle() == ":"
    pair = TreeComparisonDisplay.from_diff(samples.mixed_diff(), text_kw={"fontsize": 5})
    node = next(text for text in pair.ax_[0].texts if text.get_gid() == "node-0")
    assert node.get_fontsize() == 5


def test_axes_and_data_that_do_not_fit_are_refused() -> None:
    _, pair = pyplot.subplots(1, 2)
    diff = samples.mixed_diff()
    assert TreeComparisonDisplay.from_diff(diff, ax=pair).ax_ == list(pair)
    for got, call in (
        (
            "2 axes, got 1",
            lambda: TreeComparisonDisplay.from_diff(diff, ax=pair[0]),
        ),
        ("1 axes, got 2", lambda: TreeMapDisplay(np.eye(2), [2, 3]).plot(pair)),
        ("of one length", lambda: ParetoFrontierDisplay([1.0], [1.0, 2.0], [True])),
        ("got points of 2, n_leaves of 1", lambda: TreeMapDisplay(np.zeros((2, 2)), [1])),
        ("one tree or more", lambda: TreeMapDisplay.from_trees([])),
        ("one tree or more", lambda: SplitFrequencyDisplay.from_trees([])),
        (
            "expected rows with perturbation",
            lambda: SensitivityDisplay(pd.DataFrame({"a": [1]})),
        ),
    ):
        with pytest.raises(InputError, match=got):
            call()


# -- candidates --------------------------------------------------------------------------


@pytest.mark.parametrize("n", [100, 1000])
def test_the_frontier_draws_every_candidate_once(n: int) -> None:
    rng = np.random.default_rng(0)
    distance = rng.gamma(3, 1, n)
    score = 0.8 + 0.1 * (1 - np.exp(-distance)) + rng.normal(0, 0.02, n)
    mask = st.pareto_mask(np.column_stack([distance, score]), [False, True])
    chosen = int(np.flatnonzero(mask)[0])
    display = ParetoFrontierDisplay(distance, score, mask, chosen=chosen, deployed=0).plot()
    crowd, best = display.candidates_.get_offsets(), display.frontier_.get_offsets()
    assert (len(crowd) + len(best), len(best)) == (n, mask.sum())
    assert np.all(np.diff(display.frontier_line_.get_xdata()) >= 0)
    assert np.all(np.diff(display.frontier_line_.get_ydata()) >= 0)
    np.testing.assert_allclose(display.chosen_.get_offsets()[0], [distance[chosen], score[chosen]])
    labels = [t.get_text() for t in display.ax_.get_legend().get_texts()]
    assert labels[0] == f"Other candidates ({len(crowd)})"
    assert labels[2:] == ["Deployed tree", "Chosen tree"]
    # The legend covers no candidate.
    display.figure_.canvas.draw()
    legend = display.ax_.get_legend().get_window_extent()
    assert legend.y0 >= display.ax_.get_window_extent().y1 - 1


def test_the_frontier_of_a_retraining_and_of_an_estimator() -> None:
    result = samples.retraining()
    display, table = ParetoFrontierDisplay.from_retraining(result), result.frontier
    expected = {"deployed_": [0.0, table.loc["keep", "score"]]}
    expected["chosen_"] = [result.dissimilarity, table.loc[result.chosen, "score"]]
    for name, point in expected.items():
        np.testing.assert_allclose(getattr(display, name).get_offsets()[0], point)
    assert display.ax_.get_xlabel() == "Dissimilarity to the deployed tree"
    model = samples.stable_result(2)
    display = ParetoFrontierDisplay.from_estimator(model)
    assert display.frontier_.get_offsets().shape[0] == model.pareto_mask_.sum()


# -- sensitivity -------------------------------------------------------------------------


def test_sensitivity_draws_means_of_what_was_measured() -> None:
    X, y = samples.breast_cancer()
    options = {"amounts": (0.1, 0.5, 1.0), "n_repeats": 3, "random_state": 0}
    model = DecisionTreeClassifier(max_depth=3, random_state=0)
    display = SensitivityDisplay.from_estimator(model, X, y, **options)
    assert not hasattr(model, "tree_")
    pd.testing.assert_frame_equal(display.results, measure_sensitivity(model, X, y, **options))
    assert set(display.lines_) == {"thresholds", "data"}
    for kind, line in display.lines_.items():
        rows = display.results[display.results["perturbation"] == kind]
        means = rows.groupby("amount")["distance"].mean().to_numpy()
        np.testing.assert_allclose(line.get_ydata(), means)
    # Small shakes of the thresholds move the tree less than large ones.
    assert display.lines_["thresholds"].get_ydata()[0] < display.lines_["thresholds"].get_ydata()[2]


# -- many trees --------------------------------------------------------------------------


def test_split_frequencies_are_direct_counts_and_their_labels_can_be_read() -> None:
    trees, space = bootstrap_trees()
    display = SplitFrequencyDisplay.from_trees(trees, space=space, max_features=8)
    assert len(display.features_) == 8
    top = display.features_[0]
    root = np.mean([tree.feature[0] == top for tree in trees])
    anywhere = np.mean([top in tree.feature for tree in trees])
    assert display.bars_["root"][0].get_width() == pytest.approx(100 * root)
    assert display.bars_["anywhere"][0].get_width() == pytest.approx(100 * anywhere)
    assert display.frequencies["root"].sum() == pytest.approx(1.0)
    names = [t.get_text() for t in display.ax_[0].get_yticklabels()]
    assert names == [space.feature_labels[j] for j in display.features_]
    assert overlapping(display.ax_[4], list(display.ax_[4].texts)) == 0
    assert overlapping(display.ax_[0], display.ax_[0].get_yticklabels()) == 0
    diff = samples.mixed_diff()
    display = SplitFrequencyDisplay.from_trees([diff.old, diff.new, diff.old.truncate(0)])
    assert display.frequencies["root"].max() == pytest.approx(2 / 3)
    assert any(t.get_text() == "by category" for t in display.ax_[4].texts)


def test_scaling_recovers_points_of_the_plane_and_lowers_the_stress_of_others() -> None:
    rng = np.random.default_rng(0)
    for dimensions in (2, 8):
        points = rng.normal(size=(40, dimensions))
        distances = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))
        found, stress = scale_to_plane(distances)
        if dimensions == 2:
            again = np.hypot(*(found[:, None] - found[None]).transpose(2, 0, 1))
            np.testing.assert_allclose(again, distances, atol=1e-6)
            assert stress < 1e-6
        else:
            assert stress < scale_to_plane(distances, max_iter=0)[1]
    one, zero = scale_to_plane(np.zeros((1, 1)))
    assert (one.shape, zero) == ((1, 2), 0.0)


def test_a_map_colours_by_score_and_sizes_by_leaves() -> None:
    trees, space = bootstrap_trees()
    scores = np.linspace(0.8, 0.95, 40)
    options = {"scores": scores, "marked": {"deployed": 0}, "score_name": "AUC"}
    display = TreeMapDisplay.from_trees(trees, space=space, **options)
    np.testing.assert_allclose(display.trees_.get_array(), scores)
    leaves = np.array([tree.n_leaves for tree in trees])
    sizes = display.trees_.get_sizes()
    assert np.all(np.diff(sizes[np.argsort(leaves, kind="stable")]) >= -1e-9)
    assert any(t.get_text() == "deployed" for t in display.ax_.texts)
    assert "40 trees" in display.ax_.get_xlabel()
    assert display.figure_.axes[1].get_ylabel() == "AUC"
    rng = np.random.default_rng(0)
    small, large = (
        TreeMapDisplay(rng.normal(size=(n, 2)), np.full(n, 8)).plot().trees_ for n in (100, 1000)
    )
    assert large.get_sizes().max() < small.get_sizes().max()


# -- two trees ---------------------------------------------------------------------------


def text_at(ax: Any, node: int) -> Any:
    return next(text for text in ax.texts if text.get_gid() == f"node-{node}")


def test_matched_rules_have_the_same_colour_and_number_and_moved_thresholds_are_told() -> None:
    diff = samples.mixed_diff()
    display = TreeComparisonDisplay.from_diff(diff)
    matched = [(r.old.leaf, r.new.leaf) for r in diff.rules if r.old and r.new]
    assert len(matched) >= 3
    for i, leaves in enumerate(matched):
        expected = matplotlib.colors.to_rgba(tint(PAIR_COLOURS[i % len(PAIR_COLOURS)]))
        for ax, leaf in zip(display.ax_, leaves, strict=True):
            assert text_at(ax, leaf).get_bbox_patch().get_facecolor() == expected
            assert text_at(ax, leaf).get_text().split()[0] == str(i + 1)
    assert [ax.get_title(loc="left") for ax in display.ax_] == ["Before", "After"]
    assert display.moved_ == {1: (40.0, 44.5)}
    assert text_at(display.ax_[1], 1).get_text() == "age\n≤ 44.5 (was 40)"
    for titles in (None, ("In force", "To vote on")):
        asked = {} if titles is None else {"titles": titles}
        shown = TreeComparisonDisplay.from_retraining(samples.retraining(), **asked)
        told = tuple(ax.get_title(loc="left") for ax in shown.ax_)
        assert told == (titles or ("Deployed", "Proposed"))


def test_a_split_names_no_category_that_cannot_arrive_there() -> None:
    tree = st.tree_from_rules("""
    categories of term: a month, a year, two years
    term in a month: yes
    else:
        term in a month, two years: yes
        else: no
    """)
    ends = np.zeros(1)
    space = st.FeatureSpace(lower=ends, upper=ends, categories=tree.categories, names=("term",))
    ax = TreeComparisonDisplay.from_trees(tree, tree, space=space).ax_[1]
    assert text_at(ax, 0).get_text() == "term\na month"
    assert text_at(ax, 2).get_text() == "term\ntwo years"


def test_every_node_is_drawn_and_unmatched_rules_are_dashed() -> None:
    trees, space = bootstrap_trees()
    display = TreeComparisonDisplay.from_trees(*trees[:2], space=space, titles=("A", "B"))
    for ax, tree, colours in zip(display.ax_, trees, display.colours_, strict=False):
        assert len(ax.texts) == tree.n_nodes
        dashed = [t for t in ax.texts if t.get_bbox_patch().get_linestyle() == "--"]
        assert len(dashed) == tree.n_leaves - len(colours)


def test_large_trees_are_folded_with_a_sign() -> None:
    tree = samples.large_diff().new
    ax = TreeComparisonDisplay.from_trees(tree, tree.truncate(3), max_leaves=20).ax_[0]
    signs = [t.get_text() for t in ax.texts if t.get_text().startswith("+")]
    assert len(ax.texts) == 39  # 20 ends, 19 splits
    assert sum(int(sign.split()[0]) for sign in signs) + 20 - len(signs) == tree.n_leaves


@pytest.mark.parametrize("kind", ["multiclass", "regression", "mixed", "single_leaf"])
def test_boxes_of_a_comparison_do_not_overlap(kind: str) -> None:
    for ax in TreeComparisonDisplay.from_diff(getattr(samples, f"{kind}_diff")()).ax_:
        assert overlapping(ax, list(ax.texts)) == 0


def test_names_with_dollars_and_braces_are_drawn_as_they_are() -> None:
    X = pd.DataFrame({"US$ {x}_^": [0.0, 1, 2, 3], "b": [1.0, 1, 0, 0]})
    y = np.array(["$a$", "b_", "$a$", "b_"])
    tree = st.as_tree(DecisionTreeClassifier(random_state=0).fit(X, y))
    space = st.FeatureSpace.from_data(X, y)
    shown = TreeComparisonDisplay.from_trees(tree, tree, space=space, titles=("$old$", "new"))
    shown.figure_.canvas.draw()
    assert any("US$ {x}_^" in t.get_text() for t in shown.ax_[0].texts)
    assert shown.ax_[0].get_title(loc="left") == r"\$old\$"


def test_a_leaf_says_its_decision_and_what_it_predicts() -> None:
    """Decided from a share of 20 % on, so that the share is not the decision's own."""
    X = np.arange(60.0)[:, None]
    y = np.where((np.arange(60) % 3 == 0) & (np.arange(60) < 30), "yes", "no")
    tree = st.as_tree(DecisionTreeClassifier(max_depth=1).fit(X, y), 0.2)
    ax = TreeComparisonDisplay.from_trees(tree, tree, space=st.FeatureSpace.from_data(X, y)).ax_[0]
    for leaf, label in ((1, "yes"), (2, "no")):
        share = f"{tree.value[leaf, 1] * 100:.1f}\u202f%"
        assert text_at(ax, leaf).get_text() == f"{leaf}  {label}\npredicts yes {share}"
