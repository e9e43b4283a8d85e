"""The experiments of the paper and beyond it, by group: what is computed for each."""

from __future__ import annotations
