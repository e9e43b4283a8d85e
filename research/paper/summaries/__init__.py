"""Finished work summed up as tables."""

from __future__ import annotations

from collections.abc import Sequence

from research.paper.runs import Results
from research.paper.settings import Settings
from research.paper.summaries.beyond import beyond_tables
from research.paper.summaries.paper import paper_tables
from research.paper.summaries.propositions import proposition_tables
from research.paper.summaries.retraining import retraining_tables
from research.paper.summaries.sensitivity import sensitivity_tables
from research.paper.summaries.takeaways import takeaway_tables
from research.paper.tables import Table

__all__ = ["summarise"]


def summarise(results: Results, settings: Settings, names: Sequence[str]) -> dict[str, Table]:
    """All tables that there are results for, by name.

    Parameters
    ----------
    results : Results
    settings : Settings
    names : sequence of str
        Data sets to describe.
    """
    sections = {table.name: table for table in paper_tables(results, names)}
    rest = (
        *sensitivity_tables(results, settings),
        *takeaway_tables(results, sections),
        *proposition_tables(results),
        *beyond_tables(results),
        *retraining_tables(results),
    )
    return {**sections, **{table.name: table for table in rest}}
