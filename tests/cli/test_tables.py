"""Tables of the user: how they are read and divided, and what is said of bad ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from steadytree.cli.delimited import read_table
from steadytree.cli.tables import guess_task, read_rows, read_training
from steadytree.exceptions import InputError
from steadytree.tree.json import load_tree
from tests.cli.conftest import Files, Run


@pytest.mark.parametrize("name", ["t.csv", "T.CSV", "t.csv.gz", "t.tsv", "t.txt", "t.pq"])
def test_the_name_tells_how_a_table_is_read(tmp_path: Path, name: str) -> None:
    table = pd.DataFrame({"a, b": [1, 2], "3": ["x", "y"]})
    path = tmp_path / name
    if name.endswith("pq"):
        table.to_parquet(path)
    else:
        table.to_csv(path, index=False, sep="\t" if name.endswith(("tsv", "txt")) else ",")
    pd.testing.assert_frame_equal(read_table(path).frame, table, check_dtype=False)


def test_columns_with_a_role_are_no_predictors(files: Files) -> None:
    rows = read_rows(files.old, "outcome", time="year", group="patient", drop=["clinic"])
    assert list(rows.X) == ["radius", "texture", "smoothness", "concavity", "points", "size"]
    assert set(rows.y) == {"benign", "malignant"}
    assert rows.time is not None
    assert rows.groups is not None
    assert rows.time[[0, -1]].tolist() == [2015, 2019]
    assert rows.groups[:4].tolist() == ["0", "0", "1", "1"]
    assert rows.column("clinic")[1] == "clinic 1"  # for subgroups every column remains


def test_a_tree_names_its_own_predictors(files: Files) -> None:
    tree = load_tree(files.tree)
    rows = read_rows(files.new, None, tree=tree)
    assert tuple(rows.X) == tree.feature_names
    more = read_rows(files.new, "outcome", tree=tree, group="patient", to_retrain=True)
    assert (*(tree.feature_names or ()), "clinic", "year") == tuple(more.X)
    assert rows.y.size == 0
    assert rows.time is None
    assert rows.groups is None


def test_dates_are_times(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x,y,day\n1,0,2024-05-31\n2,1,2023-12-01\n3,1,2024-06-01\n")
    time = read_rows(path, "y", time="day").time
    assert time is not None
    assert np.argsort(time).tolist() == [1, 0, 2]
    path.write_text("x,y,day\n1,0,2024-05-31\n2,1,\n")
    with pytest.raises(InputError, match="expected a time in every row of 'day', got 1 missing"):
        read_rows(path, "y", time="day")
    path.write_text("x,y,day\n1,0,soon\n2,1,later\n")
    with pytest.raises(InputError, match="dates such as 2024-05-31 in 'day', got: "):
        read_rows(path, "y", time="day")


def test_the_task_is_told_from_the_target(files: Files) -> None:
    assert read_training(files.old, "outcome", "auto")[1] == "classification"
    assert read_training(files.regression, "progress", "auto")[1] == "regression"
    assert guess_task(np.array([0.0, 1.0]), "auto") == "classification"
    assert guess_task(np.array([0.0, 1.0]), "regression") == "regression"
    assert guess_task(np.arange(20), "auto") == "classification"
    with pytest.raises(InputError, match=r"at most 20 classes .* got 21 different whole numbers"):
        guess_task(np.arange(21), "auto")


# -- bad tables, as the user meets them --------------------------------------------------------


def test_a_target_with_one_class(run: Run, files: Files, tmp_path: Path) -> None:
    table = pd.read_csv(files.old).assign(outcome="benign")
    table.to_csv(tmp_path / "one.csv", index=False)
    result = run("fit", tmp_path / "one.csv", "--target", "outcome")
    assert result.code == 2
    assert "two or more different values, got only 'benign'" in result.err


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("none.csv", None, "expected a readable table, got No such file or directory"),
        ("empty.csv", b"", "expected a table with rows, got an empty file"),
        ("head.csv", b"a,b\n", "expected a table with rows and columns, got none"),
        ("ragged.csv", b"a,b\n1,2\n1,2,3\n", "expected 2 values in every row"),
        ("binary.csv", b"a,b\n\xff\xfe,1\n", "expected UTF-8"),
        ("table.xlsx", b"x", "expected a CSV or Parquet file"),
        ("broken.parquet", b"PAR1 no", "expected Parquet in"),
        ("only.csv", b"y\n1\n2\n", "got no column besides the target"),
    ],
)
def test_unreadable_tables(
    run: Run, tmp_path: Path, name: str, content: bytes | None, message: str
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    result = run("fit", path, "--target", "y")
    assert result.code == 2, result.err
    assert message in result.err
    assert str(path) in result.err


def test_a_folder_instead_of_a_table(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "folder.csv"
    folder.mkdir()
    result = run("fit", folder, "--target", "y")
    assert result.code == 2
    assert "expected a readable table, got Is a directory" in result.err


def test_only_the_columns_that_a_tree_uses_are_required(files: Files, tmp_path: Path) -> None:
    tree = load_tree(files.tree).truncate(1)
    (used,) = (tree.feature_labels[j] for j in tree.used_features)
    path = tmp_path / "few.csv"
    pd.read_csv(files.new)[[used, "outcome"]].to_csv(path, index=False)
    rows = read_rows(path, "outcome", tree=tree)
    assert list(rows.X) == [used]
    whole = read_rows(files.new, "outcome", tree=tree)
    assert tree.predict(rows.X).tolist() == tree.predict(whole.X).tolist()
    pd.read_csv(files.new)[["outcome", "clinic"]].to_csv(path, index=False)
    with pytest.raises(InputError, match=f"that the tree uses in .*, got none called '{used}'"):
        read_rows(path, "outcome", tree=tree)


@pytest.mark.parametrize(("kind", "expected"), [("Int64", np.int64), ("boolean", np.bool_)])
def test_outcomes_keep_their_type(run: Run, tmp_path: Path, kind: str, expected: type) -> None:
    x = np.linspace(0, 1, 40)
    table = pd.DataFrame({"x": x, "y": pd.array((x > 0.5).astype(int), dtype="Int64").astype(kind)})
    path = tmp_path / "t.parquet"
    table.to_parquet(path)
    assert read_rows(path, "y").y.dtype == expected
    result = run("fit", path, "--target", "y", "--out", tmp_path, "-q")
    assert result.code == 0, result.err
    classes = load_tree(tmp_path / "tree.json").classes
    assert [type(c) for c in classes or ()] == [type(expected(1).item())] * 2


@pytest.mark.parametrize(
    "present", [1, *(pytest.param(count, marks=pytest.mark.slow) for count in (0, 2))]
)
@pytest.mark.parametrize("kind", ["number", "category"])
def test_a_column_that_is_almost_empty(
    run: Run, files: Files, tmp_path: Path, kind: str, present: int
) -> None:
    """No value, or one or two, may be left in a fold, a bootstrap or a file: nothing fails."""
    paths = []
    for name in ("old", "new"):
        table = pd.read_csv(getattr(files, name))[["radius", "texture", "outcome"]][:120]
        values = np.full(len(table), None, dtype=object)
        values[[30, 90][:present]] = [1.5, 2.5][:present] if kind == "number" else "a"
        paths.append(tmp_path / f"{name}.csv")
        table.assign(rare=values).to_csv(paths[-1], index=False)
    for learner in (("cart",), ("distilled",), ("stable", "--bootstraps", 2)):
        options = ("--learner", *learner, "--target", "outcome", "--out", tmp_path / learner[0])
        fitted = run("fit", paths[0], *options)
        assert fitted.code == 0, fitted.err
    deployed = ("--deployed", tmp_path / "distilled" / "tree.json", "--target", "outcome")
    again = run(
        *("retrain", paths[1], *deployed, "--old", paths[0]),
        *("--trees", 5, "--folds", 3),
    )
    assert again.code == 0, again.err
    assessed = run(
        *("assess", paths[1], "--target", "outcome", "--learner", "cart", "--resamples", 3)
    )
    assert assessed.code == 0, assessed.err
