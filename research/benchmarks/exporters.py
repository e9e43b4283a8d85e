"""How exporters of trees keep what a tree decides: ``python -m research.benchmarks.exporters``.

scikit-learn trees (two classes, three classes, regression) are written by other people's
exporters and by ours, run by the usual consumer, and held against scikit-learn's own predictions
on the same rows: ordinary rows, rows with a fifth of the values missing (by trees that ask only
for numbers, and by trees that ask whether a value is missing), rows with values at and next to the
thresholds, and rows with text categories (a pipeline with a one-hot encoder), some of
them never met. Every tool is run as it is; one that fails says how. Writes exporters.md beside this
file, which docs/guide/exporting.md shows; with ``--only`` or ``--under`` some
exporters or columns are measured anew and the others stay.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import io
import logging
import os
import platform
import re
import signal
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import steadytree as st
from research.benchmarks.other_exporters import NO_PIPELINES, OTHERS
from steadytree.plugins import WRITERS
from tests.foreign import probe_rows
from tests.modules import mirror_of

TARGET = Path(__file__).with_name("exporters.md")
SHOWN = Path(__file__).parents[2] / "docs" / "guide" / "exporting.md"
BETWEEN = re.compile(r"<!-- table -->.*<!-- end of table -->", re.DOTALL)
SEEDS = 2
ROWS = 10_000
TRAINING_ROWS = 2000
MISSING = 0.2
TASKS = ("two classes", "three classes", "regression")
CONDITIONS = {
    "ordinary rows": "nothing missing",
    "20 % missing": "of the values, in training and in the rows; no split asks for that alone",
    "asks if missing": "the same, with a split that asks whether a value is missing",
    "at thresholds": "values at and next to thresholds, nothing missing",
    "categories": "text through a one-hot encoder, 10 % never met",
}
COLOURS = ("red", "green", "dark blue", "it's grey")
NOT_CLAIMED = "not claimed"
NOT_RUN = "not run"
HUNG = "not done within {} s; not tried on other trees"
SECONDS = 60
"""A tool that takes longer for one tree has failed; the others take less than ten."""


# -- models and rows -----------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A fitted model, rows, and what scikit-learn predicts for them."""

    model: Any
    rows: pd.DataFrame
    expected: Any


