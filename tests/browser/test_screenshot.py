"""The picture of the report in the README is made here: the page that ``make demo`` ends with.

``STEADYTREE_UPDATE_IMAGES=1 python -m pytest tests/browser/test_screenshot.py`` writes it anew;
else a smaller retraining is pictured, to see that it can be.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib import image

from examples.retrain_a_deployed_tree import main
from steadytree.report import write_report
from tests.report import samples

pytestmark = pytest.mark.browser

PICTURE = Path(__file__).resolve().parents[2] / "docs" / "images" / "report.png"


def test_screenshot_of_the_report(tmp_path: Path, visit: Any) -> None:
    path, anew = tmp_path / "report.html", os.environ.get("STEADYTREE_UPDATE_IMAGES") == "1"
    if anew:
        main(["--out", str(tmp_path)])
    else:
        write_report(samples.retraining(), path)
    page = visit(path, viewport={"width": 1280, "height": 1320}, device_scale_factor=1.5)
    rule = page.locator("#tree-old .row.leaf .t-back").first
    rule.scroll_into_view_if_needed()
    rule.hover()
    page.evaluate("() => window.scrollTo(0, 0)")
    target = PICTURE if anew else tmp_path / "r.png"
    target.parent.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=target)
    pixels = np.asarray(image.imread(target))
    assert pixels.shape[:2] == (1980, 1920)
    # Neither blank nor a wall of ink, and the README's copy exists.
    dark = (pixels[..., :3].mean(axis=2) < 0.5).mean()
    assert 0.005 < dark < 0.2
    assert PICTURE.exists()
