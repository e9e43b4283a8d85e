"""Two trees side by side: matched rules look alike, and nothing overlaps at real sizes."""

from __future__ import annotations

from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from steadytree.exceptions import InputError
from steadytree.formats.rules.read_rules import tree_from_rules
from steadytree.plotting import (
    TreeComparisonDisplay,
)
from steadytree.plugins import as_tree
from steadytree.tree.printing import PAIR_COLOURS, tint
from steadytree.tree.space import FeatureSpace
from tests.plotting.figures import bootstrap_trees, overlapping, text_boxes
from tests.report import samples


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


@pytest.mark.parametrize("titles", [None, ("In force", "To vote on")])
def test_a_retraining_has_the_titles_that_are_asked_for(titles: tuple[str, str] | None) -> None:
    asked = {} if titles is None else {"titles": titles}
    display = TreeComparisonDisplay.from_retraining(samples.retraining(), **asked)
    shown = tuple(ax.get_title(loc="left") for ax in display.ax_)
    assert shown == (titles or ("Deployed", "Proposed"))


def test_a_moved_threshold_is_written_on_its_split() -> None:
    display = TreeComparisonDisplay.from_diff(samples.mixed_diff())
    assert display.moved_ == {1: (40.0, 44.5)}
    text = next(t.get_text() for t in display.ax_[1].texts if t.get_gid() == "node-1")
    assert text == "age\n≤ 44.5 (was 40)"


def test_a_split_names_no_category_that_cannot_arrive_there() -> None:
    tree = tree_from_rules("""
    categories of term: a month, a year, two years
    term in a month: yes
    else:
        term in a month, two years: yes
        else: no
    """)
    ends = np.zeros(1)
    space = FeatureSpace(lower=ends, upper=ends, categories=tree.categories, names=("term",))
    display = TreeComparisonDisplay.from_trees(tree, tree, space=space)
    texts = {t.get_gid(): t.get_text() for t in display.ax_[1].texts}
    assert texts["node-0"] == "term\na month"
    assert texts["node-2"] == "term\ntwo years"


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


def test_a_leaf_says_its_decision_and_what_it_predicts() -> None:
    """Decided from a share of 20 % on, so that the share is not the decision's own."""
    X = np.arange(60.0)[:, None]
    y = np.where(np.arange(60) % 3 == 0, "yes", "no")
    y[30:] = "no"
    tree = as_tree(DecisionTreeClassifier(max_depth=1).fit(X, y), decision_threshold=0.2)
    space = FeatureSpace.from_data(X, y)
    shown = TreeComparisonDisplay.from_trees(tree, tree, space=space)
    texts = [text.get_text() for text in shown.ax_[0].texts]
    assert [text for text in texts if "predicts" in text] == [
        f"1  yes\npredicts yes {tree.value[1, 1] * 100:.1f}\u202f%",
        f"2  no\npredicts yes {tree.value[2, 1] * 100:.1f}\u202f%",
    ]
