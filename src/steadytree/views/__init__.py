"""The decision report: one HTML file that people who do not program can read."""

from __future__ import annotations

from steadytree.views.notebook import notebook_view
from steadytree.views.render import render, render_summary, write_report
from steadytree.views.summarise import summarise

__all__ = ["notebook_view", "render", "render_summary", "summarise", "write_report"]
