"""Other people's exporters of scikit-learn trees, each run as it is, by its usual consumer.

Each function takes a fitted model or pipeline and rows as scikit-learn takes them, and returns
labels or responses as the consumer computes them. What goes wrong is left to be raised.
"""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline, make_pipeline

Predict = Callable[[Any, pd.DataFrame, Path], Any]


def is_text(values: pd.Series[Any]) -> bool:
    return not pd.api.types.is_numeric_dtype(values)


def of_scores(model: Any, scores: Any) -> Any:
    """Labels of the largest score, as the generated code leaves them to its user."""
    scores = np.asarray(scores, dtype=float)
    if not is_classifier(model):
        return scores.ravel()
    return np.asarray(model.classes_)[np.argmax(scores, axis=1)]


def run_program(command: list[Any], given: bytes = b"") -> bytes:
    """Run a program, or raise the line in which it says why not."""
    done = subprocess.run(command, input=given, capture_output=True)
    if done.returncode:
        said = [line for line in done.stderr.decode().splitlines() if "rror: " in line]
        raise RuntimeError(f"{command[0]}: {said[0].partition('rror: ')[2] if said else '?'}")
    return done.stdout


# -- ONNX --------------------------------------------------------------------------------


def skl2onnx(model: Any, rows: pd.DataFrame, folder: Path) -> Any:
    import onnxruntime
    from skl2onnx import to_onnx
    from skl2onnx.common.data_types import FloatTensorType, StringTensorType

    options = {"zipmap": False} if is_classifier(model) else None
    if isinstance(model, Pipeline):
        kinds = [
            (c, (StringTensorType if is_text(rows[c]) else FloatTensorType)([None, 1]))
            for c in rows
        ]
        given = {
            c: rows[[c]].to_numpy(object if is_text(rows[c]) else np.float32) for c in rows.columns
        }
    else:
        kinds = [("X", FloatTensorType([None, rows.shape[1]]))]
        given = {"X": rows.to_numpy(np.float32)}
    written = to_onnx(model, initial_types=kinds, options=options)
    session = onnxruntime.InferenceSession(written.SerializeToString())
    return np.asarray(session.run(None, given)[0]).ravel()


# -- code ----------------------------------------------------------------------------------


def m2cgen_python(model: Any, rows: pd.DataFrame, folder: Path) -> Any:
    import m2cgen

    space: dict[str, Any] = {}
    exec(m2cgen.export_to_python(model), space)
    return of_scores(model, [space["score"](row) for row in rows.to_numpy().tolist()])


C_MAIN = """
#include <stdio.h>
int main(void) {
    double in[%(inputs)d], out[%(outputs)d];
    while (fread(in, sizeof(double), %(inputs)d, stdin) == %(inputs)d) {
        %(call)s
        fwrite(out, sizeof(double), %(outputs)d, stdout);
    }
    return 0;
}
"""


def m2cgen_c(model: Any, rows: pd.DataFrame, folder: Path) -> Any:
    import m2cgen

    outputs = len(model.classes_) if is_classifier(model) else 1
    call = "score(in, out);" if is_classifier(model) else "out[0] = score(in);"
    main = C_MAIN % {"inputs": rows.shape[1], "outputs": outputs, "call": call}
    (folder / "tree.c").write_text(m2cgen.export_to_c(model) + main)
    run_program(["gcc", "-O1", "-o", folder / "tree", folder / "tree.c", "-lm"])
    found = run_program([folder / "tree"], rows.to_numpy(np.float64).copy("C").tobytes())
    return of_scores(model, np.frombuffer(found).reshape(len(rows), outputs))


def m2cgen_javascript(model: Any, rows: pd.DataFrame, folder: Path) -> Any:
    import m2cgen

    code = m2cgen.export_to_javascript(model) + (
        "\nconst fs = require('fs');"
        "\nconst rows = JSON.parse(fs.readFileSync(0));"
        "\nconsole.log(JSON.stringify(rows.map(r => score(r.map(v => v === null ? NaN : v)))));"
    )
    (folder / "tree.js").write_text(code)
    values = rows.astype(object).where(rows.notna(), None).to_numpy().tolist()
    found = run_program(["node", folder / "tree.js"], json.dumps(values).encode())
    return of_scores(model, json.loads(found))


