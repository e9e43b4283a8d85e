"""The types that may stand in a ``.skops`` file, by the way in which skops makes them.

Exactly those that models consist of which are read as trees: trees and forests, histogram-based
boosting, pipelines with the steps that are traced back, searches and thresholds around them.
None of them runs anything when it is made.
"""

from __future__ import annotations

__all__ = ["TRUSTED"]

_BOOSTING = "sklearn.ensemble._hist_gradient_boosting"
_BOTH = ("Classifier", "Regressor")
_LOSSES = (
    "AbsoluteError",
    "HalfBinomialLoss",
    "HalfGammaLoss",
    "HalfMultinomialLoss",
    "HalfPoissonLoss",
    "HalfSquaredError",
    "PinballLoss",
)


def _named(module: str, *names: str) -> list[str]:
    return [f"{module}.{name}" for name in names]


_OBJECTS = [
    *_named(
        "sklearn.tree._classes", *(f"{k}Tree{b}" for k in ("Decision", "Extra") for b in _BOTH)
    ),
    *_named(
        "sklearn.ensemble._forest",
        *(f"{k}{b}" for k in ("RandomForest", "ExtraTrees") for b in _BOTH),
    ),
    *_named(f"{_BOOSTING}.gradient_boosting", *(f"HistGradientBoosting{b}" for b in _BOTH)),
    *_named(_BOOSTING, "binning._BinMapper", "predictor.TreePredictor"),
    *_named("sklearn._loss.loss", *_LOSSES),
    *_named(
        "sklearn._loss.link",
        *("HalfLogitLink", "IdentityLink", "Interval", "LogLink", "LogitLink", "MultinomialLogit"),
    ),
    *_named("sklearn.pipeline", "FeatureUnion", "Pipeline"),
    *_named("sklearn.frozen._frozen", "FrozenEstimator"),
    *_named("sklearn.compose._column_transformer", "ColumnTransformer", "make_column_selector"),
    *_named(
        "sklearn.preprocessing._data",
        *("Binarizer", "MaxAbsScaler", "MinMaxScaler", "RobustScaler", "StandardScaler"),
    ),
    *_named("sklearn.preprocessing._encoders", "OneHotEncoder", "OrdinalEncoder"),
    *_named(
        "sklearn.preprocessing",
        "_discretization.KBinsDiscretizer",
        "_function_transformer.FunctionTransformer",
        "_label.LabelBinarizer",
        "_label.LabelEncoder",
        "_target_encoder.TargetEncoder",
    ),
    *_named("sklearn.impute._base", "MissingIndicator", "SimpleImputer"),
    *_named(
        "sklearn.feature_selection",
        *(
            f"_univariate_selection.{name}"
            for name in (
                "GenericUnivariateSelect",
                "SelectFdr",
                "SelectFpr",
                "SelectFwe",
                "SelectKBest",
                "SelectPercentile",
            )
        ),
        "_from_model.SelectFromModel",
        "_rfe.RFE",
        "_rfe.RFECV",
        "_sequential.SequentialFeatureSelector",
        "_variance_threshold.VarianceThreshold",
    ),
    *_named(
        "sklearn.model_selection",
        "_classification_threshold.FixedThresholdClassifier",
        "_classification_threshold.TunedThresholdClassifierCV",
        "_search.GridSearchCV",
        "_search.RandomizedSearchCV",
        "_search_successive_halving.HalvingGridSearchCV",
        "_search_successive_halving.HalvingRandomSearchCV",
        *(
            f"_split.{name}"
            for name in (
                "GroupKFold",
                "KFold",
                "RepeatedKFold",
                "RepeatedStratifiedKFold",
                "ShuffleSplit",
                "StratifiedGroupKFold",
                "StratifiedKFold",
                "StratifiedShuffleSplit",
                "TimeSeriesSplit",
            )
        ),
    ),
    *_named(
        "sklearn.metrics._scorer",
        *("_CurveScorer", "_MultimetricScorer", "_PassthroughScorer", "_Scorer"),
    ),
    *_named("sklearn.utils._metadata_requests", "MetadataRequest", "MethodMetadataRequest"),
]

_FUNCTIONS = [
    *_named(
        "numpy",
        *("absolute", "ceil", "exp", "expm1", "floor", "log", "log10", "log1p", "log2"),
        *("negative", "positive", "rint", "sqrt", "square", "trunc"),
    ),
    *_named("sklearn.feature_selection._univariate_selection", "chi2", "f_classif", "f_regression"),
    *_named(
        "sklearn.feature_selection._mutual_info",
        *(f"mutual_info_{k}" for k in ("classif", "regression")),
    ),
    *_named(
        "sklearn.metrics._classification",
        "accuracy_score",
        "balanced_accuracy_score",
        "brier_score_loss",
        "f1_score",
        "log_loss",
        "matthews_corrcoef",
        "precision_score",
        "recall_score",
    ),
    *_named("sklearn.metrics._ranking", "average_precision_score", "roc_auc_score"),
    *_named(
        "sklearn.metrics._regression",
        *("mean_absolute_error", "mean_squared_error", "r2_score", "root_mean_squared_error"),
    ),
    "sklearn.utils.validation.check_array",
]

_SCALARS = _named(
    "numpy",
    *("bool", "bool_", "float32", "float64", "str_", "object_"),
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
)

TRUSTED: dict[str, frozenset[str]] = {
    loader: frozenset(names)
    for loader, names in {
        "DTypeNode": ["numpy.dtype"],
        "DictNode": ["builtins.dict", "collections.OrderedDict"],
        "FunctionNode": _FUNCTIONS,
        "JsonNode": ["builtins.str"],
        "ListNode": ["builtins.list"],
        "LossNode": _named("sklearn._loss._loss", *(f"Cy{name}" for name in _LOSSES)),
        "MaskedArrayNode": ["numpy.ma.MaskedArray", "numpy.ma.core.MaskedArray"],
        "NdArrayNode": ["numpy.ndarray", *_SCALARS],
        "ObjectNode": _OBJECTS,
        "PartialNode": ["functools.partial"],
        "RandomStateNode": ["numpy.random.mtrand.RandomState"],
        "SetNode": ["builtins.set"],
        "SliceNode": ["builtins.slice"],
        "TreeNode": ["sklearn.tree._tree.Tree"],
        "TupleNode": ["builtins.tuple"],
        "TypeNode": [
            *_named("builtins", "bool", "float", "int", "object", "str", "NoneType"),
            *_SCALARS,
        ],
    }.items()
}
"""By the loader that skops names: the types it may make."""
