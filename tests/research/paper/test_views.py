"""Everything that people look at is made from ``results.json`` alone."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from research.paper.content import Content
from research.paper.regenerate import Regenerated, redraw
from steadytree.exceptions import InputError
from steadytree.tree.json import tree_from_dict


def files(folder: Path) -> dict[str, bytes]:
    """Every file that a run writes for people, by name."""
    found = [*folder.glob("index.*"), *folder.glob("figures/*"), *folder.glob("tables/*")]
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


@pytest.mark.slow
def test_redrawn_from_the_results_alone_every_byte_is_the_same(
    whole: Regenerated, tmp_path: Path
) -> None:
    shutil.copy(whole.out / "results.json", tmp_path)
    again = redraw(tmp_path)
    first, second = files(whole.out), files(tmp_path)
    # The two long tables are the run's own: see `research.paper.content`.
    assert set(first) - set(second) == {"tables/observations.csv", "tables/frontiers_all.csv"}
    assert set(second) <= set(first)
    for name, content in second.items():
        assert content == first[name], name
    assert again.summary == whole.summary
    assert [c.name for c in again.figures] == [c.name for c in whole.figures]
    assert len(second) > 60


def test_the_results_hold_the_first_split_of_the_frontiers_and_no_long_table(
    whole: Regenerated,
) -> None:
    read = json.loads((whole.out / "results.json").read_text())
    assert not {"observations", "frontiers_all"} & set(read["tables"])
    assert {row["split"] for row in read["tables"]["frontiers"]} == {0}
    lines = (whole.out / "tables" / "observations.csv").read_text().splitlines()
    assert lines[0] == "kind,dataset,case_study,protocol,split,method,measure,value"
    assert len(lines) > 1000


def test_what_is_read_is_what_was_written(whole: Regenerated) -> None:
    text = (whole.out / "results.json").read_text()
    content = Content.from_json(text)
    assert content.to_json() == text
    assert content.findings == whole.findings
    assert list(content.tables) == list(whole.tables), "the order of the page is kept"
    shown = whole.tables["takeaways"]
    assert content.tables["takeaways"].shown() == shown.shown()
    assert content.tables["takeaways"].columns == shown.columns


def test_the_examples_trees_are_documents_of_ours(whole: Regenerated) -> None:
    trees = Content.read(whole.out).trees
    assert set(trees) == {row["dataset"] for row in whole.tables["example"].rows}
    for methods in trees.values():
        for told in methods.values():
            before, after = (tree_from_dict(document) for document in told["files"])
            assert before.feature_labels == after.feature_labels
            assert told["distance_bound"] >= 0


def test_without_results_the_way_out_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="run without --redraw first"):
        redraw(tmp_path)
    (tmp_path / "results.json").write_text('{"run": {}, "tables": {}}')
    with pytest.raises(InputError, match="of an older version"):
        redraw(tmp_path)
