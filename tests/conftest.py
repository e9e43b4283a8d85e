"""Settings shared by all tests."""

from __future__ import annotations

import os

from hypothesis import settings

# Timing is never asserted: the first call of a compiled kernel would break any deadline.
settings.register_profile("steadytree", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("steadytree")
