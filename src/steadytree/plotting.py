"""Figures in one line, by scikit-learn's Display convention; matplotlib is imported on plot()."""

from __future__ import annotations

from steadytree.views.pareto_frontier import ParetoFrontierDisplay, draw_versions
from steadytree.views.sensitivity import SensitivityDisplay
from steadytree.views.split_frequency import SplitFrequencyDisplay
from steadytree.views.tree_comparison import TreeComparisonDisplay
from steadytree.views.tree_map import TreeMapDisplay

__all__ = [
    "ParetoFrontierDisplay",
    "SensitivityDisplay",
    "SplitFrequencyDisplay",
    "TreeComparisonDisplay",
    "TreeMapDisplay",
    "draw_versions",
]
