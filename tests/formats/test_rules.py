"""Trees in words: written by a person or by us, and read back as the same tree."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import steadytree as st
from steadytree.exceptions import InputError, SteadyTreeError, TreeFormatError
from steadytree.formats.rules.read_rules import reads_file
from tests.foreign import probe_rows, random_tree
from tests.formats.contract import Case
from tests.formats.odd_trees import bushy, chain, nasty_tree
from tests.wording import refuses

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
        "list.txt": 'a > 1 and b in x, "y" or missing: 80.5\nelif c is missing: 2 (3 rows)\n'
        "else: -1e-3\n",
    }
    paths = [st.export_tree(nasty_tree(), "rules", folder / "nasty.rules")]
    for name, text in texts.items():
        paths.append(folder / name)
        paths[-1].write_text(text, encoding="utf-8")
    return paths


def run(tree: st.Tree, rows: pd.DataFrame, folder: Path) -> tuple[Any, Any]:
    found = st.as_tree(st.export_tree(tree, path=folder / "tree.rules"))
    shares = found.predict_proba(rows) if found.is_classifier else None
    if shares is not None:
        np.testing.assert_array_equal(shares, tree.predict_proba(rows))
    return found.predict(rows), shares


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
    assert left("if x ≤ 2 or missing", numbers) == [True, True, False, True]
    assert left("x < 2", numbers) == [True, False, False, False]
    assert left("x > 2", numbers) == [False, False, True, False]
    assert left("x>=2 or missing", numbers) == [False, True, True, True]
    words = ["a", "b", "c", None]
    for values in (numbers, words):
        more = "" if values is numbers else " and x in a, b, c or missing"
        assert left(f"x is missing{more}", values) == [False, False, False, True]
        assert left(f"x is not missing{more}", values) == [True, True, True, False]
        assert left(f"x is anything{more}", values) == [True] * 4
        assert left(f"x is nothing{more}", values) == [False] * 4
    assert left("x = a", words) == [True, False, False, False]
    assert left("x in a, b", words) == [True, True, False, False]
    assert left('x in a, "b" or missing', words) == [True, True, False, True]
    assert left("x is a or b, or missing", words) == [True, True, False, True]
    assert left("x not in a, b", words) == [False, False, True, False]
    assert left("x != a", words) == [False, True, True, False]
    assert left('"x" in 3, 2.5, true', [3, 2.5, "3", None]) == [True, True, False, False]
    assert left('x in "1"', [1, "1"]) == [False, True]
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


def test_the_other_side_in_words() -> None:
    for one, other in (
        ("x <= 2", "x > 2 or missing"),
        ("x >= 2", "x < 2"),
        ("x in a, b", "x not in b, a"),
        ("x is missing", "x is not missing"),
    ):
        rows = pd.DataFrame({"x": [2.0, 3.0, None]} if "a" not in one else {"x": ["a", "c", None]})
        both = st.tree_from_rules(f"{one}: no\n{other}: yes").predict(rows)
        assert both.tolist() == st.tree_from_rules(f"{one}: no\nelse: yes").predict(rows).tolist()


def test_shares_responses_and_labels_kept_against_their_shares() -> None:
    def shares(outcome: str, classes: str = "no, yes") -> list[float]:
        tree = st.tree_from_rules(f"classes: {classes}\nx <= 1: {outcome}\nelse: no")
        return tree.value[1].round(9).tolist()

    assert shares("no 80 %, yes 20 %") == [0.8, 0.2]
    assert shares("yes 20 % (40 rows)") == [0.8, 0.2]
    assert shares("no (yes 0.25)") == [0.75, 0.25]
    assert shares("yes") == [0, 1]
    assert shares("no 33 %, yes 33 %, perhaps 33 %", "no, yes, perhaps") == [0.333333333] * 3
    assert shares("yes (60 %)", "no, yes, perhaps") == [0.2, 0.6, 0.2]
    tree = st.tree_from_rules(
        "classes: no, yes\ndecision: yes from 20 %\nx<=1: no 80%, yes 20%\nelse: no (yes 60 %)"
    )
    assert tree.predict([[1.0], [2.0]]).tolist() == ["yes", "no"]
    assert tree.decision_threshold == 0.2
    response = st.tree_from_rules("x <= 1: 12.5 (40 rows)\nelse: -3")
    assert response.classes is None
    assert response.predict([[1.0], [2.0]]).tolist() == [12.5, -3]
    assert st.tree_from_rules("always: 7").predict(np.zeros((2, 0))).tolist() == [7, 7]
    assert st.tree_from_rules("classes: a, b\nb").predict(np.zeros((1, 0))).tolist() == ["b"]


def test_quotes_comments_and_the_head() -> None:
    tree = st.tree_from_rules(
        'classes: a, "it # is"\nfeatures: y, "x: y"\ncategories of "x: y": 3, 2.5, true\n'
        '"x: y" in 3, 2.5 or missing: # a comment\n  "it # is"\notherwise:\n  a (5 rows)\n'
    )
    assert tree.classes == ("a", "it # is")
    assert tree.feature_names == ("y", "x: y")
    assert tree.categories == (None, (3, 2.5, True))
    assert tree.weight[tree.leaves].tolist() == [1, 5]


def test_what_is_printed_is_what_is_decided() -> None:
    text = "x < 110:\n    x >= 0: a\n    else: b\nelse:\n    x < 120.5: b\n    else: a"
    tree = st.tree_from_rules(text)
    assert [line.lstrip("|- ").partition(":")[0] for line in str(tree).splitlines()] == [
        *("x < 110", "x < 0", "x >= 0", "x >= 110", "x < 120.5", "x >= 120.5")
    ]
    assert "110 <= x < 120.5: b" in st.TreeClassifier(tree).rules(style="list")
    at = [[-1.0], [0.0], [109.0], [110.0], [120.5]]
    assert tree.predict(at).tolist() == ["b", "a", "a", "b", "a"]


def test_files(tmp_path: Path) -> None:
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


REFUSED = {
    # lines that do not nest
    "nothing": "# nothing\n\n",
    "only a head": "classes: a, b",
    "nothing below a branch": "age <= 5:\nelse: yes",
    "nothing below the last branch": "age <= 5: no\nelse:",
    "a line below an outcome": "age <= 5: no\n  yes",
    "a line beside an outcome": "age <= 5:\n  no\n  yes\nelse: no",
    "an outcome beside branches": "age <= 5: no\nyes",
    "another indentation": "age <= 5:\n   no\n  yes",
    "a line after else": "age <= 5: no\nelse: yes\nelse: no",
    "tabs and spaces": "age <= 5:\n  no\nelse:\n\tyes",
    # conditions
    "a sign turned round": "age =< 5: no",
    "a number with commas": "age <= 30,000: no",
    "a number with a unit": "age <= 5kg: no",
    "no number": "age <=: no",
    "an infinite number": "a <= 1e400: 2\nelse: 3",
    "no feature": "<= 5: no",
    "two features": '"a" b <= 1: no',
    "no colon": "age <= 5 then no",
    "else without colon": "else",
    "a class for a condition": "if no: x",
    "a word after missing": "a is missing now: no",
    "two conditions joined by or": "age <= 5 or b > 5: no",
    "a range": "30 < age <= 50: no",
    "no category": "colour in: no",
    "a category twice": "colour in red, red: no",
    "missing among categories": "colour in red, missing: no",
    "brackets around categories": "colour in (red, blue): no",
    "single quotes": "colour in 'red': no",
    "an open quote": 'colour in "red: no',
    "an escape that is none": '"col\\x" = 1: no',
    "a word of the grammar in a name": "time in hospital <= 3: no",
    "a drawing": "|-- age <= 5: no",
    # outcomes
    "brackets that hold no share": "age <= 5: no (many)",
    "a share twice": "age <= 5: no (80 %, no 20 %)",
    "a share above one": "age <= 5: no (180 %)",
    "a share without class": "age <= 5: no 80 %, yes",
    "a share in other words": "age <= 5: p = 0.8",
    "words after brackets": "age <= 5: no (80 %) or so",
    "shares that sum to more": "a <= 5: no 80 %, yes 30 %\nelse: no",
    "a response that is infinite": f"a <= 5: {'1' * 400}\nelse: 3",
    "rows that are infinite": "a <= 5: no (1e400 rows)\nelse: yes",
    "one class": "a <= 5: no\nelse: no",
    "words and numbers": "a <= 5: 3\nelse: no",
    # the whole
    "no other side": "age <= 5: no",
    "another bound on the other side": "age <= 5: no\nage > 6: yes",
    "another feature on the other side": "age <= 5: no\nsize > 5: yes",
    "missing values on both sides": "age <= 5 or missing: no\nage > 5 or missing: yes",
    "a side of two conditions": "a <= 5 and b > 1: no\na > 5: yes",
    "categories and numbers": "a in x: no\nb <= 5: yes\na <= 5: no\nelse: yes",
    "a feature that is not listed": "features: b\na <= 5: no\nelse: yes",
    "a category that is not listed": "categories of a: x, y\na in z: no\nelse: yes",
    "a class that is not listed": "classes: a, b\na <= 5: a\nelse: c",
    "a class listed twice": "classes: no, no\na <= 5: no\nelse: maybe",
    "a line of the head twice": "classes: no\nclasses: yes\na <= 5: no",
    "a decision without share": "decision: yes\na <= 1: no",
    "a decision on a response": "decision: yes from 20 %\na <= 5: 3\nelse: 4",
    "a long line": "age <= 5 and " * 30 + "age =< 1: no",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_tree_is_refused_at_its_place(name: str) -> None:
    with refuses(TreeFormatError, f"rules: {name}") as caught:
        st.tree_from_rules(REFUSED[name])
    first, *marked = str(caught.value).split("\n")
    if marked:
        line, column = (int(word.strip(",:")) for word in first.split()[1:4:2])
        shown, mark = marked
        text = REFUSED[name].split("\n")[line - 1].replace("\t", " ")
        assert shown[4:] in text
        assert shown[mark.index("^") :] == text[column - 1 :][: len(shown) - mark.index("^")]


def test_large_texts_take_bounded_time() -> None:
    deep = "".join(f"{' ' * k}a <= {k}: 1\n{' ' * k}else:\n" for k in range(1500))
    joined = "".join(f"{' and '.join(f'x{j} <= {k}' for j in range(20))}: 1\n" for k in range(40))
    categories = ", ".join(f"c{k}" for k in range(20_000))
    texts = {
        deep: "at most 1000 levels",
        joined + "else: 2": "at most 100,000 nodes",
        f"categories of a: {categories}\n" + "a in c1: 1\n" * 2000 + "else: 2": "10,000,000",
        "a <= 1: 1\n" * 3000 + "else: 2": "on 1,000 levels",
        "a <= " + "1" * 1_000_001: "lines of at most 1,000,000 characters",
        "a in " + '"x" or' * 100_000: "got",
        "a <= 1: " + "(" * 900_000: "got",
        "a <= 1: " + "( )" * 300_000: "got",
        "a <= 1" + " " * 900_000 + "x": "got",
        "a <= 1 or " * 90_000: "got",
        '"' * 900_000: "got",
        "\\\"' " * 200_000: "got",
        "is " * 300_000: "got",
        "a is" + " " * 900_000 + "b: 1": "got",
        "a in x" + "," * 900_000 + ": 1": "got",
        "a <= 5: no\n" + "|" * 900_000: "got",
        "x" * (4 * 2**20 + 1): "at most 4,194,304",
    }
    for text, fragment in texts.items():
        start = time.perf_counter()
        with pytest.raises(TreeFormatError, match=fragment):
            st.tree_from_rules(text)
        assert time.perf_counter() - start < 20
    assert st.tree_from_rules(st.export_tree(chain(900), "rules")).depth == 900


@pytest.mark.parametrize("tree", [chain(900, leftwards=True), bushy(8), nasty_tree()], ids=repr)
def test_large_trees_and_names_that_mean_something_survive(tree: st.Tree, tmp_path: Path) -> None:
    tree = tree.replace(feature_names=tree.feature_labels)
    rows = probe_rows(tree, 2000)
    np.testing.assert_array_equal(run(tree, rows, tmp_path)[0], tree.predict(rows))


def test_names_that_are_words_of_the_grammar_survive(tmp_path: Path) -> None:
    words = ("else", "is", "missing", "any x", "rows", "class", "true", "1", "# no", "a, b", " ")
    tree = random_tree(2, depth=6).replace(
        feature_names=("is in", "if x", "or", "not", "else: x", "otherwise"),
        categories=(None, None, None, words[:5], words[5:9], (False, True)),
        classes=("missing", "2 rows\ue000\0"),
    )
    rows = probe_rows(tree, 2000)
    np.testing.assert_array_equal(run(tree, rows, tmp_path)[0], tree.predict(rows))


def test_weights_decision_and_categories_survive() -> None:
    tree = random_tree(4, depth=5, decision=0.3, kept_labels=True)
    found = st.tree_from_rules(st.export_tree(tree, "rules"))
    assert found.decision_threshold == 0.3
    assert (found.classes, found.categories) == (tree.classes, tree.categories)
    assert found.weight[0] == tree.weight[0]
    assert sorted(found.label[found.leaves]) == sorted(tree.label[tree.leaves])
    leaf = tree.prune_at([0])
    assert st.tree_from_rules(st.export_tree(leaf, "rules")).value.tolist() == leaf.value.tolist()
    with pytest.raises(InputError, match="expected finite classes"):
        st.export_tree(random_tree(5).replace(classes=(float("inf"), 1.0)), "rules")
