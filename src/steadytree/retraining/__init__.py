"""Retrain a deployed tree: change least, lose nothing, say what changed."""

from __future__ import annotations

from steadytree.retraining.history import History
from steadytree.retraining.inputs import Rows, SearchOptions
from steadytree.retraining.result import Retraining
from steadytree.retraining.retrain import retrain

__all__ = ["History", "Retraining", "Rows", "SearchOptions", "retrain"]
