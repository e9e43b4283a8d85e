"""Stable decision trees: measure, explain and control how much a tree changes."""

from __future__ import annotations

__version__ = "0.1.0"
