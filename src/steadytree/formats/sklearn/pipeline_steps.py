"""Which raw column each column of a transformed table comes from, step by step.

A tree in a pipeline speaks of columns that nobody ever saw: ``onehot__colour_red``, an income
of -0.31. As long as every step makes each of its columns from one column alone, the tree can be
told in the raw columns. Here is the list of scikit-learn's steps that do, and what they make
of their columns; any other is refused by name, with the reason. What a step computes is not
repeated here: the fitted step itself is asked (see ``pipeline_columns``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadytree.plugins import NotFittedTreeError, UnsupportedModelError, plain_scalar, quoted

SAME = "same"
"""The raw value itself, but for missing values that may be filled in."""
NUMBER = "number"
"""Rises or falls with the raw number, within each of its stretches."""
CATEGORY = "category"
"""A number (or value) for each category."""
FLAG = "flag"
"""Depends only on whether the value is missing."""

WHY_NOT = {
    "CountVectorizer": "makes columns of the words of a text",
    "FeatureHasher": "makes columns of hashes",
    "HashingVectorizer": "makes columns of the words of a text",
    "IterativeImputer": "fills in missing values from other columns",
    "KNNImputer": "fills in missing values from other columns",
    "Normalizer": "divides each row by its length, so that every column depends on all",
    "PCA": "makes each of its columns from several",
    "PolynomialFeatures": "multiplies columns with each other",
    "PowerTransformer": "rounds in ways that do not let a threshold be traced back exactly",
    "QuantileTransformer": "rounds in ways that do not let a threshold be traced back exactly",
    "SplineTransformer": "makes columns that rise and fall with one column",
    "TfidfVectorizer": "makes columns of the words of a text",
    "TruncatedSVD": "makes each of its columns from several",
}


@dataclass(frozen=True)
class Origin:
    """Where a column comes from: the raw column, and how it depends on it."""

    raw: int
    how: str


@dataclass
class RawColumns:
    """What the steps say about the raw columns.

    Attributes
    ----------
    labels : sequence of str
        What each is called, for messages.
    categories : dict
        For columns that some step takes for categories: these, in the user's own values.
    missing : dict
        Which of NaN and None those steps met in training.
    stand_ins : dict
        Values that imputers take for missing, as -999 or "?".
    numbers, coded : dict
        The step that takes a column for a number, or for categories.
    breaks : dict
        Largest value of each stretch of a numeric column beyond which what the steps make of it
        may jump back.
    poles : dict
        Numbers of which a step makes an infinite one, as a logarithm of 0.
    rounded : dict
        The step that computes with a column what may be wrong in the last bits.
    fills : dict
        Values that imputers fill in for missing ones.
    """

    labels: Sequence[str]
    categories: dict[int, list[Any]] = field(default_factory=dict)
    missing: dict[int, list[Any]] = field(default_factory=dict)
    stand_ins: dict[int, list[Any]] = field(default_factory=dict)
    numbers: dict[int, str] = field(default_factory=dict)
    coded: dict[int, str] = field(default_factory=dict)
    breaks: dict[int, set[float]] = field(default_factory=dict)
    poles: dict[int, set[float]] = field(default_factory=dict)
    rounded: dict[int, str] = field(default_factory=dict)
    fills: dict[int, list[Any]] = field(default_factory=dict)

    def take_number(self, raw: int, who: str) -> None:
        """Note that a step takes a raw column for a number."""
        self.numbers.setdefault(raw, who)
        self._check(raw)

    def take_categories(self, raw: int, seen: Iterable[Any], who: str) -> None:
        """Note that a step takes a raw column for these categories."""
        self.coded.setdefault(raw, who)
        self._check(raw)
        listed = dict.fromkeys(self.categories.get(raw, ()))
        for value in map(plain_scalar, seen):
            if is_missing(value):
                self.missing.setdefault(raw, []).append(value)
            else:
                listed.setdefault(value)
        self.categories[raw] = list(listed)

    def take_for_missing(self, raw: int, value: Any) -> None:
        """Note that an imputer takes a value for missing."""
        self.stand_ins.setdefault(raw, []).append(plain_scalar(value))
        if isinstance(value, (int, float, np.number)) and not isinstance(value, bool):
            here = float(value)
            self.breaks.setdefault(raw, set()).update({float(np.nextafter(here, -np.inf)), here})

    def _check(self, raw: int) -> None:
        if raw in self.numbers and raw in self.coded:
            raise UnsupportedModelError(
                f"expected column {quoted(self.labels[raw])} to be a number or a category, got "
                f"both: a number in {self.numbers[raw]}, categories in {self.coded[raw]}; give the "
                "pipeline a second column with the same values for one of the two"
            )


def is_missing(value: Any) -> bool:
    """Whether a value is one of those that mean missing: None, NaN or pandas' NA."""
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


def compared_cells(cells: NDArray[Any], precision: str) -> NDArray[np.float64]:
    """Return cells of transformed rows as the last step compares them."""
    if cells.dtype.kind == "O":
        plain = [np.nan if is_missing(v) else float(v) for v in cells.ravel().tolist()]
        cells = np.array(plain).reshape(cells.shape)
    with np.errstate(over="ignore"):
        return cells.astype(precision).astype(np.float64)


