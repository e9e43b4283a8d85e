"""Import time against scikit-learn's, and how long the first distance takes."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from statistics import median

from research.benchmarks.tables import Section, number, progress

TIMED = "import time; t = time.perf_counter(); {}; print(time.perf_counter() - t)"
PREPARE = """
import time
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier
import steadytree as st
X, y = load_breast_cancer(return_X_y=True)
a, b = (DecisionTreeClassifier(max_depth=4, random_state=0).fit(X[::k], y[::k]) for k in (1, 2))
space = st.FeatureSpace.from_data(X)
for _ in range(2):
    t = time.perf_counter()
    st.tree_distance(a, b, space=space)
    print(time.perf_counter() - t)
draw = np.random.default_rng(0).integers(0, len(y), (30, len(y)))
many = [DecisionTreeClassifier(max_depth=4, random_state=0).fit(X[k], y[k]) for k in draw]
t = time.perf_counter()
st.pairwise_tree_distances(many, space=space)
print(time.perf_counter() - t)
"""


def _run(code: str, **environment: str) -> list[float]:
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environment},
    )
    return [float(line) for line in done.stdout.split()]


def run(quick: bool) -> list[Section]:
    progress("import times and first distances, in fresh processes")
    imports: dict[str, list[float]] = {"sklearn.tree": [], "steadytree": []}
    for _ in range(3 if quick else 9):
        for name, times in imports.items():
            times += _run(TIMED.format(f"import {name}"))
    with tempfile.TemporaryDirectory() as empty:
        cold = _run(PREPARE, NUMBA_CACHE_DIR=empty)
        warm = [_run(PREPARE, NUMBA_CACHE_DIR=empty) for _ in range(1 if quick else 3)]
    without = _run(PREPARE, STEADYTREE_NO_NUMBA="1")
    section = Section("Start", ["what", "seconds"])
    medians = {name: median(times) for name, times in imports.items()}
    for name, value in medians.items():
        section.add(f"import {name}", number(value))
    section.add("first distance after installation", number(cold[0]))
    section.add("second distance of a process", number(median(w[1] for w in warm)))
    section.add("first collection (30 trees) after installation: compiles", number(cold[2]))
    section.add("first collection of a process after that", number(median(w[2] for w in warm)))
    section.add("first collection without numba", number(without[2]))
    ratio = medians["steadytree"] / medians["sklearn.tree"]
    section.holds = ratio < 1.5
    section.notes.append(f"import steadytree: {ratio:.2f} × import sklearn.tree (goal below 1.5 ×)")
    return [section.show()]
