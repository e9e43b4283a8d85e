"""Finished work is found again, and nothing damaged is ever taken for finished."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import numpy as np
import pytest

from research.paper.jobs import Job
from research.paper.registry import config_of
from research.paper.store import Seconds, UnitStore, canonical_json
from tests.research.paper.tiny import TINY

CONFIG = {"kind": "study", "dataset": "wdbc", "protocol": "paper", "index": 0, "seed": 0}


def test_a_result_is_found_again(tmp_path: Path) -> None:
    store = UnitStore(tmp_path)
    assert store.load(CONFIG) is None
    path = store.save(CONFIG, {"auc": np.float64(0.1) + 0.2, "n": np.int64(3)})
    assert path.name.startswith("wdbc-paper-0-")
    assert store.load(CONFIG) == {"auc": 0.1 + 0.2, "n": 3}


@pytest.mark.parametrize("change", [{"seed": 1}, {"index": 1}, {"settings": {"n_bootstraps": 7}}])
def test_another_configuration_is_another_result(tmp_path: Path, change: dict[str, object]) -> None:
    store = UnitStore(tmp_path)
    store.save(CONFIG, {"auc": 0.5})
    assert store.load({**CONFIG, **change}) is None


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "",
        lambda text: text.replace("0.5", "0.6"),
        lambda text: "[]",
        lambda text: json.dumps({"config": CONFIG}),
    ],
)
def test_a_damaged_file_counts_as_absent(tmp_path: Path, damage: object) -> None:
    store = UnitStore(tmp_path)
    path = store.save(CONFIG, {"auc": 0.5})
    path.write_text(damage(path.read_text()))  # type: ignore[operator]
    assert store.load(CONFIG) is None
    store.save(CONFIG, {"auc": 0.5})
    assert store.load(CONFIG) == {"auc": 0.5}


def test_a_file_under_the_name_of_another_counts_as_absent(tmp_path: Path) -> None:
    store = UnitStore(tmp_path)
    other = {**CONFIG, "seed": 9}
    path = store.save(CONFIG, {"auc": 0.5})
    store.path(other).write_bytes(path.read_bytes())
    assert store.load(other) is None


def test_the_seconds_lie_beside_the_result(tmp_path: Path) -> None:
    store = UnitStore(tmp_path)
    path = store.save(CONFIG, {"auc": 0.5}, Seconds(2.5, 1.25))
    found = store.find(CONFIG)
    assert found is not None
    assert found.seconds == Seconds(2.5, 1.25)
    body = json.loads(path.read_text())
    # Neither the result nor its checksum knows of them.
    body["seconds"] = None
    path.write_text(json.dumps(body))
    again = store.find(CONFIG)
    assert again is not None
    assert (again.result, again.seconds) == ({"auc": 0.5}, Seconds())


def test_only_old_leftovers_are_removed(tmp_path: Path) -> None:
    store = UnitStore(tmp_path)
    kept = store.save(CONFIG, {"auc": 0.5})
    old, young = (kept.parent / f".x.json.{word}" for word in ("old", "young"))
    for path in (old, young):
        path.write_text("half")
    past = time.time() - 7200
    os.utime(old, (past, past))
    assert store.tidy() == 1
    assert kept.exists()
    assert young.exists()
    assert not old.exists()


def test_the_bytes_depend_on_the_content_alone() -> None:
    a = {"b": 0.1, "a": [np.nan, np.float32(0.5), True], "c": np.arange(2)}
    b = dict(reversed(a.items()))
    assert canonical_json(a) == canonical_json(b)
    assert json.loads(canonical_json(a))["a"] == [None, 0.5, True]
    assert json.loads(canonical_json({"x": 0.1 + 0.2}))["x"] == 0.1 + 0.2


def test_the_key_holds_all_that_a_result_depends_on() -> None:
    job = Job("study", "wdbc", "paper", 0, 0, TINY)
    config = config_of(job)
    assert config["settings"]["n_bootstraps"] == 1
    assert {"code", "seed", "packages"} <= set(config)
    assert {"numpy", "scipy", "scikit-learn", "numba", "pandas"} <= set(config["packages"])
    # What does not concern a kind of work must not invalidate it.
    assert "retraining_repeats" not in config["settings"]
