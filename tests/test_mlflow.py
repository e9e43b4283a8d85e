"""A retraining in a real MLflow store: the model comes back and decides as the tree."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import steadytree as st
from steadytree.mlflow import TreeModel, log_retraining, log_tree, metrics
from tests.foreign import probe_rows
from tests.report import samples

# MLflow warns about its own code, from its import on.
pytestmark = pytest.mark.filterwarnings("ignore::Warning")
ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """An MLflow whose runs, models and artifacts are in a folder of their own."""
    import mlflow

    folder = tmp_path_factory.mktemp("mlflow")
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(f"sqlite:///{folder / 'store.db'}")
    mlflow.set_experiment(experiment_id=mlflow.create_experiment("trees", str(folder / "files")))
    yield mlflow
    mlflow.set_tracking_uri(before)


def as_frame(tree: st.Tree, rows: Any) -> pd.DataFrame:
    return TreeModel(tree).predict(rows)


def test_the_model_comes_back_and_decides_as_the_tree(store: Any) -> None:
    result = samples.graded_retraining()
    info = log_retraining(result, registered_model_name="grades")
    assert store.active_run() is None
    model = store.pyfunc.load_model("models:/grades/1")
    rows = probe_rows(result.tree, 2000)
    # Some grades are missing, and some the tree never met.
    assert rows["grade"].isna().any()
    assert (~rows["grade"].dropna().isin(result.tree.categories[0])).any()
    found = model.predict(rows)
    np.testing.assert_array_equal(found["label"], result.tree.predict(rows))
    np.testing.assert_array_equal(
        found[[f"share of {c}" for c in result.tree.classes or ()]], result.tree.predict_proba(rows)
    )
    # The table as it was given to retrain: a categorical column.
    np.testing.assert_array_equal(
        model.predict(result.X_new)["label"], result.tree.predict(result.X_new)
    )
    run = store.get_run(info.run_id)
    assert run.data.tags["steadytree.action"] == result.action
    assert run.data.params["price"] == str(result.settings["price"])
    assert run.data.params["chosen"] == result.chosen
    assert run.data.metrics == pytest.approx(metrics(result.to_dict()))


def test_numbers_say_what_they_are_of() -> None:
    result = samples.retraining()
    found = metrics(result.to_dict())
    table = result.performance()
    assert found["dissimilarity"] == result.dissimilarity
    assert found["decisions changed: share of new rows"] == result.flips()
    auc = table.loc[("all", "AUC")]
    for name, column in {
        "AUC: deployed tree on the new rows": "deployed",
        "AUC: proposed tree as on unseen rows": "recipe",
        "AUC: proposed tree on rows it was trained on": "own",
        "AUC: change as on unseen rows": "change",
    }.items():
        assert found[name] == auc[column]
    assert "accuracy: deployed tree on the new rows" in found
    assert found["risk moved by more than 5 points: share of new rows"] == pytest.approx(
        result.risk_moved()["moved_5"]
    )


def test_the_run_holds_trees_differences_and_report(store: Any, tmp_path: Path) -> None:
    result = samples.regression_retraining()
    with store.start_run() as run:
        info = log_retraining(result, name="diabetes")
        # The run that was active stays so.
        assert store.active_run().info.run_id == run.info.run_id == info.run_id
    folder = store.artifacts.download_artifacts(
        run_id=info.run_id, artifact_path="steadytree", dst_path=str(tmp_path)
    )
    held = {path.name: path for path in Path(folder).iterdir()}
    assert set(held) == {
        *("tree.json", "deployed.json", "diff.md", "explanation.txt", "report.html"),
        "summary.json",
    }
    assert json.loads(held["summary.json"].read_text("utf-8")) == result.to_dict()
    assert st.load_tree(held["tree.json"]) == result.tree
    assert st.load_tree(held["deployed.json"]) == result.deployed
    assert held["report.html"].read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert held["explanation.txt"].read_text(encoding="utf-8").strip() == result.explain()
    model = store.pyfunc.load_model(info.model_uri)
    rows = probe_rows(result.tree, 500)
    np.testing.assert_array_equal(model.predict(rows)["response"], result.tree.predict(rows))
    # Columns that the tree does not use need not be there, and whole numbers are numbers.
    used = [result.tree.feature_labels[j] for j in sorted(result.tree.used_features)]
    few = rows[used].fillna(0).round().astype(int)
    np.testing.assert_array_equal(model.predict(few)["response"], result.tree.predict(few))


def test_a_model_asks_pip_for_packages_alone(store: Any) -> None:
    info = log_tree(samples.mixed_diff().new, name="needs")
    needs = Path(store.pyfunc.get_model_dependencies(info.model_uri)).read_text(encoding="utf-8")
    assert [line.partition("==")[0] for line in needs.split()] == ["mlflow", "steadytree"]


def test_importing_steadytree_leaves_mlflow_alone_and_its_absence_says_what_to_install() -> None:
    code = (
        "import sys, steadytree, steadytree.mlflow\n"
        "assert 'mlflow' not in sys.modules\n"
        "sys.modules['mlflow'] = None\n"
        "try:\n    steadytree.mlflow.log_retraining(None)\n"
        "except steadytree.exceptions.MissingDependencyError as error:\n    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert "pip install 'steadytree[mlflow]'" in done.stdout
