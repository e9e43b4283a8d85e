"""Read ``.skops`` files: scikit-learn models saved without pickle, only the types needed trusted.

skops checks which types a file names, not what it puts into them: a crafted ``Tree`` of
scikit-learn can make native code read past its arrays. So the description of the model is
checked here first: every type is one that can be read as a tree, arrays are as long as they
say, and the nodes of trees are trees. What was checked is what skops is given: a new file
without the references by which one part can stand for another.
"""

from __future__ import annotations

import io
import json
import math
import re
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.formats.stored_nodes import check_features, nest_nodes
from steadytree.plugins import (
    MAX_UNLISTED_FEATURES,
    InputError,
    Leaf,
    Tree,
    TreeFormatError,
    import_optional,
    parse_json,
    quoted,
    read_bytes,
    read_model,
)

# The types that may stand in a file: exactly those that models consist of which are read as
# trees: trees and forests, histogram-based boosting, pipelines with the steps that are traced
# back, searches and thresholds around them. None of them runs anything when it is made.

_OBJECTS = """
    sklearn._loss.link: HalfLogitLink IdentityLink Interval LogLink LogitLink MultinomialLogit
    sklearn._loss.loss: AbsoluteError HalfBinomialLoss HalfGammaLoss HalfMultinomialLoss
        HalfPoissonLoss HalfSquaredError PinballLoss
    sklearn.compose._column_transformer: ColumnTransformer make_column_selector
    sklearn.ensemble._forest: ExtraTreesClassifier ExtraTreesRegressor RandomForestClassifier
        RandomForestRegressor
    sklearn.ensemble._hist_gradient_boosting.binning: _BinMapper
    sklearn.ensemble._hist_gradient_boosting.gradient_boosting: HistGradientBoostingClassifier
        HistGradientBoostingRegressor
    sklearn.ensemble._hist_gradient_boosting.predictor: TreePredictor
    sklearn.feature_selection._from_model: SelectFromModel
    sklearn.feature_selection._rfe: RFE RFECV
    sklearn.feature_selection._sequential: SequentialFeatureSelector
    sklearn.feature_selection._univariate_selection: GenericUnivariateSelect SelectFdr SelectFpr
        SelectFwe SelectKBest SelectPercentile
    sklearn.feature_selection._variance_threshold: VarianceThreshold
    sklearn.frozen._frozen: FrozenEstimator
    sklearn.impute._base: MissingIndicator SimpleImputer
    sklearn.metrics._scorer: _CurveScorer _MultimetricScorer _PassthroughScorer _Scorer
    sklearn.model_selection._classification_threshold: FixedThresholdClassifier
        TunedThresholdClassifierCV
    sklearn.model_selection._search: GridSearchCV RandomizedSearchCV
    sklearn.model_selection._search_successive_halving: HalvingGridSearchCV
        HalvingRandomSearchCV
    sklearn.model_selection._split: GroupKFold KFold RepeatedKFold RepeatedStratifiedKFold
        ShuffleSplit StratifiedGroupKFold StratifiedKFold StratifiedShuffleSplit TimeSeriesSplit
    sklearn.pipeline: FeatureUnion Pipeline
    sklearn.preprocessing._data: Binarizer MaxAbsScaler MinMaxScaler RobustScaler StandardScaler
    sklearn.preprocessing._discretization: KBinsDiscretizer
    sklearn.preprocessing._encoders: OneHotEncoder OrdinalEncoder
    sklearn.preprocessing._function_transformer: FunctionTransformer
    sklearn.preprocessing._label: LabelBinarizer LabelEncoder
    sklearn.preprocessing._target_encoder: TargetEncoder
    sklearn.tree._classes: DecisionTreeClassifier DecisionTreeRegressor ExtraTreeClassifier
        ExtraTreeRegressor
    sklearn.utils._metadata_requests: MetadataRequest MethodMetadataRequest
"""

_FUNCTIONS = """
    numpy: absolute ceil exp expm1 floor log log10 log1p log2 negative positive rint sqrt square
        trunc
    sklearn.feature_selection._mutual_info: mutual_info_classif mutual_info_regression
    sklearn.feature_selection._univariate_selection: chi2 f_classif f_regression
    sklearn.metrics._classification: accuracy_score balanced_accuracy_score brier_score_loss
        f1_score log_loss matthews_corrcoef precision_score recall_score
    sklearn.metrics._ranking: average_precision_score roc_auc_score
    sklearn.metrics._regression: mean_absolute_error mean_squared_error r2_score
        root_mean_squared_error
    sklearn.utils.validation: check_array
"""

_SCALARS = """numpy: bool bool_ float32 float64 int16 int32 int64 int8 object_ str_
    uint16 uint32 uint64 uint8"""


def _types(text: str) -> frozenset[str]:
    """Return the full names of types listed behind their modules."""
    found, module = set(), ""
    for word in text.split():
        if word.endswith(":"):
            module = word
        else:
            found.add(f"{module[:-1]}.{word}")
    return frozenset(found)


