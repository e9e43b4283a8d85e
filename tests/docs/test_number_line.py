"""The picture of what a dissimilarity looks like says what the trees in it say."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

import steadytree as st
from tests.docs.fences import DOCS, ROOT


@pytest.fixture(scope="module")
def script() -> Any:
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        import draw_number_line

        return draw_number_line
    finally:
        sys.path.remove(str(ROOT / "scripts"))


@pytest.fixture(scope="module")
def picture() -> str:
    return (DOCS / "images" / "number-line.svg").read_text(encoding="utf-8")


def numbers(script: Any) -> list[float]:
    """Measure the pairs again, by the public function."""
    X, y = script.load_rows()
    space = st.FeatureSpace.from_data(X, y)
    return [
        st.tree_distance(
            pair.deployed, pair.retrained, space=space, variant="metric", normalize="relative"
        )
        for pair in script.make_pairs()
    ]


def test_numbers_in_the_picture_are_the_dissimilarities(script: Any, picture: str) -> None:
    measured = [f"{100 * number:.1f} %" for number in numbers(script)]
    assert re.findall(r">(\d+\.\d %)</text>", picture) == measured
    assert f"<title>Five pairs of trees, with a dissimilarity of {', '.join(measured)}" in picture


def test_numbers_are_those_asked_for(script: Any) -> None:
    for number, wanted in zip(numbers(script), (0, *script.WANTED), strict=True):
        assert abs(number - wanted) < 0.01


def test_dots_lie_where_the_numbers_are(script: Any, picture: str) -> None:
    ends = re.search(r'<path d="M(\d+) [\d.]+ H(\d+)" stroke="#5b6672"', picture)
    assert ends is not None
    left, right = map(float, ends.groups())
    dots = [float(x) for x in re.findall(r'<circle cx="([\d.]+)"', picture)]
    for dot, number in zip(dots, numbers(script), strict=True):
        assert dot == pytest.approx(left + number * (right - left), abs=0.1)


def test_the_stored_picture_is_the_one_that_the_script_draws(script: Any, picture: str) -> None:
    assert script.draw(script.make_pairs()) == picture


def test_other_decisions_are_counted_on_all_rows(script: Any) -> None:
    X, _ = script.load_rows()
    for pair in script.make_pairs():
        other = (pair.deployed.predict(X) != pair.retrained.predict(X)).mean()
        assert pair.words.endswith(f"other decisions {100 * other:.1f} %")


def test_the_page_says_in_words_what_the_pairs_are(script: Any) -> None:
    page = (DOCS / "guide" / "distance.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([\d.]+ %) \| (.*) \| ([\d.]+ %) \|$", page, re.MULTILINE)
    pairs = script.make_pairs()
    assert [(row[0], row[2]) for row in rows] == [
        (pair.number, pair.words.rpartition("decisions ")[2]) for pair in pairs
    ]
    used = [
        {pair.retrained.feature_names[j] for j in pair.retrained.feature if j >= 0}
        for pair in pairs
    ]
    before = {pairs[0].deployed.feature_names[j] for j in pairs[0].deployed.feature if j >= 0}
    same, moved, reordered, half, other = (pair.retrained for pair in pairs)
    old = pairs[0].deployed
    assert len(before) == 2
    # 0 %: the same rules, other risks.
    assert same.threshold[same.feature >= 0].tolist() == old.threshold[old.feature >= 0].tolist()
    assert same.value.tolist() != old.value.tolist()
    # 5 %: the same questions in the same order, every threshold moved.
    assert moved.feature.tolist() == old.feature.tolist()
    inner = old.feature >= 0
    assert (moved.threshold[inner] != old.threshold[inner]).all()
    # 20 %: the same measurements in another order, a partner for every rule.
    assert used[2] == before
    assert reordered.feature[0] != old.feature[0]
    assert pairs[2].diff.counts["moved"] == old.n_leaves
    # 50 %: half of the rules have gone, a third measurement has come in.
    assert pairs[3].diff.counts["dropped"] == old.n_leaves / 2
    assert len(used[3] - before) == 1
    assert half.n_leaves == old.n_leaves
    # 80 %: nothing in common.
    assert not used[4] & before
    assert pairs[4].diff.counts["dropped"] == old.n_leaves
    assert other.n_leaves == 5


def test_the_alternative_text_says_the_numbers(script: Any) -> None:
    page = (DOCS / "guide" / "distance.md").read_text(encoding="utf-8")
    (alt,) = re.findall(r"!\[([^\]]*)\]\(\.\./images/number-line\.svg\)", page)
    assert re.findall(r"\d+\.\d %", alt) == [pair.number for pair in script.make_pairs()]
    assert Path(DOCS / "images" / "number-line.svg").exists()
