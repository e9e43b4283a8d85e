"""Drawn trees are read as they decide, and cut into the groups that they tell apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from tests.attack.disclosure.geometry import DrawnTree, atoms_of, code_rows
from tests.report.samples import mixed_diff, mixed_rows, multiclass_diff, retraining


def drawn(summary: dict[str, Any], side: str) -> DrawnTree:
    return DrawnTree.of(summary["trees"][side], summary["features"])


def test_rows_reach_the_leaves_that_the_trees_send_them_to() -> None:
    for diff, rows in (
        (mixed_diff(), mixed_rows(400, ("colour", "age", "share"), ("red", "green", "blue"))),
        (multiclass_diff(), None),
    ):
        summary = diff.to_dict()
        if rows is None:
            names = [feature["name"] for feature in summary["features"]]
            rng = np.random.default_rng(0)
            rows = pd.DataFrame(rng.uniform(0, 8, (300, len(names))), columns=names)
        rows = rows[~rows.isin(["never seen"]).any(axis=1)]
        # The page's thresholds are compared in the tree's own precision.
        exact = rows.apply(lambda c: c.astype("float32") if c.dtype.kind == "f" else c)
        coded = code_rows(exact, summary["features"])
        for side, tree in (("old", diff.old), ("new", diff.new)):
            assert drawn(summary, side).leaf_of(coded).tolist() == tree.apply(rows).tolist()


def test_atoms_are_the_coarsest_groups_that_leaves_are_made_of() -> None:
    summary = multiclass_diff().to_dict()
    trees = [drawn(summary, side) for side in ("old", "new")]
    atoms = atoms_of(trees)
    rng = np.random.default_rng(1)
    coded = rng.uniform(0, 8, (2000, len(summary["features"])))
    pairs = {tuple(pair) for pair in np.column_stack([t.leaf_of(coded) for t in trees]).tolist()}
    assert pairs <= {atom.leaves for atom in atoms}
    assert len({atom.leaves for atom in atoms}) == len(atoms)


def test_candidates_are_read_from_few_bytes() -> None:
    result = retraining()
    summary = result.to_dict(candidate_trees=True)
    features = summary["diff"]["features"]
    coded = code_rows(result.X_new.astype({"site": str}), features)
    chosen = next(row for row in summary["candidates"] if row["chosen"])
    compact = DrawnTree.compact(summary["candidate_trees"][chosen["tree"]], features)
    labels = [compact.labels[int(leaf)] for leaf in compact.leaf_of(coded)]
    decided = result.tree.label[result.tree.apply(result.X_new)]
    assert np.mean(np.array(labels) == decided) > 0.99, "thresholds have six digits here"
