"""Figures in one line, by scikit-learn's Display convention; matplotlib is imported on plot()."""

from __future__ import annotations

from steadytree.views.figures import TreeComparisonDisplay
from steadytree.views.many_trees import SplitFrequencyDisplay, TreeMapDisplay
from steadytree.views.trade_offs import ParetoFrontierDisplay, SensitivityDisplay

__all__ = [
    "ParetoFrontierDisplay",
    "SensitivityDisplay",
    "SplitFrequencyDisplay",
    "TreeComparisonDisplay",
    "TreeMapDisplay",
]
