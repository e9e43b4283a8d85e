"""From the summary to one self-contained page: no network, no inline handlers, no data rows.

A tree is drawn as an outline: one line per node, indented by depth, outcomes in columns on the
right. Two of them fit side by side whatever their depth, and every line can be read on its own.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from steadytree._io import write_atomic
from steadytree.diff.candidate_trees import STATUS_LETTERS
from steadytree.tree.printing import Reach, reaching_values, side_condition
from steadytree.tree.words import PAGE, PAGE_BRANCH, display_width, isolate, shorten
from steadytree.views.figures import layout_outline
from steadytree.views.page import diff_of, page_content, page_words

_STATUSES = {status: status.capitalize() for status in STATUS_LETTERS}
# What the page's script says of conditions: the same words as here.
_EMBEDDED = ("names", "classes", "positive", "risk", "trees", "frontier")
_PHRASES = {"rule": dict(PAGE.phrases), "branch": dict(PAGE_BRANCH.phrases)}


def write_report(
    summary: Mapping[str, Any], path: str | os.PathLike[str], *, title: str | None = None
) -> Path:
    """Write the page of a summary to one HTML file, whole or not at all.

    Parameters
    ----------
    summary : mapping
        What ``to_dict()`` of a result returns.
    path : path-like
    title : str, optional
        Heading of the page.

    Returns
    -------
    Path
        Where the file is.

    Examples
    --------
    >>> import tempfile
    >>> import steadytree as st
    >>> from steadytree.views import write_report
    >>> space = st.FeatureSpace.from_data([[20.0], [70.0]]).replace(names=("age",))
    >>> tree = st.tree_from_rules('''
    ... age <= 50: no
    ... else: yes
    ... ''')
    >>> summary = st.diff_trees(tree, tree, space=space).to_dict()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(summary, f"{folder}/report.html", title="Nothing changed").name
    'report.html'
    """
    return write_atomic(path, render(summary, title=title).encode("utf-8", "replace"))


def render(summary: Mapping[str, Any], *, title: str | None = None) -> str:
    """Return the page of a summary as HTML text; options as for :func:`write_report`."""
    style, script = _template("report.css"), _template("report.js")
    diff, page = diff_of(summary), page_content(summary, title)
    statuses = {row["number"]: row["status"] for row in diff["rules"]}
    single = diff["trees"]["old"] is None
    drawn = {
        side: outline_svg(
            {**diff["trees"][side], **extra},
            diff["features"],
            page["classes"],
            statuses,
            side=side,
            plain=single,
        )
        for side, extra in page["trees"].items()
        if extra is not None
    }
    frontier = page["frontier"]
    environment = _environment()
    safe = environment.filters["safe"]
    embedded = {key: page[key] for key in _EMBEDDED}
    data = {**summary, "page": {**embedded, "geometry": GEOMETRY, "phrases": _PHRASES}}
    html: str = environment.get_template("report.html.j2").render(
        s=summary,
        d=diff,
        page=page,
        single=single,
        drawn={side: safe(svg) for side, svg in drawn.items()},
        frontier_drawn=safe(frontier_svg(frontier, summary["candidates"])) if frontier else None,
        statuses=_STATUSES,
        data=safe(script_safe_json(data)),
        style=safe(style),
        script=safe(script),
        style_hash=_csp_hash(style),
        script_hash=_csp_hash(script),
    )
    return html


@cache
def _environment() -> Any:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_template),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # Numbers of a drawing are written as short as they can be.
    short = "{:g}".format
    environment.filters |= {"percent": PAGE.percent, "significant": PAGE.significant, "g": short}
    environment.filters |= {"named": PAGE.name, "page_words": page_words}
    return environment


def _draw(kind: str, *args: Any) -> str:
    """Draw by a macro of the drawings."""
    macros = _environment().get_template("drawings.svg.j2").module
    return str(getattr(macros, kind)(*args))


def script_safe_json(content: Any) -> str:
    """JSON that no browser can mistake for markup or end of script, whatever names it holds."""
    text = json.dumps(content, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _csp_hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _template(name: str) -> str:
    return files("steadytree.views").joinpath("templates", name).read_text(encoding="utf-8")


# -- a tree ----------------------------------------------------------------------------

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
    where, reach = layout.by_node(), reaching(tree, features)
    shares = {"Observed": tree["observed"], "Rows": tree["share"]}
    shown = next((head for head, cells in shares.items() if any(cells)), "")
    middle = {p.node: g["head"] + g["line"] * (p.position + 0.5) for p in layout.nodes}
    rows: list[dict[str, Any]] = []
    for placed in layout.nodes:
        node, above = placed.node, where.get(placed.parent)
        rule = tree["rule"][node] if placed.is_leaf else None
        x, trunk = g["margin"] + indent * placed.depth, None
        name, condition = "Everyone", ""
        if above is not None:
            at = above.node
            name, condition = branch_words(tree, features, at, placed.is_left, reach[at])
            trunk = (g["margin"] + indent * above.depth + 3, middle[at] + 7)
        short_name, short_condition = _fit(name, condition, (g["mark"] - 14 - x) / g["letter"])
        row = {
            "kind": "leaf" if placed.is_leaf else "fold" if placed.hidden else "split",
            "status": "" if rule is None else statuses.get(rule, "kept"),
            "node": node,
            "rule": rule,
            "title": f"{isolate(name)} {condition}".strip(),
            "x": x,
            "y": middle[node],
            "trunk": trunk,
            "name": isolate(short_name),
            "condition": short_condition,
            "hidden": placed.hidden,
        }
        if placed.is_leaf:
            row |= _leaf_words(tree, node, classes, shares[shown][node] if shown else {"words": ""})
        rows.append(row)
    heads = [
        (g["mark"] - 4, "start", "Rule"),
        (g["label"], "start", "Decision" if classes is not None else "Prediction"),
        (g["value"], "end", "Predicted" if classes is not None else ""),
        (g["share"], "end", shown),
    ]
    drawing = {
        "label": f"{tree['name']}: {tree['n_rules']} rules, depth {tree['depth']}",
        "height": g["head"] + g["line"] * layout.breadth + 4,
        "side": side,
        "marked": not plain,
        "heads": heads,
        "rows": rows,
    }
    return _draw("outline", drawing, g)


def _leaf_words(
    tree: Mapping[str, Any],
    node: int,
    classes: Sequence[str] | None,
    share: Mapping[str, Any] | None,
) -> dict[str, str]:
    """Decision at a leaf, the share that it predicts, and the people there."""
    decision, predicted = tree["predicted"][node]["words"], ""
    if classes is not None:
        decision, predicted = str(classes[int(tree["label"][node])]), decision
    against = "*" if node in tree["against"] else ""
    return {
        "decision": shorten(decision, int(GEOMETRY["label_columns"])) + against,
        "predicted": predicted,
        "share": "–" if share is None else share["words"],
    }


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


def frontier_svg(frontier: Mapping[str, Any], candidates: Sequence[Mapping[str, Any]]) -> str:
    """Draw all candidates by change and score."""
    measure = frontier["measure"]
    rows = [
        (i, c)
        for i, c in enumerate(candidates)
        if c[measure] is not None and c["score"]["score"] is not None
    ]
    if not rows:
        return ""
    x_low, x_high = _range([c[measure] for _, c in rows], from_zero=True)
    y_low, y_high = _range([c["score"]["score"] for _, c in rows])
    wide = PLOT["width"] - PLOT["left"] - PLOT["right"]
    high = PLOT["height"] - PLOT["top"] - PLOT["bottom"]

    def across(distance: float) -> float:
        return PLOT["left"] + wide * (distance - x_low) / (x_high - x_low)

    def down(score: float) -> float:
        return PLOT["top"] + high * (1 - (score - y_low) / (y_high - y_low))

    points = []
    # Drawn last is drawn on top: the crowd first, the chosen one last.
    for i, c in sorted(rows, key=lambda row: _POINTS.index(_point_kind(row[1]))):
        x, y = round(across(c[measure]), 1), round(down(c["score"]["score"]), 1)
        point = {"kind": _point_kind(c), "candidate": i, "name": c["name"], "x": x, "y": y}
        points.append({**point, "best": c["on_frontier"], "star": _star(x, y, 10)})
    places, name = 0 if x_high - x_low > 0.06 else 1, frontier["distance_name"]
    share = measure == "dissimilarity"
    drawing = {
        "label": f"{len(rows)} candidates by {name.lower()} and {frontier['score_name']}",
        "distance_name": name,
        "score_name": frontier["score_name"],
        "y_ticks": [(down(tick), PAGE.number(tick)) for tick in nice_ticks(y_low, y_high)],
        "x_ticks": [
            (across(tick), PAGE.percent(tick, places) if share else PAGE.number(tick))
            for tick in nice_ticks(x_low, x_high, 6)
        ],
        "line": sorted((point["x"], point["y"]) for point in points if point["best"]),
        "points": points,
    }
    return _draw("frontier", drawing, PLOT)


_POINTS = ("other", "best", "keep", "chosen")


def _point_kind(c: Mapping[str, Any]) -> str:
    if c["chosen"]:
        return "chosen"
    return "keep" if c["kind"] == "keep" else "best" if c["on_frontier"] else "other"


def _star(x: float, y: float, radius: float) -> list[tuple[float, float]]:
    corners = []
    for k in range(10):
        r, angle = radius * (0.45 if k % 2 else 1.0), math.pi * k / 5 - math.pi / 2
        corners.append((x + r * math.cos(angle), y + r * math.sin(angle)))
    return corners


def _range(values: Sequence[float], *, from_zero: bool = False) -> tuple[float, float]:
    low, high = min(values), max(values)
    if from_zero and low >= 0:
        low = 0.0
    gap = (high - low) * 0.06 or max(abs(high) * 0.05, 0.01)
    return (low - (gap / 2 if from_zero else gap)), high + gap
