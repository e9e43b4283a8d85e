"""Files of scikit-learn models: what the path asks for, and nothing else."""

from __future__ import annotations

import pickle
from pathlib import Path

import joblib
import numpy as np
import pytest
import skops.io

import steadytree as st
from steadytree.exceptions import InputError
from steadytree.formats.sklearn.write_sklearn import save
from tests.foreign import probe_rows, random_tree

TREE = random_tree(0, categorical=False, precision="float32")


@pytest.mark.parametrize("suffix", [".skops", ".joblib", ".pkl", ".pickle"])
def test_the_path_says_how(suffix: str, tmp_path: Path) -> None:
    path = save(st.export_tree(TREE, "sklearn"), tmp_path / f"model{suffix}")
    if suffix == ".skops":
        model = skops.io.load(path, trusted=skops.io.get_untrusted_types(file=path))
    elif suffix == ".joblib":
        model = joblib.load(path)
    else:
        model = pickle.loads(path.read_bytes())
    rows = probe_rows(TREE, 500, singles=True)
    np.testing.assert_array_equal(model.predict(rows), TREE.predict(rows))


def test_another_path_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"expected a path that ends in \.skops"):
        save(st.export_tree(TREE, "sklearn"), tmp_path / "model.txt")
    assert list(tmp_path.iterdir()) == []
