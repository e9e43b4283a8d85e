"""Figures: the paper's axes, names and numbers, with ours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from research.paper.content import Content
from research.paper.figures import FIGURES
from research.paper.figures.drawing import MEAN, PAPER_LABEL, case_name
from research.paper.published import CASE_STUDY_NAMES, TABLE_1, TABLE_3
from research.paper.regenerate import Regenerated
from research.paper.tables import mean
from steadytree.distance.equations import distance_bound

DRAW = {caption.name: draw for caption, draw in FIGURES.items()}


@pytest.fixture(scope="module")
def content(whole: Regenerated) -> Content:
    return Content.read(whole.out)


def marks(ax: Any) -> list[tuple[float, float]]:
    """Where the paper's diamonds are."""
    found = [line for line in ax.lines if line.get_marker() == "D" and len(line.get_xdata())]
    white = [line for line in found if line.get_markerfacecolor() == "white"]
    return [(float(x), float(y)) for line in white for x, y in line.get_xydata()]


def test_case_studies_have_the_papers_names() -> None:
    assert case_name("nafld") == "Thrombosis (nafld)"
    assert case_name("wdbc") == "Breast cancer"
    assert case_name("rotterdam") == "rotterdam"
    assert case_name("(all)") == "(all)"


def test_good_trees_lie_at_the_bottom_right(content: Content) -> None:
    figure = DRAW["frontiers"](content)
    ax = next(a for a in figure.axes if a.get_title(loc="left") == "Breast cancer")
    rows = content.tables["frontiers"].where(protocol="paper", dataset="wdbc")
    drawn = {scatter.get_label(): scatter.get_offsets() for scatter in ax.collections}
    on = [r for r in rows if r["on_frontier"]]
    expected = sorted((r["auc_choose"], 100 * r["distance"] / distance_bound(12)) for r in on)
    assert np.allclose(drawn["Pareto optimal"], expected)
    assert len(drawn["dominated"]) == len(rows) - len(on)
    red, blue = (scatter.get_facecolor()[0] for scatter in ax.collections[::-1])
    assert red[0] > red[2]
    assert blue[2] > blue[0]


def test_the_papers_frontier_sizes_are_lines(content: Content) -> None:
    for ax in DRAW["frontier_sizes"](content).axes:
        assert sorted(line.get_ydata()[0] for line in ax.lines) == [1, 5, 9]


@pytest.mark.parametrize(
    ("name", "table", "key", "of_table_1", "scale"),
    [
        ("accuracy", "accuracy", "auc", "auc", 1),
        ("distances", "distances", "bound", "distance", 100),
        ("depth", "interpretability", "depth", "depth", 1),
        ("nodes", "interpretability", "nodes", "nodes", 1),
        ("importance_spread", "importances", "importance_spread", "importance_spread", 1),
        ("top_features", "importances", "top_features", "top_features", 1),
    ],
)
def test_table_1_stands_over_our_means(
    name: str, table: str, key: str, of_table_1: str, scale: int, content: Content
) -> None:
    figure = DRAW[name](content)
    for ax, protocol in zip(figure.axes, ("paper", "honest"), strict=True):
        labels = [label.get_text().replace("\n", " ") for label in ax.get_xticklabels()]
        assert labels == [case_name(n) for n in CASE_STUDY_NAMES] + [MEAN]
        at = {bars.get_label(): bars for bars in ax.containers if "Pareto" in bars.get_label()}
        for method, title in (("pareto_auc", "Pareto AUC"), ("pareto_distance", "Pareto Distance")):
            rows = content.tables[table].where(protocol=protocol, method=method)
            bar = at[title].patches[-1]
            assert bar.get_height() == pytest.approx(scale * (mean(r[key] for r in rows) or 0))
            middle = bar.get_x() + bar.get_width() / 2
            told = scale * TABLE_1[method][of_table_1]
            assert any(np.allclose(mark, (middle, told)) for mark in marks(ax))


@pytest.mark.parametrize("name", ["accuracy", "distances", "depth", "nodes"])
def test_figures_4_and_5_have_standard_deviations(name: str, content: Content) -> None:
    for ax in DRAW[name](content).axes:
        bars = [c for c in ax.containers if hasattr(c, "patches")]
        assert bars
        assert all(bar.errorbar is not None for bar in bars)


def test_with_fewer_case_studies_there_is_no_mean_to_compare(content: Content) -> None:
    table = content.tables["accuracy"]
    rows = [row for row in table.rows if row["dataset"] != "colon"]
    fewer = Content(content.run, tables={"accuracy": type(table)(**{**vars(table), "rows": rows})})
    for ax in DRAW["accuracy"](fewer).axes:
        assert MEAN.split(" ")[0] not in {t.get_text().split("\n")[0] for t in ax.get_xticklabels()}
        assert marks(ax) == []


def test_the_papers_perturbed_distances_are_in_every_panel(content: Content) -> None:
    for ax in DRAW["direct"](content).axes:
        assert np.allclose(sorted(marks(ax)), [(0.1, 1.5), (1.0, 12.5)])


def test_the_five_per_cent_line_is_drawn(content: Content) -> None:
    for ax in DRAW["distances"](content).axes:
        assert 5.0 in [line.get_ydata()[0] for line in ax.lines if len(line.get_xdata()) == 2]


def test_table_3_is_marked_where_the_features_are_the_papers(content: Content) -> None:
    figure = DRAW["split_frequencies"](content)
    by_title = {ax.get_title(loc="left"): ax for ax in figure.axes}
    for title, ax in by_title.items():
        if not title.startswith("Breast cancer"):
            assert marks(ax) == []
    ax = by_title["Breast cancer: root"]
    shown = [label.get_text() for label in ax.get_yticklabels()]
    told = [(f, share) for f, share in TABLE_3["Breast cancer"]["root"] if f in shown]
    assert told
    assert np.allclose(sorted(marks(ax)), sorted((100 * s, shown.index(f)) for f, s in told))


def test_the_legend_tells_the_papers_numbers_once_and_last(content: Content) -> None:
    (legend,) = DRAW["accuracy"](content).legends
    labels = [text.get_text() for text in legend.get_texts()]
    assert labels.count(PAPER_LABEL) == 1
    assert labels[-1] == PAPER_LABEL
