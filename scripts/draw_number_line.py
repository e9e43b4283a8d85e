"""Draw docs/images/number-line.svg: what dissimilarities from 0 % to 80 % look like.

    python scripts/draw_number_line.py

One tree is trained on half of the breast cancer data that ship with scikit-learn. Beside it stand
trees that were trained again, found by drawing rows with a seed; under each pair is its
dissimilarity, ``tree_distance(..., variant="metric", normalize="relative")``. Nothing is typed by
hand.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

import steadytree as st
from steadytree.tree.printing import INK, OKABE_ITO, tint

TARGET = Path(__file__).resolve().parent.parent / "docs" / "images" / "number-line.svg"
COLUMNS = ("radius", "texture", "smoothness", "compactness", "concavity", "symmetry")
WANTED = (0.05, 0.2, 0.5, 0.8)
"""Dissimilarities that are searched for; 0 is the same rules with risks estimated anew."""

DRAWS, MOST_LEVELS = 500, 3
WIDTH, MARGIN, LEVEL, HEADER, LEGEND = 640, 24, 66, 92, 84
FONT = 'font-family="system-ui, sans-serif"'
COLOUR = {"malignant": OKABE_ITO["vermillion"], "benign": OKABE_ITO["blue"]}


@dataclass(frozen=True)
class Pair:
    """The deployed tree and a retrained one, and how far apart they are."""

    deployed: st.Tree
    retrained: st.Tree
    diff: st.TreeDiff

    @property
    def number(self) -> str:
        """What stands under the pair."""
        return f"{100 * self.diff.dissimilarity:.1f} %"

    @property
    def words(self) -> str:
        """Rules by what became of them, and whose decision changes."""
        counts = self.diff.counts
        kinds = ("kept", "relabelled", "moved", "dropped", "added")
        rules = ", ".join(f"{counts[kind]} {kind}" for kind in kinds if counts.get(kind))
        return f"rules: {rules}; other decisions {100 * (self.diff.flips or 0):.1f} %"


def load_rows() -> tuple[pd.DataFrame, pd.Series]:
    """Six measurements with one word each, and the diagnosis; malignant is the positive class."""
    X, benign = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X[[f"mean {name}" for name in COLUMNS]].set_axis(list(COLUMNS), axis=1)
    return X, benign.map({0: "malignant", 1: "benign"})


@cache
def make_pairs() -> tuple[Pair, ...]:
    """Train one tree, train it again on drawn rows, and keep the pairs nearest to the numbers."""
    X, y = load_rows()
    space = st.FeatureSpace.from_data(X, y)
    half = len(X) // 2 + 1
    cart = DecisionTreeClassifier(max_leaf_nodes=4, min_samples_leaf=10, random_state=0)
    deployed = st.as_tree(cart.fit(X[:half], y[:half]), space=space)
    same = st.retrain(
        deployed, X[half:], y[half:], old=(X[:half], y[:half]), n_folds=0, random_state=0
    ).trees["re-estimate"]
    used = {COLUMNS[j] for j in deployed.feature[deployed.feature >= 0]}
    draw = np.random.default_rng(0)
    found: list[st.Tree] = []
    for _ in range(DRAWS):
        rows = draw.integers(0, len(X), draw.integers(150, len(X)))
        # Every other time the measurements that the deployed tree asks for are no longer taken.
        lacking = bool(draw.integers(2))
        columns = [name for name in COLUMNS if not (lacking and name in used)]
        cart = DecisionTreeClassifier(
            max_leaf_nodes=5 if lacking else 4, min_samples_leaf=10, random_state=0
        )
        tree = st.as_tree(cart.fit(X[columns].iloc[rows], y.iloc[rows]), space=space)
        if tree.depth <= MOST_LEVELS:
            found.append(tree)
    distances = st.pairwise_tree_distances(
        [deployed], found, space=space, variant="metric", normalize="relative"
    )[0]
    nearest = [found[int(np.abs(distances - wanted).argmin())] for wanted in WANTED]
    return tuple(
        Pair(deployed, tree, st.diff_trees(deployed, tree, X, space=space))
        for tree in (same, *nearest)
    )


def _text(x: float, y: float, words: str, size: int, **more: str) -> str:
    given = {
        "text-anchor": "middle",
        "fill": INK,
        **{k.replace("_", "-"): v for k, v in more.items()},
    }
    listed = " ".join(f'{name}="{value}"' for name, value in given.items())
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" {FONT} font-size="{size}" {listed}>{escape(words)}</text>'
    )


def _leaf(x: float, y: float, width: float, label: str, share: float, number: str) -> list[str]:
    colour = COLOUR[label]
    return [
        f'<rect x="{x - width / 2:.1f}" y="{y - 4:.1f}" width="{width:.1f}" height="46" rx="8" '
        f'fill="{tint(colour, 0.25)}" stroke="{colour}" stroke-width="2"/>',
        _text(x, y + 15, label[0].upper(), 18, font_weight="700"),
        _text(x, y + 36, f"{100 * share:.0f} %", 16),
        _text(x, y + 62, number, 16, fill="#5b6672"),
    ]


def draw_tree(tree: st.Tree, numbers: dict[int, str], left: float, top: float) -> list[str]:
    """Draw one tree into a column of the page: conditions in words, leaves in colour."""
    width = WIDTH / 2 - MARGIN
    place: dict[int, float] = {}
    leaves = [int(leaf) for leaf in _left_to_right(tree)]
    for i, leaf in enumerate(leaves):
        place[leaf] = left + width * (i + 0.5) / len(leaves)
    box = min(58, width / len(leaves) - 5)
    lines: list[str] = []
    marks: list[str] = []

    def visit(node: int, level: int) -> float:
        y = top + level * LEVEL
        if node in place:
            label = str(tree.classes[tree.label[node]])  # type: ignore[index]
            marks.extend(_leaf(place[node], y, box, label, tree.value[node][1], numbers[node]))
            return place[node]
        children = (int(tree.children_left[node]), int(tree.children_right[node]))
        ends = [visit(child, level + 1) for child in children]
        x = sum(ends) / 2
        for end in ends:
            lines.append(
                f'<path d="M{x:.1f} {y + 26:.1f} L{end:.1f} {y + LEVEL - 8:.1f}" '
                'stroke="#8a949e" stroke-width="2"/>'
            )
        feature = tree.feature_names[tree.feature[node]]  # type: ignore[index]
        marks.extend(
            [
                f'<rect x="{x - 56:.1f}" y="{y - 12:.1f}" width="112" height="42" fill="#ffffff"/>',
                _text(x, y + 4, str(feature), 18, font_weight="600"),
                _text(x, y + 25, f"≤ {tree.threshold[node]:.4g}", 18),
            ]
        )
        return x

    visit(0, 0)
    return [*lines, *marks]


def _left_to_right(tree: st.Tree, node: int = 0) -> list[int]:
    left, right = int(tree.children_left[node]), int(tree.children_right[node])
    if left < 0:
        return [node]
    return _left_to_right(tree, left) + _left_to_right(tree, right)


def rule_numbers(pair: Pair) -> tuple[dict[int, str], dict[int, str]]:
    """Give a rule the same number in both trees; a dash where it was dropped or added."""
    old = dict.fromkeys(_left_to_right(pair.deployed), "–")
    new = dict.fromkeys(_left_to_right(pair.retrained), "–")
    for rule in pair.diff.rules:
        if rule.old is not None and rule.new is not None:
            old[rule.old.leaf] = new[rule.new.leaf] = str(rule.number)
    return old, new


def draw(pairs: tuple[Pair, ...]) -> str:
    """Return the picture as SVG."""
    parts: list[str] = []
    half = WIDTH / 2
    parts += [
        _text(half / 2 + 8, 36, "deployed", 20, font_weight="700"),
        _text(1.5 * half - 8, 36, "trained again", 20, font_weight="700"),
        _text(half, 66, "left: it holds. M malignant, B benign; its risk; the rule's number", 17),
    ]
    y = float(LEGEND)
    for pair in pairs:
        parts.append(f'<path d="M{MARGIN} {y} H{WIDTH - MARGIN}" stroke="#d5dbe1"/>')
        top = y + 32
        levels = max(pair.deployed.depth, pair.retrained.depth)
        old, new = rule_numbers(pair)
        parts += draw_tree(pair.deployed, old, MARGIN - 6, top)
        parts += draw_tree(pair.retrained, new, half + 6, top)
        line = top + levels * LEVEL + 96
        parts += number_line(pair, line)
        y = line + HEADER - 40
    height = int(y)
    title = "Five pairs of trees, with a dissimilarity of " + ", ".join(p.number for p in pairs)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" role="img">'
        f"<title>{title}</title>\n"
        f'<rect width="100%" height="100%" rx="12" fill="#ffffff"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def number_line(pair: Pair, y: float) -> list[str]:
    """Draw the line from 0 % to 100 % with the pair's place on it, its number and its words."""
    left, right = MARGIN + 10, WIDTH - MARGIN - 10

    def place(share: float) -> float:
        return left + share * (right - left)

    parts = [f'<path d="M{left} {y:.1f} H{right}" stroke="#5b6672" stroke-width="2"/>']
    for tick in range(0, 101, 10):
        x = place(tick / 100)
        parts.append(f'<path d="M{x:.1f} {y - 5:.1f} V{y + 5:.1f}" stroke="#5b6672"/>')
    at = place(pair.diff.dissimilarity)
    parts.append(f'<circle cx="{at:.1f}" cy="{y:.1f}" r="9" fill="{OKABE_ITO["green"]}"/>')
    parts.append(_text(left, y + 34, pair.number, 24, text_anchor="start", font_weight="700"))
    parts.append(_text(left + 98, y + 33, pair.words, 16, text_anchor="start"))
    return parts


if __name__ == "__main__":
    TARGET.write_text(draw(make_pairs()), encoding="utf-8")
    for one in make_pairs():
        sys.stdout.write(f"{one.number}  {one.words}\n{one.retrained}\n")
    sys.stdout.write(f"{TARGET}\n")
