"""A retraining in MLflow: the tree as a model, its numbers, its report, in one run.

The model is stored as the tree's own JSON file and loaded by this module, so that nothing in it
is pickled: whoever loads it runs the code of the installed steadytree, and no other.
"""

from __future__ import annotations

import json
import re
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from steadytree._optional import import_optional, with_version
from steadytree.retraining import Retraining
from steadytree.tree.json import load_tree, save_tree
from steadytree.tree.tree import Tree

__all__ = ["TreeModel", "log_retraining", "log_tree"]

FOLDER = "steadytree"
"""Folder of the artifacts in the run."""
PARAMETER_LENGTH = 500
ANOTHER = "another value"
"""Stands for a category in the input example."""
# What MLflow allows in the name of a metric.
_NOT_ALLOWED = re.compile(r"[^\w.\- :/]")
# Each column of a measure in the summary: what it is a score of.
SCORE_OF = {
    "deployed": "deployed tree on the new rows",
    "own": "proposed tree on rows it was trained on",
    "recipe": "proposed tree as on unseen rows",
    "change": "change as on unseen rows",
}


def log_retraining(
    result: Retraining,
    *,
    name: str = "tree",
    registered_model_name: str | None = None,
    report: bool = True,
) -> Any:
    """Log a retraining to the active MLflow run, or to a new one.

    The run gets the settings as parameters, what changes and how good it is as metrics, and as
    artifacts in the folder ``steadytree`` the summary (:meth:`steadytree.Retraining.to_dict`), both
    trees, the differences and the report. The model takes the raw rows that the tree takes and
    returns ``label`` and one ``share of ...`` per class, or ``response``. Nobody's row is stored:
    the input example is made up. Counts of people are exact: the run is for whoever has the data.

    Parameters
    ----------
    result : Retraining
        What :func:`steadytree.retrain` returned.
    name : str, default "tree"
        Name of the model.
    registered_model_name : str, optional
        Register the model under this name, as a new version.
    report : bool, default True
        Write the report too.

    Returns
    -------
    mlflow.models.model.ModelInfo
        Of the logged model; ``mlflow.pyfunc.load_model(info.model_uri)`` loads it.

    Examples
    --------
    >>> import mlflow
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import steadytree as st
    >>> from steadytree.mlflow import log_retraining
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> deployed = DecisionTreeClassifier(max_leaf_nodes=4, random_state=0).fit(X[:300], y[:300])
    >>> result = st.retrain(
    ...     deployed, X[300:], y[300:], n_folds=0,
    ...     search=st.SearchOptions(n_estimators=20), random_state=0,
    ... )
    >>> mlflow.set_tracking_uri("sqlite:///runs.db")  # or your server
    >>> experiment = mlflow.set_experiment("triage")
    >>> info = log_retraining(result, name="triage", report=False)
    >>> list(mlflow.pyfunc.load_model(info.model_uri).predict(X[:2]))
    ['label', 'share of 0', 'share of 1']
    """
    mlflow = _import_mlflow("mlflow")
    with _quiet(), _run(mlflow), tempfile.TemporaryDirectory() as folder:
        summary = result.to_dict()
        mlflow.set_tag("steadytree.action", summary["action"])
        mlflow.log_params(parameters(summary))
        mlflow.log_metrics(metrics(summary))
        mlflow.log_dict(summary, f"{FOLDER}/summary.json")
        for path in _write_artifacts(result, Path(folder), report=report):
            mlflow.log_artifact(str(path), FOLDER)
        return log_tree(result.tree, name=name, registered_model_name=registered_model_name)


def _run(mlflow: Any) -> AbstractContextManager[Any]:
    """Use the active run, or one that is started and ended here."""
    return nullcontext() if mlflow.active_run() else mlflow.start_run()


