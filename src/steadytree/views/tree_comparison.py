"""Two trees side by side, matched rules in the same colour."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import isfinite
from typing import Any

from steadytree.distance.matching import match_paths
from steadytree.tree.paths import Paths
from steadytree.tree.printing import INK, OKABE_ITO, PAIR_COLOURS, LeafNumbers, branch_texts, tint
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree
from steadytree.tree.words import FIGURE_BRANCH, display_width, shorten, shown_bound
from steadytree.views.figures import (
    MUTED,
    Display,
    Style,
    TreeLayout,
    axes_for,
    fold_nodes,
    layout_diagram,
    literal,
    styled,
)

# Inches: a column of the drawing holds a name of about 20 letters, a line two rows of text.
COLUMN, LINE = 1.45, 0.42
NAME_COLUMNS = 20


def moved_thresholds(
    a: Paths, b: Paths, pairs: Sequence[tuple[int, int]]
) -> dict[int, tuple[float, float]]:
    """Find the splits of the second tree whose cut-point moved: node -> (from, to).

    Read off the matched rules: where both demand a bound on the same side of a feature and
    the bounds differ, the split of the second tree that sets the bound has moved. Most of the
    rules that run through the split must agree on where it was.
    """
    votes: dict[int, Counter[tuple[float, float] | None]] = {}
    above = _splits_above(b)
    for p, q in pairs:
        before = {c.feature: c for c in a.conditions_of(p)}
        for now in b.conditions_of(q):
            was = before.get(now.feature)
            if now.allowed is not None or not now.present:
                continue
            for side, left in (("upper", True), ("lower", False)):
                new = getattr(now, side)
                old = getattr(was, side) if was is not None and was.present else float("nan")
                node = above[int(b.leaf[q])].get((now.name, left, new))
                if isfinite(new) and node is not None:
                    says = (old, new) if isfinite(old) else None
                    votes.setdefault(node, Counter())[says] += 1
    moved: dict[int, tuple[float, float]] = {}
    for node, counted in votes.items():
        found, count = counted.most_common(1)[0]
        if found is not None and found[0] != found[1] and 2 * count > counted.total():
            moved[node] = found
    return moved


def _splits_above(paths: Paths) -> dict[int, dict[tuple[str, bool, float], int]]:
    """For each leaf the splits on its way, by name, side taken and threshold; the last one wins."""
    tree, names = paths.tree, paths.tree.feature_names or paths.space.feature_labels
    out: dict[int, dict[tuple[str, bool, float], int]] = {}
    stack: list[tuple[int, dict[tuple[str, bool, float], int]]] = [(0, {})]
    while stack:
        node, above = stack.pop()
        if tree.is_leaf[node]:
            out[node] = above
            continue
        name, cut = names[int(tree.feature[node])], float(tree.threshold[node])
        for left, child in ((True, tree.children_left), (False, tree.children_right)):
            stack.append((int(child[node]), {**above, (name, left, cut): node}))
    return out


class TreeComparisonDisplay(Display):
    """Show two trees side by side: rules that correspond have the same colour and number.

    A leaf says its decision and the share it predicts (of the positive one of two classes, else
    of the class decided on). Splits whose cut-point moved say from where to where; rules without
    a partner are drawn with a dashed outline. Large trees are folded, and a "+12 rules" sign
    says so.

    Parameters
    ----------
    a, b : Paths
        The two trees in one space, as in :class:`steadytree.PathMatching`.
    pairs : sequence of (int, int)
        Paths of the two trees that are one rule.
    titles : pair of str
        What the two trees are called.
    colours : sequence of str
        Colours of matched rules as "#RRGGBB", taken in turn.

    Attributes
    ----------
    ax_ : array of two matplotlib axes
    figure_ : matplotlib figure
    colours_ : pair of dict
        Colour of each leaf (node number) of the first and of the second tree.
    moved_ : dict
        Node of the second tree -> (threshold before, threshold now).

    Examples
    --------
    >>> import steadytree as st
    >>> space = st.FeatureSpace.from_data([[20.0], [70.0]]).replace(names=("age",))
    >>> old, new = (
    ...     st.tree_from_rules(f'''
    ...     age <= {cut}: no
    ...     else: yes
    ...     ''')
    ...     for cut in (50, 55)
    ... )
    >>> shown = st.TreeComparisonDisplay.from_trees(old, new, space=space)
    >>> shown.moved_
    {0: (50.0, 55.0)}
    """

    def __init__(
        self,
        a: Paths,
        b: Paths,
        pairs: Sequence[tuple[int, int]],
        *,
        titles: tuple[str, str] = ("Before", "After"),
        colours: Sequence[str] = PAIR_COLOURS,
    ) -> None:
        self.a, self.b = a, b
        self.pairs = list(pairs)
        self.titles = titles
        self.moved_ = moved_thresholds(a, b, self.pairs)
        self.colours_: tuple[dict[int, str], dict[int, str]] = ({}, {})
        self._numbers: tuple[dict[int, int], dict[int, int]] = ({}, {})
        for i, (p, q) in enumerate(self.pairs):
            for which, leaf in enumerate((int(a.leaf[p]), int(b.leaf[q]))):
                self.colours_[which][leaf] = colours[i % len(colours)]
                self._numbers[which][leaf] = i + 1

    @classmethod
    def from_trees(
        cls,
        a: Any,
        b: Any,
        *,
        space: FeatureSpace | None = None,
        titles: tuple[str, str] = ("Before", "After"),
        ax: Any = None,
        max_leaves: int = 24,
        plot_kw: Style = None,
        **options: Any,
    ) -> TreeComparisonDisplay:
        """Match two trees (anything ``as_tree`` reads) and draw them.

        Parameters
        ----------
        a, b : model, Tree or path of a tree file
        space : FeatureSpace, optional
            By default the one stored with the trees.
        titles : pair of str
        ax : array of two axes, optional
        max_leaves : int
            Rules to draw per tree; the rest is folded.
        plot_kw : dict, optional
            Style, passed to :meth:`plot`.
        **options
            Passed to :func:`steadytree.match_paths`; ``variant="metric"`` by default.

        Returns
        -------
        TreeComparisonDisplay
        """
        matching = match_paths(a, b, space=space, **{"variant": "metric", **options})
        pairs = [(pair.path_a, pair.path_b) for pair in matching.pairs]
        display = cls(matching.a, matching.b, pairs, titles=titles)
        return display.plot(ax=ax, **styled(plot_kw, max_leaves=max_leaves))

    @classmethod
    def from_diff(
        cls,
        diff: Any,
        *,
        titles: tuple[str, str] = ("Before", "After"),
        ax: Any = None,
        **style: Any,
    ) -> TreeComparisonDisplay:
        """Draw the two trees of a :class:`steadytree.TreeDiff`.

        Parameters
        ----------
        diff : TreeDiff
        titles : pair of str
        ax : array of two axes, optional
        **style
            Passed to :meth:`plot`.

        Returns
        -------
        TreeComparisonDisplay
        """
        classes = diff.classes
        a = Paths.from_tree(diff.old, diff.space, classes=classes)
        b = Paths.from_tree(diff.new, diff.space, classes=classes)
        pairs = [(r.old.path, r.new.path) for r in diff.rules if r.old and r.new]
        return cls(a, b, pairs, titles=titles).plot(ax=ax, **style)

    @classmethod
    def from_retraining(
        cls,
        retraining: Any,
        *,
        titles: tuple[str, str] = ("Deployed", "Proposed"),
        ax: Any = None,
        **style: Any,
    ) -> TreeComparisonDisplay:
        """Draw the deployed tree and the one that ``retrain`` proposes.

        Parameters
        ----------
        retraining : Retraining
        titles : pair of str
        ax : array of two axes, optional
        **style
            Passed to :meth:`plot`.

        Returns
        -------
        TreeComparisonDisplay
        """
        return cls.from_diff(retraining.diff, titles=titles, ax=ax, **style)

    def plot(
        self,
        ax: Any = None,
        *,
        max_leaves: int = 24,
        figsize: tuple[float, float] | None = None,
        line_kw: Style = None,
        node_kw: Style = None,
        text_kw: Style = None,
    ) -> TreeComparisonDisplay:
        """Draw the comparison.

        Parameters
        ----------
        ax : array of two matplotlib axes, optional
            By default a new figure that is as large as the trees need.
        max_leaves : int, default 24
            Rules to draw per tree; deeper branches are folded into a "+12 rules" sign.
        figsize : pair of float, optional
            Size of a new figure in inches.
        line_kw, text_kw : dict, optional
            Keywords of ``Axes.plot`` for the branches and ``Axes.text`` for the nodes.
        node_kw : dict, optional
            Keywords of the box (``FancyBboxPatch``) around each node.

        Returns
        -------
        TreeComparisonDisplay
        """
        sides = (self.a, self.b)
        same = [
            (p, q)
            for p, q in self.pairs
            if self.a.conditions_of(p) == self.b.conditions_of(q)
            and self.a.outcome_text(p) == self.b.outcome_text(q)
        ]
        # A rule that changed must not disappear in a folded branch.
        changed = [
            [int(leaf) for i, leaf in enumerate(side.leaf) if i not in {pair[k] for pair in same}]
            for k, side in enumerate(sides)
        ]
        layouts = [
            layout_diagram(
                side.tree.children_left.tolist(),
                side.tree.children_right.tolist(),
                fold_nodes(side.tree, max_leaves, important=hot),
            )
            for side, hot in zip(sides, changed, strict=True)
        ]
        widths = [COLUMN * (layout.depth + 1) + 0.3 for layout in layouts]
        height = LINE * max(layout.breadth for layout in layouts) + 0.6
        size = figsize or (max(sum(widths), 6.0), max(height, 1.6))
        axes = axes_for(ax, 2, size=size, what="two axes, one per tree", width_ratios=widths)
        styles = (line_kw, node_kw, text_kw)
        for i, (side, layout) in enumerate(zip(sides, layouts, strict=True)):
            self._draw(axes[i], side, layout, i, *styles)
            axes[i].set_title(literal(self.titles[i]), color=INK, loc="left", fontsize=11)
        return self._drawn_on(axes)

    def _draw(
        self,
        ax: Any,
        paths: Paths,
        layout: TreeLayout,
        which: int,
        line_kw: Style,
        node_kw: Style,
        text_kw: Style,
    ) -> None:
        ax.set_axis_off()
        tree = paths.tree
        names = tree.feature_names or paths.space.feature_labels
        sides = branch_texts(tree, paths.space, FIGURE_BRANCH)
        where = layout.by_node()
        for placed in layout.nodes:
            if placed.parent >= 0:
                above = where[placed.parent]
                bend = above.depth + 0.84
                ax.plot(
                    [above.depth, bend, bend, placed.depth],
                    [-above.position, -above.position, -placed.position, -placed.position],
                    **styled(line_kw, color=MUTED, linewidth=1, zorder=1, solid_joinstyle="round"),
                )
            box: dict[str, Any] = {"boxstyle": "round,pad=0.25", "linewidth": 1.1}
            if placed.is_leaf:
                text, box = self._leaf(tree, placed.node, which, box)
            elif placed.hidden:
                text = f"+{placed.hidden} rules"
                box |= {"facecolor": "white", "edgecolor": MUTED, "linestyle": ":"}
            else:
                name = names[int(tree.feature[placed.node])]
                text = self._split(sides[placed.node][0], placed.node, name, which)
                hot = which == 1 and placed.node in self.moved_
                edge = OKABE_ITO["vermillion"] if hot else MUTED
                box |= {"facecolor": "white", "edgecolor": edge}
            ax.text(
                placed.depth,
                -placed.position,
                text,
                **styled(
                    text_kw,
                    ha="left",
                    va="center",
                    fontsize=7.5,
                    color=INK,
                    bbox=styled(node_kw, **box),
                    zorder=2,
                    parse_math=False,
                    linespacing=1.15,
                    gid=f"node-{placed.node}",
                ),
            )
        ax.set_xlim(-0.05, layout.depth + 1)
        ax.set_ylim(-layout.breadth + 0.4, 0.6)

    def _split(self, condition: str, node: int, name: str, which: int) -> str:
        # The upper branch is the left one, so the condition written is the one for going up.
        if which == 1 and node in self.moved_:
            old, new = self.moved_[node]
            (old, _), (new, below) = shown_bound(old), shown_bound(new)
            condition = f"{'<' if below else '≤'} {new:.4g} (was {old:.4g})"
        return f"{shorten(name, NAME_COLUMNS)}\n{shorten(condition, NAME_COLUMNS + 3)}"

    def _leaf(
        self, tree: Tree, node: int, which: int, box: dict[str, Any]
    ) -> tuple[str, dict[str, Any]]:
        number = self._numbers[which].get(node)
        numbers = LeafNumbers.of(tree, node)
        if numbers.label is None:
            outcome = f"predicts {numbers.predicted:.4g}"
        else:
            share = numbers.predicted_words(FIGURE_BRANCH)
            shown = shorten(str(numbers.shown), NAME_COLUMNS - display_width(share) - 6)
            decided = shorten(str(numbers.label), NAME_COLUMNS - 4)
            outcome = f"{decided}\npredicts {shown} {share}"
        colour = self.colours_[which].get(node)
        if colour is None:
            return outcome, box | {"facecolor": "white", "edgecolor": INK, "linestyle": "--"}
        return f"{number}  {outcome}", box | {"facecolor": tint(colour), "edgecolor": colour}
