"""Draw trees and the frontier as SVG text; the page's script draws by the same numbers.

The tree is an outline: one line per node, indented by depth, outcomes in columns on the right.
Two of them fit side by side whatever their depth, and every line can be read on its own.
Only presentation attributes and classes are written, no style attributes: the page's content
security policy forbids them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from steadytree.tree.printing import Reach, reaching_values, side_condition
from steadytree.tree.words import PAGE, PAGE_BRANCH, display_width, isolate, shorten
from steadytree.views.figures import PlacedNode, layout_outline

GEOMETRY = {
    "width": 640,
    "line": 28,
    "head": 26,
    "indent": 16,
    "margin": 10,
    "letter": 6.9,
    "mark": 334,
    "label": 370,
    "label_columns": 13,
    "value": 548,
    "share": 634,
}
"""Sizes in units of the drawing; ``letter`` is the width kept free per letter."""


def marker(status: str, x: float, y: float) -> str:
    """Shape and colour for what happened to a rule: both say the same."""
    shapes = {
        "kept": f'<circle cx="{x:g}" cy="{y:g}" r="4"/>',
        "moved": f'<path d="M{x - 5:g} {y + 4:g}h10l-5 -9z"/>',
        "relabelled": f'<path d="M{x:g} {y - 6:g}l6 6l-6 6l-6 -6z"/>',
        "added": f'<path d="M{x - 5:g} {y:g}h10M{x:g} {y - 5:g}v10"/>',
        "dropped": f'<path d="M{x - 4:g} {y - 4:g}l8 8M{x + 4:g} {y - 4:g}l-8 8"/>',
    }
    return f'<g class="mark {status}">{shapes.get(status, shapes["kept"])}</g>'


# -- the tree --------------------------------------------------------------------------


def branch_words(
    tree: Mapping[str, Any],
    features: Sequence[Mapping[str, Any]],
    parent: int,
    is_left: bool,
    reach: Reach,
) -> tuple[str, str]:
    """Feature's name, and what its value must be to take one side of a split."""
    j = tree["feature"][parent]
    feature, threshold = features[j], tree["threshold"][parent]
    condition, categories = side_condition(
        j,
        feature["name"],
        reach,
        left=is_left,
        threshold=math.nan if threshold is None else float(threshold),
        left_codes=tree["categories"][parent],
        categories=feature["categories"],
        missing_left=bool(tree["missing_left"][parent]),
        can_miss=feature["missing"],
        ordered=feature["ordered"],
        unseen_left=bool(tree["unseen_left"][parent]) if feature["unseen"] else None,
    )
    return str(feature["name"]), condition.words(PAGE_BRANCH, categories)


def reaching(tree: Mapping[str, Any], features: Sequence[Mapping[str, Any]]) -> dict[int, Reach]:
    """Say what reaches each split of a tree of the summary."""
    return reaching_values(
        tree["left"],
        tree["right"],
        tree["feature"],
        tree["categories"],
        tree["missing_left"],
        tree["unseen_left"],
        [feature["categories"] for feature in features],
    )


def outcome_words(
    tree: Mapping[str, Any], node: int, classes: Sequence[str] | None
) -> tuple[str, str]:
    """Decision at a leaf, and the share that it predicts."""
    if classes is None:
        return tree["predicted"][node]["words"], ""
    return str(classes[int(tree["label"][node])]), tree["predicted"][node]["words"]


def _words(cell: Mapping[str, Any] | None) -> str:
    return "–" if cell is None else str(cell["words"])


def _text(kind: str, x: float, y: float, text: str, anchor: str = "") -> str:
    """Write text that is not markup; numbers are written as short as they can be."""
    end = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text class="{kind}" x="{x:g}" y="{y:g}"{end}>{escape(text)}</text>'


