"""Run by a Python that has every extra: the README's block, and what each extra is for.

Arguments: the README.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
from sklearn.datasets import load_breast_cancer

import steadytree as st
from steadytree.plotting import TreeComparisonDisplay

text = Path(sys.argv[1]).read_text(encoding="utf-8")
(block, *_) = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
namespace: dict[str, object] = {}
exec(compile(block, "README.md", "exec"), namespace)
assert Path("report.html").read_text(encoding="utf-8").lower().startswith("<!doctype html>")

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
model = st.DistilledTreeClassifier(max_leaf_nodes=4, random_state=0).fit(X[:285], y[:285])
tree = model.to_tree()
wanted = tree.predict(X)

# polars, parquet: the same rows in other tables.
assert np.array_equal(tree.predict(pl.from_pandas(X)), wanted)
X.to_parquet("rows.parquet")
assert np.array_equal(tree.predict(pd.read_parquet("rows.parquet")), wanted)
again = st.retrain(tree, pl.from_pandas(X[285:]), y[285:], n_folds=2, random_state=0)
assert again.diff is not None

# onnx, pmml, skops: written and read back.
st.export_tree(tree, "onnx", "tree.onnx")
st.export_tree(tree, "pmml", "tree.pmml")
st.export_tree(tree, "sklearn", "tree.skops")
for name in ("tree.onnx", "tree.pmml", "tree.skops"):
    assert np.array_equal(st.as_tree(Path(name)).predict(X), wanted), name

# sql, plot.
assert "CASE" in st.export_tree(tree, "sql")
TreeComparisonDisplay.from_trees(tree, again.model).figure_.savefig("trees.png")
assert Path("trees.png").stat().st_size > 1000

# For the command line.
X[:285].assign(outcome=y[:285]).to_csv("2023.csv", index=False)
X[285:].assign(outcome=y[285:]).to_csv("2024.csv", index=False)
st.show_versions()
