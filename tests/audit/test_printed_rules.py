"""Every printed rule of a pipeline's tree says where missing and new values go.

A pipeline fills missing values in and knows no category that arrived since. Each row is placed
by hand, from the words alone, and has to end where the pipeline puts it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

import steadytree as st
from steadytree.core.rules import tree_rules
from steadytree.report import summarise
from steadytree.report.svg import outline_svg
from tests.audit.by_hand import NOT_KNOWN, follow_words

TOWNS = ["Bern", "Kiev", "Oslo", "Rome"]
(NEW_TOWN,) = NOT_KNOWN


def rows(n: int, seed: int, *, new: bool) -> pd.DataFrame:
    """Rows of which some have no age, income or town; ``new``: and some a town never met."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.normal(50, 15, n).round(1),
            "income": rng.normal(30, 8, n).round(1),
            "town": rng.choice(np.array(TOWNS, dtype=object), n, p=[0.19, 0.01, 0.3, 0.5]),
            "job": rng.choice(np.array(["cook", "guide", "clerk"], dtype=object), n),
        }
    )
    if new:
        X.loc[rng.random(n) < 0.1, "town"] = NEW_TOWN
        X.loc[rng.random(n) < 0.1, "job"] = NEW_TOWN
    for name in X:
        X.loc[rng.random(n) < 0.1, name] = np.nan
    X.loc[:4, "town"] = "Kiev"  # rare, but met
    return X


def outcome(X: pd.DataFrame, seed: int) -> np.ndarray[Any, Any]:
    noise = np.random.default_rng(seed).random(len(X)) < 0.1
    high = (X["age"].fillna(40) > 50) ^ (X["town"] == "Oslo") ^ (X["job"] == "cook") ^ noise
    return np.where(high, "yes", "no")


ENCODERS = {
    "one-hot": OneHotEncoder(handle_unknown="ignore"),
    "codes": OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
}


@pytest.fixture(scope="module", params=[(e, i) for e in ENCODERS for i in (True, False)], ids=str)
def pipeline(request: pytest.FixtureRequest) -> Any:
    """A pipeline that fills in numbers, and categories too or not: then missing is one more."""
    encoder, fills = request.param
    category: Any = ENCODERS[encoder]
    if fills:
        category = make_pipeline(SimpleImputer(strategy="most_frequent"), category)
    columns = make_column_transformer(
        (SimpleImputer(strategy="median"), ["age", "income"]), (category, ["town", "job"])
    )
    tree = DecisionTreeClassifier(max_leaf_nodes=9, min_samples_leaf=5, random_state=0)
    X = rows(400, 0, new=False)
    return make_pipeline(columns, tree).fit(X, outcome(X, 1))


def by_hand(X: pd.DataFrame) -> pd.DataFrame:
    return X.astype({"town": "category", "job": "category"})


def check_places(rules: list[tuple[str, Any]], X: pd.DataFrame, expected: Any) -> None:
    """Each row follows one rule, and it is the one expected."""
    found = np.full(len(X), -1)
    doubtful = np.zeros(len(X), dtype=bool)
    for words, leaf in rules:
        follows, sure = follow_words(words, X)
        doubtful |= ~sure
        taken = follows & sure & (found >= 0)
        assert not (taken & ~doubtful).any(), words
        found[follows] = leaf
    assert doubtful.mean() < 0.01
    np.testing.assert_array_equal(found[~doubtful], np.asarray(expected)[~doubtful])


def listed(text: str) -> Iterator[tuple[str, str]]:
    """Conditions and outcome of each leaf of an indented listing."""
    way: list[str] = []
    for line in text.splitlines():
        depth = line.count("|")
        words, _, said = line.replace("|   ", "").removeprefix("|-- ").partition(": ")
        way = [*way[: depth - 1], words]
        if said:
            yield " and ".join(way), said


def test_the_words_of_a_pipelines_tree_place_every_row(pipeline: Any) -> None:
    tree, X = st.as_tree(pipeline), rows(1500, 2, new=True)
    leaf = tree.apply(X)
    assert (tree.predict(X) == pipeline.predict(X)).all()
    drawn = list(listed(str(tree)))
    leaves = [node for node in tree.preorder.tolist() if tree.is_leaf[node]]
    assert len(drawn) == len(leaves)
    check_places(
        [(words, at) for (words, _), at in zip(drawn, leaves, strict=True)], by_hand(X), leaf
    )
    rules = [(rule.conditions_text, rule.leaf) for rule in tree_rules(tree)]
    check_places(rules, by_hand(X), leaf)


@pytest.fixture(scope="module")
def result(pipeline: Any) -> st.Retraining:
    X = rows(300, 3, new=False)
    return st.retrain(
        pipeline, X, outcome(X, 4), n_folds=0, n_estimators=10, price=0.02, random_state=0
    )


def test_the_words_of_a_retraining_place_every_row(result: st.Retraining) -> None:
    X = rows(1500, 5, new=True)
    summary = summarise(result, min_cell=1)
    for side, tree in (("old", result.deployed), ("new", result.tree)):
        leaf = tree.apply(X)
        halves = [row[side] for row in summary["rules"] if row[side] is not None]
        table = [(" and ".join(half["conditions"]), half["leaf"]) for half in halves]
        check_places(table, by_hand(X), leaf)
        told = [getattr(rule, side) for rule in result.diff.rules]
        check_places([(r.conditions_text, r.leaf) for r in told if r is not None], by_hand(X), leaf)
        for text in (result.diff.to_text(min_cell=1), result.diff.to_markdown(min_cell=1)):
            plain = re.sub(r"\\(.)", r"\1", text).replace("&lt;", "<").replace("&gt;", ">")
            assert all(r.conditions_text in plain for r in told if r is not None)
        drawing = outline_svg(
            summary["trees"][side], summary["features"], ["no", "yes"], {}, side=side
        )
        check_places(list(drawn_rules(drawing, summary["trees"][side])), by_hand(X), leaf)


def drawn_rules(drawing: str, tree: dict[str, Any]) -> Iterator[tuple[str, int]]:
    """Return the words on the way to each leaf of a drawing."""
    found = re.findall(r'data-node="(\d+)".*?<title>(.*?)</title>', drawing, flags=re.S)
    words = {int(node): text.replace("&lt;", "<").replace("&gt;", ">") for node, text in found}
    waiting: list[tuple[int, tuple[str, ...]]] = [(0, ())]
    while waiting:
        node, way = waiting.pop()
        if tree["left"][node] < 0:
            yield " and ".join(way), node
            continue
        waiting += [(k, (*way, words[k])) for k in (tree["left"][node], tree["right"][node])]
