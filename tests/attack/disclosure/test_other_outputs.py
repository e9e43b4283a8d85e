"""Notebooks, MLflow and the visible page say nothing that the outputs already tried do not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any

import pytest

import steadytree as st
from steadytree.mlflow import log_retraining
from tests.attack.disclosure.cases import OUTCOME, Report
from tests.attack.disclosure.numerals import plain
from tests.attack.disclosure.test_reports import report, secret_names

# MLflow warns about its own code, from its import on.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::Warning")]

# Shares and counts as every text writes them.
_TOLD = re.compile(r"\d[\d.,]*(?:–\d[\d.,]*)? ?%|\d[\d,]*(?:–\d[\d,]*)? of (?:the )?\d[\d,]*")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


@cache
def result() -> st.Retraining:
    """The very retraining of a report, in Python."""
    made = report("icu")
    new, old = made.tables["new"], made.tables["old"]
    names = list(made.deployed.feature_labels)
    return st.retrain(
        made.folder / "model" / "tree.json",
        new[names],
        new[OUTCOME],
        old=(old[names], old[OUTCOME]),
        n_folds=2,
        search=st.SearchOptions(n_estimators=10),
        random_state=0,
    )


def told(text: str) -> set[str]:
    """Shares and counts within a text, written alike."""
    visible = unescape(re.sub(r"<[^>]*>", " ", text))
    return {found.replace(" ", "").replace("the", "") for found in _TOLD.findall(plain(visible))}


def known(made: Report) -> set[str]:
    """What the solver was given, in words."""
    published = made.published
    texts = (published.out, published.printed_json, published.files["diff.md"].decode())
    return set().union(*map(told, texts), told(str(published.summary)))


def beyond(text: str, made: Report) -> set[str]:
    """Shares and counts of a text that are no other output's, nor a number of one, rounded."""
    published = made.published
    others = (published.printed_json, str(published.summary))
    numbers = {abs(float(n)) for other in others for n in _NUMBER.findall(other)}
    out = set()
    for share in told(text) - known(made):
        low, *high = _NUMBER.findall(share.replace(",", "").partition("of")[0].replace("–", " "))
        digits, scale = len(low.partition(".")[2]), 100 if share.endswith("%") else 1
        # A range stands in JSON as its middle.
        value, digits = ((float(low) + float(high[0])) / 2, 9) if high else (float(low), digits)
        if not any(abs(round(scale * n, digits) - value) < 1e-9 for n in numbers):
            out.add(share)
    return out


def test_the_notebook_tells_no_more() -> None:
    made = report("icu")
    assert result().tree == made.proposed
    for html in (result()._repr_html_(), result().diff._repr_html_()):
        assert told(html)
        assert beyond(html, made) == set()


def test_the_visible_page_tells_no_more() -> None:
    made = report("icu")
    # Programs, styles and the marks of axes are nobody's numbers.
    page = re.sub(r"<(script|style)\b.*?</\1>", " ", made.published.page, flags=re.DOTALL)
    page = re.sub(r'<text class="f-tick".*?</text>', " ", page)
    assert len(told(page)) > 20
    assert beyond(page, made) == set()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Any]:
    import mlflow

    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path / 'store.db'}")
    mlflow.set_experiment(experiment_id=mlflow.create_experiment("trees", str(tmp_path / "files")))
    yield mlflow
    mlflow.set_tracking_uri(before)


def test_mlflow_tells_no_more(store: Any, tmp_path: Path) -> None:
    made = report("icu")
    info = log_retraining(result())
    run = store.get_run(info.run_id)
    numbers = [abs(float(n)) for n in _NUMBER.findall(made.published.printed_json)]
    numbers += [abs(float(n)) for n in _NUMBER.findall(str(made.published.summary))]
    for name, value in run.data.metrics.items():
        assert any(abs(abs(value) - n) < 0.0006 for n in numbers), f"{name}: {value}"
        # Distances of trees are about no people.
        exact = name in ("dissimilarity", "distance")
        assert exact or abs(value - round(value, 4)) < 1e-12, f"{name}: {value}"
    # The trees themselves hold counts, and are not for publication.
    models = {"tree.json", "deployed.json", "model.json"}
    files = [p for p in (tmp_path / "files").rglob("*") if p.is_file() and p.name not in models]
    texts = {p.name: p.read_bytes().decode("utf-8", "replace") for p in files}
    assert {"diff.md", "explanation.txt", "report.html"} <= set(texts)
    for name in ("diff.md", "explanation.txt"):
        assert beyond(texts[name], made) == set()
    for name, text in texts.items():
        found = {v for values in secret_names(made).values() for v in values if v in text}
        assert found == set(), name
