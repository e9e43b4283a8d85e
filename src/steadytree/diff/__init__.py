"""What changed between two trees, in words: every rule kept, moved, relabelled, added, dropped."""

from __future__ import annotations

from steadytree.diff.build import diff_trees
from steadytree.diff.changes import ConditionChange, Rule, RuleChange, SplitChange
from steadytree.diff.tree_diff import TreeDiff

__all__ = [
    "ConditionChange",
    "Rule",
    "RuleChange",
    "SplitChange",
    "TreeDiff",
    "diff_trees",
]
