"""Read a tree inside a scikit-learn pipeline, told in the raw columns that the pipeline takes.

``onehot__colour_red <= 0.5`` becomes "colour is not red", ``income <= -0.31`` an amount of money,
and a missing value goes where the value goes that an imputer fills in. Every row goes to the
same leaf as in the pipeline: thresholds and category sets are found by asking the fitted steps
(see ``pipeline_columns`` and ``pipeline_cuts``).

The tree decides as the pipeline does for frames and arrays of doubles and whole numbers. On
columns of single precision scikit-learn scales in single precision, which may round otherwise.
The last bit of a logarithm depends on the machine, and on whether an array is a reversed view;
there the tree decides as the pipeline does for plain arrays and frames on the machine it is read
on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.formats.sklearn.pipeline_columns import PipelineColumns, pipeline_columns
from steadytree.formats.sklearn.pipeline_cuts import Cuts, find_cuts
from steadytree.formats.sklearn.pipeline_steps import SAME, compared_cells
from steadytree.plugins import (
    IMPUTED,
    MAX_NODES,
    TAKES_MISSING,
    Tree,
    UnsupportedModelError,
    is_a,
    quoted,
    read_model,
)


def reads(model: Any) -> bool:
    """Whether a model is a scikit-learn pipeline."""
    return is_a(model, "sklearn", "Pipeline")


def read(model: Any, tree_index: int | None = None) -> Tree:
    """Read the last step and tell it in the raw columns."""
    last = model.steps[-1][1]
    if last is None or isinstance(last, str):
        raise UnsupportedModelError(
            f"expected a pipeline that ends with a tree, got one that ends with {quoted(last)}; "
            "add the tree as its last step"
        )
    tree = read_model(last, tree_index=tree_index)
    if all(step is None or step == "passthrough" for _, step in model.steps[:-1]):
        return tree
    columns = pipeline_columns(model)
    if tree.n_features != columns.n_columns:
        raise UnsupportedModelError(
            f"expected a tree over the {columns.n_columns} columns that the steps make, got one "
            f"over {tree.n_features}; fit the pipeline again as a whole"
        )
    return _Rewriting(tree, columns).tree()


def category_lumps(columns: PipelineColumns) -> dict[str, Any]:
    """Return, by categorical raw column, which of its categories a new tree must not part.

    A one-hot encoder puts infrequent categories into one column, and one that it never met into
    none.

    ``categories``: those that the pipeline knows. ``same``: groups of them that it does not tell
    apart. ``unseen``: a category never met is to it as ``[that category]``, as a missing value
    (``"missing"``), or ``"own"``. ``takes``: which of ``"missing"`` values and ``"unseen"``
    categories the pipeline does not refuse.
    """
    found: dict[str, Any] = {}
    for raw in sorted(set(columns.source.tolist())):
        if not columns.categories[raw]:
            continue
        points = columns.points(raw)
        try:
            cells = compared_cells(points.rows[:, columns.columns_of(raw)], "float32")
        except (TypeError, ValueError):
            continue  # the last step sees the categories themselves
        # One NaN and one zero.
        keys = [row.tobytes() for row in np.where(np.isnan(cells), np.nan, cells + 0.0)]
        groups: dict[Any, list[Any]] = {}
        for category, key in zip(points.categories, keys, strict=False):
            groups.setdefault(key, []).append(category)
        unseen = None if points.unseen is None else keys[points.unseen]
        way: Any = "own"
        if unseen in groups:
            way = groups[unseen][:1]
        elif unseen is not None and points.missing is not None and unseen == keys[points.missing]:
            way = "missing"
        taken = {"missing": points.missing, "unseen": points.unseen}
        found[columns.labels[raw]] = {
            "categories": list(points.categories),
            "same": [group for group in groups.values() if len(group) > 1],
            "unseen": way,
            "takes": [word for word, at in taken.items() if at is not None],
        }
    return found


_Reach = dict[int, tuple[float, float, bool]]
"""Raw numbers that come to a node: above, up to, and whether missing ones do."""


@dataclass(frozen=True)
class _Split:
    """A split in raw columns, by stretches of numbers or by categories, and who goes left.

    ``missing`` and ``unseen`` are sides of the inner tree, as those of the stretches.
    """

    raw: int
    cuts: Cuts = ()
    left: tuple[int, ...] = ()
    missing: bool = False
    unseen: bool = False

    @property
    def goes_left(self) -> bool:
        """Whether the left side is the one of the inner tree: numbers may fall as they rise."""
        return self.cuts[0][1] if self.cuts else True

    @property
    def threshold(self) -> float:
        """The end of the first stretch."""
        return self.cuts[0][0] if self.cuts else np.nan

    @property
    def missing_left(self) -> bool:
        """Whether missing values go with the first stretch."""
        return self.missing == self.goes_left

    @property
    def unseen_left(self) -> bool:
        """Whether categories never met go left."""
        return self.missing_left if self.cuts else self.unseen


class _Rewriting:
    """A tree over transformed columns on its way into the raw ones."""

    def __init__(self, inner: Tree, columns: PipelineColumns) -> None:
        self.inner = inner
        self.columns = columns
        splits = np.flatnonzero(~inner.is_leaf)
        raw = columns.source[inner.feature[splits]]
        for node, j in zip(splits.tolist(), raw.tolist(), strict=True):
            self._check_kind(node, j)
        by_category = np.array([columns.categories[j] is not None for j in raw], dtype=bool)
        how = {columns.how[j] for j in inner.feature[splits[~by_category]]}
        plain = not any(columns.breaks[j].size for j in raw[~by_category])
        # Where the tree sees the numbers themselves, its own thresholds say it as they are.
        self.as_they_are = how <= {SAME} and plain
        self.splits: dict[int, _Split | bool] = {}
        self._by_category(splits[by_category], raw[by_category])
        self._by_number(splits[~by_category], raw[~by_category])
        # Some split parts the numbers more than once: what follows may ask the same again.
        self.in_stretches = any(
            isinstance(s, _Split) and len(s.cuts) > 2 for s in self.splits.values()
        )

    def _check_kind(self, node: int, raw: int) -> None:
        """Settle what a raw column is that reaches the tree untouched."""
        columns, feature = self.columns, int(self.inner.feature[node])
        if columns.how[feature] != SAME:
            return
        listed, known = self.inner.categories[feature], columns.categories[raw]
        if listed is not None and known is None:
            columns.with_categories(raw, listed, "the tree")
        elif listed is None and known is not None:
            raise UnsupportedModelError(
                f"expected column {quoted(columns.labels[raw])} to be a number or a category, got "
                f"both: a number in the tree, categories in {columns.taken_as(raw)}; give the "
                "pipeline a second column with the same values for one of the two"
            )

    # -- asking the pipeline --------------------------------------------------------

    def _coded(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        cells = self.inner.encode(rows)
        return np.where(cells == 0, np.nan, cells) if self._zeros_are_missing else cells

    def _left(self, nodes: NDArray[np.intp], rows: NDArray[Any]) -> NDArray[np.bool_]:
        """Whether splits send transformed rows left, a split for each row."""
        coded = self._coded(rows)[np.arange(len(rows)), self.inner.feature[nodes]]
        return self.inner.goes_left(nodes, coded)

    @cached_property
    def _zeros_are_missing(self) -> bool:
        """XGBoost takes what a sparse matrix leaves out for missing."""
        source = str(self.inner.metadata.get("source", ""))
        return source.lower().startswith("xgboost") and self.columns.sparse

    def _heavier_left(self, node: int) -> bool:
        weight, inner = self.inner.weight, self.inner
        return bool(weight[inner.children_left[node]] >= weight[inner.children_right[node]])

    def _by_category(self, nodes: NDArray[np.intp], raw: NDArray[np.int64]) -> None:
        for j in sorted(set(raw.tolist())):
            points = self.columns.points(j)
            coded = self._coded(points.rows)
            for node in nodes[raw == j].tolist():
                cells = coded[:, self.inner.feature[node]]
                sides = self.inner.goes_left(np.full(len(cells), node), cells).tolist()
                if len(set(sides)) == 1:
                    self.splits[node] = sides[0]
                    continue
                missing = (
                    self._heavier_left(node) if points.missing is None else sides[points.missing]
                )
                self.splits[node] = _Split(
                    raw=j,
                    left=tuple(code for code in range(len(points.categories)) if sides[code]),
                    missing=missing,
                    unseen=missing if points.unseen is None else sides[points.unseen],
                )

    def _by_number(self, nodes: NDArray[np.intp], raw: NDArray[np.int64]) -> None:
        if not nodes.size:
            return
        if self._zeros_are_missing:
            raise UnsupportedModelError(
                "expected numbers that reach XGBoost as they are, got a sparse matrix, of which it "
                "takes zeros for missing; make the matrix dense: sparse_threshold=0 in the "
                "ColumnTransformer, sparse_output=False in the OneHotEncoder"
            )
        if self.as_they_are:
            cuts = [_plain_cuts(t) for t in self.inner.threshold[nodes].tolist()]
        else:
            cuts = find_cuts(self.columns, raw, lambda at, rows: self._left(nodes[at], rows))
        for node, j, parts in zip(nodes.tolist(), raw.tolist(), cuts, strict=True):
            row = self.columns.missing[j]
            missing = None if row is None else bool(self._left(np.array([node]), row[None])[0])
            sides = {side for _, side in parts}
            if len(sides) == 1 and missing in (None, parts[0][1]):
                self.splits[node] = parts[0][1]
                continue
            if missing is None:
                missing = self._heavier_left(node)
            self.splits[node] = _Split(raw=j, cuts=parts, missing=missing)

    # -- the tree in raw columns ------------------------------------------------------

    def tree(self) -> Tree:
        """Lay the splits out in raw columns; one that sends everything one way vanishes."""
        inner, columns = self.inner, self.columns
        origin: list[int] = []  # the node of the inner tree that each node was
        splits: list[_Split | None] = []
        children: list[list[int]] = []
        waiting: list[tuple[int, _Split | None, _Reach, int, int]] = [(0, None, {}, -1, 0)]
        while waiting:
            node, rest, reach, parent, side = waiting.pop()
            split = self._trimmed(rest or self.splits.get(node), reach)
            while isinstance(split, bool):
                node = self._child(node, split)
                split = self._trimmed(self.splits.get(node), reach)
            here = len(origin)
            if here >= MAX_NODES:
                raise UnsupportedModelError(
                    f"expected at most {MAX_NODES:,} nodes in raw columns, got more; "
                    "nobody could read such a tree"
                )
            origin.append(node)
            splits.append(split)
            children.append([-1, -1])
            if parent >= 0:
                children[parent][side] = here
            if split is None:
                continue
            ahead: list[tuple[int, _Split | None]]
            ahead = [(self._child(node, split.goes_left), None)]
            # Where more than one stretch remains, they are asked about next.
            more = replace(split, cuts=split.cuts[1:]) if len(split.cuts) > 2 else None
            ahead.append((self._child(node, not split.goes_left) if more is None else node, more))
            reaches = _reaches(split, reach) if self.in_stretches else (reach, reach)
            for k in (1, 0):
                waiting.append((*ahead[k], reaches[k], here, k))
        kept = self._kept
        new = {raw: i for i, raw in enumerate(kept)}
        index = np.array(origin)
        copies = np.bincount(index, minlength=inner.n_nodes)[index]
        sides = np.array(children, dtype=np.int32)
        return Tree(
            **{
                **inner.given_fields(),
                "children_left": sides[:, 0],
                "children_right": sides[:, 1],
                "feature": np.array([-1 if s is None else new[s.raw] for s in splits]),
                "threshold": np.array([np.nan if s is None else s.threshold for s in splits]),
                "left_categories": tuple(None if s is None or s.cuts else s.left for s in splits),
                "missing_left": np.array([s is not None and s.missing_left for s in splits]),
                "unseen_left": np.array([s is not None and s.unseen_left for s in splits]),
                "value": inner.value[index],
                # A part that stands in several places shares its rows among them.
                "weight": inner.weight[index] / copies,
                "label": inner.label[index],
                "impurity": inner.impurity[index],
                "observed": (
                    inner.observed.take(index)
                    if inner.observed is not None and copies.max() == 1
                    else None
                ),
                "n_features": len(kept),
                "feature_names": (
                    None if columns.feature_names is None else [columns.labels[j] for j in kept]
                ),
                "categories": tuple(columns.categories[j] for j in kept),
                "precision": inner.precision if self.as_they_are else "float64",
                "space": None,
                "metadata": self._metadata(),
            }
        )

    def _trimmed(self, split: _Split | bool | None, reach: _Reach) -> _Split | bool | None:
        """Return a split without stretches that no row of this path lies in."""
        if not (self.in_stretches and isinstance(split, _Split) and split.cuts):
            return split
        low, high, with_missing = reach.get(split.raw, (-np.inf, np.inf, True))
        starts = (-np.inf, *(end for end, _ in split.cuts))
        within = [
            part
            for start, part in zip(starts, split.cuts, strict=False)
            if max(start, low) < min(part[0], high)
        ]
        if not within:
            return split.missing
        if len(within) == 1 and (not with_missing or split.missing == within[0][1]):
            return within[0][1]
        return replace(split, cuts=(*within[:-1], (np.inf, within[-1][1])))

    def _child(self, node: int, left: bool) -> int:
        return int((self.inner.children_left if left else self.inner.children_right)[node])

    @property
    def _kept(self) -> list[int]:
        """Raw columns of the tree: of named ones those that the pipeline does not throw away."""
        if self.columns.feature_names is None:
            return list(range(self.columns.n_raw))
        return sorted(set(self.columns.source.tolist()))

    def _metadata(self) -> dict[str, Any]:
        source = self.inner.metadata.get("source", "a tree")
        filled = {self.columns.labels[j]: v for j, v in self.columns.imputed.items()}
        names, kept = self.columns.feature_names or (), set(self._kept)
        dropped = [name for j, name in enumerate(names) if j not in kept]
        lumps = category_lumps(self.columns)
        flagged = [self.columns.labels[j] for j in self.columns.flagged]
        return {
            **self.inner.metadata,
            "source": f"{source} in a pipeline",
            **({IMPUTED: filled} if filled else {}),
            **({TAKES_MISSING: flagged} if flagged else {}),
            **({"dropped": dropped} if dropped else {}),
            **({"pipeline_categories": lumps} if lumps else {}),
        }


def _reaches(split: _Split, reach: _Reach) -> tuple[_Reach, _Reach]:
    """Return what comes to the two sides of a split."""
    if not split.cuts:
        return reach, reach
    low, high, with_missing = reach.get(split.raw, (-np.inf, np.inf, True))
    end = split.threshold
    return (
        {**reach, split.raw: (low, min(high, end), with_missing and split.missing_left)},
        {**reach, split.raw: (max(low, end), high, with_missing and not split.missing_left)},
    )


def _plain_cuts(threshold: float) -> Cuts:
    """How a threshold parts the numbers."""
    if np.isinf(threshold):
        return ((np.inf, threshold > 0),)
    return (threshold, True), (np.inf, False)