TRUSTED: dict[str, frozenset[str]] = {
    "DTypeNode": _types("numpy: dtype"),
    "DictNode": _types("builtins: dict collections: OrderedDict"),
    "FunctionNode": _types(_FUNCTIONS),
    "JsonNode": _types("builtins: str"),
    "ListNode": _types("builtins: list"),
    "LossNode": _types(
        "sklearn._loss._loss: CyAbsoluteError CyHalfBinomialLoss CyHalfGammaLoss "
        "CyHalfMultinomialLoss CyHalfPoissonLoss CyHalfSquaredError CyPinballLoss"
    ),
    "MaskedArrayNode": _types("numpy.ma: MaskedArray numpy.ma.core: MaskedArray"),
    "NdArrayNode": _types(f"{_SCALARS} ndarray"),
    "ObjectNode": _types(_OBJECTS),
    "PartialNode": _types("functools: partial"),
    "RandomStateNode": _types("numpy.random.mtrand: RandomState"),
    "SetNode": _types("builtins: set"),
    "SliceNode": _types("builtins: slice"),
    "TreeNode": _types("sklearn.tree._tree: Tree"),
    "TupleNode": _types("builtins: tuple"),
    "TypeNode": _types(f"builtins: NoneType bool float int object str {_SCALARS}"),
}
"""By the loader that skops names: the types it may make."""


FILES = "skops files of scikit-learn models (.skops)"

MAX_MEMBERS = 100_000
MAX_FILE_BYTES = 256 * 2**20
MAX_SCHEMA_BYTES = 64 * 2**20
MAX_PARTS = 2_000_000
"""Objects that a model may consist of."""
OLDEST_PROTOCOL = 1
"""Before it skops named functions in another place than the one that is checked."""

_SCHEMA = "schema.json"
_BEGINNING = re.compile(rb"PK\x03\x04.{26}(\d+\.npy|schema\.json)", re.DOTALL)

Part = dict[str, Any]

_NOTHING: Part = {
    "__class__": "str",
    "__module__": "builtins",
    "__loader__": "JsonNode",
    "content": "null",
    "is_json": True,
}


def reads_file(path: Path, start: bytes) -> bool:
    """Whether a file is skops': by its name, or by what its archive begins with."""
    return path.suffix.lower() == ".skops" or bool(_BEGINNING.match(start))


def read_file(path: Path, tree_index: int | None = None) -> Tree:
    """Check and load the model in a file, and read it."""
    model = load_file(path)
    try:
        return read_model(model, tree_index=tree_index)
    except InputError:
        raise
    except Exception as error:  # a model with parts that no fit would give it
        raise TreeFormatError(
            f"{path}: expected a whole {type(model).__name__}, got {type(error).__name__}: {error}"
        ) from None


def load_file(path: Path) -> Any:
    """Return the model in a file, checked before it is made."""
    skops_io = import_optional("skops.io", purpose="Reading a .skops file", extra="skops")
    try:
        checked = _checked(read_bytes(path))
    except TreeFormatError as error:
        raise TreeFormatError(f"{path}: {error}") from None
    names = sorted(name for group in TRUSTED.values() for name in group)
    try:
        return skops_io.loads(checked, trusted=names)
    except Exception as error:  # whatever skops or scikit-learn make of what the file says
        raise TreeFormatError(
            f"{path}: expected a model that skops can load, got {type(error).__name__}: {error}"
        ) from None


# -- the archive ----------------------------------------------------------------------------------


