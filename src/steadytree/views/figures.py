"""What all figures share, where the nodes of a drawn tree go, and two trees side by side.

Two layouts. The *diagram* (root on top, leaves side by side) is for figures. The *outline* (one
line per node, indented by depth) is for the report: two trees fit side by side whatever their
depth, and labels of any length have room. Large trees are folded: ``fold_nodes`` says which
branches to draw as a single "+12 rules" sign so that the rest stays readable.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any, Self

from steadytree._optional import import_optional
from steadytree.distance.matching import match_paths
from steadytree.exceptions import InputError
from steadytree.tree.paths import Paths
from steadytree.tree.printing import INK, OKABE_ITO, PAIR_COLOURS, LeafNumbers, branch_texts, tint
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree
from steadytree.tree.words import FIGURE_BRANCH, display_width, shorten, shown_bound

# -- what all figures share ------------------------------------------------------------

MUTED = "#8A8A8A"
SCORE_MAP = "cividis"
"""A colour map whose lightness rises evenly, also for colour-blind readers."""

Style = Mapping[str, Any] | None
"""Keywords for a matplotlib artist, or None for the defaults."""


class Display:
    """A figure in one line, as in scikit-learn: made by ``from_...``, drawn again by ``plot``.

    Attributes
    ----------
    ax_ : matplotlib axes, or a list of them
    figure_ : matplotlib figure

    Examples
    --------
    >>> import steadytree as st
    >>> from steadytree.plotting import ParetoFrontierDisplay
    >>> shown = ParetoFrontierDisplay([0.0, 1.0], [0.7, 0.8], [True, True]).plot()
    >>> shown.ax_.get_ylabel()
    'Score on held-out rows'
    """

    ax_: Any
    figure_: Any

    def _drawn_on(self, ax: Any) -> Self:
        self.ax_ = ax
        self.figure_ = (ax[0] if isinstance(ax, list) else ax).figure
        return self


def axes_for(ax: Any, count: int = 1, *, size: tuple[float, float], **grid: Any) -> list[Any]:
    """Axes to draw on: those given, if they are as many as needed, or new ones.

    ``size`` is that of a new figure in inches, and ``grid`` goes to ``pyplot.subplots``.
    """
    pyplot = import_optional("matplotlib.pyplot", extra="plot", purpose="a figure")
    if ax is None:
        _, ax = pyplot.subplots(1, count, figsize=size, layout="constrained", **grid)
    axes = list(ax) if hasattr(ax, "__len__") else [ax]
    if len(axes) != count:
        raise InputError(
            f"expected {count} axes, got {len(axes)}; "
            f"make them with plt.subplots(1, {count}) or leave ax=None"
        )
    return axes


def check_lengths(**arrays: Sized | None) -> None:
    """Check that arrays, by their names, have one length; None stands for one not given."""
    lengths = {name: len(array) for name, array in arrays.items() if array is not None}
    if len(set(lengths.values())) > 1:
        given = ", ".join(f"{name} of {n}" for name, n in lengths.items())
        raise InputError(f"expected {', '.join(lengths)} of one length, got {given}")


def styled(style: Style, **defaults: Any) -> dict[str, Any]:
    """Keywords for an artist: the defaults, but for what the user sets."""
    return {**defaults, **(style or {})}


def plain_axes(ax: Any) -> None:
    """Two spines, light grid: nothing that competes with the data."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(MUTED)
    ax.tick_params(colors=INK, which="both")
    ax.grid(True, color="#E6E6E6", linewidth=0.8)
    ax.set_axisbelow(True)


def literal(text: str) -> str:
    """Text for matplotlib with its dollar signs shown, not read as mathematics."""
    return text.replace("$", r"\$")


# -- where the nodes of a tree go ------------------------------------------------------

Children = Sequence[int]
"""Child of each node on one side, -1 for a leaf; node 0 is the root."""


@dataclass(frozen=True)
class PlacedNode:
    """One drawn node, by its number and its parent's (-1 above the root).

    ``position`` is the place along the breadth of the tree (diagram) or the line number
    (outline), ``hidden`` the number of leaves folded into the node.
    """

    node: int
    parent: int
    is_left: bool
    depth: int
    position: float
    hidden: int
    is_leaf: bool


@dataclass(frozen=True)
class TreeLayout:
    """Placed nodes in preorder, and the size of the whole: columns by lines."""

    nodes: tuple[PlacedNode, ...]
    depth: int
    breadth: int

    def by_node(self) -> dict[int, PlacedNode]:
        """Placed nodes by their number in the tree."""
        return {placed.node: placed for placed in self.nodes}


def fold_nodes(
    left: Children, right: Children, max_leaves: int, *, important: Collection[int] = ()
) -> frozenset[int]:
    """Choose the inner nodes to fold so that at most ``max_leaves`` ends are drawn.

    Branches are opened from the root downwards, those that lead to an ``important`` leaf
    first: a rule that changed must not hide under a sign.
    """
    if max_leaves < 1:
        raise InputError(f"expected max_leaves of 1 or more, got {max_leaves}")
    order = _preorder(left, right)
    if sum(left[node] < 0 for node, _ in order) <= max_leaves:
        return frozenset()
    wanted, depth = set(important), dict(order)
    for node, _ in reversed(order):
        if left[node] in wanted or right[node] in wanted:
            wanted.add(node)
    ends, queue = 1, [(0 not in wanted, 0, 0)]
    while queue and ends < max_leaves:
        node = heapq.heappop(queue)[-1]
        ends += 1
        for child in (left[node], right[node]):
            if left[child] >= 0:
                heapq.heappush(queue, (child not in wanted, depth[child], child))
    return frozenset(item[-1] for item in queue)


