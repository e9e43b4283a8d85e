"""Run by a Python into which the core alone was installed: what works, and what errors say.

Arguments: the README.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

import steadytree as st
from steadytree.exceptions import MissingDependencyError
from steadytree.plotting import TreeComparisonDisplay

COMMAND = re.compile(r"pip install 'steadytree\[(\w+)\]'")
OF_EXTRAS = ("matplotlib", "polars", "pyarrow", "onnx", "skops", "sqlglot")
OF_EXTRAS += ("defusedxml", "distributed", "mlflow", "pytest")

home = Path(st.__file__).resolve()
assert home.is_relative_to(Path(sys.prefix).resolve()), home
assert (home.parent / "py.typed").is_file()
assert [name for name in OF_EXTRAS if find_spec(name) is not None] == []

# A distance, compiled or not: the same number.
X, y = load_breast_cancer(return_X_y=True, as_frame=True)
old = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X[:285], y[:285])
new = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
space = st.FeatureSpace.from_data(X, y)
found = st.tree_distance(old, new, space=space)
assert found > 0
assert st.tree_distance(old, old, space=space) == 0
assert st.pairwise_tree_distances([old, new] * 40, space=space)[0, 1] == found
assert "numba" in sys.modules
program = (
    "import sys, steadytree as st; from sklearn.tree import DecisionTreeClassifier as D;"
    "from sklearn.datasets import load_breast_cancer as load;"
    "X, y = load(return_X_y=True, as_frame=True);"
    "a, b = (D(max_depth=3, random_state=0).fit(X[:n], y[:n]) for n in (285, 569));"
    "space = st.FeatureSpace.from_data(X, y);"
    "print(repr(float(st.pairwise_tree_distances([a, b] * 40, space=space)[0, 1])));"
    "assert 'numba' not in sys.modules"
)
plain = subprocess.run(
    [sys.executable, "-c", program],
    env={**os.environ, "STEADYTREE_NO_NUMBA": "1"},
    capture_output=True,
    text=True,
    check=True,
)
assert float(plain.stdout) == found

# Growing, retraining, saving.
result = st.retrain(old, X[285:], y[285:], old=(X[:285], y[:285]), n_folds=2, random_state=0)
assert result.diff.to_text()
tree = st.as_tree(result.model)
st.save_tree(tree, "tree.json")
assert np.array_equal(st.load_tree("tree.json").predict(X), result.model.predict(X))

# The README's block, and its report.
text = Path(sys.argv[1]).read_text(encoding="utf-8")
(block, *_) = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
exec(compile(block, "README.md", "exec"), {})
assert Path("report.html").read_text(encoding="utf-8").lower().startswith("<!doctype html>")

# Every extra is named by what needs it.
for extra, work in {
    "plot": lambda: TreeComparisonDisplay.from_trees(old, tree),
    "onnx": lambda: st.export_tree(tree, "onnx"),
    "sql": lambda: st.export_tree(tree, "sql"),
    "skops": lambda: st.export_tree(st.as_tree(old), "sklearn", "tree.skops"),
}.items():
    told = ""
    try:
        work()
    except MissingDependencyError as error:
        told = str(error)
    assert COMMAND.findall(told) == [extra], (extra, told)

# The command, from a table to a report.
command = Path(sys.executable).parent / "steadytree"
X[:285].assign(outcome=y[:285]).to_csv("2023.csv", index=False)
X[285:].assign(outcome=y[285:]).to_csv("2024.csv", index=False)
both = ("--target", "outcome", "-q", "--out")
subprocess.run([command, "fit", "2023.csv", "--learner", "cart", *both, "model"], check=True)
retrain = [command, "retrain", "2024.csv", "--deployed", "model/tree.json", "--folds", "2"]
subprocess.run([*retrain, *both, "proposal"], check=True)
assert Path("proposal", "report.html").stat().st_size > 10_000
st.show_versions()
