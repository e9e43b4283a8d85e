"""The picture of the report on the site is made here: the page that ``make demo`` ends with.

``STEADYTREE_UPDATE_IMAGES=1 python -m pytest tests/browser/test_screenshot.py`` writes it anew;
else a smaller retraining is pictured, to see that it can be.
"""

from __future__ import annotations

import os
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib import image

from tests.report import samples

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs" / "images" / "report.png"
DEMO = ROOT / "examples" / "retraining" / "retrain_a_deployed_tree.py"


def test_screenshot_of_the_report(
    tmp_path: Path, visit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, anew = tmp_path / "report.html", os.environ.get("STEADYTREE_UPDATE_IMAGES") == "1"
    if anew:
        monkeypatch.chdir(tmp_path)
        path = runpy.run_path(str(DEMO))["page"].resolve()
    else:
        samples.retraining().report(path)
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
    # Neither blank nor a wall of ink, and the site's copy exists.
    dark = (pixels[..., :3].mean(axis=2) < 0.5).mean()
    assert 0.005 < dark < 0.2
    assert PICTURE.exists()