def outline_svg(
    tree: Mapping[str, Any],
    features: Sequence[Mapping[str, Any]],
    classes: Sequence[str] | None,
    statuses: Mapping[int, str],
    *,
    side: str,
    plain: bool = False,
) -> str:
    """Draw one tree of the summary as an outline, its rules marked by their status.

    A ``plain`` one has no marks of change: there is nothing to compare with.
    """
    g = GEOMETRY
    layout = layout_outline(tree["left"], tree["right"], tree["folded"])
    indent = min(g["indent"], 190 / max(layout.depth, 1))
    height = g["head"] + g["line"] * layout.breadth + 4
    where = layout.by_node()
    reach = reaching(tree, features)
    counted = any(share is not None for share in tree["share"])
    seen = any(text is not None for text in tree["observed"])
    label = f"{tree['name']}: {tree['n_rules']} rules, depth {tree['depth']}"
    heads = [
        (g["mark"] - 4, "start", "Rule"),
        (g["label"], "start", "Decision" if classes is not None else "Prediction"),
        (g["value"], "end", "Predicted" if classes is not None else ""),
        (g["share"], "end", "Observed" if seen else "Rows" if counted else ""),
    ]
    parts = [
        f'<svg class="tree" viewBox="0 0 {g["width"]} {height:g}" role="group" '
        f'aria-label="{escape(label)}" data-side="{side}" xmlns="http://www.w3.org/2000/svg">',
        *(_text("t-head", x, 17, text, anchor) for x, anchor, text in heads if text),
    ]
    for placed in layout.nodes:
        rule = tree["rule"][placed.node] if placed.is_leaf else None
        status = statuses.get(rule, "kept") if rule is not None else ""
        kind = "leaf" if placed.is_leaf else "fold" if placed.hidden else "split"
        number = "" if rule is None else f' data-rule="{rule}"'
        parts.append(f'<g class="row {kind} {status}" data-node="{placed.node}"{number}>')
        branch = ("Everyone", "")
        if placed.parent >= 0:
            at = placed.parent
            branch = branch_words(tree, features, at, placed.is_left, reach[at])
        parts += _branch(placed, where.get(placed.parent), *branch, indent)
        y = _middle(placed) + 4.5
        if placed.hidden:
            parts.append(_text("t-fold", g["mark"] - 4, y, f"+{placed.hidden} rules"))
        if rule is not None:
            if not plain:
                parts.append(marker(status, g["mark"], _middle(placed)))
            parts.append(_text("t-number", g["mark"] + 10, y, str(rule)))
        if placed.is_leaf:
            decision, rate = outcome_words(tree, placed.node, classes)
            decision = shorten(decision, int(g["label_columns"]))
            against = "*" if placed.node in tree["against"] else ""
            parts.append(_text("t-label", g["label"], y, decision + against))
            if rate:
                parts.append(_text("t-value", g["value"], y, rate, "end"))
            if seen:
                parts.append(
                    _text("t-share", g["share"], y, _words(tree["observed"][placed.node]), "end")
                )
            elif counted:
                parts.append(
                    _text("t-share", g["share"], y, _words(tree["share"][placed.node]), "end")
                )
        parts.append("</g>")
    return "".join([*parts, "</svg>"])


def _middle(placed: PlacedNode) -> float:
    """Height of the middle of a node's line."""
    return GEOMETRY["head"] + GEOMETRY["line"] * placed.position + GEOMETRY["line"] / 2


def _branch(
    placed: PlacedNode, above: PlacedNode | None, name: str, condition: str, indent: float
) -> list[str]:
    """Draw the way from the parent to a node, and what it demands."""
    g = GEOMETRY
    x, y = g["margin"] + indent * placed.depth, _middle(placed)
    out = [
        f"<title>{escape(f'{isolate(name)} {condition}'.strip())}</title>",
        f'<rect class="t-back" x="0" y="{y - g["line"] / 2:g}" width="{g["width"]}" '
        f'height="{g["line"]}"/>',
    ]
    if above is not None:
        trunk = g["margin"] + indent * above.depth + 3
        out.append(f'<path class="t-line" d="M{trunk:g} {_middle(above) + 7:g}V{y:g}H{x - 2:g}"/>')
    name, condition = _fit(name, condition, (g["mark"] - 14 - x) / g["letter"])
    out.append(
        f'<text class="t-text" x="{x:g}" y="{y + 4.5:g}"><tspan class="t-name">'
        f"{escape(isolate(name))}</tspan> {escape(condition)}</text>"
    )
    return out