def _checked(content: bytes) -> bytes:
    """Return the same model as a new archive of parts that were checked."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = _members(archive)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError) as error:
        raise TreeFormatError(
            f"expected a zip archive, got {error}; the file may be cut off"
        ) from None
    except Exception as error:  # of the decompressors, each with its own
        raise TreeFormatError(f"expected a zip archive, got a damaged one: {error}") from None
    if _SCHEMA not in members:
        raise TreeFormatError(f"expected a skops file with a {_SCHEMA}, got an archive without")
    if len(members[_SCHEMA]) > MAX_SCHEMA_BYTES:
        raise TreeFormatError(f"expected a {_SCHEMA} of at most {MAX_SCHEMA_BYTES:,} bytes")
    schema = parse_json(members[_SCHEMA])
    if not isinstance(schema, dict):
        raise TreeFormatError(f"expected a model in {_SCHEMA}, got {type(schema).__name__}")
    if not isinstance(schema.get("protocol"), int) or schema["protocol"] < OLDEST_PROTOCOL:
        raise TreeFormatError(
            f"expected skops' protocol {OLDEST_PROTOCOL} or newer, got "
            f"{quoted(schema.get('protocol'))}; save the model again with a newer skops"
        )
    arrays = _check_parts(schema, members)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in arrays:
            archive.writestr(name, members[name])
        archive.writestr(_SCHEMA, json.dumps(schema))
    return out.getvalue()


def _members(archive: zipfile.ZipFile) -> dict[str, bytes]:
    """Return the files of an archive, if they are not larger than they can be together."""
    entries = archive.infolist()
    # A member never gives more bytes than its entry announces: the announcements are the bound.
    total = sum(entry.file_size for entry in entries)
    if len(entries) > MAX_MEMBERS or total > MAX_FILE_BYTES:
        raise TreeFormatError(
            f"expected at most {MAX_MEMBERS:,} files of {MAX_FILE_BYTES:,} bytes together, "
            f"got {len(entries):,} of {total:,}"
        )
    return {entry.filename: archive.read(entry) for entry in entries}


# -- the parts ------------------------------------------------------------------------------------


def _check_parts(schema: Part, members: dict[str, bytes]) -> set[str]:
    """Check every part of a model; take out the references; return the names of the arrays."""
    arrays: set[str] = set()
    waiting: list[Any] = [schema]
    trees: list[Part] = []
    count = 0
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting += part
            continue
        if not isinstance(part, dict):
            continue
        count += 1
        if count > MAX_PARTS:
            raise TreeFormatError(f"expected at most {MAX_PARTS:,} parts, got more")
        if "__loader__" in part:
            if part["__loader__"] == "RandomGeneratorNode":
                # Left over from boosting, and skops calls what it names: nobody needs it here.
                part.clear()
                part.update(_NOTHING)
            _check_type(part)
            part.pop("__id__", None)
            if part["__loader__"] == "NdArrayNode" and part.get("type") == "numpy":
                arrays.add(_array_name(part, members))
            if part["__loader__"] == "TreeNode":
                trees.append(part)
        waiting += part.values()
    for part in trees:
        _check_tree(part, members)
    return arrays


def _check_type(part: Part) -> None:
    name = f"{part.get('__module__')}.{part.get('__class__')}"
    if name not in TRUSTED.get(str(part["__loader__"]), ()):
        raise TreeFormatError(
            f"expected only types of models that are read as trees, got {name[:200]!r} "
            f"({str(part['__loader__'])[:40]}); if you trust whoever made the file, load it with "
            "skops.io.load and pass the model"
        )


def _array_name(part: Part, members: dict[str, bytes]) -> str:
    name = part.get("file")
    if not isinstance(name, str) or name == _SCHEMA or name not in members:
        raise TreeFormatError(f"expected the array {str(name)[:80]!r} in the archive, got none")
    _array(members[name])
    return name


def _array(content: bytes) -> NDArray[Any]:
    """Return an array in numpy's format, if all that it announces is there."""
    stream = io.BytesIO(content)
    try:
        version = np.lib.format.read_magic(stream)
        header = np.lib.format.read_array_header_1_0
        if version[0] != 1:
            header = np.lib.format.read_array_header_2_0
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a header that numpy has to mend is not skops'
            shape, _, dtype = header(stream)
        n, there = math.prod(shape), len(content) - stream.tell()
        if dtype.hasobject or dtype.itemsize == 0 or not 0 <= n * dtype.itemsize <= there:
            raise ValueError(f"shape {shape} of {dtype} in {there} bytes")
        stream.seek(0)
        return np.asarray(np.load(stream, allow_pickle=False))
    except Exception as error:  # numpy parses the header as Python, with errors of all kinds
        raise TreeFormatError(f"expected an array of numpy, got {error}") from None


def _check_tree(part: Part, members: dict[str, bytes]) -> None:
    """Check what scikit-learn's native code takes on trust: counts, children and features."""
    try:
        n_features, n_classes, n_outputs = part["__reduce__"]["args"]["content"]
        state = part["content"]["content"]
        features, outputs = _whole(n_features), _whole(n_outputs)
        classes = _array(members[_array_name(n_classes, members)])
        count = _whole(state["node_count"])
        nodes = _array(members[_array_name(state["nodes"], members)])
        left, right, feature = (nodes[key] for key in ("left_child", "right_child", "feature"))
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        raise TreeFormatError("expected a tree as skops writes it, got another") from None
    if classes.shape != (outputs,) or not 0 < features <= MAX_UNLISTED_FEATURES:
        raise TreeFormatError(
            f"expected the classes of {outputs} outputs and 1 to {MAX_UNLISTED_FEATURES:,} "
            f"features, got shape {classes.shape} and {features}"
        )
    if nodes.shape != (count,) or count < 1 or left.dtype.kind != "i" or feature.dtype.kind != "i":
        raise TreeFormatError(f"expected a table of {count} nodes, got shape {nodes.shape}")
    sides = [
        None if a == -1 else (a, b) for a, b in zip(left.tolist(), right.tolist(), strict=True)
    ]
    nest_nodes(sides, lambda node: Leaf([node]), lambda node, *_: Leaf([node]))
    check_features(feature[left != -1].tolist(), features)


def _whole(part: Any) -> int:
    number = parse_json(part["content"]) if part["__loader__"] == "JsonNode" else None
    if not isinstance(number, int) or isinstance(number, bool):
        raise ValueError
    return number
