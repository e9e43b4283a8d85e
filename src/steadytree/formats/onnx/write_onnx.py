"""Write a tree as an ONNX model that decides as it does, missing values included.

The usual exporters round thresholds to the nearest single and lose where missing values go; both
change decisions. Here one ``TreeEnsembleRegressor`` finds the number of the leaf, with thresholds
rounded so that nothing changes sides, and tables by leaf give its label and its shares: so labels
are exact whether or not the shares would give them, and shares keep their precision. Categories
are told apart by a ``LabelEncoder`` per split, which says for each one, for a missing value and for
one never met, which way it goes.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from steadytree.formats.onnx.onnx_trees import METADATA
from steadytree.formats.split_tests import SplitTest, fits, split_test
from steadytree.formats.thresholds import single_threshold
from steadytree.plugins import (
    InputError,
    Tree,
    UnsupportedModelError,
    __version__,
    import_optional,
)

SUFFIXES = (".onnx",)

# Old enough for the runtimes in use. Before version 4 an encoder has no doubles and meets no NaN.
IR_VERSION, OPSET = 8, 15
ML_OPSET, ML_OPSET_TENSOR_KEYS = 3, 4
ML = "ai.onnx.ml"
LEFT, RIGHT, BETWEEN = 0.0, 1.0, 0.5


def write(
    tree: Tree,
    *,
    input_type: str | None = None,
    columns: bool | None = None,
    missing_text: str = "",
) -> bytes:
    """Write a tree as an ONNX model.

    Parameters
    ----------
    tree : Tree
    input_type : {"float", "double"}, optional
        What the numbers in the rows are, and the shares and responses that come out. By default
        what the tree compares: "float" for one that rounds to single precision, as
        scikit-learn's do, else "double". Both are exact for every value of that type; a value
        that single precision cannot hold is rounded by whoever makes a "float" of it.
    columns : bool, optional
        One input per feature, called as the feature, of shape (rows, 1); else all in one input
        "X" of shape (rows, features). By default where there are categories, which need it.
        Categories that are text come as text, others as numbers (True is 1).
    missing_text : str, default ""
        What stands for a missing value in a column of text, for which ONNX has no other way.
        Missing numbers are NaN.

    Returns
    -------
    bytes
        The model, for a file or for ``onnxruntime.InferenceSession``. Its outputs are "label"
        (int64, text, bool or double, as the classes are) and "probabilities", or "variable" for
        a regression tree.
    """
    onnx = import_optional("onnx", purpose="writing ONNX", extra="onnx")
    graph = _Graph(tree, onnx, input_type, columns, missing_text)
    model = onnx.helper.make_model(
        graph.build(),
        ir_version=IR_VERSION,
        producer_name="steadytree",
        producer_version=__version__,
        opset_imports=[
            onnx.helper.make_opsetid("", OPSET),
            onnx.helper.make_opsetid(ML, graph.ml_opset),
        ],
    )
    metadata = {
        "feature_names": None if tree.feature_names is None else list(tree.feature_names),
        "missing_text": missing_text,
        "classes": None if tree.classes is None else list(tree.classes),
        "categories": [None if c is None else list(c) for c in tree.categories],
    }
    onnx.helper.set_model_props(model, {METADATA: json.dumps(metadata)})
    return bytes(model.SerializeToString())


class _Graph:
    """The graph in the making: its inputs, the columns the tree looks at, its tables."""

    def __init__(
        self, tree: Tree, onnx: Any, input_type: str | None, columns: bool | None, missing_text: str
    ) -> None:
        self.tree, self.onnx, self.missing_text = tree, onnx, missing_text
        if tree.n_features == 0:
            raise UnsupportedModelError("expected a feature for an ONNX input, got a tree of none")
        self.kinds = [self._kind(j) for j in range(tree.n_features)]
        self.double = self._double(input_type)
        by_column = any(kind is not None for kind in self.kinds)
        if by_column and columns is False:
            named = [n for n, k in zip(tree.feature_labels, self.kinds, strict=True) if k]
            raise UnsupportedModelError(
                f"expected numeric features for one input of numbers, got categories in {named}; "
                "leave columns=None: one input per feature"
            )
        self.columns = by_column or bool(columns)
        self.dtype = np.dtype(np.float64 if self.double else np.float32)
        self.nodes: list[Any] = []
        self.tables: list[Any] = []
        self.pieces: list[str] = []  # columns of what the tree gets, by name
        self.position: dict[Any, int] = {}
        self.ml_opset = ML_OPSET
        # Names of our own must not be those of features.
        self.own = "steadytree"
        while any(name.startswith(self.own) for name in tree.feature_labels):
            self.own += "_"

    def _kind(self, feature: int) -> str | None:
        """Return "text" or "number" for categories, None for a numeric feature."""
        categories = self.tree.categories[feature]
        if categories is None:
            return None
        if all(isinstance(c, str) for c in categories):
            if self.missing_text in categories:
                raise InputError(
                    f"expected a missing_text that is no category, got {self.missing_text!r}, "
                    f"a category of {self.tree.feature_labels[feature]!r}; pass another"
                )
            return "text"
        name = self.tree.feature_labels[feature]
        for c in categories:
            if isinstance(c, str) or not fits(c, np.float64):
                raise UnsupportedModelError(
                    f"expected categories that are all text, or all numbers of double precision, "
                    f"in {name!r} for ONNX, got {c!r} among {list(categories)[:5]}"
                )
        return "number"

    def _double(self, input_type: str | None) -> bool:
        """Whether the numbers in the rows are doubles."""
        large = [
            name
            for name, kind, listed in zip(
                self.tree.feature_labels, self.kinds, self.tree.categories, strict=True
            )
            if kind == "number" and not all(fits(c, np.float32) for c in listed or ())
        ]
        if input_type is None:
            return self.tree.precision == "float64" or bool(large)
        if input_type not in ("float", "double"):
            raise InputError(f"expected input_type 'float' or 'double', got {input_type!r}")
        if input_type == "float" and large:
            raise UnsupportedModelError(
                f"expected categories that single precision holds for input_type='float', "
                f"got others in {large}; use input_type='double'"
            )
        return input_type == "double"

    def build(self) -> Any:
        """Put the graph together."""
        look = {
            node: self._column(split_test(self.tree, node))
            for node in np.flatnonzero(~self.tree.is_leaf).tolist()
        }
        helper = self.onnx.helper
        if not self.columns:
            table, inputs = "X", [self._input("X", None, self.tree.n_features)]
        else:
            inputs = [
                self._input(name, kind, 1)
                for name, kind in zip(self.tree.feature_labels, self.kinds, strict=True)
            ]
            if not self.pieces:  # a single leaf: any column says how many rows there are
                self.pieces.append(self._row_counter())
            table = f"{self.own}_table"
            self.nodes.append(helper.make_node("Concat", self.pieces, [table], axis=1))
        index = self._leaf_numbers(table, look)
        outputs = self._outputs(index)
        return helper.make_graph(self.nodes, "steadytree", inputs, outputs, initializer=self.tables)

    def _input(self, name: str, kind: str | None, width: int) -> Any:
        types = self.onnx.TensorProto
        number = types.DOUBLE if self.double else types.FLOAT
        return self.onnx.helper.make_tensor_value_info(
            name, types.STRING if kind == "text" else number, [None, width]
        )

    def _column(self, test: SplitTest) -> tuple[int, float, bool]:
        """Return where the tree looks for a split, its threshold, and whether missing goes left."""
        if test.threshold is not None:
            # Singles are compared as they are; for them the largest single below does the same.
            threshold = test.threshold if self.double else single_threshold(test.threshold)
            if not self.columns:
                return test.feature, threshold, test.missing_left
            at = self.position.setdefault(test.feature, len(self.pieces))
            if at == len(self.pieces):
                self.pieces.append(test.name)
            return at, threshold, test.missing_left
        key = (test.feature, test.left, test.missing_left, test.unseen_left)
        if key not in self.position:
            self.position[key] = len(self.pieces)
            self.pieces.append(self._encoder(test))
        return self.position[key], BETWEEN, False

    def _encoder(self, test: SplitTest) -> str:
        """Add an operator that says of a category which way it goes at a split."""
        name = f"{self.own}_{test.feature}_{len(self.pieces)}"
        text = self.kinds[test.feature] == "text"
        missing = self.missing_text if text else np.nan
        categories = self.tree.categories[test.feature] or ()
        keys = [*categories, missing]
        left = set(test.left)
        sides = [LEFT if c in left else RIGHT for c in categories]
        sides.append(LEFT if test.missing_left else RIGHT)
        default = LEFT if test.unseen_left else RIGHT
        attributes: dict[str, Any]
        if text and not self.double:
            attributes = {"keys_strings": keys, "values_floats": sides, "default_float": default}
        else:
            self.ml_opset = ML_OPSET_TENSOR_KEYS
            attributes = {
                "keys_tensor": self._tensor("keys", keys if text else np.array(keys, self.dtype)),
                "values_tensor": self._tensor("values", np.array(sides, self.dtype)),
                "default_tensor": self._tensor("default", np.array([default], self.dtype)),
            }
        self.nodes.append(
            self.onnx.helper.make_node("LabelEncoder", [test.name], [name], domain=ML, **attributes)
        )
        return name

    def _row_counter(self) -> str:
        name = self.tree.feature_labels[0]
        if self.kinds[0] != "text":
            return name
        return self._encoder(SplitTest(0, name, None, (), (), True, True))

    def _leaf_numbers(self, table: str, look: dict[int, tuple[int, float, bool]]) -> str:
        """Add the tree itself; returns the name of the numbers of the leaves, left to right."""
        tree, helper = self.tree, self.onnx.helper
        ids = np.arange(tree.n_nodes)
        at, threshold, missing = (
            [look[i][k] if i in look else 0 for i in ids.tolist()] for k in range(3)
        )
        numbers = np.arange(tree.n_leaves, dtype=self.dtype)
        values = np.array(threshold, dtype=self.dtype)
        if self.double:
            wide = {
                "nodes_values_as_tensor": self._tensor("thresholds", values),
                "nodes_hitrates_as_tensor": self._tensor("weights", tree.weight),
                "target_weights_as_tensor": self._tensor("leaves", numbers),
            }
        else:
            wide = {
                "nodes_values": values.tolist(),
                "nodes_hitrates": tree.weight.tolist(),
                "target_weights": numbers.tolist(),
            }
        names = [f"{self.own}_{end}" for end in ("found", "flat", "leaf")]
        self.nodes += [
            helper.make_node(
                "TreeEnsembleRegressor",
                [table],
                [names[0]],
                domain=ML,
                n_targets=1,
                nodes_treeids=[0] * tree.n_nodes,
                nodes_nodeids=ids.tolist(),
                nodes_featureids=at,
                nodes_modes=["LEAF" if leaf else "BRANCH_LEQ" for leaf in tree.is_leaf.tolist()],
                nodes_truenodeids=np.maximum(tree.children_left, 0).tolist(),
                nodes_falsenodeids=np.maximum(tree.children_right, 0).tolist(),
                nodes_missing_value_tracks_true=[int(m) for m in missing],
                target_treeids=[0] * tree.n_leaves,
                target_nodeids=tree.leaves.tolist(),
                target_ids=[0] * tree.n_leaves,
                **wide,
            ),
            helper.make_node(
                "Reshape", [names[0], self._table("shape", np.array([-1]))], [names[1]]
            ),
            helper.make_node("Cast", [names[1]], [names[2]], to=self.onnx.TensorProto.INT64),
        ]
        return names[2]

    def _outputs(self, index: str) -> list[Any]:
        """Add the tables by leaf; returns the outputs of the model."""
        tree, helper = self.tree, self.onnx.helper
        with np.errstate(over="raise"):
            try:
                values = tree.value[tree.leaves].astype(self.dtype)
            except FloatingPointError:
                raise UnsupportedModelError(
                    "expected responses that single precision holds for input_type='float', got "
                    f"{np.abs(tree.value).max()}; use input_type='double'"
                ) from None
        kind = self.onnx.TensorProto.DOUBLE if self.double else self.onnx.TensorProto.FLOAT
        last = "variable" if tree.classes is None else "probabilities"
        shape = [None, values.shape[1]]
        outputs = [helper.make_tensor_value_info(last, kind, shape)]
        self.nodes.append(
            helper.make_node("Gather", [self._table("values", values), index], [last])
        )
        if tree.classes is not None:
            labels = self._classes()
            at = [labels[k] for k in tree.label[tree.leaves].tolist()]
            table = self._table("labels", at if isinstance(at[0], str) else np.array(at))
            self.nodes.append(helper.make_node("Gather", [table, index], ["label"]))
            outputs.insert(
                0, helper.make_tensor_value_info("label", self.tables[-1].data_type, [None])
            )
        return outputs

    def _classes(self) -> list[Any]:
        """Return the classes in a type of their own that ONNX has, or refuse them."""
        classes = list(self.tree.classes or ())
        for kind in (str, bool, int, float):
            if all(type(c) is kind for c in classes):
                if kind is int and not all(-(2**63) <= c < 2**63 for c in classes):
                    break
                return classes
        raise UnsupportedModelError(
            "expected classes that are all text, all bool, all whole numbers of 64 bits or all "
            f"doubles for ONNX, got {classes[:5]}"
        )

    def _table(self, name: str, values: Any) -> str:
        """Store a constant; returns its name."""
        self.tables.append(self._tensor(f"{self.own}_{name}", values))
        return str(self.tables[-1].name)

    def _tensor(self, name: str, values: Any) -> Any:
        if isinstance(values, list):
            data = [text.encode() for text in values]
            return self.onnx.helper.make_tensor(
                name, self.onnx.TensorProto.STRING, [len(data)], data
            )
        return self.onnx.numpy_helper.from_array(values, name)
