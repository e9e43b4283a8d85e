"""What a column is: where a tree is given, where the user says so, and where neither is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from steadytree.cli.column_types import UNKNOWN, SettledColumn, settle_column, types_fix
from steadytree.cli.delimited import read_table
from steadytree.cli.tables import read_rows
from steadytree.exceptions import InputError
from steadytree.tree.json import load_tree
from tests.cli.conftest import Files, Run


@pytest.fixture
def settle(tmp_path: Path) -> Any:
    def call(
        values: list[Any],
        asked: str | None = None,
        known: Any = UNKNOWN,
        *,
        stored: bool = False,
        outcome: bool = False,
    ) -> SettledColumn:
        frame = pd.DataFrame({"v": values, "w": range(len(values))})
        path = tmp_path / ("t.parquet" if stored else "t.csv")
        frame.to_parquet(path) if stored else frame.to_csv(path, index=False)
        return settle_column(read_table(path), "v", asked, known, outcome=outcome)

    return call


def test_options_are_written_as_they_are_typed() -> None:
    assert types_fix("age", "number") == "--types age=number"
    assert types_fix("it's", "number") == """--types 'it'"'"'s=number'"""


def test_the_user_settles_it(settle: Any) -> None:
    values = ["1", "2.0", "x", None, "3"]
    as_number = settle(values, "number")
    assert as_number.values.tolist()[:3] == pytest.approx([1, 2, np.nan], nan_ok=True)
    assert as_number.note == "missing where it says 'x'"
    assert settle(values, "category").values.tolist()[:3] == ["1", "2.0", "x"]
    assert settle([1.0, 2.5, None], "category").values.tolist()[:2] == ["1", "2.5"]
    assert settle(["007", "7", "7"], "category").values.tolist() == ["007", "7", "7"]
    assert settle(["007", "7", "7"], "number").values.tolist() == [7, 7, 7]
    assert settle([True, False], "number").values.tolist() == [1, 0]
    assert settle([2**60, 2], "number").type == "number"
    with pytest.raises(InputError, match="got none, but texts such as 'a'"):
        settle(["a", "b"], "number")


def test_numbers_stored_as_text_stay_categories(settle: Any) -> None:
    found = settle(["1", "2", "1"], stored=True)
    assert (found.type, found.note) == ("category", "numbers stored as text")
    with pytest.raises(InputError, match=r"numbers but for '\?' \(row 2\)"):
        settle(["1", "?", "3"], stored=True)


def test_a_number_of_the_tree(settle: Any) -> None:
    assert settle(["1", " ", "3"], known=None).values.tolist()[::2] == [1, 3]
    assert settle(["007", "8"], known=None).values.tolist() == [7, 8]
    assert settle([True, False], known=None).values.tolist() == [1, 0]
    with pytest.raises(
        InputError, match=r"as the tree knows it, got 'n/a\?' \(line 3\); correct them, or say --ty"
    ):
        settle(["1", "n/a?", "3"], known=None)
    found = settle(["1", "n/a?", "3"], "number", None)
    assert found.values.isna().tolist() == [False, True, False]
    with pytest.raises(InputError, match="leave 'v' what it is to the tree, a number, got"):
        settle(["1", "2"], "category", None)
    with pytest.raises(InputError, match=r"finite numbers in column 'v' .* got inf \(line 3\)"):
        settle(["1", "inf"], known=None)
    assert settle([1, 1e300], known=None).values.max() == 1e300
    with pytest.raises(InputError, match=r"numbers up to 3.4e\+38 in column 'v'"):
        settle([1, 1e300], known=None, outcome=True)


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize(
    ("values", "known"),
    [([1, 2, 1], ("1", "2")), ([1.0, 2.0, None], ("1", "2")), (["1", "2", "1"], (1, 2))],
)
def test_a_category_of_the_tree(
    settle: Any, stored: bool, values: list[Any], known: tuple[Any, ...]
) -> None:
    found = settle(values, known=known, stored=stored).values.dropna().tolist()
    assert set(found) == set(known)
    assert {type(v) for v in found} == {type(known[0])}


def test_other_numbers_are_no_categories_of_the_tree(settle: Any) -> None:
    with pytest.raises(InputError, match=r"categories such as 'a', 'b' .* got numbers such as 1.5"):
        settle([1.5, 2.5], known=("a", "b"))
    assert settle([" a", "b ", "c"], known=("a", "b")).values.tolist() == ["a", "b", "c"]


# -- as a user meets it ------------------------------------------------------------------------


def test_old_and_new_rows_are_read_alike(run: Run, files: Files, tmp_path: Path) -> None:
    for name in ("old", "new"):
        table = pd.read_csv(getattr(files, name)).astype({"texture": object})
        table.loc[3, "texture"] = "n/a?"
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    rest = ("--target", "outcome", "--learner", "cart", "--drop", "clinic", "--drop", "patient")
    assert "but for 'n/a?' (line 5)" in run("fit", tmp_path / "old.csv", *rest).err
    settled = ("--types", "texture=number")
    first = run("fit", tmp_path / "old.csv", *rest, *settled, "--out", tmp_path / "m", "-q")
    assert first.code == 0, first.err
    tree = tmp_path / "m" / "tree.json"
    assert load_tree(tree).categories[1] is None
    retrain = ("retrain", tmp_path / "new.csv", "--deployed", tree, "--target", "outcome")
    retrain = (*retrain, "--old", tmp_path / "old.csv", "--trees", 5, "--folds", 0)
    refused = run(*retrain)
    assert refused.code == 2
    assert "expected numbers in column 'texture'" in refused.err
    assert "got 'n/a?' (line 5)" in refused.err
    assert run(*retrain, *settled).code == 0
    used = {load_tree(tree).feature_labels[j] for j in load_tree(tree).used_features}
    away = run(*retrain, "--types", f"{min(used)}=ignore")
    assert "ignore no column that the tree uses" in away.err


def test_codes_that_became_numbers(run: Run, files: Files, tmp_path: Path) -> None:
    """A category "1" of the tree is the number 1, or 1.0, of a later file."""
    old = pd.read_csv(files.old)
    old["size"] = old["size"].map({"s": "1", "m": "2", "l": "3"})
    old[["radius", "size", "outcome"]].to_csv(tmp_path / "old.csv", index=False)
    rest = ("--target", "outcome", "--learner", "cart", "--types", "size=category")
    first = run("fit", tmp_path / "old.csv", *rest, "--out", tmp_path, "-q")
    assert first.code == 0, first.err
    tree = load_tree(tmp_path / "tree.json")
    assert tree.categories[1] == ("1", "2", "3")
    old.loc[0, "size"] = None
    old.astype({"size": float}).to_csv(tmp_path / "floats.csv", index=False)
    assert ",2.0," in (tmp_path / "floats.csv").read_text()
    a, b = (read_rows(tmp_path / f, "outcome", tree=tree) for f in ("old.csv", "floats.csv"))
    assert a.X["size"][1:].tolist() == b.X["size"][1:].tolist()
    assert set(a.X["size"]) == {"1", "2", "3"}


def test_names_can_be_insisted_on(run: Run, tmp_path: Path) -> None:
    x = np.linspace(0, 1, 60)
    table = pd.DataFrame({"x": x, "name": [f"Jo {i}" for i in range(60)], "y": x > 0.4})
    table.to_csv(tmp_path / "t.csv", index=False)
    options = ("fit", tmp_path / "t.csv", "--target", "y", "--learner", "cart")
    assert run(*options).code == 2
    insisted = run(*options, "--types", "name=category")
    assert insisted.code == 0, insisted.err
    assert "Warning: column 'name' has 60 different ones in 60 rows" in insisted.err


def test_three_decimals_are_no_thousands(settle: Any) -> None:
    """The odd text is named, not the numbers beside it; with a real thousand it is they."""
    values = [f"0.{n}" for n in range(120, 160)]
    with pytest.raises(InputError, match="numbers but for 'abc' \\(line 42\\)"):
        settle([*values, "abc"])
    with pytest.raises(InputError, match=r"numbers written as '1\.234\.567' \(line 42\)"):
        settle([*values, "1.234.567"])
