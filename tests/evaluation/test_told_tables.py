"""Tables as they may be shown: within a group, between groups, and against the total."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadytree.core.disclosure import PeopleCount
from steadytree.evaluation.flips import MOVES, flip_table
from steadytree.evaluation.told_tables import (
    group_names,
    tell_flips,
    tell_moves,
    tell_performance,
    told_words,
)
from tests.report import samples

MEASURES = ("sensitivity", "specificity", "accuracy", "positive predictive value")


def table_of(groups: dict[str, np.ndarray]) -> pd.DataFrame:
    """Performance of a tree that keeps its decisions, from counts (outcome, old, new)."""
    records = []
    for name, cells in groups.items():
        (tn, fp), (fn, tp) = cells.sum(axis=2)
        values = (tp / (tp + fn), tn / (tn + fp), (tp + tn) / cells.sum(), tp / max(tp + fp, 1))
        sizes = (tp + fn, tn + fp, cells.sum(), tp + fp)
        for metric, value, n in zip(MEASURES, values, sizes, strict=True):
            ends = {f"{c}_{e}": value for c in ("deployed", "recipe") for e in ("low", "high")}
            row = {"deployed": value, "own": value, "recipe": value, "change": 0.0, **ends}
            records.append({"group": name, "metric": metric, "n": n, **row})
    return pd.DataFrame(records).set_index(["group", "metric"])


def kept(tn: int, fp: int, fn: int, tp: int) -> np.ndarray:
    return np.array([[[tn, 0], [0, fp]], [[fn, 0], [0, tp]]])


def tell(groups: dict[str, np.ndarray], min_cell: int = 5) -> pd.DataFrame:
    sizes = [int(cells.sum()) for cells in groups.values()]
    return tell_performance(table_of(groups), sizes, list(groups.values()), min_cell)


def test_a_hidden_sensitivity_is_not_given_away_by_other_measures() -> None:
    """2 of 2 found: specificity's number of people and the accuracy would tell it."""
    told = tell({"east": kept(7, 8, 0, 2), "west": kept(60, 20, 10, 40)})
    east = told.loc["east"]
    assert set(east["told"]) <= {"hidden", "range"}
    assert east["n"].isna().all()
    assert east[["own", "change", "deployed_low", "recipe_high"]].isna().all().all()
    # Together with the total the other group would tell it.
    assert set(told.loc["west"]["told"]) <= {"hidden", "range"}


def test_groups_without_a_small_count_are_exact() -> None:
    groups = {"east": kept(70, 8, 9, 20), "west": kept(60, 20, 10, 40)}
    told = tell(groups)
    assert set(told["told"]) == {"exact"}
    assert told["deployed"].tolist() == table_of(groups)["deployed"].tolist()


def test_only_as_many_groups_as_needed_are_rounded() -> None:
    groups = {
        "north": kept(600, 200, 100, 400),
        "east": kept(70, 1, 9, 20),
        "west": kept(60, 20, 10, 40),
    }
    told = tell(groups)
    assert set(told.loc["north"]["told"]) == {"exact"}
    assert "exact" not in set(told.loc["east"]["told"]) | set(told.loc["west"]["told"])


def test_everything_is_told_to_those_who_may_see() -> None:
    told = tell({"east": kept(7, 8, 0, 2), "west": kept(60, 20, 10, 40)}, min_cell=1)
    assert set(told["told"]) == {"exact"}
    assert told["n"].notna().all()


@given(st.lists(st.tuples(*[st.integers(0, 40)] * 8), min_size=1, max_size=5), st.integers(2, 8))
def test_a_small_count_is_in_company_that_the_total_does_not_resolve(
    counts: list[tuple[int, ...]], least: int
) -> None:
    cells = [np.array(c).reshape(2, 2, 2) + np.array([1, 0]).reshape(1, 1, 2) * 5 for c in counts]
    groups = {f"g{i}": c for i, c in enumerate(cells)}
    told = tell(groups, least)
    exact = [set(told.loc[name]["told"]) == {"exact"} for name in groups]
    flat = np.array([c.ravel() for c in cells])
    small = (flat > 0) & (flat < least)
    for i, name in enumerate(groups):
        assert not (exact[i] and small[i].any()), name
    rough = flat[[not e for e in exact]]
    for cell in np.flatnonzero(small.any(axis=0)):
        known = flat[:, cell].sum() < least  # then it is not told of all either
        assert (
            known
            or (rough[:, cell].sum() >= least and (rough[:, cell] > 0).sum() >= 2)
            or (len(rough) == len(flat))
        )


