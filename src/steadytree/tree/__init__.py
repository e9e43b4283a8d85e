"""The data everything else speaks of: trees, feature spaces, paths and the file format."""

from __future__ import annotations
