"""The one door from a result to its page, its notebook view or its picture.

A result lies below the report and the figures, so it cannot import them; it asks
here, and they are imported when somebody wants to look. No other module may import upwards. What a
result gives to the report, whatever its kind, is a :class:`ReportContent`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from steadytree.diff import TreeDiff
    from steadytree.tree.tree import Tree


@dataclass(frozen=True, kw_only=True)
class CandidateTrees:
    """Trees that could be chosen instead, with their costs in the same order.

    ``records`` hold for each candidate ``name``, ``distance``, ``score``, ``on_frontier``,
    ``chosen`` and, where known, ``kind``, ``score_se``, ``flips`` (a share of ``n_rows``),
    ``n_edits``, ``edits``, ``settings``. ``base_name`` is what their rules are compared with: the
    old tree of the content's diff. ``score_rests_on`` are the rows of the smallest class.
    """

    records: Sequence[Mapping[str, Any]]
    trees: Sequence[Tree]
    base_name: str
    distance_name: str
    score_name: str
    objectives: str
    distance_is_share: bool = False
    n_rows: int | None = None
    score_rests_on: int | None = None


@dataclass(frozen=True, kw_only=True)
class ReportContent:
    """What a result gives to the report: exact numbers, and words that know theirs.

    Attributes
    ----------
    names
        What the old and the new tree are called.
    single
        There is nothing to compare: the diff is of a tree with itself.
    sentences
        For the head of the page; by default what the diff says.
    affected
        What happens to people (empty: the page need not say), to how many, of how many, and
        what these are ("new rows").
    score
        Its name, the old and the new tree's, the change, its standard error, and the rows of the
        smallest class that it rests on.
    facts
        Label, value and detail for the head of the page, in words.
    people
        Something with ``performance``, ``flips`` and ``changed_decisions``.
    test
        Scores of the trees on rows that nothing was trained or chosen on, where given.
    provenance
        Labels, and where it comes from: words, a tree, a feature space or a pair of X and y.
    """

    kind: str
    title: str
    names: tuple[str, str]
    diff: TreeDiff
    single: bool = False
    sentences: tuple[str, ...] = ()
    affected: tuple[str, float, int, str] | None = None
    score: tuple[str, float, float, float, float, int] | None = None
    facts: tuple[tuple[str, str, str], ...] = ()
    people: Any = None
    test: pd.DataFrame | None = None
    candidates: CandidateTrees | None = None
    provenance: tuple[tuple[str, Any], ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def write_report(result: Any, path: str | os.PathLike[str], **options: Any) -> Path:
    """Write the decision report of a result to one HTML file and return its path."""
    from steadytree.views import write_report as write

    return write(result, path, **options)


def notebook_view(result: Any) -> str:
    """Return a result as a short piece of HTML, for ``_repr_html_``."""
    from steadytree.views import notebook_view as view

    return view(result)


def plot_assessment(assessment: Any, **options: Any) -> Any:
    """Draw which features the trees of an assessment split on, and where."""
    from steadytree.plotting import SplitFrequencyDisplay

    return SplitFrequencyDisplay.from_assessment(assessment, **options)
