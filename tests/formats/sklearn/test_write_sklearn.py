"""A tree as a scikit-learn model: scikit-learn itself predicts as the tree does."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, export_text

import steadytree as st
from steadytree.exceptions import InputError, UnsupportedModelError
from steadytree.formats.sklearn.write_sklearn import coded_columns
from steadytree.tree.nested import Branch, Leaf, build_tree
from tests.foreign import probe_rows, random_tree

SINGLES = True
KINDS = pytest.mark.parametrize("kind", ["binary", "multiclass", "regression"])


def run(tree: st.Tree, rows: pd.DataFrame, folder: Path) -> tuple[Any, Any]:
    model = st.export_tree(tree, "sklearn", prefer="labels")
    found = model.predict(as_sklearn_takes(tree, rows))
    if not tree.is_classifier:
        return found, None
    kept = tree.kept_against_share[tree.is_leaf].any()
    return found, None if kept else model.predict_proba(as_sklearn_takes(tree, rows))


def as_sklearn_takes(tree: st.Tree, rows: pd.DataFrame) -> pd.DataFrame:
    """Missing categories that are numbers as NaN: None is an unknown value to its encoders."""
    out = rows.copy()
    for name, categories in zip(tree.feature_labels, tree.categories, strict=True):
        if categories is not None and not isinstance(categories[0], str):
            out[name] = [np.nan if value is None else value for value in rows[name]]
            out[name] = out[name].astype(object)
    return out


def trained(seed: int, kind: str) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X, y = {"binary": load_breast_cancer, "multiclass": load_iris, "regression": load_diabetes}[
        kind
    ](return_X_y=True, as_frame=True)
    X = X.mask(rng.random(X.shape) < 0.1)
    kinds = {"regression": DecisionTreeRegressor}
    model = kinds.get(kind, DecisionTreeClassifier)(max_depth=1 + seed % 5, random_state=seed)
    return model.fit(X, y), X


@KINDS
@pytest.mark.parametrize("seed", range(3))
def test_there_and_back_is_the_same_tree(kind: str, seed: int) -> None:
    model, X = trained(seed, kind)
    tree = st.as_tree(model)
    written = st.export_tree(tree, "sklearn")
    assert st.as_tree(written) == tree
    np.testing.assert_array_equal(written.apply(X), model.apply(X))
    np.testing.assert_array_equal(written.predict(X), model.predict(X))
    assert (written.decision_path(X) != model.decision_path(X)).nnz == 0
    assert export_text(written, feature_names=list(X)) == export_text(model, feature_names=list(X))
    np.testing.assert_array_equal(written.feature_importances_, model.feature_importances_)
    assert list(written.feature_names_in_) == list(X)


@KINDS
@pytest.mark.parametrize("seed", range(6))
def test_random_trees_there_and_back(kind: str, seed: int) -> None:
    decision = 0.3 if kind == "binary" and seed % 3 == 0 else None
    precision = ("float64", "float32")[seed % 2]
    tree = random_tree(seed, kind=kind, precision=precision, decision=decision)
    again = st.as_tree(st.export_tree(tree, "sklearn"))
    rows = as_sklearn_takes(tree, probe_rows(tree, 3000, seed, singles=True))
    np.testing.assert_array_equal(again.predict(rows), tree.predict(rows))
    assert again.decision_threshold == tree.decision_threshold
    # Every single goes as in a tree of doubles.
    numbers = random_tree(seed, kind=kind, categorical=False, precision=precision)
    rows = probe_rows(numbers, 5000, seed, singles=True)
    model = st.export_tree(numbers, "sklearn")
    np.testing.assert_array_equal(model.apply(rows), numbers.apply(rows))
    np.testing.assert_array_equal(model.predict(rows), numbers.predict(rows))


@KINDS
def test_what_can_be_done_with_a_fitted_model(kind: str) -> None:
    tree = random_tree(3, kind=kind)
    rows = as_sklearn_takes(tree, probe_rows(tree, 500, singles=True))
    model = st.export_tree(tree, "sklearn")
    for again in (pickle.loads(pickle.dumps(model)), pickle.loads(pickle.dumps(model, 2))):
        np.testing.assert_array_equal(again.predict(rows), model.predict(rows))
    assert type(clone(model)) is type(model)
    assert isinstance(model, Pipeline)
    inside = model[-1]
    assert inside.get_depth() == tree.depth
    assert inside.get_n_leaves() == tree.n_leaves
    np.testing.assert_array_equal(inside.apply(model[:-1].transform(rows)), tree.apply(rows))


def test_a_tree_without_names_reads_arrays() -> None:
    for text in (True, False):
        names = ("age", "colour", "size") if text else ("age", "size", "has_car")
        named = random_tree(8, names=names)
        tree = named.replace(feature_names=None)
        rows = as_sklearn_takes(named, probe_rows(named, 3000, singles=True))
        if not text:
            rows = rows[rows["has_car"] != "neither"].astype(float)
        table = rows.to_numpy()
        np.testing.assert_array_equal(
            st.export_tree(tree, "sklearn").predict(table), tree.predict(table)
        )


def test_nodes_in_any_order() -> None:
    tree = random_tree(1, categorical=False)
    order = np.r_[0, np.arange(tree.n_nodes - 1, 0, -1)]
    place = np.argsort(order)

    def moved(side: Any) -> Any:
        return np.where(side[order] < 0, -1, place[side[order]])

    turned = tree.replace(
        children_left=moved(tree.children_left),
        children_right=moved(tree.children_right),
        **{
            name: getattr(tree, name)[order]
            for name in ("feature", "threshold", "value", "weight", "label", "missing_left")
        },
        unseen_left=None,
    )
    rows = probe_rows(tree, 1000, singles=True)
    model = st.export_tree(turned, "sklearn")
    np.testing.assert_array_equal(model.predict(rows), tree.predict(rows))
    assert model.get_depth() == tree.depth


# -- decisions ----------------------------------------------------------------------------


@pytest.mark.parametrize("threshold", [0.05, 0.5, 1.0])
@pytest.mark.parametrize("categorical", [True, False])
def test_a_threshold_decides(threshold: float, categorical: bool) -> None:
    # The first class may be the positive one.
    policy: Any = st.Decision(threshold=0.5, positive="no") if threshold == 0.5 else threshold
    tree = random_tree(5, categorical=categorical, decision=policy)
    model = st.export_tree(tree, "sklearn")
    assert isinstance(model, FixedThresholdClassifier)
    rows = as_sklearn_takes(tree, probe_rows(tree, 3000, singles=True))
    np.testing.assert_array_equal(model.predict(rows), tree.predict(rows))
    np.testing.assert_array_equal(model.predict_proba(rows), tree.predict_proba(rows))
    if not categorical:
        again = st.as_tree(model)
        assert again.decision_threshold == threshold
        np.testing.assert_array_equal(again.label, tree.label)


@pytest.mark.parametrize("kind", ["binary", "multiclass"])
@pytest.mark.parametrize("decision", [None, 0.4])
def test_labels_kept_against_their_share(kind: str, decision: float | None) -> None:
    if kind == "multiclass" and decision is not None:
        decision = st.Decision(class_weight=(1.0, 5.0, 0.5))  # type: ignore[assignment]
    tree = random_tree(4, kind=kind, categorical=False, kept_labels=True, decision=decision)
    rows = probe_rows(tree, 3000, singles=True)
    with pytest.raises(
        UnsupportedModelError, match=r"leaves whose label does not; prefer='labels'"
    ):
        st.export_tree(tree, "sklearn")
    by_label, by_share = (
        st.export_tree(tree, "sklearn", prefer="labels"),
        st.export_tree(tree, "sklearn", prefer="shares"),
    )
    np.testing.assert_array_equal(by_label.predict(rows), tree.predict(rows))
    np.testing.assert_array_equal(by_share.predict_proba(rows), tree.predict_proba(rows))
    np.testing.assert_allclose(by_label.predict_proba(rows).sum(axis=1), 1, atol=1e-12)


def test_what_cannot_be_written() -> None:
    one = build_tree(Leaf([1.0]), n_features=2, classes=("only",))
    assert st.export_tree(one, "sklearn").predict([[1, 2]]).tolist() == ["only"]
    leaf, zero = Leaf([0.5, 0.5], label=0), 0.0
    tree = build_tree(leaf, n_features=1, classes=("no", "yes"), decision=zero)
    with pytest.raises(UnsupportedModelError, match="a leaf below it"):
        st.export_tree(tree, "sklearn", prefer="labels")
    with pytest.raises(InputError, match='expected prefer="labels", "shares" or None, got \'x\''):
        st.export_tree(random_tree(1), "sklearn", prefer="x")
    leaves = {"left": Leaf([1.0, 0.0]), "right": Leaf([0.0, 1.0])}
    root = Branch(feature=0, left_categories=(0,), missing_left=True, **leaves)
    fields: dict[str, Any] = {"feature_names": ("code",), "categories": (("a", 1),)}
    tree = build_tree(root, n_features=1, classes=("no", "yes"), **fields)
    with pytest.raises(UnsupportedModelError, match="'code' that are all text or all numbers"):
        st.export_tree(tree, "sklearn")


# -- columns of codes ---------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_a_set_of_categories_is_one_column_of_codes(seed: int) -> None:
    tree = random_tree(seed, depth=7 if seed == 3 else 5)
    columns, numeric = coded_columns(tree)
    assert numeric.n_nodes == tree.n_nodes
    assert not any(numeric.categories)
    rows = as_sklearn_takes(tree, probe_rows(tree, 2000, seed))
    coded = columns.transform(rows).astype(float)
    np.testing.assert_array_equal(numeric.apply(coded), tree.apply(rows))
    sets = {
        (int(tree.feature[n]), tree.left_categories[n], tree.missing_left[n], tree.unseen_left[n])
        for n in range(tree.n_nodes)
        if tree.left_categories[n] is not None
    }
    numbers = any(tree.categories[j] is None for j in range(tree.n_features))
    assert len(columns.transformers) == len(sets) + numbers


def test_columns_of_every_pandas_type() -> None:
    tree = random_tree(11, names=("age", "colour", "size"))
    rows = as_sklearn_takes(tree, probe_rows(tree, 1000, singles=True))
    model, expected = st.export_tree(tree, "sklearn"), tree.predict(rows)
    colours = rows["colour"].astype("category")
    sizes = rows["size"].astype(float)
    for table in (
        rows.assign(colour=colours, size=sizes),
        rows.assign(size=sizes.astype("category")),
        rows.assign(colour=pd.Series(rows["colour"], dtype=object), size=sizes.astype("Int64")),
    ):
        np.testing.assert_array_equal(model.predict(table), expected)


# -- files --------------------------------------------------------------------------------


@pytest.mark.parametrize("categorical", [True, False])
def test_files(categorical: bool, tmp_path: Path) -> None:
    tree = random_tree(2, categorical=categorical, decision=0.3)
    rows = as_sklearn_takes(tree, probe_rows(tree, 500, singles=True))
    for suffix in (".skops", ".joblib", ".pkl", ".pickle"):
        path = st.export_tree(tree, "sklearn", tmp_path / f"tree{suffix}")
        assert path == tmp_path / f"tree{suffix}"
        if suffix == ".skops":
            np.testing.assert_array_equal(st.as_tree(path).predict(rows), tree.predict(rows))
            model = skops.io.load(path, trusted=skops.io.get_untrusted_types(file=path))
        else:
            model = joblib.load(path) if suffix == ".joblib" else pickle.loads(path.read_bytes())
        np.testing.assert_array_equal(model.predict(rows), tree.predict(rows))
    with pytest.raises(InputError, match=r"expected a path that ends in .skops"):
        st.export_tree(tree, "sklearn", tmp_path / "tree.txt")
    assert not (tmp_path / "tree.txt").exists()


@pytest.mark.parametrize("kind", ["binary", "regression"])
def test_what_was_not_observed_is_not_read_back_as_observed(kind: str) -> None:
    """A steadied share of 77.2 % of 216 rows is no count of rows."""
    table, y = load_breast_cancer(return_X_y=True)
    first: Any = st.DistilledTreeClassifier if kind == "binary" else st.DistilledTreeRegressor
    tree = st.as_tree(first(max_leaf_nodes=4, random_state=0).fit(table, y * 1.0))
    assert tree.observed is not None
    assert not np.allclose(tree.value, tree.observed.rate())
    assert st.as_tree(st.export_tree(tree, "sklearn")).observed is None
    own: Any = DecisionTreeClassifier if kind == "binary" else DecisionTreeRegressor
    model = own(max_depth=2, random_state=0).fit(table, y)
    plain = st.as_tree(model)
    assert st.as_tree(st.export_tree(plain, "sklearn")).observed == plain.observed
    assert plain.observed is not None
