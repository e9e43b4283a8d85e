"""Intervals over splits that share training rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import t as student

from research.paper.findings.intervals import estimate, exact
from research.paper.findings.observed import Observed


def rows(values: dict[str, list[float]], **extra: Any) -> list[dict[str, Any]]:
    """Make a long table of one measure."""
    return [
        {
            "kind": "study",
            "dataset": name,
            "protocol": "paper",
            "split": split,
            "method": "",
            "measure": "x",
            "value": value,
            **extra,
        }
        for name, numbers in values.items()
        for split, value in enumerate(numbers)
    ]


def mean(observed: Observed) -> float:
    return float(np.mean([observed.values(n, "", "x").mean() for n in observed.datasets]))


def test_a_mean_has_the_interval_of_nadeau_and_bengio() -> None:
    values = [1.0, 4.0, 2.0, 7.0]
    found = estimate(mean, Observed.from_rows(rows({"a": values}), "paper"), level=0.9, overlap=0.5)
    error = np.sqrt((1 / 4 + 0.5) * np.var(values, ddof=1))
    half = student.ppf(0.95, 3) * error
    assert found.value == 3.5
    assert found.low == pytest.approx(3.5 - half)
    assert found.high == pytest.approx(3.5 + half)
    assert found.splits == 4
    assert not found.is_exact


def test_variances_of_data_sets_add() -> None:
    both = {"a": [1.0, 4.0, 2.0, 7.0], "b": [0.0, 1.0, 0.0, 2.0]}
    found = estimate(mean, Observed.from_rows(rows(both), "paper"), level=0.9, overlap=0.0)
    error = np.sqrt(sum(np.var(v, ddof=1) / 4 for v in both.values())) / 2
    assert found.high - found.value == pytest.approx(student.ppf(0.95, 3) * error)


def test_without_rows_in_common_the_interval_keeps_its_promise() -> None:
    """95 of 100 intervals hold the truth, give or take what chance allows."""
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(400):
        drawn = Observed.from_rows(rows({"a": rng.normal(2, 1, 8).tolist()}), "paper")
        found = estimate(mean, drawn, level=0.95, overlap=0.0)
        held += found.low <= 2 <= found.high
    assert 0.92 <= held / 400 <= 0.98


def test_one_split_gives_no_interval() -> None:
    with pytest.raises(ValueError, match="at least two splits"):
        estimate(mean, Observed.from_rows(rows({"a": [1.0]}), "paper"), level=0.9, overlap=0.0)


def test_what_was_not_drawn_is_exact() -> None:
    assert (exact(3).low, exact(3).high, exact(3).is_exact) == (3, 3, True)


def test_observations_are_kept_apart_by_protocol_kind_and_data_set() -> None:
    table = rows({"a": [1.0, 2.0]}) + rows({"a": [9.0, 9.0]}, protocol="honest")
    table += rows({"b": [5.0, 6.0]}) + rows({"a": [7.0, 7.0]}, kind="example")
    observed = Observed.from_rows(table, "paper").of("study")
    assert observed.datasets == ["a", "b"]
    assert observed.values("a", "", "x").tolist() == [1.0, 2.0]
    assert observed.without(("study", "a"), 0).values("a", "", "x").tolist() == [2.0]
    assert observed.beginning("b", "", "") == [{"x": 5.0}, {"x": 6.0}]
    with pytest.raises(LookupError, match="expected one kind of work on 'c', got 0"):
        observed.values("c", "", "x")
