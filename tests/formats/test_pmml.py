"""PMML that others write and that we write, scored by jpmml-evaluator and rpart."""

from __future__ import annotations

import re
import sys
import time
import warnings
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np
import pandas as pd
import pytest

import steadytree as st
from steadytree.exceptions import (
    InputError,
    MissingDependencyError,
    TreeFormatError,
    UnsupportedModelError,
)
from steadytree.tree.nested import Branch, Leaf, build_tree
from tests.foreign import NAMES, probe_rows, random_tree
from tests.formats.contract import Case
from tests.formats.odd_trees import marked_tree, nasty_tree
from tests.programs import require_program
from tests.wording import refuses

# -- written by us ---
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
    text = st.export_tree(tree, "pmml", target="outcome", model_name='the "old" tree')
    assert "modelName='the \"old\" tree'" in text
    assert '<MiningField name="outcome" usageType="target"/>' in text


# -- read ---

FIXTURES = Path(__file__).parent / "pmml" / "fixtures"
COLOURS = ("red", "dark blue", 'so "green"', "")
FIELDS = {"x": "double", "y": "double", "f": "float", "n": "integer", "c": "string", "k": "integer"}


def document(
    nodes: str,
    fields: str,
    schema: str,
    function: str = "regression",
    strategies: str = "",
    around: str = "{}",
    more: str = "",
) -> str:
    model = (
        f'<TreeModel functionName="{function}" {strategies}><MiningSchema>'
        f'<MiningField name="out" usageType="target"/>{schema}</MiningSchema>{more}{nodes}'
        "</TreeModel>"
    )
    return (
        '<?xml version="1.0"?><PMML version="4.4" xmlns="http://www.dmg.org/PMML-4_4"><Header/>'
        f"<DataDictionary>{fields}</DataDictionary>{around.format(model)}</PMML>"
    )


