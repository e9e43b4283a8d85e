"""The decision report: one HTML file that people who do not program can read."""

from __future__ import annotations

from steadytree.views.notebook import notebook_view
from steadytree.views.render import render, write_report

__all__ = ["notebook_view", "render", "write_report"]
