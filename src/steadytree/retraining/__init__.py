"""Retrain a deployed tree: change least, lose nothing, say what changed."""

from __future__ import annotations

from steadytree.retraining.propose import retrain
from steadytree.retraining.result import Retraining

__all__ = ["Retraining", "retrain"]