@contextmanager
def _quiet() -> Iterator[None]:
    """Pass over what MLflow says of its own code: nobody who logs a tree could mend it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _import_mlflow(module: str) -> Any:
    with _quiet():
        return import_optional(module, extra="mlflow", purpose="steadytree.mlflow")


# -- what is logged --------------------------------------------------------------------


def parameters(summary: Mapping[str, Any]) -> dict[str, str]:
    """Return the settings of a retraining as short texts, and the tree that was chosen."""
    out = {}
    for key, value in {"chosen": summary["chosen"], **summary["settings"]}.items():
        text = value if isinstance(value, str) else json.dumps(value)
        out[key] = text if len(text) <= PARAMETER_LENGTH else f"{text[:PARAMETER_LENGTH]}..."
    return out


def metrics(summary: Mapping[str, Any]) -> dict[str, float]:
    """Return what changes and how good it is, each score with what it is a score of."""
    affected = summary["affected"]
    happened = {"decisions changed": affected["flips"]}
    for points, cell in affected["moved"].items():
        happened[f"risk moved by more than {points} points"] = cell
    out: dict[str, float | None] = {
        "dissimilarity": summary["dissimilarity"],
        "distance": summary["distance"],
        **{f"{name}: share of new rows": c["count"] / c["of"] for name, c in happened.items()},
        "edits": float(len(summary["edits"])),
        "leaves": float(summary["diff"]["trees"]["new"]["n_rules"]),
    }
    for row in summary["performance"]["measures"]:
        for column, what in SCORE_OF.items():
            out[f"{row['metric']}: {what}"] = row[column]["measure"]
    # Without folds there is no honest estimate.
    return {_NOT_ALLOWED.sub("_", name): v for name, v in out.items() if v is not None}


def _write_artifacts(result: Retraining, folder: Path, *, report: bool) -> list[Path]:
    texts = {"diff.md": result.diff.to_markdown(), "explanation.txt": f"{result.explain()}\n"}
    paths = [save_tree(result.tree, folder / "tree.json")]
    paths.append(save_tree(result.deployed, folder / "deployed.json"))
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
        paths.append(folder / name)
    if report:
        paths.append(result.report(folder / "report.html"))
    return paths


# -- the model -------------------------------------------------------------------------


class TreeModel:
    """A tree with the one method that MLflow calls.

    Parameters
    ----------
    tree : Tree

    Examples
    --------
    >>> import pandas as pd
    >>> import steadytree as st
    >>> from steadytree.mlflow import TreeModel
    >>> tree = st.tree_from_rules('''
    ... age <= 50: no
    ... else: yes
    ... ''')
    >>> TreeModel(tree).predict(pd.DataFrame({"age": [60.0]})).to_dict("records")
    [{'label': 'yes', 'share of no': 0.0, 'share of yes': 1.0}]
    """

    def __init__(self, tree: Tree) -> None:
        self.tree = tree

    def predict(self, model_input: Any, params: Mapping[str, Any] | None = None) -> pd.DataFrame:
        """Return label and shares, or the response, of each row.

        Parameters
        ----------
        model_input : array, frame or list of rows
            The raw rows that the tree takes.
        params : mapping, optional
            Ignored; MLflow passes it.

        Returns
        -------
        DataFrame
        """
        tree = self.tree
        # A list has an index, too: to look things up.
        index = model_input.index if isinstance(model_input, pd.DataFrame) else None
        if tree.classes is None:
            return pd.DataFrame({"response": tree.predict(model_input)}, index=index)
        leaf = tree.apply(model_input)
        shares = {f"share of {c}": tree.value[leaf, k] for k, c in enumerate(tree.classes)}
        return pd.DataFrame({"label": tree.class_names(tree.label[leaf]), **shares}, index=index)


def _load_pyfunc(path: str) -> TreeModel:
    """Load the model that MLflow found at a path: MLflow looks for this name."""
    return TreeModel(load_tree(path))


def log_tree(
    tree: Tree,
    *,
    name: str = "tree",
    registered_model_name: str | None = None,
) -> Any:
    """Log a tree as a model alone, to the active MLflow run or to a new one.

    Parameters
    ----------
    tree : Tree
    name : str, default "tree"
        Name of the model.
    registered_model_name : str, optional
        Register the model under this name, as a new version.

    Returns
    -------
    mlflow.models.model.ModelInfo

    Examples
    --------
    >>> import mlflow
    >>> import pandas as pd
    >>> import steadytree as st
    >>> from steadytree.mlflow import log_tree
    >>> tree = st.tree_from_rules('''
    ... age <= 50: no
    ... else: yes
    ... ''')
    >>> mlflow.set_tracking_uri("sqlite:///runs.db")  # or your server
    >>> experiment = mlflow.set_experiment("triage")
    >>> info = log_tree(tree, name="triage")
    >>> rows = pd.DataFrame({"age": [60.0]})
    >>> mlflow.pyfunc.load_model(info.model_uri).predict(rows)["label"].to_list()
    ['yes']
    """
    mlflow, pyfunc = _import_mlflow("mlflow"), _import_mlflow("mlflow.pyfunc")
    example = example_rows(tree)
    with _quiet(), _run(mlflow), tempfile.TemporaryDirectory() as folder:
        return pyfunc.log_model(
            name=name,
            loader_module=__name__,
            data_path=str(save_tree(tree, Path(folder) / "model.json")),
            signature=_signature(tree, example),
            input_example=example,
            registered_model_name=registered_model_name,
            # Not left to MLflow, which would load the model in a fresh process to find out.
            pip_requirements=[with_version("steadytree", "==")],
        )


def example_rows(tree: Tree) -> pd.DataFrame:
    """Return two rows that nobody has: around the thresholds, with a value missing."""
    columns: dict[str, Any] = {}
    for j, (name, cats) in enumerate(zip(tree.feature_labels, tree.categories, strict=True)):
        if cats:
            # A category may be the name of somebody: none is shown.
            columns[name] = np.array([ANOTHER, None], dtype=object)
            continue
        cuts = tree.threshold[(tree.feature == j) & np.isfinite(tree.threshold)]
        middle = float(f"{np.median(cuts):.3g}") if cuts.size else 0.0
        columns[name] = [middle, np.nan]
    return pd.DataFrame(columns)


def _signature(tree: Tree, example: pd.DataFrame) -> Any:
    """Return what the model takes and gives; columns that it does not use may be absent."""
    models, schema = _import_mlflow("mlflow.models"), _import_mlflow("mlflow.types.schema")

    # MLflow would refuse whole numbers where it was told of doubles, categoricals and missing
    # values; the tree itself checks what it is given, and says more.
    inputs = [
        schema.ColSpec(schema.AnyType(), name=label, required=j in tree.used_features)
        for j, label in enumerate(tree.feature_labels)
    ]
    given = models.infer_signature(None, TreeModel(tree).predict(example))
    return models.ModelSignature(inputs=schema.Schema(inputs), outputs=given.outputs)