def trace(step: Any, name: str, inputs: list[Origin], raw: RawColumns) -> list[Origin]:
    """Return where the columns come from that a fitted step makes of its input columns."""
    from sklearn.feature_selection import SelectorMixin

    if step is None or (isinstance(step, str) and step == "passthrough"):
        return inputs
    if isinstance(step, str) and step == "drop":
        return []
    kind = type(step)
    if isinstance(step, SelectorMixin) and kind.transform is SelectorMixin.transform:
        return [inputs[j] for j in step.get_support(indices=True)]
    package = kind.__module__.partition(".")[0]
    known = (_STEPS if package == "sklearn" else _BINARIZERS.get(package, {})).get(kind.__name__)
    if not known:
        why = WHY_NOT.get(kind.__name__, "is not known to change one column at a time")
        raise _refused(step, name, why)
    if not hasattr(step, "n_features_in_") and kind.__name__ not in ("Pipeline", "FeatureUnion"):
        raise NotFittedTreeError(
            f"expected a fitted pipeline, got {_named(step, name)} before fit; call fit(X, y) first"
        )
    return known(step, name, inputs, raw)


def _refused(step: Any, name: str, why: str, fix: str = "") -> UnsupportedModelError:
    return UnsupportedModelError(
        "expected a pipeline whose steps make each column from one column alone, got "
        f"{_named(step, name)}, which {why}; "
        + (fix or "leave that step out, or compare in the transformed columns: pass pipeline[-1]")
    )


def _named(step: Any, name: str) -> str:
    return f"step {quoted(name)}, a {type(step).__name__}"


def _who(step: Any, name: str) -> str:
    return f"step {quoted(name)} ({type(step).__name__})"


def _as_number(step: Any, name: str, inputs: list[Origin], raw: RawColumns) -> list[Origin]:
    """Trace steps that compute with each number: their column rises (or falls) with it."""
    out = []
    for origin in inputs:
        if origin.how == SAME:
            raw.take_number(origin.raw, _who(step, name))
        out.append(Origin(origin.raw, NUMBER) if origin.how == SAME else origin)
    return out


def _encoder(step: Any, name: str, inputs: list[Origin], raw: RawColumns) -> list[Origin]:
    """Trace steps that look a category up: the raw column is a categorical one."""
    for origin, categories in zip(inputs, step.categories_, strict=True):
        if origin.how == NUMBER:
            raise _refused(
                step,
                name,
                f"takes what another step computed from {quoted(raw.labels[origin.raw])} for "
                "categories",
            )
        if origin.how == SAME:
            raw.take_categories(origin.raw, categories, _who(step, name))
    return [o if o.how == FLAG else Origin(o.raw, CATEGORY) for o in inputs]


def _one_hot(step: Any, name: str, inputs: list[Origin], raw: RawColumns) -> list[Origin]:
    coded = _encoder(step, name, inputs, raw)
    return [o for o, count in zip(coded, step._n_features_outs, strict=True) for _ in range(count)]


def _target_encoder(step: Any, name: str, inputs: list[Origin], raw: RawColumns) -> list[Origin]:
    coded = _encoder(step, name, inputs, raw)
    count = len(step.classes_) if step.target_type_ == "multiclass" else 1
    return [o for o in coded for _ in range(count)]


def _imputer(step: Any, name: str, inputs: list[Origin], raw: RawColumns) -> list[Origin]:
    _stand_ins_for_missing(step, name, inputs, raw)
    filled = step.statistics_
    kept = [j for j in range(len(inputs)) if step.keep_empty_features or not is_missing(filled[j])]
    for j in kept:
        if inputs[j].how == SAME and not is_missing(filled[j]):
            raw.fills.setdefault(inputs[j].raw, []).append(plain_scalar(filled[j]))
    out = [inputs[j] for j in kept]
    if step.add_indicator:
        out += _flags(step.indicator_, inputs)
    return out


def _indicator(step: Any, name: str, inputs: list[Origin], raw: RawColumns) -> list[Origin]:
    _stand_ins_for_missing(step, name, inputs, raw)
    return _flags(step, inputs)


def _flags(step: Any, inputs: list[Origin]) -> list[Origin]:
    """Trace an indicator of missing values, which has a column for some of its inputs."""
    found = [inputs[j] for j in step.features_]
    return [Origin(o.raw, FLAG) if o.how in (SAME, NUMBER) else o for o in found]


def _stand_ins_for_missing(step: Any, name: str, inputs: list[Origin], raw: RawColumns) -> None:
    """Note a value other than NaN that stands for missing, as -999, or that missing is None."""
    if is_missing(step.missing_values):
        if not isinstance(step.missing_values, float):
            for origin in inputs:
                raw.missing.setdefault(origin.raw, []).append(step.missing_values)
        return
    for origin in inputs:
        if origin.how == NUMBER:
            raise _refused(
                step,
                name,
                f"takes {quoted(step.missing_values)} for missing after another step computed with "
                f"{quoted(raw.labels[origin.raw])}",
                "put it before that step",
            )
        if origin.how == SAME:
            raw.take_for_missing(origin.raw, step.missing_values)


