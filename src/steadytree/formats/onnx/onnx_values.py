"""What an ONNX file stores, as plain values: attributes, tensors, tables of categories.

Nothing is believed: tensors in other files are not opened, text must be text, and whatever does
not fit is a :class:`TreeFormatError`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from steadytree.plugins import TreeFormatError, UnsupportedModelError, parse_json, quoted

METADATA = "steadytree"
"""The entry of a model's metadata that holds what ONNX has no place for, as JSON."""

# Types of values, as ONNX numbers them.
FLOAT, INT32, INT64, STRING, BOOL, DOUBLE = 1, 6, 7, 8, 9, 11


def refuse(what: str, where: str) -> UnsupportedModelError:
    """Return the error for an operator that changes what the tree sees or says."""
    return UnsupportedModelError(
        "expected a tree on the columns as they are, or on coded categories, got the ONNX operator "
        f"{what} {where} it; export the tree alone"
    )


def told_beside(model: Any) -> dict[str, Any]:
    """Return what our own writer tells beside the graph."""
    for entry in model.metadata_props:
        if entry.key == METADATA and model.producer_name == METADATA:
            try:
                told = parse_json(entry.value)
            except TreeFormatError:
                told = None
            if not isinstance(told, dict) or not isinstance(told.get("categories"), list | None):
                raise TreeFormatError("expected JSON in the model's metadata, got something else")
            lists = [told.get("classes"), *(told.get("categories") or ())]
            if any(not isinstance(one, list | None) for one in lists) or any(
                not isinstance(c, str | int | float) for one in lists for c in one or ()
            ):
                raise TreeFormatError(
                    "expected lists of text and numbers in the metadata, got others"
                )
            return told
    return {}


def attributes(node: Any) -> dict[str, Any]:
    """Return the attributes of an operator as plain values."""
    found: dict[str, Any] = {}
    for a in node.attribute:
        if a.type == 1:
            found[a.name] = float(a.f)
        elif a.type == 2:
            found[a.name] = int(a.i)
        elif a.type == 3:
            found[a.name] = _text(a.s)
        elif a.type == 4:
            found[a.name] = array(a.t)
        elif a.type == 6:
            found[a.name] = list(a.floats)
        elif a.type == 7:
            found[a.name] = list(a.ints)
        elif a.type == 8:
            found[a.name] = [_text(s) for s in a.strings]
    return found


def whole(given: dict[str, Any], name: str, default: int) -> int:
    """Return an attribute that is a whole number."""
    value = given.get(name, default)
    if not isinstance(value, int):
        raise TreeFormatError(f"expected a whole number as {name}, got {str(value)[:40]}")
    return value


def entries(given: dict[str, Any], name: str) -> list[Any]:
    """Return an attribute that is a list; none where there is none."""
    value = given.get(name, [])
    if not isinstance(value, list):
        raise TreeFormatError(f"expected a list as {name}, got {str(value)[:40]}")
    return value


def _text(content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise TreeFormatError(f"expected text in UTF-8, got {content[:20]!r}") from None


def array(tensor: Any) -> Any:
    """Return a tensor that is stored in the file itself."""
    from onnx import numpy_helper

    if tensor.data_location == 1 or tensor.external_data:
        raise TreeFormatError("expected tensors within the model file, got one in another file")
    try:
        return numpy_helper.to_array(tensor)
    except Exception as error:  # whatever numpy raises for bytes and shapes that do not fit
        raise TreeFormatError(f"expected a tensor in {quoted(tensor.name)}, got {error}") from None


def plain(value: Any) -> Any:
    """Return an entry of a tensor as a Python value."""
    if isinstance(value, bytes):
        return _text(value)
    return value.item() if isinstance(value, np.generic) else value


def encoder_codes(given: dict[str, Any]) -> tuple[list[Any], list[Any], float, int]:
    """Return keys and values of a LabelEncoder, the value for other keys, and the values' type."""
    if "classes_strings" in given:
        keys = entries(given, "classes_strings")
        return keys, list(range(len(keys))), float(whole(given, "default_int64", -1)), INT64
    if "keys_tensor" in given or "values_tensor" in given:
        arrays = [
            np.atleast_1d(given.get(f"{n}_tensor", ())) for n in ("keys", "values", "default")
        ]
        keys, values, default = ([plain(v) for v in array.ravel()] for array in arrays)
        kinds = {"float32": FLOAT, "float64": DOUBLE, "int64": INT64}
        to = kinds.get(str(arrays[1].dtype))
        if to is None:
            raise refuse("LabelEncoder to other than numbers", "before")
        fallback = default[0] if default else -1 if to == INT64 else 0.0
        if not isinstance(fallback, int | float):
            raise TreeFormatError(f"expected a number as default_tensor, got {quoted(fallback)}")
        return keys, values, float(fallback), to
    names = [f"keys_{kind}s" for kind in ("string", "int64", "float")]
    keys = next((entries(given, name) for name in names if name in given), [])
    if "values_floats" in given:
        fallback = given.get("default_float", 0.0)
        if not isinstance(fallback, float):
            raise TreeFormatError(f"expected a number as default_float, got {str(fallback)[:40]}")
        return keys, _numbers(given, "values_floats"), fallback, FLOAT
    if "values_int64s" in given:
        default_code = float(whole(given, "default_int64", -1))
        return keys, _numbers(given, "values_int64s"), default_code, INT64
    raise refuse("LabelEncoder to other than numbers", "before")


def _numbers(given: dict[str, Any], name: str) -> list[Any]:
    values = entries(given, name)
    if not all(isinstance(v, int | float) for v in values):
        raise TreeFormatError(f"expected numbers as {name}, got {str(values)[:40]}")
    return values