# -- SQL -----------------------------------------------------------------------------------


def orbital_duckdb(model: Any, rows: pd.DataFrame, folder: Path) -> Any:
    import duckdb

    with duckdb.connect() as connection:
        connection.register("given", rows)
        columns = ", ".join(
            # A NaN of pandas is a NaN in DuckDB; a warehouse has NULL.
            f'"{c}"' if is_text(rows[c]) else f'CASE WHEN NOT isnan("{c}") THEN "{c}" END AS "{c}"'
            for c in rows
        )
        connection.execute(f"CREATE TABLE rows_ AS SELECT {columns} FROM given")
        return connection.execute(_orbital_sql(model, rows, "duckdb")).df().iloc[:, 0].to_numpy()


def orbital_sqlite(model: Any, rows: pd.DataFrame, folder: Path) -> Any:
    import sqlite3

    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        rows.to_sql("rows_", connection, index=False)
        found = connection.execute(_orbital_sql(model, rows, "sqlite")).fetchall()
        return np.array([line[0] for line in found])


def _orbital_sql(model: Any, rows: pd.DataFrame, dialect: str) -> str:
    import orbital
    from orbital.types import DoubleColumnType, StringColumnType

    pipeline = model if isinstance(model, Pipeline) else make_pipeline(model)
    kinds = {c: StringColumnType() if is_text(rows[c]) else DoubleColumnType() for c in rows}
    parsed = orbital.parse_pipeline(pipeline, features=kinds)
    return str(orbital.export_sql("rows_", parsed, dialect=dialect))


# -- PMML ----------------------------------------------------------------------------------


def nyoka(model: Any, rows: pd.DataFrame, folder: Path) -> Any:
    from nyoka import skl_to_pmml

    pipeline = model if isinstance(model, Pipeline) else Pipeline([("tree", model)])
    path = folder / "nyoka.pmml"
    skl_to_pmml(
        pipeline=pipeline, col_names=list(rows), target_name="target", pmml_f_name=str(path)
    )
    return evaluate_pmml(path, rows, model)


def sklearn2pmml(model: Any, rows: pd.DataFrame, folder: Path) -> Any:
    from sklearn2pmml import make_pmml_pipeline
    from sklearn2pmml import sklearn2pmml as convert

    pipeline = make_pmml_pipeline(model, active_fields=list(rows), target_fields=["target"])
    path, said = folder / "sklearn2pmml.pmml", io.StringIO()
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            convert(pipeline, str(path))
    except RuntimeError:
        reasons = [line for line in said.getvalue().splitlines() if "Exception: " in line]
        raise RuntimeError(reasons[0].partition("Exception: ")[2] if reasons else "?") from None
    return evaluate_pmml(path, rows, model)


def evaluate_pmml(path: Path, rows: pd.DataFrame, model: Any) -> Any:
    """What the PMML evaluator of Java says; a row without an answer is None."""
    from jpmml_evaluator import make_evaluator

    evaluator = make_evaluator(str(path)).verify()
    found = evaluator.evaluateAll(rows)
    target = next(c for c in ("target", "predicted_target", *found) if c in found)
    values = found[target]
    return values.to_numpy() if is_classifier(model) else values.to_numpy(float)


OTHERS: dict[str, tuple[str, str, Predict]] = {
    "skl2onnx": ("skl2onnx", "ONNX, onnxruntime", skl2onnx),
    "m2cgen, Python": ("m2cgen", "Python", m2cgen_python),
    "m2cgen, C": ("m2cgen", "C, gcc", m2cgen_c),
    "m2cgen, JavaScript": ("m2cgen", "JavaScript, node", m2cgen_javascript),
    "orbital, DuckDB": ("orbital", "SQL, DuckDB", orbital_duckdb),
    "orbital, SQLite": ("orbital", "SQL, SQLite", orbital_sqlite),
    "nyoka": ("nyoka", "PMML, JPMML", nyoka),
    "sklearn2pmml": ("sklearn2pmml", "PMML, JPMML", sklearn2pmml),
}
"""By name: the package, what it writes and who runs it, and how to predict with it."""

NO_PIPELINES = ("m2cgen",)
"""Packages that do not claim to write encoders of categories."""
