"""Read ONNX models of one decision tree, or one tree of several.

A model is a graph of operators. Those around the tree that leave the columns what they are, or
code categories, are followed; any other is refused by name, because thresholds would no longer be
in the columns' own units. Nothing in the file is executed, and no other file is opened.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from steadytree.formats.conditions import (
    FALSE,
    TRUE,
    All,
    AnyOf,
    AtMost,
    Condition,
    IsMissing,
    Not,
    OneOf,
    below,
)
from steadytree.formats.forks import Column, nested_splits
from steadytree.formats.onnx.onnx_trees import (
    BOOL,
    DOUBLE,
    FLOAT,
    INT32,
    INT64,
    STRING,
    Ensemble,
    Split,
    array,
    attributes,
    encoder_codes,
    fork_tree,
    leaves_of,
    plain,
    read_ensemble,
    refuse,
    stored_metadata,
    whole,
)
from steadytree.formats.stored_nodes import check_category_sizes
from steadytree.formats.thresholds import double_threshold
from steadytree.plugins import (
    MAX_UNLISTED_FEATURES,
    Leaf,
    Tree,
    TreeFormatError,
    UnsupportedModelError,
    build_tree,
    choose_tree,
    import_optional,
    is_a,
    quoted,
    read_bytes,
)

FILES = "ONNX (.onnx)"

TREES = ("TreeEnsembleClassifier", "TreeEnsembleRegressor", "TreeEnsemble")
NOT_LOOKED_AT = "(not looked at)"
LABEL_TYPES: dict[int, type] = {INT64: int, INT32: int, STRING: str, BOOL: bool}


def reads(model: Any) -> bool:
    """Whether a model is one of ONNX in memory."""
    return is_a(model, "onnx", "ModelProto")


def reads_file(path: Path, start: bytes) -> bool:
    """Whether a file is ONNX, by its name: its first bytes do not tell."""
    return path.suffix.lower() == ".onnx"


def read_file(path: Path, tree_index: int | None = None) -> Tree:
    """Read a model from a file."""
    content = read_bytes(path)
    onnx = import_optional("onnx", purpose="reading ONNX", extra="onnx")
    model = onnx.ModelProto()
    try:
        model.ParseFromString(content)
    except Exception as error:  # whatever the protobuf library raises for bytes that are none
        raise TreeFormatError(f"{path}: expected an ONNX model, got {error}") from None
    return read(model, tree_index)


def read(model: Any, tree_index: int | None = None) -> Tree:
    """Convert a model: the same label or response for every row.

    Values are compared in the precision of the model's inputs. Shares and responses are those of
    onnxruntime, which computes most of them in single precision.
    """
    import_optional("onnx", purpose="reading ONNX", extra="onnx")
    return _Graph(model).tree(tree_index)


@dataclass(frozen=True)
class _Encoder:
    """What a category becomes; ``missing`` what a missing value does."""

    codes: dict[Any, float]
    default: float
    missing: float


@dataclass(frozen=True)
class _Look:
    """A column on its way to the tree: which feature, in single precision or not, coded or not."""

    feature: int
    single: bool
    encoder: _Encoder | None = None


class _Graph:
    """A model's graph, followed from its inputs to its outputs."""

    def __init__(self, model: Any) -> None:
        self.graph = model.graph
        self.metadata = stored_metadata(model)
        self.source = " ".join(
            str(w) for w in ("ONNX", model.producer_name, model.producer_version) if w
        )
        self.tables = {t.name: t for t in self.graph.initializer}
        # By name: the columns on the way to the tree, what became of its outputs.
        self.columns: dict[str, tuple[list[_Look], int]] = {}
        self.after: dict[str, str] = {}
        self.label_type: int | None = None
        self.leaf_tables: dict[str, Any] = {}
        self.ensemble: Ensemble | None = None
        self.looks: list[_Look] = []
        self.names = self._inputs()
        for node in self.graph.node:
            self._follow(node)
        if not self.after:
            raise UnsupportedModelError(
                f"expected an ONNX model with one of {', '.join(TREES)}, got "
                f"{sorted({n.op_type for n in self.graph.node}) or 'no operators'}"
            )
        for output in self.graph.output:
            role = self.after.get(output.name)
            if role is None:
                raise TreeFormatError(
                    f"expected output {quoted(output.name)} to come from the tree"
                )
            if role == "cut":
                raise refuse("Cast to whole numbers or text", "behind")

    # -- on the way to the tree ---------------------------------------------------

    def _inputs(self) -> list[str | None]:
        names: list[str | None] = []
        for given in self.graph.input:
            if given.name in self.tables:
                continue
            tensor = given.type.tensor_type
            kind, dims = tensor.elem_type, tensor.shape.dim
            if kind not in (FLOAT, DOUBLE, INT64, INT32, STRING, BOOL) or len(dims) != 2:
                raise UnsupportedModelError(
                    "expected inputs of numbers or text with rows and columns, got "
                    f"{quoted(given.name)} of type {kind} with {len(dims)} dimensions"
                )
            width = int(dims[1].dim_value) or self._width()
            if len(names) + width > MAX_UNLISTED_FEATURES:
                raise TreeFormatError(
                    f"expected at most {MAX_UNLISTED_FEATURES:,} columns, got more"
                )
            at = len(names)
            looks = [_Look(at + j, kind == FLOAT) for j in range(width)]
            self.columns[given.name] = looks, kind
            names += [given.name] if width == 1 else [None] * width
        if not names:
            raise TreeFormatError("expected an ONNX model with inputs, got none")
        return names

    def _width(self) -> int:
        """Return how many columns the tree looks at, where the input does not say."""
        ids = [
            list(a.ints)
            for node in self.graph.node
            if node.op_type in TREES
            for a in node.attribute
            if a.name == "nodes_featureids"
        ]
        return max((max(i, default=0) for i in ids), default=0) + 1

    def _follow(self, node: Any) -> None:
        kind = node.op_type
        if not node.output:
            raise TreeFormatError(f"expected an output of {kind}, got none")
        if kind in TREES and node.domain in ("ai.onnx.ml", "ai.onnx.ml.preview"):
            self._tree_operator(node)
        elif node.input and all(name in self.columns for name in node.input):
            if kind not in ("Identity", "Cast", "Concat", "FeatureVectorizer", "LabelEncoder"):
                raise refuse(kind, "before")
            self.columns[node.output[0]] = self._columns_after(node, attributes(node))
        elif any(name in self.after for name in node.input):
            self._after_tree(node)
        else:
            raise refuse(kind, "beside")

    def _columns_after(self, node: Any, given: dict[str, Any]) -> tuple[list[_Look], int]:
        looks, kind = self.columns[node.input[0]]
        if node.op_type == "Identity":
            return looks, kind
        if node.op_type == "LabelEncoder":
            encoder, to = self._encoder(given, kind)
            if any(look.encoder is not None for look in looks):
                raise refuse("LabelEncoder of what is coded already", "before")
            return [replace(look, encoder=encoder) for look in looks], to
        if node.op_type == "Cast":
            to = whole(given, "to", 0)
            if to == kind:
                return looks, kind
            if kind == STRING or to not in (FLOAT, DOUBLE):
                raise refuse(f"Cast from type {kind} to {to}", "before")
            return [_as_single(look) if to == FLOAT else look for look in looks], to
        if node.op_type == "Concat" and given.get("axis") not in (1, -1):
            raise refuse("Concat of rows", "before")
        parts = [self.columns[name] for name in node.input]
        if any(k != kind for _, k in parts):
            raise TreeFormatError(f"expected columns of one type for {node.op_type}, got several")
        return [look for part, _ in parts for look in part], kind

    def _encoder(self, given: dict[str, Any], kind: int) -> tuple[_Encoder, int]:
        """Return what a LabelEncoder makes of a category, and of which type that is."""
        keys, values, default, to = encoder_codes(given)
        if len(keys) != len(values):
            raise TreeFormatError(
                f"expected a value for each key of a LabelEncoder, got {len(keys)} and "
                f"{len(values)}"
            )
        check_category_sizes([len(keys)])
        if any(isinstance(key, str) != (kind == STRING) for key in keys):
            raise TreeFormatError("expected keys of the type of the column in a LabelEncoder")
        codes: dict[Any, float] = {}
        missing = default
        for key, value in zip(keys, values, strict=True):
            if isinstance(key, float) and key != key:
                # Older versions of the operator compare: NaN equals nothing.
                missing = float(value) if "keys_tensor" in given else default
            elif kind == STRING and key == self.metadata.get("missing_text"):
                missing = float(value)
            else:
                codes.setdefault(key, float(value))
        return _Encoder(codes, float(default), missing), to

    # -- the tree -----------------------------------------------------------------

    def _tree_operator(self, node: Any) -> None:
        if self.ensemble is not None:
            raise refuse(f"a second {node.op_type}", "beside")
        if len(node.input) != 1 or node.input[0] not in self.columns:
            raise TreeFormatError(f"expected one table as input of {node.op_type}, got another")
        self.ensemble = read_ensemble(node.op_type, attributes(node))
        looks, kind = self.columns[node.input[0]]
        if kind == STRING:
            raise UnsupportedModelError(
                "expected numbers or coded categories for the tree, got text"
            )
        # Runtimes compare whole numbers in single precision as well.
        self.looks = looks if kind == DOUBLE else [_as_single(look) for look in looks]
        classifier = self.ensemble.classes is not None
        for name, role in zip(
            node.output, ("label", "shares") if classifier else ("response",), strict=False
        ):
            self.after[name] = role

    def _after_tree(self, node: Any) -> None:
        kind, given = node.op_type, attributes(node)
        table = [name for name in node.input if name in self.tables]
        role = next(self.after[name] for name in node.input if name in self.after)
        if kind in ("Identity", "ZipMap", "Cast"):
            if kind == "Cast" and role == "label":
                self.label_type = whole(given, "to", 0)
            elif kind == "Cast" and whole(given, "to", 0) not in (FLOAT, DOUBLE):
                role = "cut"
            self.after[node.output[0]] = role
            return
        if kind == "Reshape" and role == "response" and table:
            self.after[node.output[0]] = role
            return
        if (
            kind == "Gather"
            and role == "cut"
            and table == [node.input[0]]
            and self.metadata
            and given.get("axis", 0) == 0
        ):
            # Tables by leaf, as our own writer lays them.
            self.leaf_tables[node.output[0]] = array(self.tables[node.input[0]])
            self.after[node.output[0]] = "table"
            return
        raise refuse(kind, "behind")

    # -- put together -------------------------------------------------------------

    def tree(self, tree_index: int | None) -> Tree:
        """Return one of the trees."""
        assert self.ensemble is not None
        ensemble = self.ensemble
        index = choose_tree(len(ensemble.roots), tree_index, "an ONNX model")
        categories, position = self._categories()
        numeric = [look for look in self.looks if look.encoder is None]
        # Doubles beside singles: thresholds for singles are then written as doubles.
        all_single = all(look.single for look in numeric)
        precision = "float32" if numeric and all_single else "float64"

        def ask(split: Split) -> Condition:
            if not 0 <= split.column < len(self.looks):
                raise TreeFormatError(
                    f"expected a feature below {len(self.looks)}, got {split.column}"
                )
            look = self.looks[split.column]
            if look.encoder is not None:
                return _ask_category(split, look, look.encoder, position[look.feature])
            if categories[look.feature] is not None:
                raise UnsupportedModelError(
                    f"expected feature {look.feature} as categories or as numbers, got both"
                )
            return _ask_number(split, look, precision == "float64" and look.single)

        reached = _reached(ensemble, ensemble.roots[index])
        if self.leaf_tables:
            outcomes, classes = self._by_leaf_tables(ensemble, reached)
        else:
            outcomes, classes = leaves_of(ensemble, index, reached), ensemble.classes
            if any(label is None for _, label in outcomes.values()):
                classes = None

        def leaf(number: int) -> Leaf:
            value, label = outcomes[number]
            weight = ensemble.leaf_weight[number] if self.metadata else 1.0
            return Leaf(value, weight, label)

        root = fork_tree(ensemble, ensemble.roots[index], ask, leaf, bool(self.metadata))
        columns = [Column(None if c is None else len(c)) for c in categories]
        check_category_sizes([len(c) for c in categories if c is not None])
        return build_tree(
            nested_splits(root, columns),
            n_features=len(self.names),
            categories=tuple(categories),
            classes=None if classes is None else self._cast_labels(classes),
            feature_names=self._feature_names(),
            precision=precision,
            metadata={"source": self.source},
        )

    def _by_leaf_tables(
        self, ensemble: Ensemble, reached: Sequence[int]
    ) -> tuple[dict[int, Any], tuple[Any, ...] | None]:
        """Look leaves up in the tables that our own writer lays behind the tree."""
        at = {leaf: ensemble.scores.get(leaf, {}).get(0, -1.0) for leaf in reached}
        wide = [t for t in self.leaf_tables.values() if t.ndim == 2 and t.dtype.kind == "f"]
        labels = [t for t in self.leaf_tables.values() if t.ndim == 1]
        classes = self.metadata.get("classes")
        n = len(wide[0]) if wide else 0
        fits = len(wide) == 1 and all(0 <= i < n and i == int(i) for i in at.values())
        if not fits or (classes is not None) != bool(labels) or any(len(t) != n for t in labels):
            raise TreeFormatError("expected tables with a row for each leaf, got others")
        if classes is None:
            return {leaf: (wide[0][int(i)], None) for leaf, i in at.items()}, None
        position = {c: k for k, c in enumerate(classes)}
        found = {}
        for leaf, i in at.items():
            label = plain(labels[0][int(i)])
            if label not in position:
                raise TreeFormatError(
                    f"expected labels of the classes {quoted(classes)}, got {quoted(label)}"
                )
            found[leaf] = (wide[0][int(i)], position[label])
        return found, tuple(classes)

    def _categories(self) -> tuple[list[tuple[Any, ...] | None], dict[int, dict[Any, int]]]:
        """Return the categories of each feature that is coded, and their positions."""
        listed: dict[int, dict[Any, int]] = {}
        metadata = self.metadata.get("categories") or ()
        for j, own in enumerate(metadata[: len(self.names)]):
            if own is not None:
                listed[j] = {key: at for at, key in enumerate(own)}
        for look in self.looks:
            if look.encoder is not None:
                own = listed.setdefault(look.feature, {})
                for key in look.encoder.codes:
                    own.setdefault(key, len(own))
        for looks, kind in self.columns.values():
            if kind == STRING:
                for look in looks:
                    # Text that the tree does not look at: a category that nobody meets.
                    listed.setdefault(look.feature, {NOT_LOOKED_AT: 0})
        for feature, own in listed.items():
            if not own:
                raise UnsupportedModelError(f"expected categories for feature {feature}, got none")
        categories = [tuple(listed[j]) if j in listed else None for j in range(len(self.names))]
        return categories, listed

    def _cast_labels(self, classes: tuple[Any, ...]) -> tuple[Any, ...]:
        if self.label_type is None or self.leaf_tables:
            return classes
        kind = LABEL_TYPES.get(self.label_type, float)
        try:
            return tuple(kind(c) for c in classes)
        except (TypeError, ValueError):
            raise UnsupportedModelError(
                f"expected labels that can be cast to type {self.label_type}, got {classes[:5]}"
            ) from None

    def _feature_names(self) -> tuple[str, ...] | None:
        if self.metadata:
            metadata = self.metadata.get("feature_names")
            if not isinstance(metadata, list) or len(metadata) != len(self.names):
                return None
            return tuple(map(str, metadata))
        # One input is a table, whose name is that of no column.
        if None in self.names or len(self.names) == 1:
            return None
        return tuple(map(str, self.names))


