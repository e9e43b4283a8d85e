"""Mutated files of our own format: refused by us, or a tree that does all that trees do."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from random import Random

import numpy as np
import pytest

import steadytree as st
from steadytree.exceptions import SteadyTreeError, TreeFormatError
from steadytree.tree.json import tree_to_dict
from tests.formats.fuzz import assert_short, use
from tests.formats.mutations import spoil_json
from tests.tree.test_tree_file import rich_tree


def is_refused(path: Path) -> bool:
    """Whether a file is refused; else everything must work with the tree in it."""
    try:
        tree = st.load_tree(path)
    except TreeFormatError as error:
        assert_short(error)
        return True
    use(tree)
    again = st.load_tree(st.save_tree(tree, path.with_name("again.json")))
    assert again == tree
    assert str(again) == str(tree)
    count = tree.n_features
    own = st.FeatureSpace(
        lower=np.full(count, -1.0),
        upper=np.full(count, 1.0),
        categories=tree.categories,
        names=tree.feature_names,
        classes=tree.classes,
        response_range=None if tree.is_classifier else (-1.0, 1.0),
    )
    assert st.tree_distance(tree, again, space=own, variant="metric") == 0
    try:  # the space in the file may be one of other features
        assert st.match_paths(tree, again).distance == 0
        assert st.diff_trees(tree, again).unchanged
    except SteadyTreeError as error:
        assert_short(error)
    return False


def attack(path: Path, first: int, count: int) -> int:
    """Read mutants ``first`` to ``first + count``; return how many were refused."""
    texts = [
        json.dumps(tree_to_dict(rich_tree(seed, regression=bool(seed % 2)))) for seed in range(8)
    ]
    refused = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # thresholds beyond the range, and the like
        for number in range(first, first + count):
            rng = Random(f"mutant {number}")
            text = spoil_json(rng.choice(texts), rng)
            path.write_bytes(text.encode("utf-8", "surrogatepass"))
            try:
                refused += is_refused(path)
            except BaseException:
                print(f"mutant {number}")
                raise
    return refused


def test_a_few_mutants(tmp_path: Path) -> None:
    assert 50 < attack(tmp_path / "tree.json", 0, 200) < 200


@pytest.mark.slow
def test_twenty_thousand_mutants(tmp_path: Path) -> None:
    assert 5_000 < attack(tmp_path / "tree.json", 200, 20_000) < 20_000
