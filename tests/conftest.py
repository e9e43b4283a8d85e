"""Settings shared by all tests."""

from __future__ import annotations

import os

from hypothesis import settings

from tests.chromium import browser as browser  # pages are opened by several folders of tests
from tests.chromium import visit as visit

# Timing is never asserted: the first call of a compiled kernel would break any deadline.
settings.register_profile("steadytree", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("steadytree")
