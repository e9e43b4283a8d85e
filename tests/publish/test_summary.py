"""A published summary is one of the same type, and every number about people in it is rounded."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import jsonschema
import pytest

from steadytree.publish import publish
from steadytree.publish.cells import _published, group, mean, measure, people, risk, score
from steadytree.views import summarise
from tests.report import samples

SCHEMA = json.loads(
    files("steadytree.views").joinpath("summary.schema.json").read_text(encoding="utf-8")
)
NUMBERS = {
    *("version", "decision_threshold", "level", "number", "leaf", "n_rules", "depth", "n_edits"),
    *("left", "right", "feature", "threshold", "categories", "missing_left", "unseen_left"),
    *("label", "positive", "rule", "against", "folded", "counts", "chosen", "trees_left_out"),
    *("distance", "dissimilarity", "tree"),
}
"""Entries that hold plain numbers: of rules and nodes, not of people."""


def published(cell: dict[str, Any]) -> str:
    return str(_published(cell)["words"])


@pytest.mark.parametrize(
    ("count", "of", "words"),
    [
        (12, 43, "10 of 45 (22 %)"),
        (13, 43, "15 of 45 (33 %)"),
        (0, 43, "< 8 of 45 (< 18 %)"),
        (7, 43, "< 8 of 45 (< 18 %)"),
        (8, 43, "10 of 45 (22 %)"),
        (36, 43, "> 37 of 45 (> 82 %)"),
        (43, 43, "> 37 of 45 (> 82 %)"),
        (5, 19, "– of 20"),
        (5, 7, "– of < 8"),
        (30, 1000, "30 of 1,000 (3.0 %)"),
    ],
)
def test_people(count: int, of: int, words: str) -> None:
    assert published(people(count, of)).replace("\u202f", " ") == words


def test_other_cells() -> None:
    assert published(people(7)) == "<\u202f8"
    assert published(people(31)) == "30"
    assert published(risk(0.2731, 0.25)) == "25\u202f%"
    assert published(mean(12.3456, 10.0)) == "10"
    assert published(mean(12.3456, of=43)) == "12.3"
    assert published(mean(12.3456, of=19)) == "–"
    assert published(score(0.8123, 62, 0.0141)) == "0.81 ± 0.02"
    assert published(score(0.8123, 19)) == "–"
    share = {"kind": "share", "of": 43}
    assert published(measure(12 / 43, 0.1, 0.4, **share)) == "22\u202f%"
    assert published(measure(3 / 43, 0.0, 0.2, **share)) == "<\u202f18\u202f%"
    assert published(measure(0.02, 0.0, 0.1, change=True, **share)) == "–"
    assert published(measure(0.8, 0.7, 0.9, kind="share", of=19)) == "–"
    assert published(group("ward 7", "ward 7", 19)) == "a small group"
    assert published(group("(20, 35]", "up to 35", 40)) == "up to 35"


def bare_numbers(content: Any, key: str = "") -> set[str]:
    """Keys of numbers that are in no cell."""
    if isinstance(content, dict):
        if "words" in content and "parts" not in content:
            return set()
        return {k for name, entry in content.items() for k in bare_numbers(entry, name)}
    if isinstance(content, list):
        return {k for entry in content for k in bare_numbers(entry, key)}
    return {key} if isinstance(content, (int, float)) and not isinstance(content, bool) else set()


@pytest.mark.parametrize(
    "kind", ["retraining", "multiclass_diff", "large_diff", "mixed_diff", "regression_diff"]
)
@pytest.mark.parametrize("public", [False, True])
def test_both_forms_follow_the_schema_and_hold_numbers_of_people_in_cells_alone(
    kind: str, public: bool
) -> None:
    result = getattr(samples, kind)()
    options = {"subgroups": ["site"]} if kind == "retraining" else {}
    summary = summarise(result, publish=public, **options)
    jsonschema.validate(json.loads(json.dumps(summary)), SCHEMA)
    assert summary["published"] is public
    allowed = NUMBERS | (set() if public else {"f", "t", "c", "l", "v", "n"})
    assert bare_numbers(summary) - allowed - set(summary["counts"]) <= set()


def test_publishing_twice_changes_nothing() -> None:
    once = summarise(samples.retraining(), publish=True)
    again = publish(once)
    assert again["headline"] == once["headline"]
    assert again["rules"] == once["rules"]


def test_what_quotes_the_rows_or_the_run_is_left_out() -> None:
    result = samples.retraining()
    exact, public = (summarise(result, publish=flag) for flag in (False, True))
    labels = [{entry["label"] for entry in s["provenance"]} for s in (exact, public)]
    assert {"Seed", "N new"} <= labels[0] - labels[1]
    assert {"New data", "Versions"} <= labels[1]
    assert public["notes"] == public["frontier"]["trees"] == []
    assert all(c["tree"] is None for c in public["frontier"]["candidates"])


def test_small_groups_have_no_name_and_outer_ends_are_left_out() -> None:
    result = samples.retraining()
    by = {"site": "site", "size": "mean radius"}
    summary = summarise(result, subgroups=by, publish=True)
    sites, sizes = (
        [group["group"]["words"] for group in one["groups"]]
        for one in summary["people"]["subgroups"]
    )
    assert "ward 7" not in json.dumps(summary)
    assert "a small group" in sites
    assert sizes[0].startswith("up to ")
    assert sizes[-1].startswith("over ")


def test_an_edit_that_names_a_rare_category_is_not_told() -> None:
    summary = summarise(samples.retraining())
    edits = [e["edit"] for c in summary["frontier"]["candidates"] for e in c["edits"]]
    name = edits[0].split()[-1]
    public = publish(summary, {name})
    told = [e["edit"] for c in public["frontier"]["candidates"] for e in c["edits"]]
    assert not any(name in words for words in told)
    assert "An edit that names a rare category" in told
