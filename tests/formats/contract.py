"""What every reader is held to: a model, rows, and what the library itself says of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

import steadytree as st
from tests.foreign import probe_rows


@dataclass(frozen=True)
class Case:
    """One model and the source library's own predictions on rows.

    ``expected``: labels, or responses. ``shares``: class shares in the order of the classes,
    where the source has them. ``leaves``: an array that is equal for rows of one leaf, where the
    source tells. ``options``: for ``as_tree``. ``tolerance``: of values that the source keeps in
    single precision; labels and leaves are exact.
    """

    model: Any
    rows: Any
    expected: Any
    shares: Any = None
    leaves: Any = None
    options: dict[str, Any] = field(default_factory=dict)
    tolerance: float = 0.0

    @classmethod
    def of_tree(cls, model: Any, tree: st.Tree, seed: int, **more: Any) -> Case:
        """Make a case of a model that is known to be this tree."""
        rows = probe_rows(tree, seed=seed)
        shares = tree.predict_proba(rows) if tree.is_classifier else None
        return cls(model, rows, tree.predict(rows), shares, tree.apply(rows), **more)

    def check(self) -> None:
        """Hold what we read against what the source says."""
        tree = st.as_tree(self.model, **self.options)
        assert len(self.rows) >= 10_000
        found = tree.predict(self.rows)
        if tree.is_classifier:
            np.testing.assert_array_equal(found, np.asarray(self.expected))
        else:
            np.testing.assert_allclose(
                found, np.asarray(self.expected, dtype=float), rtol=self.tolerance, atol=0
            )
        if self.shares is not None:
            np.testing.assert_allclose(
                tree.predict_proba(self.rows), self.shares, rtol=0, atol=self.tolerance
            )
        if self.leaves is not None:
            leaf = tree.apply(self.rows)
            pairs = set(zip(leaf.tolist(), np.asarray(self.leaves).tolist(), strict=True))
            # Several of our leaves may be one of theirs, never the other way round.
            assert len(pairs) == len(set(leaf.tolist()))
