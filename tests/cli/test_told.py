from __future__ import annotations

import numpy as np
import pandas as pd

from steadytree.cli.told import flips_text, masking_document, published_frame
from steadytree.core.disclosure import share_bin


def test_what_is_not_told_is_called_hidden() -> None:
    table = pd.DataFrame(
        {"n": [135.0, np.nan], "flips": [0.037037, np.nan], "masked": [False, True]},
        index=pd.Index(["north", "small group 1"], name="group"),
    )
    text = flips_text(table)
    assert "135" in text
    assert "0.037" in text
    assert text.count("hidden") == 2


def test_json_says_that_it_is_masked() -> None:
    assert masking_document(5)["min_cell"] == 5
    assert "--no-masking" in masking_document(5)["note"]
    assert masking_document(1) == {"min_cell": 1, "note": ""}


def test_published_tables_have_few_digits_and_ranges_in_words() -> None:
    table = pd.DataFrame({"deployed": [0.123456], "deployed_range": [share_bin(0.2, 300, 5)]})
    out = published_frame(table)
    assert out["deployed"].tolist() == [0.123]
    assert "20–22" in out["deployed_range"][0]