def _as_single(look: _Look) -> _Look:
    if look.encoder is None:
        return replace(look, single=True)
    encoder = look.encoder
    with np.errstate(over="ignore"):
        rounded = {key: float(np.float32(v)) for key, v in encoder.codes.items()}
        others = (float(np.float32(v)) for v in (encoder.default, encoder.missing))
    return replace(look, single=True, encoder=_Encoder(rounded, *others))


def _ask_number(split: Split, look: _Look, widen: bool) -> Condition:
    """Return what a node asks of a number."""
    precision = "float32" if look.single else "float64"

    def at_most(value: float) -> Condition:
        return AtMost(look.feature, double_threshold(value, "float32") if widen else value)

    def less(value: float) -> Condition:
        lower = below(look.feature, value, precision)
        return at_most(lower.threshold) if isinstance(lower, AtMost) else lower

    def equal(value: float) -> Condition:
        return All((at_most(value), Not(less(value))))

    def among(_: float) -> Condition:
        return AnyOf(tuple(equal(v) for v in sorted(set(split.members))))

    asked = {
        **{"LEQ": at_most, "GT": at_most, "LT": less, "GTE": less},
        **{"EQ": equal, "NEQ": equal, "MEMBER": among},
    }
    condition = asked[split.mode](split.value)
    if split.mode in ("GT", "GTE", "NEQ"):
        condition = Not(condition)
    # NaN differs from every number, so "not equal" is true of a missing value.
    if split.missing_yes or split.mode == "NEQ":
        return AnyOf((IsMissing(look.feature), condition))
    return condition


