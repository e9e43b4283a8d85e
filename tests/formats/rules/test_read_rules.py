"""Trees in words: written by a person, printed by us or drawn by scikit-learn."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, export_text

import steadytree as st
from steadytree.exceptions import SteadyTreeError, TreeFormatError
from steadytree.formats.rules.read_rules import reads_file
from tests.foreign import random_tree
from tests.formats.contract import Case
from tests.formats.odd_trees import chain, nasty_tree

CALL = """
# who gets a follow-up call
classes: no, yes
categories of colour: red, blue, green
age <= 50 or missing:
    colour in red, blue:
        no (80 %, 40 rows)
    else:
        yes (70 %)
else:
    income > 30000:
        yes
    else:
        no
"""


def make_case(seed: int, folder: Path) -> Case:
    """Write a random tree in words, and read the file."""
    kind = ("binary", "multiclass", "regression")[seed % 3]
    tree = random_tree(
        seed,
        kind=kind,
        depth=2 + seed % 6,
        categorical=seed % 5 > 0,
        kept_labels=kind != "regression" and seed % 2 == 0,
        precision=("float64", "float32")[seed % 4 == 3],
        decision=0.3 if kind == "binary" and seed % 4 == 0 else None,
    )
    path = st.export_tree(tree, "rules", folder / f"{seed}.rules")
    return Case.of_tree(path if seed % 2 else str(path), tree, seed)


def sample_files(folder: Path) -> list[Path]:
    texts = {
        "call.rules": CALL,
        "drawn.txt": export_text(_iris(), feature_names=["a", "b c", "d (cm)", "e"]),
        "printed.txt": str(st.as_tree(_iris())),
        "weights.txt": "classes: 0, 1, 2\n" + export_text(_iris(), show_weights=True),
        "list.rules": "a > 1 and b in x, 'y' or missing: 80.5\nelif c is missing: 2 (3 rows)\n"
        "else: -1e-3\n",
    }
    paths = [st.export_tree(nasty_tree(), "rules", folder / "nasty.rules")]
    for name, text in texts.items():
        paths.append(folder / name)
        paths[-1].write_text(text, encoding="utf-8")
    return paths


def _iris() -> Any:
    X, y = load_iris(return_X_y=True)
    return DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)


def test_what_a_person_would_write() -> None:
    tree = st.tree_from_rules(CALL)
    rows = pd.DataFrame(
        {
            "age": [50, None, 50.5, 51, 20, 20],
            "colour": ["red", "blue", "red", "red", "green", "never met"],
            "income": [0, 0, 30000, 30000.01, 0, 0],
        }
    )
    assert tree.predict(rows).tolist() == ["no", "no", "no", "yes", "yes", "yes"]
    np.testing.assert_allclose(tree.predict_proba(rows)[[0, 4]], [[0.8, 0.2], [0.3, 0.7]])
    assert tree.feature_names == ("age", "colour", "income")
    assert sorted(tree.weight[tree.leaves].tolist()) == [1, 1, 1, 40]


def test_conditions_of_every_kind() -> None:
    def left(condition: str, values: list[Any]) -> list[bool]:
        tree = st.tree_from_rules(f"classes: 0, 1\n{condition}: 1\nelse: 0")
        return [bool(v) for v in tree.predict(pd.DataFrame({"x": pd.Series(values, dtype=object)}))]

    numbers = [1, 2, 3, None]
    assert left("x <= 2", numbers) == [True, True, False, False]
    assert left("x ≤ 2 or missing", numbers) == [True, True, False, True]
    assert left("x < 2", numbers) == [True, False, False, False]
    assert left("x > 2", numbers) == [False, False, True, False]
    assert left("x>=2 or missing", numbers) == [False, True, True, True]
    assert left("x is missing", numbers) == [False, False, False, True]
    assert left("x is not missing", numbers) == [True, True, True, False]
    assert left("any x", numbers) == [True] * 4
    assert left("x is nothing", numbers) == [False] * 4
    words = ["a", "b", "c", None]
    assert left("x = a", words) == [True, False, False, False]
    assert left("x in a, b", words) == [True, True, False, False]
    assert left("x in (a, 'b') or missing", words) == [True, True, False, True]
    assert left("x is a, b or missing", words) == [True, True, False, True]
    assert left("if x not in {a, b}", words) == [False, False, True, False]
    assert left("x != a", words) == [False, True, True, False]
    assert left("x is anything but a or missing", words) == [False, True, True, True]
    assert left('"x" in 3, 2.5, true', [3, 2.5, "3", None]) == [True, True, False, False]
    assert left("x in '1'", [1, "1"]) == [False, True]
    assert left("x in 007, 7", [7, "007", "7"]) == [True, True, False]


def test_branches_in_a_row_and_conditions_joined_by_and() -> None:
    tree = st.tree_from_rules(
        "age > 60 and income <= 1000 or missing and colour in red, blue: high\n"
        "age > 60: middle\n"
        "elif income > 5000: low\n"
        "otherwise: middle\n"
    )
    rows = pd.DataFrame(
        {
            "age": [61, 61, 61, 60, 60],
            "income": [None, 1000, 2000, 5001, None],
            "colour": ["red", "grey", "red", "red", "red"],
        }
    )
    assert tree.predict(rows).tolist() == ["high", "middle", "middle", "low", "middle"]
    assert tree.classes == ("high", "low", "middle")


def test_shares_in_every_form() -> None:
    def shares(outcome: str, classes: str = "no, yes") -> list[float]:
        tree = st.tree_from_rules(f"classes: {classes}\nx <= 1: {outcome}\nelse: no")
        return tree.value[1].round(9).tolist()

    assert shares("no 80 %, yes 20 %") == [0.8, 0.2]
    assert shares("yes 20 %") == [0.8, 0.2]
    assert shares("no (yes 0.25)") == [0.75, 0.25]
    assert shares("no (predicts yes < 0.1 %; observed 1 of 1,043)") == [0.999, 0.001]
    assert shares("yes") == [0, 1]
    assert shares("no 33 %, yes 33 %, perhaps 33 %", "no, yes, perhaps") == [0.333333333] * 3
    assert shares("yes (60 %)", "no, yes, perhaps") == [0.2, 0.6, 0.2]
    tree = st.tree_from_rules(
        "classes: no, yes\ndecision: yes from 20 %\nx<=1: no 80%, yes 20%\nelse: no"
    )
    assert tree.predict([[1.0]]).tolist() == ["yes"]
    assert tree.decision_threshold == 0.2
    counted = st.tree_from_rules("x <= 1: no (predicts yes 5 %; observed 1 of 1,043)\nelse: yes")
    assert counted.weight[1] == 1043
    both = st.tree_from_rules(
        "x <= 1: no (predicts yes 5 %; observed 1 of 2 new and 3 of 4 old rows)\nelse: yes"
    )
    assert both.weight[1] == 1


def test_responses() -> None:
    tree = st.tree_from_rules("x <= 1: 12.5 (40 rows)\nelse: -3")
    assert tree.classes is None
    assert tree.predict([[1.0], [2.0]]).tolist() == [12.5, -3]
    assert st.tree_from_rules("always: 7").predict(np.zeros((2, 0))).tolist() == [7, 7]
    assert st.tree_from_rules("classes: a, b\nb").predict(np.zeros((1, 0))).tolist() == ["b"]


def test_drawings_with_lines() -> None:
    drawn = (
        "├── age ≤ 50: no\n"
        "└── age > 50\n"
        "    ├── colour is red or 'light: blue' # two of them\n"
        "    │   └── yes\n"
        "    └── else\n"
        "        └── no\n"
    )
    tree = st.tree_from_rules(drawn)
    assert tree.categories[1] == ("red", "light: blue")
    rows = pd.DataFrame({"age": [50, 51, 51], "colour": ["red", "light: blue", "blue"]})
    assert tree.predict(rows).tolist() == ["no", "yes", "no"]
    assert st.tree_from_rules(drawn.replace("    ", "\t")).n_leaves == 3


@pytest.mark.parametrize("weights", [False, True])
def test_drawings_of_scikit_learn(weights: bool) -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    text = export_text(model, feature_names=list(X.columns), decimals=20, show_weights=weights)
    tree = st.tree_from_rules(("classes: 0, 1, 2\n" if weights else "") + text)
    np.testing.assert_array_equal(tree.predict(X), model.predict(X))
    if weights:
        shares = tree.predict_proba(X[list(tree.feature_names or ())])
        np.testing.assert_allclose(shares, model.predict_proba(X), atol=1e-12)


def test_regressions_of_scikit_learn() -> None:
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = DecisionTreeRegressor(max_depth=4, random_state=0).fit(X, y)
    tree = st.tree_from_rules(export_text(model, feature_names=list(X.columns), decimals=20))
    np.testing.assert_allclose(tree.predict(X), model.predict(X))
    cut = export_text(model, feature_names=list(X.columns), max_depth=1)
    with pytest.raises(TreeFormatError, match="expected a whole tree; export it without a limit"):
        st.tree_from_rules(cut)


def test_our_own_listings_read_back() -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    X["kind of day"] = np.where(np.arange(len(X)) % 2, "it's wet", "dry")
    grown = st.DistilledTreeClassifier(random_state=0, max_leaf_nodes=8).fit(X, y).to_tree()
    tree = st.tree_from_rules(str(grown))
    np.testing.assert_array_equal(tree.predict(X), grown.predict(X))
    shares = [t.value[t.leaves, t.label[t.leaves]] for t in (tree, grown)]
    np.testing.assert_allclose(shares[0], shares[1], atol=6e-4)
    assert (
        str(tree).splitlines()[0].partition(":")[0] == str(grown).splitlines()[0].partition(":")[0]
    )
    odd = (
        "|-- any x: no (predicts yes 0.0 %)\n|-- x: nobody comes this way: yes (predicts yes 99 %)"
    )
    assert st.tree_from_rules(odd).predict([[1.0], [np.nan]]).tolist() == ["no", "no"]


def test_what_is_printed_is_what_is_decided() -> None:
    text = "x < 110:\n    x >= 0: a\n    else: b\nelse:\n    x < 120.5: b\n    else: a"
    tree = st.tree_from_rules(text)
    assert [line.lstrip("|- ").partition(":")[0] for line in str(tree).splitlines()] == [
        *("x < 110", "x < 0", "x >= 0", "x >= 110", "x < 120.5", "x >= 120.5")
    ]
    assert "110 <= x < 120.5: b" in st.TreeClassifier(tree).rules(style="list")
    at = [[-1.0], [0.0], [109.0], [110.0], [120.5]]
    assert tree.predict(at).tolist() == ["b", "a", "a", "b", "a"]
    assert np.array_equal(st.tree_from_rules(str(tree)).threshold, tree.threshold, equal_nan=True)


def test_files(tmp_path: Path) -> None:
    for path in sample_files(tmp_path):
        assert st.as_tree(path).n_leaves > 1
    assert not reads_file(Path("a.txt"), b"tree\r\nversion=v4")
    assert not reads_file(Path("a.csv"), b"a <= 1: no")
    windows = tmp_path / "windows.rules"
    windows.write_bytes(b"\xef\xbb\xbf" + CALL.replace("\n", "\r\n").encode())
    assert st.as_tree(windows) == st.tree_from_rules(CALL)
    latin = tmp_path / "latin.rules"
    latin.write_bytes("größe <= 1: no\nelse: yes".encode("latin-1"))
    with pytest.raises(TreeFormatError, match=r"latin.rules: expected UTF-8 text"):
        st.as_tree(latin)
    wrong = tmp_path / "wrong.rules"
    wrong.write_text("a =< 1: no\nelse: yes")
    with pytest.raises(TreeFormatError, match=r"wrong.rules: line 1, column 3: expected <= or >="):
        st.as_tree(wrong)
    with pytest.raises(SteadyTreeError, match="expected tree_index below 1"):
        st.as_tree(windows, tree_index=1)
    large = tmp_path / "large.rules"
    large.write_bytes(b" " * (4 * 2**20 + 1))
    with pytest.raises(TreeFormatError, match="a file of at most 4,194,304 bytes"):
        st.as_tree(large)


REFUSED = {
    "age <= 5: no": "1, column 1: expected else: or the other side of this condition",
    "age <= 5: no\nage > 6: yes": "2, column 1: expected else: or .*before, age > 5, got",
    "age <= 5: no\nsize > 5: yes": "2, column 1: expected else: or the other side of 'age'",
    "age <= 5 or missing: no\nage > 5 or missing: yes": "2, .*expected missing values on one side",
    "a <= 5 and b > 1: no\na > 5: yes": "2, .*expected else: after conditions joined by 'and'",
    "categories of a: x, y, z\na in x: no\na in z: yes": "3, .*on one side, got 'y' on none",
    "a in x, y: no\na in y: yes": "2, .*each category on one side, got 'y' on both sides",
    "a in x: no\nelse:\n b <= 1: no\n else: a in z: yes": "4, column 8: expected an outcome",
    "a in x: no\na <= 5: yes": "2, .*expected categories of 'a', as in line 1, got a number",
    "features: b\na <= 5: no\nelse: yes": "2, column 1: expected a feature of line 1, got 'a'",
    "categories of a: x, y\na in z: no\nelse: yes": "2, .*expected categories of 'a' as listed",
    "classes: a, b\na <= 5: a\nelse: c": r"3, column 7: expected a class of \['a', 'b'\]",
    "classes: no, no\na <= 5: no\nelse: maybe": "1, column 14: expected each of them once",
    "classes: no\nclasses: yes\na <= 5: no": "2, column 1: expected one line 'classes', got",
    "a <= 5: no\nelse: no": "1, column 9: expected two classes or more, got 'no' alone",
    "a <= 5: 3\nelse: no": "2, column 7: expected outcomes of one kind, got words and numbers",
    "a <= 5: value: [3]\nelse: no": "1, .*expected a class, as in other lines",
    "a <= 5: weights: [3, 1] class: x\nelse: no": "1, .*expected a line 'classes: ...'",
    "classes: a\nx <= 5: weights: [3, 1] class: a\nelse: a": "2, .*expected 1 weights",
    "decision: yes from 20 %\na <= 5: 3\nelse: 4": "1, column 1: expected one of two classes",
    "a <= 5: no 80 %, yes 30 %\nelse: no": "1, .*expected shares that sum to 100 %, got 110 %",
    "a <= 5: 1e400\nelse: 3": "1, .*expected a finite response",
    f"a <= 5: {'1' * 400}\nelse: 3": "1, .*expected a finite response",
    "a <= 1e400: 2\nelse: 3": "1, column 6: expected a number with a decimal point",
    "a <= 5: no (1e400 rows)\nelse: yes": "1, .*expected a finite number of rows",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_no_tree_is_refused_at_its_place(text: str) -> None:
    with pytest.raises(TreeFormatError, match="line " + REFUSED[text]):
        st.tree_from_rules(text)


def test_large_texts_take_bounded_time() -> None:
    deep = "".join(f"{' ' * k}a <= {k}: 1\n{' ' * k}else:\n" for k in range(1500))
    joined = "".join(f"{' and '.join(f'x{j} <= {k}' for j in range(20))}: 1\n" for k in range(40))
    categories = ", ".join(f"c{k}" for k in range(20_000))
    texts = {
        deep: "at most 1000 levels",
        joined + "else: 2": "at most 100,000 nodes",
        f"categories of a: {categories}\n" + "a in c1: 1\n" * 2000 + "else: 2": "10,000,000",
        "a <= 1: 1\n" * 3000 + "else: 2": "on 1,000 levels",
        "a <= 1:" + " " * 900_000 + "x": "gaps of at most 50 spaces",
        "a <= " + "1" * 1_000_001: "lines of at most 1,000,000 characters",
        "a in " + "'x' or" * 100_000: "got",
        "a <= 1: " + "(" * 900_000: "got",
        '"' * 900_000: "got",
        "\\\"' " * 200_000: "got",
        "is " * 300_000: "got",
        "a <= 5: no\n" + "|" * 900_000: "got",
        "x" * (4 * 2**20 + 1): "at most 4,194,304",
    }
    for text, said in texts.items():
        start = time.perf_counter()
        with pytest.raises(TreeFormatError, match=said):
            st.tree_from_rules(text)
        assert time.perf_counter() - start < 20
    assert st.tree_from_rules(st.export_tree(chain(900), "rules")).depth == 900
