"""Read decision trees in PMML 3 to 4.4, as R, SAS, SPSS, KNIME and others export them.

A PMML tree asks its children in order, with predicates that a missing value can leave open, and a
strategy for that case; a tree of ours has two sides and one way for missing values at each split.
What can be written out as such splits is read, surrogates included, so that every row gets the
same result; one made of several nodes is refused by name. Most exporters write trees that give
some rows no result at all, such as those with missing values or with categories that no child
takes: these rows go with the larger part of the others here, and a warning says so.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from steadytree.formats.conditions import TRUE, Condition, Constant
from steadytree.formats.forks import Column, Fork, NoResult, Refusal, Target, nested_splits
from steadytree.formats.pmml.pmml_fields import (
    Fields,
    children,
    first,
    number,
    parse_xml,
    read_value,
    tag,
)
from steadytree.formats.pmml.pmml_predicates import PREDICATES, read_predicate
from steadytree.plugins import (
    Leaf,
    SteadyTreeWarning,
    Tree,
    TreeFormatError,
    UnsupportedModelError,
    build_tree,
    choose_tree,
    quoted,
    read_bytes,
)

FILES = "PMML (.pmml, .xml)"
VERSIONS = ("3.", "4.")
LEVELS_OF_MODELS = 5
NOT_LOOKED_AT = "(not looked at)"
# What one segment alone predicts is what the model does; several are votes or summands.
AVERAGES = (
    *("majorityVote", "weightedMajorityVote", "average", "weightedAverage", "median"),
    *("weightedMedian", "max", "sum", "weightedSum"),
)
ALONE = (*AVERAGES, "selectFirst", "selectAll", "modelChain")
NODE_PARTS = ("Node", "Extension", "ScoreDistribution", "Partition", *PREDICATES)


def reads_file(path: Path, start: bytes) -> bool:
    """Whether a file is PMML, by its name or by what it begins with."""
    return path.suffix.lower() == ".pmml" or b"<PMML" in start


def read_file(path: Path, tree_index: int | None = None) -> Tree:
    """Read a tree from a PMML file: the same label or response for every row.

    A category that is not listed and that the model declares invalid has no result there; here it
    goes with the missing values.
    """
    root = parse_xml(read_bytes(path))
    if tag(root) != "PMML":
        raise TreeFormatError(f"{path}: expected PMML, got XML of {tag(root)[:40]!r}")
    version = root.get("version", "")
    if not version.startswith(VERSIONS):
        raise UnsupportedModelError(f"expected PMML of version 3 or 4, got {version[:20]!r}")
    models = _models(root, tree_index)
    header = first(root, "Header")
    application = None if header is None else first(header, "Application")
    words = ["PMML", version]
    if application is not None:
        words += [application.get("name", ""), application.get("version", "")]
    return _TreeModel(root, models).tree(" ".join(w for w in words if w)[:200])


def _models(root: Any, tree_index: int | None) -> list[Any]:
    """Return the tree to read after the models around it, outermost first."""
    found = [e for e in root if tag(e).endswith(("Model", "Network")) or tag(e) == "Scorecard"]
    if len(found) != 1:
        raise TreeFormatError(f"expected one model in PMML, got {len(found)}")
    models = found
    for _ in range(LEVELS_OF_MODELS):
        model = models[-1]
        if model.get("isScorable") == "false":
            raise UnsupportedModelError("expected a model to score with, got isScorable='false'")
        if tag(model) == "TreeModel":
            choose_tree(1, None if len(models) > 1 else tree_index, "a PMML model")
            return models
        segmentation = first(model, "Segmentation") if tag(model) == "MiningModel" else None
        if segmentation is None:
            raise UnsupportedModelError(f"expected a TreeModel in PMML, got {tag(model)[:40]!r}")
        models.append(_segment(segmentation, tree_index))
    raise UnsupportedModelError("expected a TreeModel, got models nested in models")


def _segment(segmentation: Any, tree_index: int | None) -> Any:
    """Return the model of one segment."""
    segments = list(children(segmentation, "Segment"))
    method = segmentation.get("multipleModelMethod", "")
    if not segments or method not in (ALONE if len(segments) == 1 else AVERAGES):
        raise UnsupportedModelError(
            "expected a segmentation of one tree, or votes or sums of several, got "
            f"{quoted(method)} of {len(segments)}"
        )
    segment = segments[choose_tree(len(segments), tree_index, "a PMML model")]
    weight = number(segment, "weight", 1.0)
    if first(segment, "True") is None or (weight != 1 and method == "weightedSum"):
        raise UnsupportedModelError(
            "expected a segment for all rows that counts as it is, got one with a condition or a "
            "weight"
        )
    model = next((e for e in segment if tag(e).endswith("Model")), None)
    if model is None:
        raise UnsupportedModelError("expected a TreeModel in a segment, got none")
    return model


class _TreeModel:
    """One TreeModel and what surrounds it."""

    def __init__(self, root: Any, models: list[Any]) -> None:
        self.models, self.model = models, models[-1]
        self.fields = Fields(root, models)
        function = self.model.get("functionName")
        if function not in ("classification", "regression"):
            raise UnsupportedModelError(
                f"expected a classification or regression tree, got {quoted(function)}"
            )
        self.classes: dict[Any, int] | None = None
        if function == "classification":
            self.target_type, self.classes = self._classes()
        self.missing = self.model.get("missingValueStrategy", "none")
        self.without_result: set[str] = set()

    def _classes(self) -> tuple[str, dict[Any, int]]:
        """Return the type of the target and the classes that it lists."""
        declared = self.fields.declared.get(self.fields.target or "")
        if declared is None:
            return "string", {}
        kind = declared.get("dataType", "string")
        if kind not in ("string", "integer", "float", "double", "boolean"):
            raise UnsupportedModelError(
                f"expected classes that are text or numbers, got {quoted(kind)}"
            )
        listed = [
            read_value(v.get("value", ""), kind, "a class")
            for v in children(declared, "Value")
            if v.get("property", "valid") == "valid"
        ]
        return kind, {c: k for k, c in enumerate(dict.fromkeys(listed))}

    def tree(self, source: str) -> Tree:
        """Return the tree."""
        top = first(self.model, "Node")
        if top is None:
            raise TreeFormatError("expected a Node in a TreeModel, got none")
        elements = list(_nodes_below(top))
        if self.classes is not None:
            # All classes first: shares of every node have one column for each.
            for element in elements:
                self._meet_classes(element)
            if not self.classes:
                raise TreeFormatError("expected classes in a classification tree, got none")
        used = self._used_numbers(elements)
        precision = "float32" if used and all(f.single for f in used) else "float64"
        root = self._forks(top, wide=precision == "float64")
        names = self.fields.names
        by_name = [self.fields.fields[name] for name in names]
        columns = [Column()] * len(names)
        categories: list[Any] = [None] * len(names)
        for j, field in enumerate(by_name):
            if not field.numeric:
                own = tuple(self.fields.categories[field.feature]) or (NOT_LOOKED_AT,)
                categories[j], columns[j] = own, Column(len(own), field.unseen_is_missing)
        nested = nested_splits(root, columns)
        if self.without_result:
            warnings.warn(
                f"the PMML model gives rows with {' or '.join(sorted(self.without_result))} no "
                "result: here they go with the larger part of the others",
                SteadyTreeWarning,
                stacklevel=5,
            )
        return build_tree(
            nested,
            n_features=len(names),
            feature_names=tuple(names),
            categories=tuple(categories),
            classes=None if self.classes is None else tuple(self.classes),
            precision=precision,
            metadata={"source": source},
        )

    def _used_numbers(self, elements: list[Any]) -> list[Any]:
        """Return the numeric fields that some predicate asks for."""
        names = {
            part.get("field", "")
            for element in elements
            for predicate in children(element, *PREDICATES)
            for part in predicate.iter()
            if part.get("field") is not None
        }
        return [f for f in map(self.fields.field, sorted(names)) if f.numeric]

    # -- nodes --------------------------------------------------------------------

    def _forks(self, top: Any, wide: bool) -> Target:
        """Return the tree as forks, the root's own condition included."""
        built: dict[int, Target] = {}
        waiting: list[tuple[Any, Any, bool]] = [(top, None, False)]
        while waiting:
            element, last, ready = waiting.pop()
            own = self._result(element)
            last = own if own is not None else last
            below = list(children(element, "Node"))
            if not ready and below:
                waiting.append((element, last, True))
                waiting += [(child, last, False) for child in below]
                continue
            if not below:
                lacking = Refusal("expected a score for each leaf, got a leaf without")
                built[id(element)] = lacking if own is None else own
                continue
            built[id(element)] = Fork(
                [(self._condition(child, wide), built[id(child)]) for child in below],
                self._otherwise(below, built, last),
                self._unknown(element, below, built, last),
                value=None if own is None else own.value,
                weight=None if own is None or element.get("recordCount") is None else own.weight,
                label=None if own is None else own.label,
            )
        condition = self._condition(top, wide)
        root = built[id(top)]
        if condition == Constant(TRUE):
            return root
        return Fork([(condition, root)], NoResult(root, self.without_result))

    def _condition(self, element: Any, wide: bool) -> Condition:
        for part in element:
            if tag(part) not in NODE_PARTS:
                raise UnsupportedModelError(
                    f"expected nodes of a tree, got {tag(part)[:40]!r} in one"
                )
        predicate = first(element, *PREDICATES)
        if predicate is None:
            raise TreeFormatError("expected a predicate in each node, got a node without")
        return read_predicate(predicate, self.fields, wide)

    def _or_last(
        self, last: Any, strategy: str, name: str, instead: Target | None = None
    ) -> Leaf | Refusal | NoResult:
        if strategy in ("returnLastPrediction", "lastPrediction"):
            words = f"expected a score above for {name}={quoted(strategy)}, got nodes without"
            return Refusal(words) if last is None else last
        if strategy not in ("returnNullPrediction", "nullPrediction"):
            raise TreeFormatError(f"expected a {name} of PMML, got {strategy[:40]!r}")
        return NoResult(instead, self.without_result)

    def _otherwise(
        self, below: list[Any], built: dict[int, Target], last: Any
    ) -> Leaf | Refusal | NoResult:
        """Return where rows go that no child takes."""
        strategy = self.model.get("noTrueChildStrategy", "returnNullPrediction")
        largest = max(below, key=lambda child: number(child, "recordCount", 0.0))
        return self._or_last(last, strategy, "noTrueChildStrategy", built[id(largest)])

    def _unknown(
        self, element: Any, below: list[Any], built: dict[int, Target], last: Any
    ) -> Target | None:
        """Return where rows go for which a condition is open."""
        strategy = self.missing
        if strategy == "none":
            return None
        if strategy == "defaultChild":
            wanted = element.get("defaultChild")
            if wanted is None:
                return Refusal("expected a defaultChild at each node, got a node without")
            for child in below:
                if child.get("id") == wanted:
                    return built[id(child)]
            raise TreeFormatError(
                f"expected a child with the id of the defaultChild {wanted[:40]!r}"
            )
        if strategy in ("weightedConfidence", "aggregateNodes"):
            return Refusal(
                "expected one node to decide on each row, got "
                f"missingValueStrategy={quoted(strategy)}, which mixes several where values "
                "are missing"
            )
        return self._or_last(last, strategy, "missingValueStrategy")

    # -- what nodes predict ---------------------------------------------------------

    def _meet_classes(self, element: Any) -> None:
        assert self.classes is not None
        texts = [] if element.get("score") is None else [element.get("score")]
        texts += [d.get("value") for d in children(element, "ScoreDistribution")]
        for text in texts:
            if text is None:
                raise TreeFormatError("expected a value in each ScoreDistribution, got one without")
            value = read_value(text, self.target_type, "a class")
            self.classes.setdefault(value, len(self.classes))

    def _result(self, element: Any) -> Leaf | None:
        """Return what a node predicts; None if it says nothing."""
        weight = number(element, "recordCount")
        score = element.get("score")
        if self.classes is None:
            if score is None:
                return None
            value = self._rescaled(read_value(score, "double", "a score"))
            return Leaf([value], 1.0 if np.isnan(weight) else weight)
        shares = np.zeros(len(self.classes))
        counts = np.zeros(len(self.classes))
        given = list(children(element, "ScoreDistribution"))
        for one in given:
            at = self.classes[read_value(one.get("value", ""), self.target_type, "a class")]
            counts[at] = number(one, "recordCount", 0.0)
            shares[at] = number(one, "probability")
        if (counts < 0).any() or (shares < 0).any() or weight < 0:
            raise TreeFormatError("expected counts and probabilities from 0, got negative ones")
        if np.isnan(shares).any():
            shares = counts.copy()
        total = float(shares.sum())
        if score is None and total == 0:
            return None
        if score is None:
            label = int(np.argmax(shares))
        else:
            label = self.classes[read_value(score, self.target_type, "a score")]
        if total == 0:
            shares[label] = total = 1.0
        if not np.isfinite(total):
            raise TreeFormatError("expected counts that can be added, got larger ones")
        if abs(total - 1) > 1e-12:
            shares = shares / total
        if np.isnan(weight):
            weight = float(counts.sum()) or 1.0
        return Leaf(shares.tolist(), weight, label)

    def _rescaled(self, value: float) -> float:
        """Apply what the targets of the models say, the innermost first."""
        for model in reversed(self.models):
            segmentation = first(model, "Segmentation")
            if segmentation is not None and len(list(children(segmentation, "Segment"))) > 1:
                break  # of one tree of several its own part, before they are put together
            targets = first(model, "Targets")
            for target in [] if targets is None else children(targets, "Target"):
                value = max(value, number(target, "min", -np.inf))
                value = min(value, number(target, "max", np.inf))
                value *= number(target, "rescaleFactor", 1.0)
                value += number(target, "rescaleConstant", 0.0)
                cast = target.get("castInteger")
                if cast is not None:
                    value = _whole(value, cast)
        return value


def _nodes_below(top: Any) -> list[Any]:
    """Return a node and all below."""
    found, waiting = [], [top]
    while waiting:
        element = waiting.pop()
        found.append(element)
        waiting += reversed(list(children(element, "Node")))
    return found


def _whole(value: float, how: str) -> float:
    if how == "round":
        return float(np.floor(value + 0.5))
    if how not in ("ceiling", "floor"):
        raise TreeFormatError(f"expected a castInteger of PMML, got {how[:40]!r}")
    return float(np.ceil(value) if how == "ceiling" else np.floor(value))