class Author:
    """Writes random PMML: every predicate, operator, strategy and treatment that can be read."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.function = ("regression", "classification")[seed % 2]
        self.strategy = ("none", "lastPrediction", "defaultChild")[seed % 3]
        self.with_shares = seed % 7 > 1
        self.n_nodes = 0

    def one_of(self, *options: Any) -> Any:
        return options[int(self.rng.integers(len(options)))]

    def value(self, field: str) -> str:
        if field == "c":
            return str(self.one_of(*COLOURS, "purple"))
        if field in ("n", "k"):
            return str(int(self.rng.integers(-2, 4)))
        return repr(
            float(self.rng.normal() if self.rng.random() < 0.6 else self.rng.integers(-2, 3))
        )

    def predicate(self, level: int = 0) -> str:
        field = self.one_of(*FIELDS)
        draw = self.rng.random()
        if draw < 0.08:
            operator = self.one_of("isMissing", "isNotMissing")
            return f'<SimplePredicate field="{field}" operator="{operator}"/>'
        if draw < 0.3 and level < 2:
            joint = self.one_of("and", "or", "xor", "surrogate", "surrogate")
            parts = "".join(self.predicate(level + 1) for _ in range(int(self.rng.integers(2, 4))))
            return f'<CompoundPredicate booleanOperator="{joint}">{parts}</CompoundPredicate>'
        if draw < 0.45:
            kind = {"c": "string", "n": "int", "k": "int"}.get(field, "real")
            values = {self.value(field) for _ in range(3)}
            quoted = ['"' + v.replace('"', '\\"') + '"' if kind == "string" else v for v in values]
            inside = " ".join(quoted)
            operator = self.one_of("isIn", "isNotIn")
            return (
                f'<SimpleSetPredicate field="{field}" booleanOperator="{operator}">'
                f'<Array n="{len(values)}" type="{kind}">{inside}</Array></SimpleSetPredicate>'
            )
        operators = ["equal", "notEqual"]
        if field not in ("c", "k"):
            operators += ["lessThan", "lessOrEqual", "greaterThan", "greaterOrEqual"] * 3
        value = quoteattr(self.value(field))
        return (
            f'<SimplePredicate field="{field}" operator="{self.one_of(*operators)}" value={value}/>'
        )

    def node(self, predicate: str, level: int = 0) -> str:
        self.n_nodes += 1
        name = self.n_nodes
        score = str(self.one_of("a", "b", "c d"))
        inside = ""
        if self.function == "regression":
            score = repr(float(name))
        elif self.with_shares:
            counts = self.rng.integers(0, 9, 3) + 1
            inside = "".join(
                f'<ScoreDistribution value="{c}" recordCount="{n}"/>'
                for c, n in zip(("a", "b", "c d"), counts, strict=True)
            )
        default = ""
        if level < 3 and (level == 0 or self.rng.random() < 0.6):
            ids = []
            children = ""
            for k in range(int(self.rng.integers(2, 4))):
                ids.append(self.n_nodes + 1)
                last = k > 0 and self.rng.random() < 0.4
                children += self.node("<True/>" if last else self.predicate(), level + 1)
            inside += children
            default = f' defaultChild="{self.one_of(*ids)}"'
        if self.strategy != "defaultChild":
            default = ""
        return (
            f'<Node id="{name}" score="{score}" recordCount="{self.rng.integers(1, 99)}"{default}>'
            f"{predicate}{inside}</Node>"
        )

    def write(self) -> str:
        fields = schema = ""
        for field, kind in FIELDS.items():
            categorical = field in ("c", "k")
            optype = "categorical" if categorical else "continuous"
            listed = ""
            if field == "c":
                listed = "".join(f"<Value value={quoteattr(v)}/>" for v in COLOURS)
            fields += (
                f'<DataField name="{field}" optype="{optype}" dataType="{kind}">'
                f"{listed}</DataField>"
            )
            treatment = f' invalidValueTreatment="{self.one_of("asIs", "asMissing")}"'
            if self.rng.random() < 0.2:
                treatment += f" missingValueReplacement={quoteattr(self.value(field))}"
            if field in ("x", "f") and self.rng.random() < 0.3:
                treatment += ' outliers="asExtremeValues" lowValue="-0.5" highValue="1.25"'
            schema += f'<MiningField name="{field}"{treatment}/>'
        target = '<DataField name="out" optype="continuous" dataType="double"/>'
        output = ""
        if self.function == "classification":
            values = "".join(f'<Value value="{c}"/>' for c in ("a", "b", "c d"))
            target = (
                f'<DataField name="out" optype="categorical" dataType="string">{values}</DataField>'
            )
            output = "".join(
                f'<OutputField name="p{i}" optype="continuous" dataType="double" '
                f'feature="probability" value="{c}"/>'
                for i, c in enumerate(("a", "b", "c d"))
            )
            output = f"<Output>{output}</Output>" if self.with_shares else ""
        return document(
            self.node("<True/>"),
            fields + target,
            schema,
            self.function,
            f'missingValueStrategy="{self.strategy}" noTrueChildStrategy="returnLastPrediction"',
            more=output,
        )

    def rows(self, tree: st.Tree, seed: int) -> pd.DataFrame:
        rows = probe_rows(tree, 10_000, seed, fresh={"c": "never met", "k": 77})
        whole = self.rng.integers(-3, 5, len(rows)).astype(float)
        rows["k"] = rows["k"].replace("(not looked at)", 5)
        rows["n"] = np.where(rows["n"].isna(), np.nan, whole)
        return rows


def case_by_hand(seed: int, folder: Path) -> Case:
    author = Author(seed)
    path = folder / f"{seed}.pmml"
    path.write_text(author.write(), encoding="utf-8")
    tree = st.as_tree(path)
    rows = author.rows(tree, seed)
    found = evaluate(path, rows)
    if author.function == "regression":
        return Case(path, rows, found["out"].to_numpy(dtype=float))
    shares = found[["p0", "p1", "p2"]].to_numpy(dtype=float) if author.with_shares else None
    return Case(path, rows, found["out"].to_numpy(), shares, tolerance=1e-12)


def make_case(seed: int, folder: Path) -> Case:
    if seed % 5:
        return case_by_hand(seed, folder)
    kind = ("binary", "multiclass", "regression")[seed // 5 % 3]
    tree = random_tree(
        seed,
        kind=kind,
        names=NAMES[:5],
        precision=("float64", "float32")[seed % 2],
        kept_labels=kind != "regression",
    )
    rows = probe_rows(tree, 10_000, seed)
    expected, shares = run(tree, rows, folder)
    path = folder / "tree.pmml"
    return Case(path, rows, expected, shares, tree.apply(rows), tolerance=1e-12)


def sample_files(folder: Path) -> list[Path]:
    paths = []
    for seed in (1, 2, 4):
        paths.append(folder / f"sample{seed}.pmml")
        paths[-1].write_text(Author(seed).write(), encoding="utf-8")
    paths.append(st.export_tree(random_tree(3, depth=3), "pmml", folder / "own.pmml"))
    return paths


@pytest.mark.parametrize("name", ["cars", "stagec"])
def test_trees_of_rpart_with_surrogates(name: str) -> None:
    """Real fits and predictions of rpart 4.1.19; the XML was put together by rpart_trees.R from
    rpart's tables, in the layout of R's package pmml, which was not at hand, with a condition of
    its own for levels that a split never met."""
    rows = pd.read_csv(FIXTURES / f"rpart_{name}.csv", keep_default_na=False, na_values=[""])
    tree = st.as_tree(FIXTURES / f"rpart_{name}.pmml")
    if tree.is_classifier:
        np.testing.assert_array_equal(tree.predict(rows), rows["predicted"])
        shares = rows[list(tree.classes)].to_numpy()
        np.testing.assert_allclose(tree.predict_proba(rows), shares, rtol=1e-12)
        assert tree.metadata["source"] == "PMML 4.4 rpart 4.1.19"
    else:
        np.testing.assert_allclose(tree.predict(rows), rows["predicted"], rtol=1e-14)
    inputs = rows[list(tree.feature_names)]
    engine = evaluate(FIXTURES / f"rpart_{name}.pmml", inputs).iloc[:, 0]
    assert engine.tolist() == tree.predict(rows).tolist()


@pytest.mark.parametrize("name", ["classifier", "regressor"])
def test_files_of_nyoka(name: str) -> None:
    """Written by nyoka 5.5.0 from scikit-learn trees of depth 4 (iris and diabetes)."""
    path = FIXTURES / f"nyoka_{name}.pmml"
    with pytest.warns(st.exceptions.SteadyTreeWarning, match="rows with missing values no result"):
        tree = st.as_tree(path)
    rows = probe_rows(tree, 3000, missing=False)
    assert tree.predict(rows).tolist() == evaluate(path, rows)["out"].tolist()


@pytest.mark.parametrize("kind", ["binary", "multiclass", "regression"])
@pytest.mark.parametrize("seed", range(4))
def test_what_we_write_comes_back(seed: int, kind: str, tmp_path: Path) -> None:
    labels = kind != "regression"
    for precision in ("float64", "float32"):
        tree = random_tree(seed, kind=kind, kept_labels=labels, precision=precision)
        back = st.as_tree(st.export_tree(tree, "pmml", tmp_path / "a.pmml"))
        rows = probe_rows(tree, 2000, seed)
        np.testing.assert_array_equal(back.predict(rows), tree.predict(rows))
        assert back.categories == tree.categories
    # Without splits that decide nothing, it is the same tree.
    tree = random_tree(seed, kind=kind, categorical=False, missing=False, kept_labels=labels)
    back = st.as_tree(st.export_tree(tree, "pmml", tmp_path / "a.pmml"))
    np.testing.assert_allclose(back.value, tree.value, rtol=1e-12)
    assert back.replace(value=tree.value, metadata={}) == tree


X = '<DataField name="x" optype="continuous" dataType="double"/>'
OUT = '<DataField name="out" optype="continuous" dataType="double"/>'
C = (
    '<DataField name="c" optype="categorical" dataType="string"><Value value="a"/>'
    '<Value value="b"/></DataField>'
)
LESS = '<SimplePredicate field="x" operator="lessThan" value="1"/>'
MORE = '<SimplePredicate field="x" operator="greaterOrEqual" value="1"/>'
BOTH = (
    f'<Node score="0"><True/><Node id="l" score="1">{LESS}</Node>'
    f'<Node id="r" score="2">{MORE}</Node></Node>'
)
LAST = 'missingValueStrategy="lastPrediction" noTrueChildStrategy="returnNullPrediction"'


SEGMENTS = (
    '<MiningModel functionName="regression"><MiningSchema><MiningField name="out" '
    'usageType="target"/><MiningField name="x"/></MiningSchema>'
    '<Segmentation multipleModelMethod="{}">{}</Segmentation></MiningModel>'
)


def stump(
    nodes: str = BOTH,
    strategies: str = LAST,
    fields: str = X + OUT,
    schema: str = '<MiningField name="x"/>',
    **more: Any,
) -> str:
    return document(nodes, fields, schema, strategies=strategies, **more)


def read(text: str, tmp_path: Path, **options: Any) -> st.Tree:
    path = tmp_path / "model.pmml"
    path.write_text(text, encoding="utf-8")
    return st.as_tree(path, **options)


@pytest.mark.parametrize("joint", ["", "and", "surrogate"])
def test_a_tree_without_a_word_on_missing_values(joint: str, tmp_path: Path) -> None:
    """As nyoka and others write them: by default such rows have no result."""
    nodes = BOTH.replace('score="2"', 'score="2" recordCount="9"').replace(' score="0"', "")
    fields, schema = X + OUT, '<MiningField name="x"/>'
    if joint:
        fields = X + X.replace('"x"', '"z"') + OUT
        schema += '<MiningField name="z"/>'
        for old, how in ((LESS, joint), (MORE, "or" if joint == "and" else joint)):
            new = old.replace('"x"', '"z"')
            both = f'<CompoundPredicate booleanOperator="{how}">{old}{new}</CompoundPredicate>'
            nodes = nodes.replace(old, both)
    with pytest.warns(st.exceptions.SteadyTreeWarning, match="rows with missing values no result"):
        tree = read(stump(nodes, strategies="", fields=fields, schema=schema), tmp_path)
    rows = pd.DataFrame({"x": [0.0, 1.0, 0.0, 2.0], "z": [0.0, 1.0, 5.0, 0.0]})
    rows = rows[list(tree.feature_names)]
    found = evaluate(tmp_path / "model.pmml", rows)["out"]
    assert tree.predict(rows).tolist() == found.tolist()
    assert tree.predict(rows * np.nan).tolist() == [2.0] * 4
    assert tree.n_leaves == (2 if not joint else tree.n_leaves)


@pytest.mark.parametrize("strategies", ["", 'noTrueChildStrategy="returnNullPrediction"'])
def test_values_that_no_child_takes_go_to_the_larger_one(strategies: str, tmp_path: Path) -> None:
    """As rpart's trees come out of R, and KNIME's: levels that a node never met have no result."""
    nodes = "".join(
        f'<Node score="{score}" recordCount="{count}">'
        f'<SimplePredicate field="c" operator="equal" value="{value}"/></Node>'
        for score, count, value in ((1, 3, "a"), (2, 9, "b"), (3, 5, "c"))
    )
    more = '<Value value="c"/><Value value="d"/></DataField>'
    text = stump(
        f'<Node score="0"><True/>{nodes}</Node>',
        strategies=strategies,
        fields=C.replace("</DataField>", more) + OUT,
        schema='<MiningField name="c"/>',
    )
    with pytest.warns(
        st.exceptions.SteadyTreeWarning, match="rows with missing values or values that no child"
    ):
        tree = read(text, tmp_path)
    rows = pd.DataFrame({"c": ["a", "b", "c"]})
    assert tree.predict(rows).tolist() == [1.0, 2.0, 3.0]
    assert evaluate(tmp_path / "model.pmml", rows)["out"].tolist() == [1.0, 2.0, 3.0]
    without = pd.DataFrame({"c": ["d", None]})
    assert evaluate(tmp_path / "model.pmml", without)["out"].isna().all()
    assert tree.predict(without).tolist() == [2.0, 2.0]


def test_null_predictions_for_missing_values(tmp_path: Path) -> None:
    nodes = BOTH.replace('score="2"', 'score="2" recordCount="9"')
    with pytest.warns(st.exceptions.SteadyTreeWarning, match="rows with missing values no result"):
        tree = read(stump(nodes, strategies='missingValueStrategy="nullPrediction"'), tmp_path)
    assert tree.predict(np.array([[0.0], [1.0], [np.nan]])).tolist() == [1.0, 2.0, 2.0]


def test_two_children_are_one_split(tmp_path: Path) -> None:
    tree = read(
        stump(strategies='missingValueStrategy="defaultChild"').replace(
            'score="0"', 'score="0" defaultChild="r"'
        ),
        tmp_path,
    )
    assert (tree.n_nodes, tree.missing_left[0]) == (3, False)
    assert tree.predict(np.array([[0.0], [1.0], [np.nan]])).tolist() == [1.0, 2.0, 2.0]
    assert tree.threshold[0] == np.nextafter(1.0, 0)
    kept = read(stump(), tmp_path)
    assert kept.predict(np.array([[0.0], [1.0], [np.nan]])).tolist() == [1.0, 2.0, 0.0]


def derived(inside: str, name: str = "x2", kind: str = "double") -> str:
    return (
        f'<LocalTransformations><DerivedField name="{name}" optype="continuous" dataType="{kind}">'
        f"{inside}</DerivedField></LocalTransformations>"
    )


def changed(old: str, new: str) -> str:
    return stump(BOTH.replace(old, new))


def one_category(operator: str) -> str:
    return (
        '<Node score="0"><True/><Node score="1"><SimplePredicate field="c" '
        f'operator="{operator}" value="b"/></Node><Node score="0"><True/></Node></Node>'
    )


BY_C = {"fields": C + OUT, "schema": '<MiningField name="c"/>'}
DEFAULTS = 'missingValueStrategy="defaultChild"'
MISSING = '><Value value="-99" property="missing"/></DataField>'
ARRAY = '<SimpleSetPredicate field="x" booleanOperator="{}">{}</SimpleSetPredicate>'
ON_X2 = BOTH.replace('field="x"', 'field="x2"')
UNSUPPORTED = {
    "confidence weighted": stump(strategies='missingValueStrategy="weightedConfidence"'),
    "nodes aggregated": stump(strategies='missingValueStrategy="aggregateNodes"'),
    "no default child": stump(strategies=DEFAULTS),
    "a regression in a node": changed(LESS, LESS + "<Regression/>"),
    "a leaf without score": changed('score="1"', ""),
    "a date": stump(fields=X.replace("double", "date") + OUT),
    "outliers as missing": stump(
        schema='<MiningField name="x" outliers="asMissingValues" lowValue="1"/>'
    ),
    "numbers that count as missing": stump(fields=X.replace("/>", MISSING) + OUT),
    "categories that count as missing": stump(
        one_category("equal"),
        fields=C.replace("</DataField>", MISSING[1:]) + OUT,
        schema='<MiningField name="c" invalidValueTreatment="asIs"/>',
    ),
    "categories in no order": stump(one_category("lessThan"), **BY_C),
    "a derived field": stump(ON_X2, more=derived('<NormContinuous field="x"/>')),
    "a reference with a value for missing": stump(
        ON_X2, more=derived('<FieldRef field="x" mapMissingTo="0"/>')
    ),
    "a cast to text": stump(ON_X2, more=derived('<FieldRef field="x"/>', kind="string")),
    "an old version": stump().replace('version="4.4"', 'version="2.0"'),
    "another model": stump().replace("TreeModel", "RegressionModel"),
    "another function": stump().replace('"regression"', '"clustering"'),
    "a model not to score with": stump().replace("<TreeModel", '<TreeModel isScorable="false"'),
    "another treatment within": stump(
        schema='<MiningField name="x" missingValueReplacement="3"/>',
        around=SEGMENTS.format("selectFirst", "<Segment><True/>{0}</Segment>"),
    ),
}
NO_FORMAT = {
    "another page": "<html/>",
    "no model": '<PMML version="4.4"/>',
    "no dictionary": stump().replace("DataDictionary>", "Other>"),
    "no schema": stump().replace("MiningSchema>", "Other>"),
    "no node": stump("<Other/>"),
    "no predicate": changed(LESS, ""),
    "no such operator": changed('"lessThan"', '"near"'),
    "a value that is no number": changed('value="1"', 'value="NaN"'),
    "no value": changed('value="1"', ""),
    "no such field": changed('field="x"', 'field="z"'),
    "references in a circle": stump(ON_X2, more=derived('<FieldRef field="x2"/>')),
    "a score that is no number": changed('score="1"', 'score="many"'),
    "a count that is no number": changed('score="1"', 'score="1" recordCount="x"'),
    "an infinite count": changed('score="1"', 'score="1" recordCount="inf"'),
    "no boolean operator": changed(LESS, "<CompoundPredicate/>"),
    "nothing joined": changed(LESS, '<CompoundPredicate booleanOperator="or"/>'),
    "a set without array": changed(LESS, ARRAY.format("isIn", "")),
    "no such set operator": changed(LESS, ARRAY.format("no", "<Array>1</Array>")),
    "no such default child": stump(strategies=DEFAULTS).replace(
        'score="0"', 'score="0" defaultChild="7"'
    ),
    "no such strategy": stump(strategies='missingValueStrategy="guess"'),
}


@pytest.mark.parametrize("name", [*UNSUPPORTED, *NO_FORMAT])
def test_what_cannot_be_read_is_refused_by_name(name: str, tmp_path: Path) -> None:
    error = UnsupportedModelError if name in UNSUPPORTED else TreeFormatError
    with refuses(error, f"pmml: {name}"):
        read((UNSUPPORTED | NO_FORMAT)[name], tmp_path)


@pytest.mark.parametrize("text", ["", "<PMML", "<A/><B/>", "<A>\x00</A>", "<A b='&c;'/>"])
def test_what_is_no_xml(text: str, tmp_path: Path) -> None:
    with pytest.raises(TreeFormatError, match="expected plain XML"):
        read(text, tmp_path)


def classes(*nodes: str, values: str = "") -> str:
    target = f'<DataField name="out" optype="categorical" dataType="integer">{values}</DataField>'
    inside = "".join(nodes)
    return document(
        f"<Node score='1'><True/>{inside}</Node>",
        X + target,
        '<MiningField name="x"/>',
        "classification",
        'noTrueChildStrategy="returnLastPrediction"',
    )


def test_labels_and_shares_of_classes(tmp_path: Path) -> None:
    shares = (
        '<ScoreDistribution value="2" recordCount="3"/>'
        '<ScoreDistribution value="1" recordCount="1"/>'
    )
    tree = read(classes(f'<Node score="1">{LESS}{shares}</Node>'), tmp_path)
    assert tree.classes == (1, 2)
    assert tree.predict_proba(np.array([[0.0], [1.0]])).tolist() == [[0.25, 0.75], [1.0, 0.0]]
    assert tree.predict(np.array([[0.0], [1.0]])).tolist() == [1, 1]
    free = read(classes(f"<Node>{LESS}{shares}</Node>"), tmp_path)
    assert free.predict(np.array([[0.0], [1.0]])).tolist() == [2, 1]
    listed = read(classes(values='<Value value="7"/><Value value="1"/>'), tmp_path)
    assert listed.classes == (7, 1)
    negative = shares.replace('recordCount="1"', 'recordCount="-1"')
    with pytest.raises(TreeFormatError, match="got negative ones"):
        read(classes(f"<Node>{LESS}{negative}</Node>"), tmp_path)
    nameless = shares.replace('value="2" ', "")
    with pytest.raises(TreeFormatError, match="expected a value in each ScoreDistribution"):
        read(classes(f"<Node>{LESS}{nameless}</Node>"), tmp_path)


def test_targets_rescale_responses(tmp_path: Path) -> None:
    scaled = (
        '<Targets><Target field="out" min="1.5" rescaleFactor="2.5" rescaleConstant="-1" '
        'castInteger="round"/></Targets>'
    )
    text = stump(more=scaled)
    rows = pd.DataFrame({"x": [0.0, 2.0, np.nan]})
    tree = read(text, tmp_path)
    found = evaluate(tmp_path / "model.pmml", rows)["out"]
    assert tree.predict(rows).tolist() == found.tolist() == [3.0, 4.0, 3.0]


def segmented(method: str, n: int, predicate: str = "<True/>") -> str:
    inside = f"<Segment>{predicate}" + "{0}</Segment>"
    return stump(around=SEGMENTS.format(method, inside * n))


def test_models_around_a_tree(tmp_path: Path) -> None:
    alone = read(stump(), tmp_path)
    assert read(segmented("selectFirst", 1), tmp_path) == alone
    assert read(segmented("average", 3), tmp_path, tree_index=2) == alone
    with pytest.raises(UnsupportedModelError, match="got a PMML model of 3; pass tree_index="):
        read(segmented("average", 3), tmp_path)
    with pytest.raises(UnsupportedModelError, match="got 'modelChain' of 2"):
        read(segmented("modelChain", 2), tmp_path, tree_index=0)
    with pytest.raises(UnsupportedModelError, match="got one with a condition or a weight"):
        read(segmented("selectFirst", 1, LESS), tmp_path)
    with pytest.raises(InputError, match="expected tree_index below 1"):
        read(stump(), tmp_path, tree_index=4)


def test_derived_fields_that_are_references(tmp_path: Path) -> None:
    """As sklearn2pmml writes them: the value as a single."""
    single = derived('<FieldRef field="x"/>', "float(x)", "float")
    nodes = BOTH.replace('field="x"', 'field="float(x)"').replace('value="1"', 'value="0.1"')
    tree = read(stump(nodes, more=single), tmp_path)
    assert tree.precision == "float32"
    at = float(np.float32(0.1))
    rows = pd.DataFrame({"x": [at, 0.1, np.nextafter(at, 0), 0.1 - 1e-8, 0.1 - 1e-9]})
    assert tree.predict(rows).tolist() == evaluate(tmp_path / "model.pmml", rows)["out"].tolist()


def test_invalid_categories(tmp_path: Path) -> None:
    nodes = (
        '<Node score="0"><True/><Node score="1"><SimplePredicate field="c" operator="equal" '
        'value="a"/></Node><Node score="2"><True/></Node></Node>'
    )
    rows = pd.DataFrame({"c": ["a", "b", "z", None]})
    for treatment, said in (
        ('invalidValueTreatment="asIs"', [1.0, 2.0, 2.0, 0.0]),
        ('invalidValueTreatment="asMissing"', [1.0, 2.0, 0.0, 0.0]),
        ('invalidValueTreatment="asValue" invalidValueReplacement="a"', [1.0, 2.0, 1.0, 0.0]),
        ('invalidValueTreatment="asMissing" missingValueReplacement="a"', [1.0, 2.0, 1.0, 1.0]),
        ("", [1.0, 2.0, 0.0, 0.0]),  # no result in the source: with the missing values
    ):
        text = stump(nodes, fields=C + OUT, schema=f'<MiningField name="c" {treatment}/>')
        assert read(text, tmp_path).predict(rows).tolist() == said
        if treatment:
            assert evaluate(tmp_path / "model.pmml", rows)["out"].tolist() == said


def test_ordinal_categories(tmp_path: Path) -> None:
    field = C.replace("categorical", "ordinal").replace(
        "</DataField>", '<Value value="A3"/></DataField>'
    )
    for operator, expected in (
        ("lessThan", [1, 0, 0]),
        ("lessOrEqual", [1, 1, 0]),
        ("greaterThan", [0, 0, 1]),
        ("greaterOrEqual", [0, 1, 1]),
    ):
        text = stump(one_category(operator), fields=field + OUT, schema=BY_C["schema"])
        rows = pd.DataFrame({"c": ["a", "b", "A3"]})
        assert read(text, tmp_path).predict(rows).tolist() == expected
        assert evaluate(tmp_path / "model.pmml", rows)["out"].tolist() == expected


# -- hostile files -----------------------------------------------------------------

LAUGHS = '<?xml version="1.0"?><!DOCTYPE PMML [<!ENTITY a "ha">' + "".join(
    f'<!ENTITY {chr(98 + i)} "{f"&{chr(97 + i)};" * 10}">' for i in range(9)
)


@pytest.mark.parametrize(
    "text",
    [
        LAUGHS + ']><PMML version="4.4">&j;</PMML>',
        '<!DOCTYPE PMML [<!ENTITY x SYSTEM "file:///etc/passwd">]><PMML version="4.4">&x;</PMML>',
        '<!DOCTYPE PMML SYSTEM "http://localhost:1/a.dtd"><PMML version="4.4"/>',
        '<!DOCTYPE PMML [<!ENTITY % p SYSTEM "file:///etc/passwd"> %p;]><PMML version="4.4"/>',
        '<?xml version="1.0" encoding="no-such-code"?><PMML version="4.4"/>',
    ],
    ids=["laughs", "external", "dtd", "parameter", "encoding"],
)
def test_entities_are_refused(text: str, tmp_path: Path) -> None:
    start = time.monotonic()
    with pytest.raises(TreeFormatError, match="expected plain XML, got"):
        read(text, tmp_path)
    assert time.monotonic() - start < 10


def test_fifty_megabytes_of_nesting(tmp_path: Path) -> None:
    node = '<Node score="1"><True/>'
    path = tmp_path / "deep.pmml"
    path.write_text('<PMML version="4.4">' + node * (50 * 2**20 // len(node)), encoding="utf-8")
    start = time.monotonic()
    with pytest.raises(
        TreeFormatError, match="expected at most 1,000,000 elements on 1,100 levels"
    ):
        st.as_tree(path)
    assert time.monotonic() - start < 20
    path.write_text(" " * (65 * 2**20), encoding="utf-8")
    with pytest.raises(TreeFormatError, match="expected at most 67,108,864 bytes of XML"):
        st.as_tree(path)


def test_a_tree_of_many_levels_is_read(tmp_path: Path) -> None:
    nodes = "".join(
        f'<Node score="{k}"><SimplePredicate field="x" operator="lessThan" value="{999 - k}"/>'
        for k in range(900)
    )
    text = stump(
        f'<Node score="-1"><True/>{nodes}{"</Node>" * 901}',
        'missingValueStrategy="none" noTrueChildStrategy="returnLastPrediction"',
    )
    tree = read(text, tmp_path)
    assert tree.depth == 900
    assert tree.predict(np.array([[5000.0], [998.5], [0.0], [np.nan]])).tolist() == [-1, 0, 899, -1]


def test_conditions_beyond_bounds(tmp_path: Path) -> None:
    deep = '<CompoundPredicate booleanOperator="or">' * 60 + LESS + "</CompoundPredicate>" * 60
    with pytest.raises(TreeFormatError, match="nested at most 30 deep"):
        read(stump(BOTH.replace(LESS, deep)), tmp_path)
    values = " ".join(map(str, range(5000)))
    many = (
        '<SimpleSetPredicate field="x" booleanOperator="isIn">'
        f'<Array type="real">{values}</Array></SimpleSetPredicate>'
    )
    with pytest.raises(UnsupportedModelError, match="at most 500 comparisons"):
        read(stump(BOTH.replace(LESS, many)), tmp_path)
    listed = "".join(f'<Value value="{k}"/>' for k in range(250_001))
    field = f'<DataField name="x" optype="categorical" dataType="string">{listed}</DataField>'
    with pytest.raises(TreeFormatError, match="at most 250,000 categories"):
        read(stump(fields=field + OUT), tmp_path)


def test_xml_by_another_name(tmp_path: Path) -> None:
    path = tmp_path / "model.xml"
    path.write_text(stump(), encoding="utf-8")
    assert st.as_tree(path).n_features == 1
    wide = tmp_path / "wide.pmml"
    wide.write_bytes(stump().replace("?>", ' encoding="UTF-16"?>').encode("utf-16"))
    assert st.as_tree(wide) == st.as_tree(path)


def test_without_defusedxml(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "defusedxml", None)
    monkeypatch.delitem(sys.modules, "defusedxml.ElementTree", raising=False)
    with pytest.raises(MissingDependencyError, match=r"reading PMML .* 'steadytree\[pmml\]'"):
        read(stump(), tmp_path)
