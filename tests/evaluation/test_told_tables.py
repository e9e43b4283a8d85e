"""Tables as they may be shown: within a group, between groups, and against the total."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

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


def test_names_of_small_groups_and_extremes_are_not_shown() -> None:
    assert group_names(["north", "Jane Doe"], [40, 3], 5) == ["north", "small group 1"]
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


def test_moves_between_5_and_10_points_are_not_counted_by_subtraction() -> None:
    five, ten = MOVES
    told = tell_moves({five: 0.12, ten: 0.10}, 100, 5)
    assert told[five].count == 12
    assert told[ten].masked
    assert not tell_moves({five: 0.2, ten: 0.1}, 100, 5)[ten].masked


def test_tables_of_a_retraining_agree_with_the_exact_ones_where_they_are_exact() -> None:
    result = samples.retraining()
    told, exact = result.told_performance(min_cell=1), result.performance(min_cell=1)
    assert told["deployed"].tolist() == pytest.approx(exact["deployed"].tolist(), nan_ok=True)
    masked = result.told_performance()
    for (_, metric), row in masked.iterrows():
        if row["deployed_range"] is not None:
            assert row["deployed_range"].holds(exact.loc[("all", metric), "deployed"])
