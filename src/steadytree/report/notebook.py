"""The compact version for notebooks: plain HTML that needs neither Jinja2 nor a script."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from steadytree.report.disclosure import few
from steadytree.report.rules import RuleTable, split_words
from steadytree.report.words import clean, name_words, percent, significant

if TYPE_CHECKING:
    from steadytree.diff import TreeDiff
    from steadytree.distance.matching import PathMatching
    from steadytree.retraining import Retraining

__all__ = ["path_matching_html", "retraining_html", "stable_tree_html", "tree_diff_html"]

MAX_ROWS = 30
_STATUS_SIGNS = {"kept": "○", "moved": "▲", "relabelled": "◆", "added": "+", "dropped": "×"}


def tree_diff_html(diff: TreeDiff, *, min_cell: int = 5) -> str:
    """Show a diff: counts, changes of splits in words, and the rules that changed."""
    counts = diff.counts
    parts = [
        _line(
            f"<b>Dissimilarity {escape(percent(diff.dissimilarity))}</b>: "
            + ", ".join(f"{counts[s]} {s}" for s in _STATUS_SIGNS if counts[s])
            + _flips(diff.flips, diff.n_rows, min_cell)
        ),
        _bullets(split_words(split) for split in diff.splits),
    ]
    rows = [row for row in RuleTable(diff, min_cell).rows if row["status"] != "kept"]
    body = [
        [
            str(row["number"]),
            f"{_STATUS_SIGNS[row['status']]} {row['status']}",
            _rule(row["old"]),
            _rule(row["new"]),
        ]
        for row in rows
    ]
    if body:
        parts.append(_table(["Rule", "Change", "Old", "New"], body))
    return _box(parts)


def path_matching_html(matching: PathMatching) -> str:
    """Show a matching: the distance, and the pairs that cost something, dearest first."""
    a, b = matching.a, matching.b
    same = sum(pair.cost == 0 for pair in matching.pairs)
    parts = [
        _line(
            f"<b>Distance {escape(significant(matching.distance, 4))}</b>, dissimilarity "
            f"{escape(percent(matching.relative))}: {len(matching.pairs)} pairs of rules "
            f"({same} the same), {len(matching.unmatched)} unmatched"
        )
    ]
    body = [
        [
            escape(clean(a.rule_text(pair.path_a))),
            escape(clean(b.rule_text(pair.path_b))),
            escape(significant(pair.cost, 3)),
            escape(", ".join(name_words(part.name) for part in pair.parts))
            + (" outcome" if pair.outcome_cost else ""),
        ]
        for pair in sorted(matching.pairs, key=lambda pair: -pair.cost)
        if pair.cost > 0
    ]
    for lone in matching.unmatched:
        text = escape(clean((a if lone.tree == "a" else b).rule_text(lone.path)))
        cells = [text, "–"] if lone.tree == "a" else ["–", text]
        body.append([*cells, escape(significant(lone.cost, 3)), "unmatched"])
    if body:
        parts.append(_table(["Rule of the first", "Rule of the second", "Cost", "Why"], body))
    return _box(parts)


def retraining_html(result: Retraining, *, min_cell: int = 5) -> str:
    """Show a retraining: what is proposed, and what each candidate costs."""
    parts = [_line(escape(clean(result.explain())))]
    n = len(result.changed_decisions)
    body = []
    for name, row in result.frontier.iterrows():
        tags = " ★" if row["chosen"] else ""
        flips = float(row["flips"])
        body.append(
            [
                escape(clean(name)) + tags,
                escape(percent(float(row["dissimilarity"]))),
                escape(significant(float(row["score"]), 3)),
                f"fewer than {min_cell} people"
                if few(round(flips * n), min_cell)
                else escape(percent(flips)),
                str(int(row["n_leaves"])),
                "yes" if row["on_frontier"] else "",
            ]
        )
    heads = ["Candidate", "Dissimilarity", "Score", "Decisions that change", "Rules", "Not beaten"]
    return _box([*parts, _table(heads, body)])


def stable_tree_html(estimator: Any) -> str:
    """Show a fitted StableTree: the chosen tree among its candidates, and its rules."""
    from steadytree.core.words import tree_text

    best = int(estimator.best_index_)
    tree = estimator.candidates_[best]
    frontier = int(sum(estimator.pareto_mask_))
    line = (
        f"<b>One tree of {tree.n_leaves} rules</b>, chosen among {len(estimator.candidates_):,} "
        f"candidates ({frontier} that no other one beats): mean distance "
        f"{escape(significant(float(estimator.mean_distances_[best]), 4))}, score used for "
        f"choosing {escape(significant(float(estimator.scores_[best]), 3))}"
    )
    text = tree_text(tree).splitlines()
    more = [f"... and {len(text) - MAX_ROWS} more lines"] if len(text) > MAX_ROWS else []
    return _box([_line(line), f"<pre>{escape(chr(10).join(text[:MAX_ROWS] + more))}</pre>"])


# -- pieces ----------------------------------------------------------------------------


def _flips(flips: float | None, n_rows: int | None, min_cell: int) -> str:
    if flips is None or n_rows is None:
        return ""
    if few(round(flips * n_rows), min_cell):
        return f"; the decision changes for fewer than {min_cell} people"
    return f"; the decision changes for {escape(percent(flips))} of the rows"


def _rule(half: dict[str, Any] | None) -> str:
    if half is None:
        return "–"
    conditions = " and ".join(half["conditions"])
    return f"{escape(conditions)} → <b>{escape(half['outcome'])}</b>"


def _line(html: str) -> str:
    return f"<p>{html}</p>"


def _bullets(items: Iterable[str]) -> str:
    texts = list(items)
    if not texts:
        return ""
    shown = [f"<li>{escape(text)}</li>" for text in texts[:MAX_ROWS]]
    if len(texts) > MAX_ROWS:
        shown.append(f"<li>and {len(texts) - MAX_ROWS} more</li>")
    return f"<ul>{''.join(shown)}</ul>"


def _table(heads: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """Make a table of cells that are escaped already."""
    head = "".join(f'<th scope="col" style="text-align:left">{escape(text)}</th>' for text in heads)
    cell = '<td style="text-align:left;vertical-align:top">'
    rows = "".join(
        "<tr>" + "".join(f"{cell}{text}</td>" for text in row) + "</tr>" for row in body[:MAX_ROWS]
    )
    note = f"<p>and {len(body) - MAX_ROWS} more</p>" if len(body) > MAX_ROWS else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{note}"


def _box(parts: Iterable[str]) -> str:
    return f'<div class="steadytree">{"".join(parts)}</div>'
