"""The fields of a PMML model: what type they are of, and what is done to values before the tree.

A data dictionary says what values a field can hold; a mining schema what to do with those that are
missing, invalid or outlying; derived fields may stand between. What leaves a column what it is, or
amounts to another outcome of a condition, is read; any other is refused by name.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from typing import Any

import numpy as np

from steadytree.formats.stored_nodes import check_category_sizes
from steadytree.plugins import (
    MAX_DEPTH,
    TreeFormatError,
    UnsupportedModelError,
    import_optional,
    quoted,
)

# -- Open a stranger's XML with bounds: nothing expanded, nothing fetched, nothing too deep --
# Entities and document types are refused by defusedxml; depth, number and size of elements here.

MAX_BYTES = 64 * 2**20
MAX_ELEMENTS = 1_000_000
MAX_NESTING = MAX_DEPTH + 100
"""Levels of elements: one for each level of a tree, and those around it and in its nodes."""


def parse_xml(content: bytes) -> Any:
    """Return the outermost element of a document."""
    parser = import_optional("defusedxml.ElementTree", purpose="reading PMML", extra="pmml")
    if len(content) > MAX_BYTES:
        raise TreeFormatError(f"expected at most {MAX_BYTES:,} bytes of XML, got more")
    root, depth, count = None, 0, 0
    try:
        for event, element in parser.iterparse(
            BytesIO(content), events=("start", "end"), forbid_dtd=True
        ):
            if event == "end":
                depth -= 1
                continue
            root = element if root is None else root
            depth, count = depth + 1, count + 1
            if depth > MAX_NESTING or count > MAX_ELEMENTS:
                raise TreeFormatError(
                    f"expected at most {MAX_ELEMENTS:,} elements on {MAX_NESTING:,} levels, "
                    "got more"
                )
    except TreeFormatError:
        raise
    # What expat and defusedxml raise: a ParseError is a SyntaxError, a refusal a ValueError.
    except (SyntaxError, ValueError, LookupError) as error:
        what = str(error) or type(error).__name__
        raise TreeFormatError(f"expected plain XML, got {what}") from None
    if root is None:
        raise TreeFormatError("expected XML, got an empty file")
    return root


def tag(element: Any) -> str:
    """Return the name of an element without its namespace."""
    name = element.tag
    return name.rpartition("}")[2] if isinstance(name, str) else ""


def children(element: Any, *names: str) -> Iterator[Any]:
    """Go through the children of these names."""
    for child in element:
        if tag(child) in names:
            yield child


def first(element: Any, *names: str) -> Any:
    """Return the first child of these names; None if there is none."""
    return next(children(element, *names), None)


def number(element: Any, name: str, default: float = math.nan) -> float:
    """Return an attribute as a finite number, or the default where there is none."""
    text = element.get(name)
    if text is None:
        return default
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise TreeFormatError(f"expected a number as {name} of {tag(element)}, got {text[:40]!r}")
    return value


# -- fields ----------------------------------------------------------------------------

NUMBERS = ("integer", "float", "double")
PLAIN_TYPES = (*NUMBERS, "string", "boolean")


@dataclass(frozen=True)
class Field:
    """What the tree sees of a feature.

    ``low`` and ``high`` are what outlying numbers are moved to, ``imputed`` what stands for a
    missing value, ``replaced`` what stands for an invalid category.
    """

    name: str
    feature: int
    data_type: str
    numeric: bool
    ordered: bool = False
    listed: bool = False
    unseen_is_missing: bool = False
    low: float = -np.inf
    high: float = np.inf
    imputed: Any = None
    replaced: Any = None

    @property
    def single(self) -> bool:
        """Whether numbers are rounded to single precision."""
        return self.data_type == "float"


def read_value(text: str, data_type: str, what: str) -> Any:
    """Return a value of PMML in the Python type of its data type."""
    try:
        if data_type == "string":
            return text
        if data_type == "boolean":
            return {"true": True, "false": False, "1": True, "0": False}[text.strip().lower()]
        value = float(text)
        if np.isnan(value):
            raise ValueError
        if data_type == "integer" and value == int(value):
            return int(value)
        if data_type == "float":
            with np.errstate(over="ignore"):
                return float(np.float32(value))
        return value
    except (ValueError, KeyError, OverflowError):
        raise TreeFormatError(
            f"expected a value of type {data_type} for {what}, got {text[:40]!r}"
        ) from None


class Fields:
    """The fields of a model, from the outermost schema to the tree."""

    def __init__(self, root: Any, models: Sequence[Any]) -> None:
        dictionary = first(root, "DataDictionary")
        if dictionary is None:
            raise TreeFormatError("expected a DataDictionary in PMML, got none")
        self.declared = {f.get("name", ""): f for f in children(dictionary, "DataField")}
        self.derived: dict[str, Any] = {}
        for place in [root, *models]:
            for transformations in children(
                place, "TransformationDictionary", "LocalTransformations"
            ):
                for derived in children(transformations, "DerivedField"):
                    self.derived[derived.get("name", "")] = derived
        self.target: str | None = None
        self.names: list[str] = []
        self.fields: dict[str, Field] = {}
        self.categories: dict[int, dict[Any, int]] = {}
        schemas = [self._schema(model) for model in models]
        for name, mining in schemas[0].items():
            usage = mining.get("usageType", "active")
            if usage in ("target", "predicted"):
                self.target = self.target or name
            elif usage == "active" and name in self.declared:
                inner = [schema[name] for schema in schemas[1:] if name in schema]
                self._add(name, mining, inner)

    @staticmethod
    def _schema(model: Any) -> dict[str, Any]:
        schema = first(model, "MiningSchema")
        if schema is None:
            raise TreeFormatError(f"expected a MiningSchema in {tag(model)}, got none")
        return {f.get("name", ""): f for f in children(schema, "MiningField")}

    def _add(self, name: str, mining: Any, inner: Sequence[Any]) -> None:
        declared = self.declared[name]
        data_type = declared.get("dataType", "")
        if data_type not in PLAIN_TYPES:
            return  # refused where the tree uses it
        optype = declared.get("optype", "categorical" if data_type == "string" else "continuous")
        for other in inner:
            _refuse_other_treatment(name, mining, other)
        values = {"valid": [], "invalid": [], "missing": []}  # type: dict[str, list[str]]
        for value in children(declared, "Value"):
            values.setdefault(value.get("property", "valid"), []).append(value.get("value", ""))
        numeric = optype == "continuous" and data_type in NUMBERS
        feature = len(self.names)
        self.names.append(name)
        replacement = mining.get("missingValueReplacement")
        field = Field(
            name,
            feature,
            data_type,
            numeric,
            ordered=optype == "ordinal",
            listed=bool(values["valid"]),
            imputed=None if replacement is None else read_value(replacement, data_type, name),
        )
        treatment = mining.get("invalidValueTreatment", "returnInvalid")
        limited = bool(
            values["valid"] or values["missing"] or first(declared, "Interval") is not None
        )
        if numeric:
            if values["missing"] or (limited and treatment not in ("returnInvalid", "asIs")):
                raise UnsupportedModelError(
                    f"expected all numbers of field {quoted(name)} as they are, got some that "
                    f"count as missing or invalid (invalidValueTreatment={quoted(treatment)})"
                )
            field = _with_outliers(field, mining)
        else:
            check_category_sizes([len(values["valid"])])
            self.categories[feature] = {
                read_value(v, data_type, name): k
                for k, v in enumerate(dict.fromkeys(values["valid"]))
            }
            field = self._with_invalid(field, mining, treatment, bool(values["missing"]))
        self.fields[name] = field

    @staticmethod
    def _with_invalid(field: Field, mining: Any, treatment: str, has_missing: bool) -> Field:
        """Say what becomes of a category that is not listed."""
        if treatment == "asValue" and field.listed:
            text = mining.get("invalidValueReplacement")
            if text is None:
                raise TreeFormatError(
                    f"expected an invalidValueReplacement for {quoted(field.name)}"
                )
            field = replace(field, replaced=read_value(text, field.data_type, field.name))
        elif treatment in ("returnInvalid", "asMissing"):
            # With returnInvalid such a row has no result at all: it goes with missing values.
            return replace(field, unseen_is_missing=field.listed or has_missing)
        if has_missing:
            raise UnsupportedModelError(
                f"expected categories of field {quoted(field.name)}, got some that count as "
                f"missing, told from those not listed (invalidValueTreatment={quoted(treatment)})"
            )
        return field

    def field(self, name: str) -> Field:
        """Return what the tree sees under a name, or refuse it."""
        casts: list[str] = []
        for _ in range(len(self.derived) + 1):
            if name in self.fields:
                found = self.fields[name]
                for data_type in reversed(casts):
                    found = _cast(found, data_type)
                return found
            derived = self.derived.get(name)
            if derived is None:
                break
            reference = first(derived, "FieldRef")
            if reference is None or reference.get("mapMissingTo") is not None:
                how = next((tag(e) for e in derived if tag(e) != "Extension"), "nothing")
                raise UnsupportedModelError(
                    "expected a tree on the fields as they are, got the derived field "
                    f"{quoted(name)} made by {how}"
                )
            casts.append(derived.get("dataType", ""))
            name = reference.get("field", "")
        if name in self.declared:
            kind = self.declared[name].get("dataType")
            raise UnsupportedModelError(
                f"expected active fields of the types {', '.join(PLAIN_TYPES)}, got {quoted(name)} "
                f"of type {quoted(kind)}"
            )
        raise TreeFormatError(f"expected a field of the data dictionary, got {name[:60]!r}")

    def code(self, field: Field, text: str) -> int | None:
        """Return the position of a category; None for one that cannot occur."""
        value = read_value(text, field.data_type, f"field {quoted(field.name)}")
        own = self.categories[field.feature]
        if value not in own:
            if field.listed and field.unseen_is_missing:
                return None
            own[value] = len(own)
            check_category_sizes([len(own)])
        return own[value]


def _cast(field: Field, data_type: str) -> Field:
    if data_type == field.data_type or (
        data_type == "double" and field.numeric and field.data_type in NUMBERS
    ):
        return field
    if data_type == "float" and field.numeric and field.data_type in NUMBERS:
        with np.errstate(over="ignore"):
            imputed = None if field.imputed is None else float(np.float32(field.imputed))
        return replace(field, data_type="float", imputed=imputed)
    raise UnsupportedModelError(
        f"expected field {quoted(field.name)} as it is, got a cast from {quoted(field.data_type)} "
        f"to {quoted(data_type)}"
    )


def _with_outliers(field: Field, mining: Any) -> Field:
    treatment = mining.get("outliers", "asIs")
    if treatment == "asIs":
        return field
    low, high = number(mining, "lowValue", -np.inf), number(mining, "highValue", np.inf)
    if treatment != "asExtremeValues" or low > high:
        raise UnsupportedModelError(
            f"expected outliers of field {quoted(field.name)} as they are or as extreme values, "
            f"got {quoted(treatment)}"
        )
    return replace(field, low=low, high=high)


TREATMENTS = {
    "missingValueReplacement": None,
    "invalidValueTreatment": "returnInvalid",
    "outliers": "asIs",
    "lowValue": None,
    "highValue": None,
}


def _refuse_other_treatment(name: str, outer: Any, inner: Any) -> None:
    """Refuse a model inside another that treats values in its own way."""
    for attribute, default in TREATMENTS.items():
        own = inner.get(attribute, default)
        if own not in (default, outer.get(attribute, default)):
            raise UnsupportedModelError(
                f"expected field {quoted(name)} treated alike in all models, got "
                f"{attribute}={quoted(own)} in an inner one"
            )
