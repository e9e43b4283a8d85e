"""Every writer in ``WRITERS``: random trees through the real consumer, every row as we say.

The tests of a writer offer ``run(tree, rows, folder)``, which writes the tree, lets the real
consumer predict the rows and returns labels (or responses), and class shares or None (or
``run_all(cases, folder)`` for several trees with rows, where the consumer is slow to start);
``SEEDS`` where it is slow throughout; ``SINGLES`` if it rounds values to single precision; and
``TREES``, options of ``random_tree`` beyond which the format refuses. A format that is only
looked at says ``PICTURE = True``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steadytree.plugins import WRITERS
from tests.foreign import probe_rows, random_tree
from tests.modules import mirror_of

KINDS = ("binary", "multiclass", "regression")
TREES_EACH = 5
ROWS = 10_000
DECIDING = [name for name in WRITERS if not getattr(mirror_of(WRITERS[name]), "PICTURE", False)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", DECIDING)
def test_the_consumer_decides_as_the_tree(name: str, kind: str, tmp_path: Path) -> None:
    tests = mirror_of(WRITERS[name])
    limits: dict[str, Any] = getattr(tests, "TREES", {})
    cases = []
    for seed in getattr(tests, "SEEDS", range(TREES_EACH)):
        tree = random_tree(
            seed,
            kind=kind,
            **{
                "precision": ("float64", "float32")[seed % 2],
                "kept_labels": kind != "regression",
                **limits,
            },
        )
        rows = probe_rows(tree, ROWS, seed, singles=getattr(tests, "SINGLES", False))
        cases.append((tree, rows))
    if hasattr(tests, "run_all"):
        predicted = tests.run_all(cases, tmp_path)
    else:
        predicted = [tests.run(tree, rows, tmp_path) for tree, rows in cases]
    for (tree, rows), (found, shares) in zip(cases, predicted, strict=True):
        if tree.is_classifier:
            np.testing.assert_array_equal(np.asarray(found), tree.predict(rows))
        else:
            np.testing.assert_allclose(
                np.asarray(found, dtype=float), tree.predict(rows), rtol=1e-6
            )
        if shares is not None:
            np.testing.assert_allclose(shares, tree.predict_proba(rows), atol=1e-6)
