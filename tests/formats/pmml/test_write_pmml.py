"""PMML that we write, scored by jpmml-evaluator."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import steadytree as st
from steadytree.exceptions import InputError, UnsupportedModelError
from steadytree.tree.branches import build_tree
from steadytree.tree.nested import Branch, Leaf
from tests.foreign import NAMES, probe_rows, random_tree
from tests.formats.odd_trees import marked_tree, nasty_tree
from tests.programs import require_program

# A boolean field cannot hold a category never met: booleans are tested below.
TREES = {"names": NAMES[:5]}


def evaluate(document: str | Path, rows: pd.DataFrame) -> pd.DataFrame:
    """What the engine says of rows; it runs in this process, started once."""
    from jpmml_evaluator import make_evaluator

    require_program("java", package="default-jre-headless")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the engine's own code
        evaluator = make_evaluator(document)
        cells = rows.astype(object).where(rows.notna(), None)
        found = evaluator.evaluateAll(cells, error_col="errors")
    assert "errors" not in found or found["errors"].isna().all(), found["errors"].dropna().iloc[0]
    return found


def run(tree: st.Tree, rows: pd.DataFrame, folder: Path) -> tuple[Any, Any]:
    path = st.export_tree(tree, "pmml", folder / "tree.pmml")
    found = evaluate(path, rows)
    if not tree.is_classifier:
        return found["prediction"].to_numpy(dtype=float), None
    shares = found[[f"probability({c})" for c in tree.classes]].to_numpy(dtype=float)
    return found["prediction"].to_numpy(), shares


def test_thresholds_and_shares_are_exact(tmp_path: Path) -> None:
    for precision in ("float32", "float64"):
        tree = random_tree(2, categorical=False, precision=precision, depth=7)
        rows = probe_rows(tree, 4000)
        rows.iloc[:5, 0] = [np.inf, -np.inf, 1e300, -0.0, 5e-324]
        labels, shares = run(tree, rows, tmp_path)
        np.testing.assert_array_equal(labels, tree.predict(rows))
        # The engine divides shares by their sum once more.
        np.testing.assert_allclose(shares, tree.predict_proba(rows), rtol=1e-15)
        regression = random_tree(2, kind="regression", categorical=False, precision=precision)
        rows = probe_rows(regression, 2000)
        np.testing.assert_array_equal(run(regression, rows, tmp_path)[0], regression.predict(rows))


@pytest.mark.parametrize("threshold", [np.inf, -np.inf])
@pytest.mark.parametrize("missing_left", [False, True])
def test_infinite_thresholds(threshold: float, missing_left: bool, tmp_path: Path) -> None:
    branch = Branch(
        feature=0,
        left=Leaf([1.0]),
        right=Leaf([2.0]),
        threshold=threshold,
        missing_left=missing_left,
    )
    tree = build_tree(branch, n_features=1)
    rows = pd.DataFrame({"x0": [0.0, np.inf, -np.inf, np.nan, -1.7976931348623157e308]})
    np.testing.assert_array_equal(run(tree, rows, tmp_path)[0], tree.predict(rows))


@pytest.mark.parametrize("classes", [(False, True), (3, -7), (0.5, 2.25), ("<&\"'>", "a\nb")])
def test_classes_keep_their_type(classes: tuple[Any, ...], tmp_path: Path) -> None:
    tree = random_tree(1, categorical=False).replace(classes=classes)
    rows = probe_rows(tree, 300)
    found = evaluate(st.export_tree(tree, "pmml", tmp_path / "a.pmml"), rows)["prediction"]
    assert found.tolist() == tree.predict(rows).tolist()
    assert {type(v) for v in found.tolist()} == {type(classes[0])}


@pytest.mark.parametrize(
    "categories",
    [
        (False, True),
        (1.5, -2.0, 1e300),
        (2**40, 5, 7),
        ("a b", 'say "yes"', "back\\slash", "", "<tag>", "&", "é", " x "),
    ],
)
def test_categories_of_every_kind(categories: tuple[Any, ...], tmp_path: Path) -> None:
    for codes in ((0,), (0, 1), tuple(range(1, len(categories))), tuple(range(len(categories)))):
        for missing_left, unseen_left in ((False, False), (False, True), (True, False)):
            leaves = [Leaf([float(k)]) for k in range(3)]
            deep = Branch(
                feature=0,
                left=leaves[0],
                right=leaves[1],
                left_categories=codes[:1],
                missing_left=unseen_left,
                unseen_left=missing_left,
            )
            tree = build_tree(
                Branch(
                    feature=0,
                    left=deep,
                    right=leaves[2],
                    left_categories=codes,
                    missing_left=missing_left,
                    unseen_left=unseen_left,
                ),
                n_features=1,
                categories=(categories,),
            )
            other = (
                []
                if categories[0] is False
                else ["other" if codes and isinstance(categories[0], str) else 77]
            )
            rows = pd.DataFrame({"x0": pd.Series([*categories, *other, None], dtype=object)})
            np.testing.assert_array_equal(run(tree, rows, tmp_path)[0], tree.predict(rows))


def test_a_deep_tree(tmp_path: Path) -> None:
    node: Any = Leaf([0.0])
    for k in range(400):
        node = Branch(
            feature=0, left=Leaf([float(k)]), right=node, threshold=400.0 - k, missing_left=False
        )
    text = st.export_tree(build_tree(node, n_features=1), "pmml")
    assert text.count("<Node ") == text.count("</Node>") == 801


def test_names_full_of_marks(tmp_path: Path) -> None:
    for tree in (marked_tree(), plain_for_xml(nasty_tree())):
        rows = probe_rows(tree, 1000)
        labels, shares = run(tree, rows, tmp_path)
        assert labels.tolist() == tree.predict(rows).tolist()
        np.testing.assert_allclose(shares, tree.predict_proba(rows), rtol=1e-15)
        back = st.as_tree(tmp_path / "tree.pmml")
        assert (back.feature_names, back.categories, back.classes) == (
            tree.feature_names,
            tree.categories,
            tree.classes,
        )
        np.testing.assert_array_equal(back.predict(rows), tree.predict(rows))
    with pytest.raises(UnsupportedModelError, match=re.escape("XML can hold, got '\\x07'")):
        st.export_tree(nasty_tree(), "pmml")


def plain_for_xml(tree: st.Tree) -> st.Tree:
    """The same without the one mark that XML cannot hold."""
    names = tuple(name.replace("\x07", "!") for name in tree.feature_names or ())
    return tree.replace(
        feature_names=names, categories=tuple(None if c is None else names for c in tree.categories)
    )


def test_refusals() -> None:
    tree = random_tree(0)
    with pytest.raises(InputError, match="expected a target that is no feature, got 'age'"):
        st.export_tree(tree, "pmml", target="age")
    with pytest.raises(UnsupportedModelError, match="expected classes of one type"):
        st.export_tree(tree.replace(classes=("no", 1)), "pmml")
    mixed = (*tree.categories[:3], ("a", 1, "c", "d", "e"), *tree.categories[4:])
    with pytest.raises(UnsupportedModelError, match="expected categories of 'colour' of one type"):
        st.export_tree(tree.replace(categories=mixed), "pmml")
    huge = (*tree.categories[:4], (1, 2, 3, 2**53 + 1), (False, True))
    with pytest.raises(UnsupportedModelError, match="expected categories of 'size' of one type"):
        st.export_tree(tree.replace(categories=huge), "pmml")
    with pytest.raises(UnsupportedModelError, match=re.escape("got '\\x00' in 'a\\x00'")):
        st.export_tree(tree.replace(classes=("a\x00", "b")), "pmml")


def test_names_can_be_given() -> None:
    text = st.export_tree(random_tree(0), "pmml", target="outcome", model_name='the "old" tree')
    assert "modelName='the \"old\" tree'" in text
    assert '<MiningField name="outcome" usageType="target"/>' in text