def _ask_category(
    split: Split, look: _Look, encoder: _Encoder, position: dict[Any, int]
) -> Condition:
    """Return what a node asks of a category: which codes say yes."""

    def says_yes(code: float) -> bool:
        if code != code:
            return split.missing_yes or split.mode == "NEQ"
        at = split.value
        return {
            "LEQ": code <= at,
            "LT": code < at,
            "GTE": code >= at,
            "GT": code > at,
            "EQ": code == at,
            "NEQ": code != at,
            "MEMBER": code in split.members,
        }[split.mode]

    # A key of another encoder of the same column is one that this encoder never met.
    codes = {at: encoder.codes.get(key, encoder.default) for key, at in position.items()}
    return OneOf(
        look.feature,
        frozenset(at for at, code in codes.items() if says_yes(code)),
        unseen=TRUE if says_yes(encoder.default) else FALSE,
        missing=TRUE if says_yes(encoder.missing) else FALSE,
    )


def _reached(ensemble: Ensemble, root: int) -> list[int]:
    """Return the leaves below a root."""
    leaves, seen, stack = [], set(), [root]
    while stack:
        here = stack.pop()
        if here in seen:
            continue
        seen.add(here)
        if here < 0:
            leaves.append(-1 - here)
        else:
            stack += (ensemble.splits[here].yes, ensemble.splits[here].no)
    return leaves
