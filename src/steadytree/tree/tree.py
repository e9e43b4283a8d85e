"""One immutable in-memory form for every decision tree, whoever trained it.

Flat arrays, one entry per node, as in scikit-learn: node 0 is the root, a leaf has no
children. Numeric rule: ``x <= threshold`` goes left. Categorical rule: a value in the
left category set goes left. Each split says where missing values go, and where a category
goes that it never met.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from itertools import pairwise
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from steadytree._text import cut, quoted
from steadytree.exceptions import InputError, TreeFormatError
from steadytree.tree.checks import (
    LEAF,
    are_plainly_trees,
    check_category_sets,
    check_outcome,
    check_shape_of_tree,
    first_bad,
)
from steadytree.tree.columns import UNSEEN, Categories, check_columns, encode_table
from steadytree.tree.decision import LARGEST_SHARE, Decision
from steadytree.tree.observed import Observed
from steadytree.tree.space import FeatureSpace


def node_impurity(tree: Tree) -> NDArray[np.float64]:
    """Gini of the shares; variance of the leaf values below a node, for regression."""
    if tree.classes is not None:
        return np.asarray(1 - (tree.value**2).sum(axis=1))
    value, weight, impurity = tree.value[:, 0], tree.weight, np.zeros(tree.n_nodes)
    with np.errstate(over="ignore", invalid="ignore"):  # values near the largest float
        for node in tree.preorder[::-1].tolist():
            if tree.is_leaf[node] or not weight[node] > 0:
                continue
            for child in (tree.children_left[node], tree.children_right[node]):
                within = impurity[child] + (value[child] - value[node]) ** 2
                impurity[node] += weight[child] * within / weight[node]
    return np.nan_to_num(impurity, nan=0.0)


IntArray = NDArray[np.int32]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

NODE_ARRAYS: dict[str, Any] = {
    "children_left": np.int32,
    "children_right": np.int32,
    "feature": np.int32,
    "threshold": np.float64,
    "value": np.float64,
    "weight": np.float64,
    "missing_left": bool,
    "unseen_left": bool,
    "label": np.int32,
    "impurity": np.float64,
}
"""Arrays with an entry for each node, and the type of these."""

# Default of fields that are filled in when the tree is built, so that nobody meets a None.
_FILLED_IN: Any = None


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Tree:
    """A decision tree as flat arrays, checked when built, never changed afterwards.

    Parameters
    ----------
    children_left, children_right : int arrays of shape (n_nodes,)
        Children of each node; -1 for a leaf. Node 0 is the root.
    feature : int array
        Feature of each split; -1 for a leaf.
    threshold : float array
        ``x <= threshold`` goes left. Infinite means "every present value goes left".
        NaN for leaves and categorical splits.
    value : float array of shape (n_nodes, n_classes) or (n_nodes, 1)
        Class shares of each node, or the mean response.
    n_features : int
    left_categories : sequence, optional
        For each node None, or the codes of the categories that go left.
    missing_left : bool array, optional
        Where missing values go; by default with the heavier child.
    unseen_left : bool array, optional
        Where categories go that are not among ``categories``; by default with the missing values.
    weight : float array, optional
        Total sample weight of each node (default 1).
    label : int array, optional
        Position in ``classes`` of the label of each node; by default from the shares. Zeros
        in a regression tree.
    classes : sequence, optional
        Class labels; None for a regression tree.
    feature_names : sequence of str, optional
    categories : sequence, optional
        For each feature None (numeric) or its list of categories.
    precision : {"float64", "float32"}
        Values are rounded to this precision before they are compared (scikit-learn
        compares float32).
    decision : Decision or float, optional
        How shares become labels; a number is the share of the positive class from which a leaf
        is labelled so.
    observed : Observed, optional
        Rows and outcomes met at each node, beside what it predicts.
    impurity : float array, optional
        Impurity of each node, for feature importances. If omitted: Gini from the shares, or
        the variance of the node values below a node of a regression tree.
    space : FeatureSpace, optional
        The space the tree was trained in.
    metadata : mapping, optional
        Anything JSON can hold; travels with the tree.

    Examples
    --------
    >>> import steadytree as st
    >>> tree = st.Tree(
    ...     children_left=[1, -1, -1], children_right=[2, -1, -1], feature=[0, -1, -1],
    ...     threshold=[50.0, 0, 0], value=[[0.6, 0.4], [0.9, 0.1], [0.2, 0.8]],
    ...     classes=("no", "yes"), feature_names=("age",), n_features=1,
    ... )
    >>> tree
    Tree(2 leaves, depth 1, 1 features, 2 classes)
    >>> tree.predict([[49.0], [51.0]]).tolist()
    ['no', 'yes']
    """

    children_left: IntArray
    children_right: IntArray
    feature: IntArray
    threshold: FloatArray
    value: FloatArray
    n_features: int
    left_categories: tuple[tuple[int, ...] | None, ...] = ()
    missing_left: BoolArray = _FILLED_IN
    unseen_left: BoolArray = _FILLED_IN
    weight: FloatArray = _FILLED_IN
    label: IntArray = _FILLED_IN
    classes: tuple[Any, ...] | None = None
    feature_names: tuple[str, ...] | None = None
    categories: Categories = ()
    precision: str = "float64"
    decision: Decision = LARGEST_SHARE
    observed: Observed | None = None
    impurity: FloatArray = _FILLED_IN
    space: FeatureSpace | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    _impurity_given: ClassVar[bool]

    # -- checks -------------------------------------------------------------------

    def __post_init__(self) -> None:
        n = int(np.size(self.children_left))
        if n == 0:
            raise TreeFormatError("expected at least one node, got an empty tree")

        def store(name: str, array: NDArray[Any]) -> NDArray[Any]:
            array.setflags(write=False)
            object.__setattr__(self, name, array)
            return array

        def column(name: str, default: Any = None) -> NDArray[Any]:
            given = getattr(self, name)
            try:
                array = np.array(default if given is None else given, dtype=NODE_ARRAYS[name])
            except (TypeError, ValueError, OverflowError):
                raise TreeFormatError(f"expected numbers in {name}, got others") from None
            if array.shape != (n,):
                raise TreeFormatError(
                    f"expected {n} entries in {name}, one per node, got shape {array.shape}"
                )
            return array

        left = store("children_left", column("children_left"))
        right = store("children_right", column("children_right"))
        leaf = check_shape_of_tree(left, right)
        feature = np.where(leaf, LEAF, column("feature")).astype(np.int32)
        first_bad(
            ~leaf & ((feature < 0) | (feature >= self.n_features)),
            lambda i: f"expected feature in [0, {self.n_features}), got {feature[i]}",
        )
        store("feature", feature)
        categories, names = check_columns(self.n_features, self.categories, self.feature_names)
        sets = check_category_sets(self.left_categories or (None,) * n, feature, categories)
        by_set = np.array([s is not None for s in sets], dtype=bool)
        threshold = store("threshold", np.where(leaf | by_set, np.nan, column("threshold")))
        first_bad(
            ~leaf & ~by_set & np.isnan(threshold),
            lambda i: "expected a threshold, got NaN",
        )
        value = store("value", np.array(self.value, dtype=np.float64))
        if value.ndim != 2 or value.shape[0] != n or value.shape[1] == 0:
            raise TreeFormatError(f"expected value of shape ({n}, k), got {value.shape}")
        first_bad(
            np.asarray(~np.isfinite(value).all(axis=1)),
            lambda i: f"expected finite values, got {cut(str(value[i]), 200)}",
        )
        weight = store("weight", column("weight", np.ones(n)))
        first_bad(
            ~(np.isfinite(weight) & (weight >= 0)),
            lambda i: f"expected a weight >= 0, got {weight[i]}",
        )
        heavier_left = weight[np.where(leaf, 0, left)] >= weight[np.where(leaf, 0, right)]
        missing_left = store("missing_left", column("missing_left", heavier_left))
        unseen_left = column("unseen_left", missing_left)
        store("unseen_left", np.where(by_set, unseen_left, missing_left))
        if self.precision not in ("float32", "float64"):
            raise TreeFormatError(
                f"expected precision 'float32' or 'float64', got {quoted(self.precision)}"
            )
        label, decision, classes = check_outcome(value, self.label, self.classes, self.decision)
        store("label", label)
        if self.observed is not None and (
            self.observed.counts.shape[0] != n
            or self.observed.steadied_by.shape[1] != value.shape[1]
        ):
            raise TreeFormatError("expected something observed for every node and class")
        # Past the frozen dataclass, which would have each field set by a call of its own.
        self.__dict__.update(
            left_categories=sets,
            categories=categories,
            feature_names=names,
            classes=classes,
            decision=decision,
            metadata=MappingProxyType(dict(self.metadata)),
            _impurity_given=self.impurity is not _FILLED_IN,
        )
        if not self._impurity_given:
            object.__setattr__(self, "impurity", node_impurity(self))
        store("impurity", column("impurity"))

    # -- size and shape -----------------------------------------------------------

    @property
    def is_classifier(self) -> bool:
        """Whether leaves carry classes (else a mean response)."""
        return self.classes is not None

    @property
    def n_nodes(self) -> int:
        """Number of nodes, leaves included."""
        return int(self.children_left.size)

    @cached_property
    def is_leaf(self) -> BoolArray:
        """Which nodes are leaves."""
        return np.asarray(self.children_left == LEAF)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int(self.is_leaf.sum())

    @cached_property
    def preorder(self) -> IntArray:
        """Node numbers from the root, left before right."""
        order, stack = [], [0]
        left, right = self.children_left.tolist(), self.children_right.tolist()
        while stack:
            node = stack.pop()
            order.append(node)
            if left[node] != LEAF:
                stack += (right[node], left[node])
        return np.array(order, dtype=np.int32)

    @cached_property
    def parent(self) -> IntArray:
        """Parent of each node; -1 for the root."""
        out = np.full(self.n_nodes, -1, dtype=np.int32)
        split = np.flatnonzero(~self.is_leaf)
        out[self.children_left[split]] = out[self.children_right[split]] = split
        return out

    @cached_property
    def node_depth(self) -> IntArray:
        """Depth of each node; the root is at 0."""
        depth = np.zeros(self.n_nodes, dtype=np.int32)
        for node in self.preorder.tolist():
            if not self.is_leaf[node]:
                depth[self.children_left[node]] = depth[self.children_right[node]] = depth[node] + 1
        return depth

    @property
    def depth(self) -> int:
        """Depth of the deepest leaf; 0 for a single leaf."""
        return int(self.node_depth.max())

    @cached_property
    def leaves(self) -> IntArray:
        """Node numbers of the leaves, left to right."""
        return self.preorder[self.is_leaf[self.preorder]]

    @cached_property
    def feature_labels(self) -> tuple[str, ...]:
        """Feature names, or x0, x1, ... where there are none."""
        return self.feature_names or tuple(f"x{j}" for j in range(self.n_features))

    @cached_property
    def used_features(self) -> frozenset[int]:
        """Features that some condition uses."""
        return frozenset(self.feature[~self.is_leaf].tolist())

    @cached_property
    def tells_unseen_from_missing(self) -> bool:
        """Whether at some split a category never met goes another way than a missing value."""
        return not np.array_equal(self.unseen_left, self.missing_left)

    @property
    def decision_threshold(self) -> float | None:
        """The share of the positive class from which a leaf is labelled positive."""
        return self.decision.threshold

    @property
    def counts_rows(self) -> bool:
        """Whether the weights of the nodes are plain counts of the rows it was trained on."""
        rows, weighted = self.metadata.get("n_training_rows"), self.metadata.get("weighted", False)
        return rows is not None and not weighted and bool(np.isclose(float(rows), self.weight[0]))

    @property
    def kept_against_share(self) -> BoolArray:
        """Nodes whose label is not the one their own shares would give."""
        if not self.is_classifier:
            return np.zeros(self.n_nodes, dtype=bool)
        return np.asarray(self.label != self.decision.labels(self.value))

    # -- prediction ---------------------------------------------------------------

    def encode(self, X: Any) -> FloatArray:
        """Code a table for this tree: rounded numbers, category positions, NaN = missing.

        A frame needs the columns that the tree uses; others count as missing where it lacks
        them. A category it never met is missing too, or ``UNSEEN`` where it goes another way.

        Parameters
        ----------
        X : array, pandas or polars frame

        Returns
        -------
        float array of shape (n, n_features)
        """
        coded = encode_table(
            X,
            names=self.feature_names,
            n_features=self.n_features,
            categories=self.categories,
            needed=self.used_features,
            unseen=UNSEEN if self.tells_unseen_from_missing else np.nan,
        )
        return self.round_values(coded)

    def round_values(self, coded: FloatArray) -> FloatArray:
        """Values as the model that grew this tree would compare them.

        Parameters
        ----------
        coded : float array

        Returns
        -------
        float array
        """
        if self.precision == "float32":
            with np.errstate(over="ignore"):
                return coded.astype(np.float32).astype(np.float64)
        return coded

    def apply(self, X: Any) -> IntArray:
        """Leaf (node number) that each row of ``X`` reaches.

        Parameters
        ----------
        X : array, pandas or polars frame

        Returns
        -------
        int array of shape (n,)
        """
        return self.apply_coded(self.encode(X))

    def apply_coded(self, coded: FloatArray) -> IntArray:
        """Leaf of each row of a table already coded by :meth:`encode`.

        Parameters
        ----------
        coded : float array of shape (n, n_features)

        Returns
        -------
        int array of shape (n,)
        """
        node = np.zeros(len(coded), dtype=np.int32)
        rows = np.arange(len(coded)) if not self.is_leaf[0] else np.zeros(0, dtype=np.intp)
        while rows.size:
            at = node[rows]
            left = self.goes_left(at, coded[rows, self.feature[at]])
            node[rows] = np.where(left, self.children_left[at], self.children_right[at])
            rows = rows[~self.is_leaf[node[rows]]]
        return node

    def goes_left(self, nodes: NDArray[Any], values: FloatArray) -> BoolArray:
        """Whether a coded value goes left at a split node (arrays of equal length).

        Parameters
        ----------
        nodes : int array
            Split nodes.
        values : float array
            A coded value for each, of the feature its node splits on.

        Returns
        -------
        boolean array
        """
        left = values <= self.threshold[nodes]
        start, table = self._category_table
        if table.size:
            by_set = start[nodes] >= 0
            known = by_set & (values >= 0)
            codes = np.where(known, values, 0).astype(np.intp)
            listed = table[np.where(by_set, start[nodes], 0) + codes]
            left = np.where(known, listed, np.where(by_set, self.unseen_left[nodes], left))
        return np.asarray(np.where(np.isnan(values), self.missing_left[nodes], left))

    @cached_property
    def _category_table(self) -> tuple[NDArray[np.intp], BoolArray]:
        """Flat look-up table of "category goes left", and where each node starts in it."""
        start = np.full(self.n_nodes, -1, dtype=np.intp)
        listed: list[bool] = []
        for node, codes in enumerate(self.left_categories):
            if codes is not None:
                start[node] = len(listed)
                inside = set(codes)
                count = len(self.categories[self.feature[node]] or ())
                listed += [code in inside for code in range(count)]
        return start, np.array(listed, dtype=bool)

    def predict(self, X: Any) -> NDArray[Any]:
        """Label stored with the leaf of each row, or its mean response.

        Parameters
        ----------
        X : array, pandas or polars frame
            A frame needs the columns that the tree uses, in any order.

        Returns
        -------
        array of shape (n,)
            Classes in the user's own type, or responses.
        """
        leaf = self.apply(X)
        if self.classes is None:
            return np.asarray(self.value[leaf, 0])
        return self.class_names(self.label[leaf])

    def class_names(self, positions: NDArray[Any]) -> NDArray[Any]:
        """Classes at some positions, in the user's own type.

        Parameters
        ----------
        positions : int array

        Returns
        -------
        array
        """
        classes = self.classes or ()
        # Labels of several types stay what they are: numpy would make text of ("1", 1).
        mixed = len({type(c) for c in classes}) > 1
        return np.asarray(np.array(classes, dtype=object if mixed else None)[positions])

    def predict_proba(self, X: Any) -> FloatArray:
        """Class shares of the leaf of each row.

        Parameters
        ----------
        X : array, pandas or polars frame

        Returns
        -------
        float array of shape (n, n_classes)
        """
        if self.classes is None:
            raise InputError("expected a classification tree for predict_proba, got a regression")
        return self.value[self.apply(X)]

    # -- derived trees ------------------------------------------------------------

    def replace(self, **changes: Any) -> Tree:
        """Make a copy with some fields changed, checked again; labels stay unless given.

        Parameters
        ----------
        **changes
            Fields of the tree by name.

        Returns
        -------
        Tree
        """
        return Tree(**{**self.given_fields(), **changes})

    def given_fields(self) -> dict[str, Any]:
        """Return what it takes to build the tree again; None for what is then filled in.

        Returns
        -------
        dict
            Arguments of :class:`Tree`.
        """
        kept = {f.name: getattr(self, f.name) for f in fields(self)}
        kept["metadata"] = dict(self.metadata)
        if not self._impurity_given:
            kept["impurity"] = None
        if not self.tells_unseen_from_missing:
            kept["unseen_left"] = None
        return kept

    def relabelled(self, decision: Decision | float | None) -> Tree:
        """Return the same tree with the labels its shares give under a policy.

        Parameters
        ----------
        decision : Decision, float or None
            A number is a threshold; None: the class with the largest share.

        Returns
        -------
        Tree
        """
        policy = Decision.of(decision)
        # By name: the policy may come from a tree whose classes stand in another order.
        name = self.decision.positive if policy.positive is None else policy.positive
        policy = replace(policy, positive=name, resolved=None)
        return self.replace(decision=policy, label=None)

    def with_plain_shares(self) -> Tree:
        """Return a tree trained with class weights with its shares as rates, labels unchanged.

        The shares of such a tree are weighted, so nobody meets them among real rows; the
        weights become its decision policy.

        Returns
        -------
        Tree
        """
        weight = self.metadata.get("class_weight")
        if weight is None:
            return self
        rates = self.value / np.asarray(weight, dtype=np.float64)
        return self.replace(
            value=rates / rates.sum(axis=1, keepdims=True),
            decision=self.decision.unweighted(tuple(weight)),
            impurity=None,
            metadata={k: v for k, v in self.metadata.items() if k != "class_weight"},
        )

    def in_space(self, space: FeatureSpace, classes: tuple[Any, ...] | None = None) -> Tree:
        """Write the tree in the columns, categories and (if given) classes of a space.

        Classes it never met get share 0; categories it never met go where its splits send them.

        Parameters
        ----------
        space : FeatureSpace
        classes : tuple, optional
            Classes to write the shares in.

        Returns
        -------
        Tree
        """
        from steadytree.tree.alignment import tree_in_space

        return tree_in_space(self, space, classes)

    def prune_at(self, leaf_nodes: Iterable[int] = ()) -> Tree:
        """Return the tree with the given nodes made leaves, renumbered from the root.

        Values, weights and labels of the new leaves are those stored with the nodes.

        Parameters
        ----------
        leaf_nodes : iterable of int
            Node numbers.

        Returns
        -------
        Tree
        """
        ends = set(leaf_nodes) | set(np.flatnonzero(self.is_leaf).tolist())
        kept: list[int] = []
        stack = [0]
        while stack:
            node = stack.pop()
            kept.append(node)
            if node not in ends:
                stack += (int(self.children_right[node]), int(self.children_left[node]))
        new = {node: i for i, node in enumerate(kept)}
        changes = {
            name: None if given is None else given[kept]
            for name, given in self.given_fields().items()
            if name in NODE_ARRAYS
        }
        for name in ("children_left", "children_right"):
            children = getattr(self, name).tolist()
            changes[name] = [LEAF if node in ends else new[children[node]] for node in kept]
        sets = tuple(None if node in ends else self.left_categories[node] for node in kept)
        observed = None if self.observed is None else self.observed.take(np.array(kept))
        return self.replace(**changes, left_categories=sets, observed=observed)

    def truncate(self, max_depth: int) -> Tree:
        """Cut the tree at ``max_depth``: the nodes there become leaves.

        Parameters
        ----------
        max_depth : int
            The root is at depth 0.

        Returns
        -------
        Tree
        """
        if max_depth < 0:
            raise InputError(f"expected max_depth >= 0, got {max_depth}")
        return self.prune_at(np.flatnonzero(self.node_depth == max_depth).tolist())

    def feature_importances(self) -> FloatArray:
        """Return the normalised total decrease of impurity brought by each feature.

        Returns
        -------
        float array of shape (n_features,)
        """
        split = np.flatnonzero(~self.is_leaf)
        total = self.weight * self.impurity
        gain = total[split] - total[self.children_left[split]] - total[self.children_right[split]]
        out = np.bincount(self.feature[split], weights=gain, minlength=self.n_features)
        summed = out.sum()
        return np.asarray(out / summed if summed > 0 else out, dtype=np.float64)

    # -- identity -----------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        """Equal when every stored field is equal, bit for bit (NaN equals NaN)."""
        if not isinstance(other, Tree):
            return NotImplemented
        pairs = ((getattr(self, f.name), getattr(other, f.name)) for f in fields(self))
        return all(
            np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
            if isinstance(a, np.ndarray)
            else a == b
            for a, b in pairs
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(Tree, **self.given_fields()), ()

    def __repr__(self) -> str:
        kind = f"{len(self.classes)} classes" if self.classes is not None else "regression"
        size = f"{self.n_leaves} leaves, depth {self.depth}, {self.n_features} features"
        return f"Tree({size}, {kind})"

    def __str__(self) -> str:
        from steadytree.tree.printing import tree_text

        return tree_text(self)


# -- many trees at once ---------------------------------------------------------------


def build_trees(
    first: NDArray[np.int64],
    nodes: Mapping[str, NDArray[Any]],
    shared: Mapping[str, Any],
    own: Sequence[Mapping[str, Any]],
) -> list[Tree]:
    """Build trees over numeric features whose nodes lie one after another.

    The trees are those that :class:`Tree` makes of the same fields one by one. A collection of
    small trees has few nodes and many arrays; checking each array by itself would take longer
    than comparing the trees. So what is asked of every node is asked of all nodes together.

    Parameters
    ----------
    first : int array
        First node of each tree, and the number of nodes as one entry more.
    nodes : mapping
        The arrays of a tree with an entry per node, all trees' in one: all nine of them.
    shared : mapping
        ``n_features``, ``classes``, ``feature_names`` and ``precision`` of all trees.
    own : sequence of mappings
        ``observed`` and ``metadata`` of each tree.
    """
    parts = [slice(*ends) for ends in pairwise(first.tolist())]
    if not _is_plainly_right(first, nodes, shared):
        # One by one they say what is wrong, or that it is an unusual tree.
        arguments: list[dict[str, Any]] = [
            {**shared, **given, **{name: column[part] for name, column in nodes.items()}}
            for part, given in zip(parts, own, strict=True)
        ]
        return [Tree(**each) for each in arguments]
    leaf = nodes["children_left"] == LEAF
    arrays = {
        name: np.array(nodes[name], dtype=kind, order="C")
        for name, kind in NODE_ARRAYS.items()
        if name != "unseen_left"
    }
    arrays["feature"][leaf] = LEAF
    arrays["threshold"][leaf] = np.nan
    for array in arrays.values():
        array.setflags(write=False)  # and so are its parts
    categories, names = check_columns(shared["n_features"], (), shared["feature_names"])
    common = {**shared, "categories": categories, "feature_names": names}
    common |= {"decision": LARGEST_SHARE, "space": None, "_impurity_given": True}
    trees = []
    for part, given in zip(parts, own, strict=True):
        tree = object.__new__(Tree)
        # Past the frozen dataclass: its checks have been made.
        state = tree.__dict__
        state.update(common)
        for name, array in arrays.items():
            state[name] = array[part]
        state["unseen_left"] = state["missing_left"]
        state["left_categories"] = (None,) * (part.stop - part.start)
        state["observed"] = given["observed"]
        state["metadata"] = MappingProxyType(given["metadata"])
        trees.append(tree)
    return trees


def _is_plainly_right(
    first: NDArray[np.int64], nodes: Mapping[str, NDArray[Any]], shared: Mapping[str, Any]
) -> bool:
    """Whether all trees pass every check that building them one by one makes."""
    left, value, weight, label = (
        nodes[name] for name in ("children_left", "value", "weight", "label")
    )
    if np.diff(first).min() < 1 or not are_plainly_trees(first, left, nodes["children_right"]):
        return False
    inner = left != LEAF
    feature, classes = nodes["feature"][inner], shared["classes"]
    width = 1 if classes is None else len(classes)
    fine = (
        value.shape[1] == width
        and not ((feature < 0) | (feature >= shared["n_features"])).any()
        and not np.isnan(nodes["threshold"][inner]).any()
        and np.isfinite(value).all()
        and (np.isfinite(weight) & (weight >= 0)).all()
        and not ((label < 0) | (label >= width)).any()
    )
    if classes is not None:
        fine = fine and len(set(classes)) == width
        fine = fine and (value >= 0).all() and (np.abs(value.sum(axis=1) - 1) <= 1e-6).all()
    return bool(fine)