def _fit(name: str, condition: str, columns: float) -> tuple[str, str]:
    """Cut the name rather than the limit it is compared with; long category lists give way."""
    room = max(int(columns), 12)
    condition = shorten(condition, max(room * 3 // 5, room - display_width(name) - 1))
    return shorten(name, max(room - display_width(condition) - 1, 4)), condition


# -- the frontier ----------------------------------------------------------------------

PLOT = {"width": 720, "height": 330, "left": 66, "right": 18, "top": 16, "bottom": 50}


def nice_ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round numbers that cover an interval."""
    if not high > low:
        return [low]
    raw = (high - low) / count
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(i * step, 10) for i in range(first, last + 1)]


def frontier_svg(frontier: Mapping[str, Any]) -> str:
    """Draw all candidates by change and score."""
    rows = [
        (i, c)
        for i, c in enumerate(frontier["candidates"])
        if c["distance"] is not None and c["score"]["score"] is not None
    ]
    if not rows:
        return ""
    box = PLOT
    x_low, x_high = _range([c["distance"] for _, c in rows], from_zero=True)
    y_low, y_high = _range([c["score"]["score"] for _, c in rows])
    wide = box["width"] - box["left"] - box["right"]
    high = box["height"] - box["top"] - box["bottom"]

    def at(c: Mapping[str, Any]) -> tuple[float, float]:
        x = box["left"] + wide * (c["distance"] - x_low) / (x_high - x_low)
        y = box["top"] + high * (1 - (c["score"]["score"] - y_low) / (y_high - y_low))
        return round(x, 1), round(y, 1)

    share = frontier["distance_is_share"]
    count = len(rows)
    label = (
        f"{count} candidates by {frontier['distance_name'].lower()} and {frontier['score_name']}"
    )
    parts = [
        f'<svg class="frontier" viewBox="0 0 {box["width"]} {box["height"]}" role="group" '
        f'aria-label="{escape(label)}" xmlns="http://www.w3.org/2000/svg">'
    ]
    for tick in nice_ticks(y_low, y_high):
        y = box["top"] + high * (1 - (tick - y_low) / (y_high - y_low))
        parts.append(
            f'<path class="f-grid" d="M{box["left"]} {y:.1f}H{box["width"] - box["right"]}"/>'
            f'<text class="f-tick" x="{box["left"] - 8}" y="{y + 4:.1f}" text-anchor="end">'
            f"{PAGE.number(tick)}</text>"
        )
    for tick in nice_ticks(x_low, x_high, 6):
        x = box["left"] + wide * (tick - x_low) / (x_high - x_low)
        places = 0 if x_high - x_low > 0.06 else 1
        text = PAGE.percent(tick, places) if share else PAGE.number(tick)
        parts.append(
            f'<text class="f-tick" x="{x:.1f}" y="{box["height"] - box["bottom"] + 18}" '
            f'text-anchor="middle">{text}</text>'
        )
    base = box["height"] - box["bottom"]
    parts.append(
        f'<path class="f-axis" d="M{box["left"]} {base}H{box["width"] - box["right"]}"/>'
        f'<text class="f-name" x="{box["left"] + wide / 2:g}" y="{box["height"] - 10}" '
        f'text-anchor="middle">{escape(frontier["distance_name"])}</text>'
        f'<text class="f-name" transform="translate(16 {box["top"] + high / 2:g}) rotate(-90)" '
        f'text-anchor="middle">{escape(frontier["score_name"])}</text>'
    )
    best = sorted((at(c) for _, c in rows if c["on_frontier"]))
    if len(best) > 1:
        line = " ".join(f"{x},{y}" for x, y in best)
        parts.append(f'<polyline class="f-line" points="{line}"/>')
    # Drawn last is drawn on top: the crowd first, the chosen one last.
    for i, c in sorted(rows, key=lambda row: _importance(row[1])):
        parts.append(_point(i, c, *at(c), crowd=count > 150))
    parts.append("</svg>")
    return "".join(parts)


def _importance(c: Mapping[str, Any]) -> int:
    return 3 if c["chosen"] else 2 if c["kind"] == "keep" else 1 if c["on_frontier"] else 0


def _point(i: int, c: Mapping[str, Any], x: float, y: float, *, crowd: bool) -> str:
    rank = _importance(c)
    kind = ("other", "best", "keep", "chosen")[rank]
    if rank == 3:
        shape = f'<path d="{_star(x, y, 10)}"/>'
    elif rank == 2:
        shape = f'<path d="M{x:g} {y - 8:g}l8 8l-8 8l-8 -8z"/>'
    else:
        shape = f'<circle cx="{x:g}" cy="{y:g}" r="{(3 if crowd else 4.5) if rank == 0 else 6}"/>'
    return (
        f'<g class="point {kind}" data-candidate="{i}">'
        f"<title>{escape(str(c['name']))}</title>{shape}</g>"
    )


def _star(x: float, y: float, radius: float) -> str:
    corners = []
    for k in range(10):
        r = radius if k % 2 == 0 else radius * 0.45
        angle = math.pi * k / 5 - math.pi / 2
        corners.append(f"{x + r * math.cos(angle):.1f} {y + r * math.sin(angle):.1f}")
    return "M" + "L".join(corners) + "z"


def _range(values: Sequence[float], *, from_zero: bool = False) -> tuple[float, float]:
    low, high = min(values), max(values)
    if from_zero and low >= 0:
        low = 0.0
    gap = (high - low) * 0.06 or max(abs(high) * 0.05, 0.01)
    return (low - (gap / 2 if from_zero else gap)), high + gap