def test_ranges_are_told_in_words() -> None:
    told = tell({"all": kept(300, 3, 10, 190)})
    row = told.loc[("all", "sensitivity")].to_dict()
    assert row["told"] == "range"
    assert told_words(row, "deployed") == "92–95 %" or told_words(row, "deployed") == "≥ 95 %"
    assert row["deployed_range"].holds(190 / 200)
    assert told.loc[("all", "accuracy"), "told"] == "hidden"


def one_row(metric: str, group: str = "all", **values: float) -> pd.DataFrame:
    row = {"deployed": 0.137, "own": 0.12, "recipe": 0.112, "change": -0.02, "n": 200.0} | values
    ends = {f"{c}_{e}": 0.1 for c in ("deployed", "recipe") for e in ("low", "high")}
    frame = pd.DataFrame([{"group": group, "metric": metric, **row, **ends}])
    return frame.set_index(["group", "metric"])


SMALL = kept(170, 3, 7, 20)
HIDDEN = ["own", "change", "deployed_low", "deployed_high", "recipe_low", "recipe_high"]


@pytest.mark.parametrize("metric", ["Brier score", "calibration: mean predicted minus observed"])
@pytest.mark.parametrize("cells", [SMALL, kept(150, 13, 17, 20)])
def test_means_over_people_are_rounded_to_steps_that_hide_a_person(
    metric: str, cells: np.ndarray
) -> None:
    """Of 200 people a step of 0.05 is ten, and one of 0.02 would be four."""
    row = tell_performance(one_row(metric), [200], [cells], 5).iloc[0]
    assert (row["deployed"], row["recipe"], row["told"]) == (0.15, 0.1, "range")
    assert row["n"] == 200
    assert row[HIDDEN].isna().all()
    few = tell_performance(one_row(metric, n=20.0), [20], [cells], 5).iloc[0]
    assert few["told"] == "hidden"  # a step of five people would be a quarter
    assert few[["deployed", "recipe", "n", *HIDDEN]].isna().all()


def test_an_area_of_a_group_with_a_small_count_is_told_roughly() -> None:
    alone = tell_performance(one_row("AUC", deployed=0.8137), [200], [SMALL], 5).iloc[0]
    assert (alone["deployed"], alone["n"], alone["told"]) == (0.8137, 200, "exact")
    table = pd.concat([one_row("AUC", name, deployed=0.8137) for name in ("east", "west")])
    told = tell_performance(table, [200, 200], [SMALL, SMALL], 5)
    assert told["deployed"].tolist() == [0.81, 0.81]
    assert told["recipe"].tolist() == [0.11, 0.11]
    assert told["told"].tolist() == ["range", "range"]
    assert told[["n", *HIDDEN]].isna().all().all()


def test_of_all_people_together_the_number_is_told_with_the_range() -> None:
    alone = tell({"all": kept(300, 3, 10, 190)}).loc[("all", "sensitivity")]
    assert (alone["n"], alone["told"]) == (200, "range")
    told = tell({"east": kept(300, 3, 10, 190), "west": kept(300, 3, 10, 190)})
    assert told.loc[("east", "sensitivity"), "told"] == "range"
    assert np.isnan(told.loc[("east", "sensitivity"), "n"])


def test_small_counts_of_several_groups_are_each_others_company() -> None:
    """3 and 3 of 6: neither is known from the total, so the third group stays exact."""
    groups = {
        "north": kept(600, 200, 100, 400),
        "east": kept(70, 3, 9, 20),
        "west": kept(60, 3, 10, 40),
    }
    told = tell(groups)
    assert set(told.loc["north"]["told"]) == {"exact"}
    groups["west"] = kept(60, 1, 10, 40)  # 3 and 1 are too few together
    assert "exact" not in set(tell(groups).loc["north"]["told"])


