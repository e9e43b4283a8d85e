"""From the summary to one self-contained page: no network, no inline handlers, no data rows."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from steadytree._io import write_atomic
from steadytree.tree.words import PAGE, PAGE_BRANCH
from steadytree.views.report_trees import STATUS_LETTERS
from steadytree.views.summarise import summarise
from steadytree.views.svg import GEOMETRY, frontier_svg, marker, outline_svg

_STATUSES = {status: status.capitalize() for status in STATUS_LETTERS}
# What the page's script says of conditions: the same words as here.
_PHRASES = {"rule": dict(PAGE.phrases), "branch": dict(PAGE_BRANCH.phrases)}


def write_report(result: Any, path: str | os.PathLike[str], **options: Any) -> Path:
    """Write the report of a result to one HTML file, whole or not at all.

    Parameters
    ----------
    result : Retraining, TreeDiff or fitted StableTree estimator
    path : path-like
    **options
        Passed to :func:`summarise`: ``title``, ``subgroups``, ``level``, ``publish``.

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
    >>> diff = st.diff_trees(tree, tree, space=space)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(diff, f"{folder}/report.html", title="Nothing changed").name
    'report.html'
    """
    return write_atomic(path, render(result, **options).encode("utf-8", "replace"))


def render(result: Any, **options: Any) -> str:
    """Return the report of a result as HTML text; options as for :func:`summarise`."""
    return render_summary(summarise(result, **options))


def render_summary(summary: Mapping[str, Any]) -> str:
    """Return the page for a summary made by :func:`summarise`."""
    import jinja2
    import markupsafe

    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_template),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "percent": PAGE.percent,
        "significant": PAGE.significant,
    }
    safe = markupsafe.Markup
    style, script = _template("report.css"), _template("report.js")
    statuses = {row["number"]: row["status"] for row in summary["rules"]}
    single = summary["trees"]["old"] is None
    drawn = {
        side: safe(
            outline_svg(
                tree, summary["features"], summary["classes"], statuses, side=side, plain=single
            )
        )
        for side, tree in summary["trees"].items()
        if tree is not None
    }
    frontier = summary["frontier"]
    page: str = environment.get_template("report.html.j2").render(
        s=summary,
        single=single,
        drawn=drawn,
        frontier_drawn=safe(frontier_svg(frontier)) if frontier else None,
        statuses=_STATUSES,
        marks={
            status: safe(
                '<svg class="key" viewBox="0 0 16 16" aria-hidden="true" focusable="false">'
                f"{marker(status, 8, 8)}</svg>"
            )
            for status in _STATUSES
        },
        data=safe(script_safe_json({**summary, "geometry": GEOMETRY, "phrases": _PHRASES})),
        style=safe(style),
        script=safe(script),
        style_hash=_csp_hash(style),
        script_hash=_csp_hash(script),
    )
    return page


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