def _bins(step: Any, name: str, inputs: list[Origin], raw: RawColumns) -> list[Origin]:
    if step.encode == "ordinal":
        return _as_number(step, name, inputs, raw)
    for origin, edges in zip(inputs, step.bin_edges_, strict=True):
        if origin.how == NUMBER:
            raise _refused(
                step,
                name,
                "makes one column per interval after another step computed with "
                f"{quoted(raw.labels[origin.raw])}",
                "put it before that step, or use encode='ordinal'",
            )
        if origin.how == SAME:
            inner = np.nextafter(np.asarray(edges[1:-1], dtype=np.float64), -np.inf)
            raw.breaks.setdefault(origin.raw, set()).update(inner.tolist())
    built = _as_number(step, name, inputs, raw)
    return [o for o, count in zip(built, step.n_bins_, strict=True) for _ in range(int(count))]


def _thresholds(step: Any, name: str, inputs: list[Origin], raw: RawColumns) -> list[Origin]:
    """Trace a binarizer of a solver of optimal trees: a column for each threshold of a number."""
    built = _as_number(step, name, inputs, raw)
    if hasattr(step, "thresholds_"):
        return [built[j] for j, _ in step.thresholds_]
    counts = [len(values) - 1 for values in step.column_values_]
    return [o for o, count in zip(built, counts, strict=True) for _ in range(count)]


def _function(step: Any, name: str, inputs: list[Origin], raw: RawColumns) -> list[Origin]:
    """Trace a function of each number, where it is one that rises or falls."""
    if step.func is None:
        return inputs
    plain = (np.negative, np.positive, np.floor, np.ceil, np.rint, np.trunc)
    turning = (np.sqrt, np.square, np.abs)  # at 0, and rounded correctly like the others
    poles = {np.log: 0.0, np.log2: 0.0, np.log10: 0.0, np.log1p: -1.0}
    known = isinstance(step.func, np.ufunc) and step.func in (*plain, *turning, *poles)
    if not known or step.kw_args:
        called = getattr(step.func, "__name__", type(step.func).__name__)
        raise _refused(
            step,
            name,
            f"runs {called}, of which it is not known how a threshold is traced back exactly",
            "compute that column before the pipeline",
        )
    turn = poles.get(step.func, 0.0)
    for origin in inputs:
        if step.func in plain or origin.how not in (SAME, NUMBER):
            continue
        if origin.how == NUMBER:
            raise _refused(
                step,
                name,
                f"runs {step.func.__name__} after another step computed with "
                f"{quoted(raw.labels[origin.raw])}",
                "put it before that step",
            )
        breaks = raw.breaks.setdefault(origin.raw, set())
        breaks.add(float(np.nextafter(turn, -np.inf)))
        if step.func in poles:
            breaks.add(turn)
            raw.poles.setdefault(origin.raw, set()).add(turn)
            raw.rounded.setdefault(origin.raw, _named(step, name))
    return _as_number(step, name, inputs, raw)


def _pipeline(step: Any, name: str, inputs: list[Origin], raw: RawColumns) -> list[Origin]:
    for inner, part in step.steps:
        inputs = trace(part, _below(name, inner), inputs, raw)
    return inputs


def _column_transformer(
    step: Any, name: str, inputs: list[Origin], raw: RawColumns
) -> list[Origin]:
    out: list[Origin] = []
    for inner, part, _ in step.transformers_:
        mine = [inputs[j] for j in step._transformer_to_input_indices[inner]]
        out += trace(part, _below(name, inner), mine, raw) if mine else []
    return out


def _feature_union(step: Any, name: str, inputs: list[Origin], raw: RawColumns) -> list[Origin]:
    out: list[Origin] = []
    for inner, part in step.transformer_list:
        built = trace(part, _below(name, inner), inputs, raw)
        weighted = (step.transformer_weights or {}).get(inner) is not None
        out += _as_number(step, name, built, raw) if weighted else built
    return out


def _below(name: str, inner: str) -> str:
    return f"{name}.{inner}" if name else inner


_STEPS: dict[str, Callable[[Any, str, list[Origin], RawColumns], list[Origin]]] = {
    "Binarizer": _as_number,
    "ColumnTransformer": _column_transformer,
    "FeatureUnion": _feature_union,
    "FunctionTransformer": _function,
    "KBinsDiscretizer": _bins,
    "MaxAbsScaler": _as_number,
    "MinMaxScaler": _as_number,
    "MissingIndicator": _indicator,
    "OneHotEncoder": _one_hot,
    "OrdinalEncoder": _encoder,
    "Pipeline": _pipeline,
    "RobustScaler": _as_number,
    "SimpleImputer": _imputer,
    "StandardScaler": _as_number,
    "TargetEncoder": _target_encoder,
}

_BINARIZERS = {
    "gosdt": {"NumericBinarizer": _thresholds, "ThresholdGuessBinarizer": _thresholds},
    "licketysplit": {"ThresholdGuessBinarizer": _thresholds},
}
