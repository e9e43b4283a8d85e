"""The long table holds every number, and the summaries can be had from it alone."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from research.paper.regenerate import Regenerated, regenerate
from tests.research.paper.tiny import TINY

ASKED = ["accuracy", "distances", "split-frequencies", "frontiers", "frontier-sizes", "direct"]
ASKED += ["indirect", "example", "collection-size"]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Regenerated:
    out = tmp_path_factory.mktemp("long")
    return regenerate(out, settings=TINY, only=ASKED, data=["wdbc", "colon"], draw=False)


@pytest.fixture(scope="module")
def long(done: Regenerated) -> pd.DataFrame:
    return pd.read_csv(done.out / "tables" / "observations.csv", keep_default_na=False)


def summary(done: Regenerated, name: str, **at: object) -> dict[str, object]:
    (row,) = done.tables[name].where(**at)
    return row


def test_three_cells_of_the_summaries_follow_from_the_long_table(
    done: Regenerated, long: pd.DataFrame
) -> None:
    study = long.query("kind == 'study' and dataset == 'colon' and protocol == 'paper'")

    auc = study.query("method == 'cv' and measure == 'auc_report'").value
    cell = summary(done, "accuracy", dataset="colon", protocol="paper", method="cv")
    assert (auc.mean(), auc.std()) == pytest.approx((cell["auc"], cell["auc_sd"]), rel=1e-12)

    root = study[study.measure.str.startswith("first_splits/root/")]
    share = root.value / root.groupby("split").value.transform("sum")
    by_feature = share.groupby(root.measure.str.rpartition("/")[2]).sum() / study.split.nunique()
    cell = summary(done, "split_frequencies", dataset="colon", protocol="paper", place="root")
    assert by_feature[cell["feature_1"]] == pytest.approx(cell["frequency_1"], rel=1e-12)

    direct = long.query("kind == 'direct' and dataset == 'wdbc'").set_index("split")
    moved = direct.query("method == 'clipped' and measure == 'distance/0.5'").value
    depth = direct.query("method == '' and measure == 'depth'").value
    cell = summary(done, "direct", dataset="wdbc", size=0.5)
    expected = (moved / (2.0**depth * (2 * depth + 1))).mean()
    assert expected == pytest.approx(cell["clipped"], rel=1e-12)


def test_every_unit_is_in_the_long_table(done: Regenerated, long: pd.DataFrame) -> None:
    assert list(long) == [
        *("kind", "dataset", "case_study", "protocol", "split", "method", "measure", "value"),
    ]
    assert pd.api.types.is_float_dtype(long.value)
    keys = ["kind", "dataset", "protocol", "split", "method", "measure"]
    assert not long.duplicated(keys).any()
    assert set(long.query("dataset == 'wdbc'").case_study) == {"Breast cancer"}
    by_unit = long.set_index(["kind", "dataset", "protocol", "split"]).sort_index()
    units = [json.loads(path.read_text()) for path in (done.out / "units").rglob("*.json")]
    for unit in units:
        at = tuple(unit["config"][key] for key in ("kind", "dataset", "protocol", "index"))
        if at[0] != "direct":  # holds a block of repetitions, each a split of its own here
            assert set(numbers_in(unit["result"])) <= set(by_unit.loc[at].value)


def numbers_in(value: object, name: str = "") -> list[float]:
    """Numbers at any depth, without those of trees and clouds."""
    if isinstance(value, dict):
        skipped = ("cloud", "files", "trees") if name != "sizes" else ()
        return [n for k, v in value.items() if k not in skipped for n in numbers_in(v, k)]
    if isinstance(value, list):
        return [n for v in value for n in numbers_in(v, name)]
    return [float(value)] if isinstance(value, int | float) else []


def test_words_are_the_last_word_of_a_measure(long: pd.DataFrame) -> None:
    root = long[long.measure.str.startswith("top/root/feature/")]
    # One feature at the root of the selected tree of every split.
    assert (root.groupby(["dataset", "protocol", "split"]).value.sum() == 1).all()
    assert len(root) == 2 * 2 * TINY.n_splits


def test_the_trees_of_every_split_have_a_table_of_their_own(
    done: Regenerated, long: pd.DataFrame
) -> None:
    trees = pd.read_csv(done.out / "tables" / "frontiers_all.csv")
    sizes = trees.groupby(["dataset", "protocol", "split"]).on_frontier.sum()
    told = long.query("measure == 'frontier_size'").set_index(["dataset", "protocol", "split"])
    told = told.value[told.kind == "study"]
    assert len(told) == 2 * 2 * TINY.n_splits
    assert (sizes.sort_index() == told.sort_index()).all()
    # Of the first split the page's own table has the same.
    assert len(done.tables["frontiers"].rows) == (trees.split == 0).sum()


def test_what_is_summed_up_elsewhere_is_a_file_only(done: Regenerated) -> None:
    results = json.loads((done.out / "results.json").read_text())
    assert not {"observations", "frontiers_all"} & set(results["tables"])
    page = (done.out / "index.md").read_text()
    assert "(tables/observations.csv)" in page
    assert "Split or repetition" not in page
