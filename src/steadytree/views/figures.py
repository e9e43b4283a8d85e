"""What all figures share: colours, axes to draw on, checks, style keywords and a plain look."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from steadytree._optional import import_optional
from steadytree.exceptions import InputError
from steadytree.tree.printing import INK
from steadytree.tree.tree import Tree

# -- Where the nodes of a drawn tree go: pure geometry, no drawing --
# Two layouts. The *diagram* (root on top, leaves side by side) is for figures. The *outline*
# (one line per node, indented by depth) is for the report: two trees fit side by side whatever
# their depth, and labels of any length have room. Large trees are folded: `fold_nodes` says
# which branches to draw as a single "+12 rules" sign so that the rest stays readable.

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


def leaves_below(left: Children, right: Children) -> list[int]:
    """Count the leaves under each node; a leaf counts itself."""
    counts = [1] * len(left)
    order, stack = [], [0]
    while stack:
        node = stack.pop()
        if left[node] >= 0:
            order.append(node)
            stack += (left[node], right[node])
    for node in reversed(order):
        counts[node] = counts[left[node]] + counts[right[node]]
    return counts


def fold_nodes(tree: Tree, max_leaves: int, *, important: Collection[int] = ()) -> frozenset[int]:
    """Choose the inner nodes to fold so that at most ``max_leaves`` ends are drawn.

    Branches are opened from the root downwards, those that lead to an ``important`` leaf
    first (a rule that changed must not hide under a sign), then the shallow before the deep
    and the heavy before the light.
    """
    if max_leaves < 1:
        raise InputError(f"expected max_leaves of 1 or more, got {max_leaves}")
    if tree.n_leaves <= max_leaves:
        return frozenset()
    wanted = np.zeros(tree.n_nodes, dtype=bool)
    wanted[list(important)] = True
    left, right = tree.children_left.tolist(), tree.children_right.tolist()
    for node in reversed(tree.preorder.tolist()):
        if left[node] >= 0:
            wanted[node] = wanted[left[node]] or wanted[right[node]]
    depth, weight = tree.node_depth.tolist(), tree.weight.tolist()

    def rank(node: int) -> tuple[bool, int, float, int]:
        return (not wanted[node], depth[node], -weight[node], node)

    ends, queue = 1, [rank(0)]
    while queue and ends < max_leaves:
        node = heapq.heappop(queue)[-1]
        ends += 1
        for child in (left[node], right[node]):
            if left[child] >= 0:
                heapq.heappush(queue, rank(child))
    return frozenset(item[-1] for item in queue)


def layout_outline(left: Children, right: Children, folded: Collection[int] = ()) -> TreeLayout:
    """Place every visible node on a line of its own, parents above their children.

    A ``folded`` node is one line that stands for all below.
    """
    below = leaves_below(left, right)
    closed = set(folded)
    placed: list[PlacedNode] = []
    stack = [(0, -1, False, 0)]
    while stack:
        node, parent, is_left, depth = stack.pop()
        leaf = left[node] < 0
        hidden = below[node] if node in closed and not leaf else 0
        placed.append(PlacedNode(node, parent, is_left, depth, float(len(placed)), hidden, leaf))
        if not leaf and not hidden:
            stack.append((right[node], node, False, depth + 1))
            stack.append((left[node], node, True, depth + 1))
    return TreeLayout(tuple(placed), max(p.depth for p in placed), len(placed))


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


# -- What all figures share: colours, axes to draw on, checks, style keywords and a plain look --

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
    >>> shown = st.ParetoFrontierDisplay([0.0, 1.0], [0.7, 0.8], [True, True]).plot()
    >>> shown.ax_.get_ylabel()
    'Score on held-out rows'
    """

    ax_: Any
    figure_: Any

    def _drawn_on(self, ax: Any) -> Self:
        self.ax_ = ax
        self.figure_ = (ax[0] if isinstance(ax, list) else ax).figure
        return self


def axes_for(
    ax: Any, count: int = 1, *, size: tuple[float, float], what: str = "one axes", **grid: Any
) -> list[Any]:
    """Axes to draw on: those given, if they are as many as needed, or new ones.

    ``size`` is that of a new figure in inches, ``grid`` goes to ``pyplot.subplots``, and
    ``what`` is what an error says was expected.
    """
    pyplot = import_optional("matplotlib.pyplot", extra="plot", purpose="a figure")
    if ax is None:
        _, ax = pyplot.subplots(1, count, figsize=size, layout="constrained", **grid)
    axes = list(ax) if hasattr(ax, "__len__") else [ax]
    if len(axes) != count:
        raise InputError(
            f"expected {what}, got {len(axes)}; "
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
