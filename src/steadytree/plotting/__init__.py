"""Figures in one line, by scikit-learn's Display convention; matplotlib is imported on plot()."""

from __future__ import annotations

from steadytree.plotting.lineage import draw_versions
from steadytree.plotting.pareto_frontier import ParetoFrontierDisplay
from steadytree.plotting.sensitivity import SensitivityDisplay
from steadytree.plotting.split_frequency import SplitFrequencyDisplay
from steadytree.plotting.tree_comparison import TreeComparisonDisplay
from steadytree.plotting.tree_map import TreeMapDisplay

__all__ = [
    "ParetoFrontierDisplay",
    "SensitivityDisplay",
    "SplitFrequencyDisplay",
    "TreeComparisonDisplay",
    "TreeMapDisplay",
    "draw_versions",
]
