"""Everything the paper states or shows, and where it is regenerated here.

One entry for each proposition, table, figure, experiment and takeaway; `tests/research/paper/
test_catalogue.py` keeps the list complete: each claim of the rules and each experiment of the
paper belongs to an entry, and each entry leads somewhere.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CATALOGUE", "Item"]


@dataclass(frozen=True)
class Item:
    """One thing of the paper.

    Attributes
    ----------
    label : str
        Its name in the paper's source.
    title : str
        Its name in the paper.
    says : str
    experiments : tuple of str
        Where it is regenerated: experiments of this package.
    claims : tuple of str
        By which rules it is judged.
    elsewhere : str
        A test that checks what no experiment can: a definition, a proof.
    """

    label: str
    title: str
    says: str
    experiments: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    elsewhere: str = ""


CATALOGUE = (
    Item(
        "eqn:dist-paths",
        "Section 2.3, path distance",
        "distance between two paths",
        elsewhere="tests/distance/test_naive.py",
    ),
    Item(
        "eqn:weight-path",
        "Section 2.3, path weight",
        "weight of a path",
        elsewhere="tests/distance/test_naive.py",
    ),
    Item(
        "eq:distance",
        "Section 2.4, tree distance",
        "distance between two trees as an optimal matching",
        elsewhere="tests/distance/test_naive.py",
    ),
    Item(
        "lem:metric-path",
        "Appendix A, Lemma 1",
        "the distance between paths is a metric",
        elsewhere="tests/distance/test_properties.py",
    ),
    Item(
        "lem:metric",
        "Proposition 1",
        "the distance between trees is a metric",
        ("triangle",),
        ("proposition-1",),
    ),
    Item(
        "cor:relaxation",
        "Corollary 1",
        "the linear relaxation has binary extreme points",
        ("propositions",),
        ("corollary-1",),
    ),
    Item(
        "lem:upperbound",
        "Proposition 2",
        "an upper bound on the distance",
        ("propositions",),
        ("proposition-2",),
    ),
    Item(
        "fig:simple-trees",
        "Section 2.5, Figure 1",
        "trees on half and on all of the data",
        ("example",),
        ("example",),
    ),
    Item(
        "ss:numerical-experiments-distance (1)",
        "Section 2.6, takeaway 1",
        "the distance grows with perturbations",
        ("direct", "indirect"),
        ("direct-linear", "indirect-trend"),
    ),
    Item(
        "ss:numerical-experiments-distance (2)",
        "Section 2.6, takeaway 2",
        "the bound is conservative",
        ("direct",),
        ("direct-size", "direct-conservative"),
    ),
    Item(
        "eq:select-tree",
        "Section 3.1, selection",
        "the tolerance rule and the balanced rule",
        ("takeaways", "balanced"),
        elsewhere="tests/estimators/test_selection.py",
    ),
    Item(
        "fig:frontiers",
        "Section 3.2, Figure 2",
        "stability against predictive power",
        ("frontiers",),
        ("clear-frontiers",),
    ),
    Item(
        "fig:bar-frontier",
        "Section 3.2, Figure 3",
        "sizes of the frontiers",
        ("frontier-sizes",),
        ("frontier-mean", "frontier-largest"),
    ),
    Item(
        "fig:bar-accuracy (left)",
        "Section 3.3, Figure 4 left",
        "AUC of four methods",
        ("accuracy",),
        (
            "best-beats-both",
            "best-beats-forest",
            "closest-beats-cv",
            "closest-steadier-than-cv",
        ),
    ),
    Item(
        "fig:bar-accuracy (right)",
        "Section 3.3, Figure 4 right",
        "mean distance from the first batch",
        ("distances",),
        ("distance-at-most", "breast-cancer-largest"),
    ),
    Item(
        "fig:bar-interpretability",
        "Section 3.4, Figure 5",
        "depth and number of nodes",
        ("interpretability",),
        ("fewer-nodes", "half-as-deep", "best-is-larger"),
    ),
    Item(
        "fig:bar-feature-selection",
        "Section 3.5, Figure 6",
        "spread of importances, top-3 features",
        ("importances",),
        ("forest-spread", "less-spread", "more-features"),
    ),
    Item(
        "tab:takeaways",
        "Section 3.6, Table 1",
        "the two extreme Pareto optimal trees",
        ("takeaways",),
        (
            "reduction-distance",
            "price",
            "reduction-importance-spread",
            "reduction-top-features",
            "reduction-nodes",
            "reduction-depth",
        ),
    ),
    Item("tab:datasets", "Section 4.1, Table 2", "the data sets", ("datasets",)),
    Item(
        "fig:trees",
        "Section 4.2, Figure 7",
        "first two levels of the selected trees",
        ("first-levels",),
        ("representative",),
    ),
    Item(
        "tab:tree-analysis",
        "Section 4.2, Table 3",
        "most frequent first splits",
        ("split-frequencies",),
        ("table-3-order", "table-3-frequencies"),
    ),
    Item(
        "fig:distance",
        "Appendix B, Figure 8",
        "sensitivity to direct and indirect perturbations",
        ("direct", "indirect"),
        ("direct-linear", "direct-size", "indirect-trend"),
    ),
)
"""In the order of the paper."""
