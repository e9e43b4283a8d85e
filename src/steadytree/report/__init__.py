"""The decision report: one HTML file that people who do not program can read."""

from __future__ import annotations

from steadytree.report.notebook import notebook_view
from steadytree.report.render import render, render_summary, write_report
from steadytree.report.summarise import summarise

__all__ = ["notebook_view", "render", "render_summary", "summarise", "write_report"]
