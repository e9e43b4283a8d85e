"""The compact version for notebooks: plain HTML that needs neither Jinja2 nor a script."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import singledispatch
from html import escape
from typing import Any

from steadytree.diff import TreeDiff
from steadytree.diff.tree_diff import given_up_words, status_counts
from steadytree.estimators.predictor import TreePredictorMixin
from steadytree.exceptions import InputError
from steadytree.publish.cells import people_words
from steadytree.retraining import Retraining
from steadytree.tree.printing import tree_text
from steadytree.tree.words import PAGE
from steadytree.views.page import page_words

MAX_ROWS = 30
_STATUS_SIGNS = {"kept": "○", "moved": "▲", "relabelled": "◆", "added": "+", "dropped": "×"}


@singledispatch
def notebook_view(result: Any) -> str:
    """Return a result as HTML for a notebook; each kind registers its view below."""
    raise InputError(
        f"expected a result with a notebook view, got {type(result).__name__}; print it instead"
    )


@notebook_view.register(TreeDiff)
def tree_diff_html(diff: TreeDiff) -> str:
    """Show a diff: counts, changes of splits in words, and the rules that changed."""
    data, flips = diff.to_dict(), ""
    warning = given_up_words(diff.classes_given_up, style=PAGE)
    if data["flips"] is not None:
        share = escape(people_words(data["flips"], "share"))
        flips = f"; the decision changes for {share} of the rows"
    parts = [
        f"<p><b>{escape(warning)}</b></p>" if warning else "",
        f"<p><b>Dissimilarity {escape(PAGE.percent(data['dissimilarity']))}</b>: "
        f"{status_counts(diff, _STATUS_SIGNS)}{flips}</p>",
        _bullets(split["words"] for split in data["splits"]),
    ]
    body = [
        [
            str(row["number"]),
            f"{_STATUS_SIGNS[row['status']]} {row['status']}",
            _rule(row["old"]),
            _rule(row["new"]),
        ]
        for row in data["rules"]
        if row["status"] != "kept"
    ]
    if body:
        parts.append(_table(["Rule", "Change", "Old", "New"], body))
    return _box(parts)


@notebook_view.register(Retraining)
def retraining_html(result: Retraining) -> str:
    """Show a retraining: what is proposed, and what each candidate costs."""
    first, *rest = (escape(page_words(line)) for line in result.explanation.lines)
    summary = f"<p><b>{first}</b></p>" + "".join(f"<p>{line}</p>" for line in rest)
    data = result.to_dict()
    body = [
        [
            escape(row["name"]) + (" ★" if row["chosen"] else ""),
            escape(PAGE.percent(row["dissimilarity"])),
            escape(row["score"]["words"]),
            escape(row["flips"]["words"]),
            str(row["n_leaves"]),
            "yes" if row["on_frontier"] else "",
        ]
        for row in data["candidates"]
    ]
    heads = ["Candidate", "Dissimilarity", data["performance"]["score"], "Decisions that change"]
    return _box([summary, _table([*heads, "Rules", "Not beaten"], body)])


@notebook_view.register(TreePredictorMixin)
def predictor_html(predictor: TreePredictorMixin) -> str:
    """Show an estimator of one tree: its size, and its rules."""
    tree, name = predictor.to_tree(), escape(type(predictor).__name__)
    size = f"<code>{name}</code>: {tree.n_leaves} leaves, depth {tree.depth}"
    return f"<div>{size}<pre>{escape(tree_text(tree))}</pre></div>"


# -- pieces ----------------------------------------------------------------------------


def _rule(half: dict[str, Any] | None) -> str:
    if half is None:
        return "–"
    conditions = " and ".join(one["words"] for one in half["conditions"]) or "everyone"
    outcome, numbers = half["predicted"]["words"], []
    if half["label"] is not None:
        numbers.append(f"predicts {PAGE.name(half['shown'])} {outcome}")
        outcome = PAGE.name(half["label"])
    if half["trained_on"] is not None:
        numbers.append(f"observed {half['trained_on']['words']}")
    end = f" ({escape('; '.join(numbers))})" if numbers else ""
    return f"{escape(conditions)} → <b>{escape(outcome)}</b>{end}"


def _bullets(items: Iterable[str]) -> str:
    texts = list(items)
    more = [f"and {len(texts) - MAX_ROWS} more"] if len(texts) > MAX_ROWS else []
    shown = "".join(f"<li>{escape(text)}</li>" for text in texts[:MAX_ROWS] + more)
    return f"<ul>{shown}</ul>" if texts else ""


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