def table(n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Columns as tables have them: measurements, amounts, one decimal, counts."""
    return pd.DataFrame(
        {
            "measure": rng.normal(size=n),
            "amount": rng.lognormal(8, 1.5, size=n),
            "grade": rng.uniform(0, 100, size=n).round(1),
            "count": rng.poisson(5, size=n).astype(float),
        }
    )


def outcome(X: pd.DataFrame, task: str, rng: np.random.Generator) -> Any:
    filled = X.select_dtypes("number").fillna(0)
    score = filled["measure"] + np.log1p(filled["amount"]) / 4 + (filled["grade"] > 60)
    score = score - 0.3 * filled["count"] + rng.normal(scale=0.5, size=len(X))
    if "colour" in X:
        score = score + X["colour"].isin(["red", "dark blue"]) * 2
    if task == "regression":
        return score.to_numpy()
    cuts = np.quantile(score, [0.5] if task == "two classes" else [0.33, 0.67])
    return np.array(["no", "perhaps", "yes"])[[0, 2] if len(cuts) == 1 else [0, 1, 2]][
        np.searchsorted(cuts, score)
    ]


def make_case(condition: str, task: str, seed: int, n_rows: int) -> Case:
    """Fit a model and draw rows; where a kind of tree is wanted, draw until it comes."""
    key = [seed, TASKS.index(task), list(CONDITIONS).index(condition)]
    for attempt_number in range(1000):
        rng = np.random.default_rng([*key, attempt_number])
        X, rows = table(TRAINING_ROWS, rng), table(n_rows, rng)
        if condition in ("20 % missing", "asks if missing"):
            X, rows = (part.mask(rng.random(part.shape) < MISSING) for part in (X, rows))
        if condition == "categories":
            X["colour"] = rng.choice(COLOURS, len(X))
            drawn = rng.choice(COLOURS, len(rows))
            rows["colour"] = np.where(rng.random(len(rows)) < 0.1, "violet", drawn)
        model = new_model(condition, task, seed).fit(X, outcome(X, task, rng))
        if condition == "at thresholds":
            rows = probe_rows(st.as_tree(model), n_rows, seed, missing=False)
        case = Case(model, rows, model.predict(rows))
        asks = condition != "categories" and bool(np.isinf(model.tree_.threshold).any())
        if asks == (condition == "asks if missing"):
            return case
    raise RuntimeError(f"expected a tree for {condition!r} in 1000 draws, got none")


def new_model(condition: str, task: str, seed: int) -> Any:
    kind = DecisionTreeRegressor if task == "regression" else DecisionTreeClassifier
    model = kind(max_depth=6, min_samples_leaf=25, max_leaf_nodes=20, random_state=seed)
    if condition != "categories":
        return model
    # Numbers pass as they are; the tree rounds them.
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["colour"]), remainder="passthrough"
    )
    return make_pipeline(encoder, model)


# -- exporters -----------------------------------------------------------------------------


def our_exporters() -> Iterator[tuple[str, str, Callable[[Case, Path], Any]]]:
    """Go through our formats, each run by the consumer of its own test."""
    for name, module in WRITERS.items():
        tests = mirror_of(module)
        if getattr(tests, "PICTURE", False):
            continue

        def predict(case: Case, folder: Path, tests: Any = tests) -> Any:
            tree = st.as_tree(case.model)
            # A frame of objects, as the tests of the writers have them.
            rows = case.rows.astype(dict.fromkeys(case.rows.select_dtypes("object"), object))
            if hasattr(tests, "run_all"):
                return tests.run_all([(tree, rows)], folder)[0][0]
            return tests.run(tree, rows, folder)[0]

        yield f"steadytree, {name}", "steadytree", predict


def exporters(only: str) -> Iterator[tuple[str, str, Callable[[Case, Path], Any]]]:
    """Go through all exporters: name, package, and how to predict with them."""
    for name, (package, _, run) in OTHERS.items():
        if only in name:
            yield name, package, lambda case, folder, run=run: run(case.model, case.rows, folder)
    for name, package, predict in our_exporters():
        if only in name:
            yield name, package, predict


def differing(found: Any, expected: Any) -> int:
    """Rows that are decided otherwise; a response may differ in the seventh digit."""
    found, expected = np.asarray(found).ravel(), np.asarray(expected)
    if found.shape != expected.shape:
        raise ValueError(f"{found.shape[0]} answers for {len(expected)} rows")
    if expected.dtype.kind == "f":
        same = np.isclose(found.astype(float), expected, rtol=1e-6, atol=0)
    else:
        same = np.array([str(a) == str(b) for a, b in zip(found, expected, strict=True)])
    return int((~same).sum())


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep what the tools say of themselves out of the way."""
    logging.disable(logging.WARNING)
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        yield
    logging.disable(logging.NOTSET)


def measure(only: str, conditions: list[str], seeds: int, n_rows: int) -> pd.DataFrame:
    """Run exporters under conditions; one line per exporter, condition, task and seed."""
    lines = []
    hung: dict[tuple[str, str], str] = {}
    for condition in conditions:
        for task in TASKS:
            cases = [make_case(condition, task, seed, n_rows) for seed in range(seeds)]
            for name, package, predict in exporters(only):
                for seed, case in enumerate(cases):
                    line = {"exporter": name, "condition": condition, "task": task, "seed": seed}
                    wrong, error = None, ""
                    if condition == "categories" and package in NO_PIPELINES:
                        error = NOT_CLAIMED
                    elif (name, condition) in hung:
                        error = hung[name, condition]
                    else:
                        wrong, error = attempt(predict, case)
                        if error.startswith("TimeoutError"):
                            hung[name, condition] = error
                    lines.append({**line, "rows": len(case.rows), "wrong": wrong, "error": error})
            print(f"{condition}, {task}: done", flush=True)
    return pd.DataFrame(lines)


def attempt(predict: Callable[[Case, Path], Any], case: Case) -> tuple[int | None, str]:
    """Return how many rows are decided otherwise, or how it failed."""
    with tempfile.TemporaryDirectory() as folder, quiet():
        signal.signal(signal.SIGALRM, too_long)
        signal.alarm(SECONDS)
        try:
            return differing(predict(case, Path(folder)), case.expected), ""
        except Exception as error:
            said = " ".join(str(error).split()) or type(error).__name__
            said = said.replace(folder, "").translate(str.maketrans("[]|", "()/"))
            return None, f"{type(error).__name__}: {said[:160]}"
        finally:
            signal.alarm(0)


def too_long(*_: Any) -> None:
    raise TimeoutError(HUNG.format(SECONDS))


# -- the page ------------------------------------------------------------------------------


def cell(part: pd.DataFrame, notes: dict[str, int]) -> str:
    """Share of the rows decided otherwise, and a note for the tasks that failed."""
    if part.empty:
        return NOT_RUN
    if (part["error"] == NOT_CLAIMED).all():
        return "–"
    ran = part[part["wrong"].notna()]
    failed = part[part["wrong"].isna()]
    marks = ""
    for error, those in failed.groupby("error", sort=False):
        some = "" if len(those) == len(part) else f"{len(those)} of {len(part)} trees: "
        marks += f" [{notes.setdefault(f'{some}{error}', len(notes) + 1)}]"
    if ran.empty:
        return f"fails{marks}"
    wrong, rows = int(ran["wrong"].sum()), int(ran["rows"].sum())
    share = "0" if wrong == 0 else f"{100 * wrong / rows:.1f} %"
    if share == "0.0 %":
        share = f"{wrong:,} of {rows:,}"
    return share + marks


def packages(frame: pd.DataFrame) -> str:
    used = {OTHERS[name][0] for name in frame["exporter"] if name in OTHERS}
    names = ["scikit-learn", "steadytree", *sorted(used), "onnxruntime", "duckdb"]
    return ", ".join(f"{name} {version(name)}" for name in names)


def page(frame: pd.DataFrame) -> str:
    """Write the table, what failed, and how it was made."""
    notes: dict[str, int] = {}
    head = ["exporter", *CONDITIONS]
    lines = [f"| {' | '.join(head)} |", "| --- |" + " --: |" * len(CONDITIONS)]
    for name, part in frame.groupby("exporter", sort=False):
        cells = [cell(part[part["condition"] == condition], notes) for condition in CONDITIONS]
        lines.append(f"| {' | '.join([str(name), *cells])} |")
    per = int(frame["rows"].iloc[0])
    seeds = frame["seed"].nunique()
    trees = len(TASKS) * seeds
    return "\n".join(
        [
            "# Exporters of trees, held against scikit-learn\n",
            "Share of the rows that the exported tree decides otherwise than scikit-learn's own "
            "`predict` (in regression: a response that differs by more than a millionth), by the "
            "usual consumer of each format. Written by `python -m research.benchmarks.exporters` "
            f"on {datetime.datetime.now(datetime.UTC).date()}, Python {platform.python_version()}: "
            f"{trees} trees per column (two classes, three classes, regression; seeds 0 to "
            f"{seeds - 1}), {per:,} rows each. {packages(frame)}.\n",
            *(f"- *{condition}*: {words}." for condition, words in CONDITIONS.items()),
            "\n<!-- table -->\n" + "\n".join(lines),
            *(f"\n[{number}] {text}" for text, number in notes.items()),
            "<!-- end of table -->\n",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="exporters whose name contains this")
    parser.add_argument("--under", choices=CONDITIONS, action="append", help="one column")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--rows", type=int, default=ROWS)
    chosen = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    conditions = chosen.under or list(CONDITIONS)
    text = page(measure(chosen.only, conditions, chosen.seeds, chosen.rows))
    if chosen.only or chosen.under:
        text = merged(TARGET.read_text(encoding="utf-8"), text)
    print(text)
    if (chosen.seeds, chosen.rows) == (SEEDS, ROWS):
        TARGET.write_text(text, encoding="utf-8")
        show(text)


def merged(old: str, new: str) -> str:
    """Return the old page with the cells of the new one in their places, notes numbered anew."""
    (head, table), (_, measured) = _spelt_out(old), _spelt_out(new)
    for name, cells in measured.items():
        known = table.get(name, cells)
        table[name] = [b if b != NOT_RUN else a for a, b in zip(known, cells, strict=True)]
    numbers: dict[str, int] = {}
    lines = "\n".join([*head, *(f"| {' | '.join(cells)} |" for cells in table.values())])
    lines = re.sub(
        r"\[([^\]]+)\]", lambda m: f"[{numbers.setdefault(m[1], len(numbers) + 1)}]", lines
    )
    notes = "".join(f"\n\n[{number}] {text}" for text, number in numbers.items())
    whole = f"<!-- table -->\n{lines}{notes}\n<!-- end of table -->"
    return BETWEEN.sub(lambda _: whole, old)


def _spelt_out(page: str) -> tuple[list[str], dict[str, list[str]]]:
    """Return the head of the table, and its cells by exporter with the notes in them."""
    notes = dict(re.findall(r"^\[(\d+)\] (.*)$", page, re.MULTILINE))
    head, rule, *lines = [line for line in page.splitlines() if line.startswith("| ")]
    spelt = [re.sub(r"\[(\d+)\]", lambda m: f"[{notes[m[1]]}]", line) for line in lines]
    cells = [line.removeprefix("| ").removesuffix(" |").split(" | ") for line in spelt]
    return [head, rule], {line[0]: line for line in cells}


def show(text: str) -> None:
    """Put the table into the page that shows it."""
    [found] = BETWEEN.findall(text)
    old = SHOWN.read_text(encoding="utf-8")
    SHOWN.write_text(BETWEEN.sub(lambda _: found, old), encoding="utf-8")


if __name__ == "__main__":
    main()