def _preorder(left: Children, right: Children) -> list[tuple[int, int]]:
    """Nodes from the root downwards, each with its depth."""
    out, stack = [], [(0, 0)]
    while stack:
        node, depth = stack.pop()
        out.append((node, depth))
        if left[node] >= 0:
            stack += ((right[node], depth + 1), (left[node], depth + 1))
    return out


def layout_outline(left: Children, right: Children, folded: Collection[int] = ()) -> TreeLayout:
    """Place every visible node on a line of its own, parents above their children.

    A ``folded`` node is one line that stands for all below.
    """
    closed = set(folded)
    placed: list[PlacedNode] = []
    stack = [(0, -1, False, 0)]
    while stack:
        node, parent, is_left, depth = stack.pop()
        leaf = left[node] < 0
        hidden = _leaves_below(left, right, node) if node in closed and not leaf else 0
        placed.append(PlacedNode(node, parent, is_left, depth, float(len(placed)), hidden, leaf))
        if not leaf and not hidden:
            stack.append((right[node], node, False, depth + 1))
            stack.append((left[node], node, True, depth + 1))
    return TreeLayout(tuple(placed), max(p.depth for p in placed), len(placed))


def _leaves_below(left: Children, right: Children, node: int) -> int:
    """Count the leaves under a node."""
    count, stack = 0, [node]
    while stack:
        node = stack.pop()
        if left[node] < 0:
            count += 1
        else:
            stack += (left[node], right[node])
    return count


def layout_diagram(left: Children, right: Children, folded: Collection[int] = ()) -> TreeLayout:
    """Place leaves side by side one unit apart, and each parent midway above its children.

    The leaves below a node occupy an interval of their own, so that no two branches cross
    or overlap.
    """
    outline = layout_outline(left, right, folded)
    ends = [placed.node for placed in outline.nodes if placed.is_leaf or placed.hidden]
    position = {node: float(i) for i, node in enumerate(ends)}
    for placed in reversed(outline.nodes):
        if placed.node not in position:
            position[placed.node] = (position[left[placed.node]] + position[right[placed.node]]) / 2
    nodes = tuple(replace(placed, position=position[placed.node]) for placed in outline.nodes)
    return TreeLayout(nodes, outline.depth, len(ends))


# -- two trees -------------------------------------------------------------------------

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
    tree, names = b.tree, b.tree.feature_names or b.space.feature_labels
    votes: dict[int, Counter[tuple[float, float] | None]] = defaultdict(Counter)
    for p, q in pairs:
        before, after = (
            {c.name: c for c in found} for found in (a.conditions_of(p), b.conditions_of(q))
        )
        found, below = set(), int(b.leaf[q])
        while below:
            node = int(tree.parent[below])
            side = "upper" if int(tree.children_left[node]) == below else "lower"
            name, cut, below = names[int(tree.feature[node])], float(tree.threshold[node]), node
            now, was = after.get(name), before.get(name)
            if now is None or now.allowed is not None or not now.present or (name, side) in found:
                continue
            if isfinite(cut) and getattr(now, side) == cut:
                found.add((name, side))
                bound = getattr(was, side) if was is not None and was.present else float("nan")
                votes[node][(bound, cut) if isfinite(bound) else None] += 1
    moved: dict[int, tuple[float, float]] = {}
    for node, counted in votes.items():
        says, count = counted.most_common(1)[0]
        if says is not None and says[0] != says[1] and 2 * count > counted.total():
            moved[node] = says
    return moved


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
    >>> from steadytree.plotting import TreeComparisonDisplay
    >>> shown = TreeComparisonDisplay.from_trees(old, new, space=space)
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
        # A rule that changed must not disappear in a folded branch.
        changed = (set(self.a.leaf.tolist()), set(self.b.leaf.tolist()))
        for p, q in self.pairs:
            asks_the_same = self.a.conditions_of(p) == self.b.conditions_of(q)
            if asks_the_same and self.a.outcome_text(p) == self.b.outcome_text(q):
                changed[0].discard(int(self.a.leaf[p]))
                changed[1].discard(int(self.b.leaf[q]))
        layouts = []
        for tree, leaves in zip((self.a.tree, self.b.tree), changed, strict=True):
            children = tree.children_left.tolist(), tree.children_right.tolist()
            folded = fold_nodes(*children, max_leaves, important=leaves)
            layouts.append(layout_diagram(*children, folded))
        widths = [COLUMN * (layout.depth + 1) + 0.3 for layout in layouts]
        height = LINE * max(layout.breadth for layout in layouts) + 0.6
        size = figsize or (max(sum(widths), 6.0), max(height, 1.6))
        axes = axes_for(ax, 2, size=size, width_ratios=widths)
        for i, layout in enumerate(layouts):
            self._draw(axes[i], i, layout, line_kw, node_kw, text_kw)
            axes[i].set_title(literal(self.titles[i]), color=INK, loc="left", fontsize=11)
        return self._drawn_on(axes)

    def _draw(
        self,
        ax: Any,
        which: int,
        layout: TreeLayout,
        line_kw: Style,
        node_kw: Style,
        text_kw: Style,
    ) -> None:
        ax.set_axis_off()
        paths = (self.a, self.b)[which]
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
            look = {"ha": "left", "va": "center", "fontsize": 7.5, "color": INK, "zorder": 2}
            look |= {"parse_math": False, "linespacing": 1.15, "gid": f"node-{placed.node}"}
            words = styled(text_kw, bbox=styled(node_kw, **box), **look)
            ax.text(placed.depth, -placed.position, text, **words)
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