def test_names_of_small_groups_and_extremes_are_not_shown() -> None:
    assert group_names(["north", "Jane Doe"], [40, 3], 5) == ["north", "small group 1"]
    some = group_names(["Joe Bloggs", "north", "Jane Doe"], [2, 40, 3], 5)
    assert some == ["small group 1", "north", "small group 2"]
    cut = ["(0.9, 20.0]", "(20.0, 40.0]", "(40.0, 91.0]"]
    assert group_names(cut, [20, 20, 20], 5) == ["up to 20.0", "over 20.0 to 40.0", "over 40.0"]


def test_few_changed_decisions_of_a_group_are_hidden_with_another() -> None:
    site = np.array(["a"] * 40 + ["b"] * 60 + ["c"] * 3)
    changed = np.zeros(103, dtype=bool)
    changed[[0, 1, *range(50, 60)]] = True
    moves = np.where(changed, 0.2, 0.0)
    X = pd.DataFrame({"x": np.zeros(103)})
    table = flip_table(X, site, changed, moves, min_cell=0, level=0.95)
    told = tell_flips(table, 5)
    assert told.index.tolist() == ["a", "b", "small group 1"]
    assert told["n"].isna().sum() == 2
    assert told["flips"].isna().all()
    assert tell_flips(table, 1)["flips"].notna().all()


def flips_of(*groups: tuple[int, int, int, int]) -> pd.DataFrame:
    """A table from counts: people, changed decisions, moves by more than 5 and 10 points."""
    records = [
        {
            "n": n,
            "flips": f / n,
            "low": f / n / 2,
            "high": f / n,
            "moved_5": a / n,
            "moved_10": b / n,
        }
        for n, f, a, b in groups
    ]
    names = pd.Index([f"g{i}" for i in range(len(groups))], name="group")
    return pd.DataFrame(records, index=names).assign(masked=False)


@pytest.mark.parametrize("few", [2, 98])
def test_only_what_a_total_would_resolve_is_hidden(few: int) -> None:
    """A few changed decisions, or a few that stayed, and those of the next group with them."""
    table = flips_of((100, few, 40, 20), (200, 99, 80, 30), (300, 120, 90, 45))
    told = tell_flips(table, 5)
    assert told["masked"].tolist() == [True, True, False]
    for column in ("flips", "low", "high"):
        assert told[column].isna().tolist() == [True, True, False]
        assert told[column].iloc[2] == table[column].iloc[2]
    shown = ["n", "moved_5", "moved_10"]
    pd.testing.assert_frame_equal(told[shown], table[shown], check_dtype=False)
    assert not table["masked"].any()  # the table that was given stays as it was


def test_a_table_of_many_people_is_shown_as_it_is() -> None:
    table = flips_of((100, 10, 40, 20), (200, 50, 80, 30))
    pd.testing.assert_frame_equal(tell_flips(table, 5), table, check_dtype=False)


def test_moves_of_groups_between_5_and_10_points_are_not_counted_by_subtraction() -> None:
    table = flips_of((100, 10, 22, 20), (200, 50, 80, 30))
    told = tell_flips(table, 5)
    assert told["moved_10"].isna().all()
    assert told["moved_5"].tolist() == [0.22, 0.4]
    assert told["flips"].tolist() == [0.1, 0.25]
    assert told["masked"].all()


def test_moves_between_5_and_10_points_are_not_counted_by_subtraction() -> None:
    five, ten = MOVES
    told = tell_moves({five: 0.12, ten: 0.10}, 100, 5)
    assert told[five].count == 12
    assert told[ten] == PeopleCount(None, 100, "a number that is not shown")
    assert tell_moves({five: 0.02, ten: 0.02}, 100, 5)[ten].replaced == "fewer than 5"
    assert not tell_moves({five: 0.2, ten: 0.1}, 100, 5)[ten].masked


def test_tables_of_a_retraining_agree_with_the_exact_ones_where_they_are_exact() -> None:
    result = samples.retraining()
    told, exact = result.told_performance(min_cell=1), result.performance(min_cell=1)
    assert told["deployed"].tolist() == pytest.approx(exact["deployed"].tolist(), nan_ok=True)
    masked = result.told_performance()
    for (_, metric), row in masked.iterrows():
        if row["deployed_range"] is not None:
            assert row["deployed_range"].holds(exact.loc[("all", metric), "deployed"])
