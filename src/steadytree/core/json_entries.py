"""Entries of a JSON file that a stranger wrote: each of the kind it should be, or an error.

The errors say where the entry stands, what was expected and what is there instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from steadytree.core.quoting import quoted
from steadytree.core.tabular import plain_scalar
from steadytree.exceptions import InputError, TreeFormatError

__all__ = [
    "SPECIAL_NUMBERS",
    "JsonObject",
    "as_list",
    "as_number",
    "kind_of",
    "plain_scalars",
    "read_scalars",
]

SPECIAL_NUMBERS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
"""How numbers are written that JSON lacks."""

_WANTED = {
    "_int32": "a whole number below 2^31",
    "as_number": 'a number, "inf", "-inf" or "nan"',
    "_bool": "true or false",
}


class JsonObject:
    """Typed access to a JSON object, with errors that say where."""

    def __init__(self, content: Any, where: str) -> None:
        if not isinstance(content, Mapping):
            raise TreeFormatError(
                f"{where.rstrip('.') or 'file'}: expected an object, got {kind_of(content)}"
            )
        self.content, self.where = content, where

    def get(self, name: str, kind: Any, *, optional: bool = False) -> Any:
        """Return an entry of a kind; ``optional``: or null."""
        if name not in self.content:
            raise TreeFormatError(f"{self.where}{name}: expected an entry, got none")
        value = self.content[name]
        if value is None and optional:
            return None
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise TreeFormatError(
                f"{self.where}{name}: expected {_kind_name(kind)}, got {kind_of(value)}"
            )
        return value

    def part(self, name: str) -> JsonObject:
        """Return an entry that is an object itself."""
        return JsonObject(self.get(name, dict), f"{self.where}{name}.")

    def parts(self, name: str) -> list[JsonObject]:
        """Return the objects in a list."""
        where = f"{self.where}{name}"
        return [JsonObject(one, f"{where}[{i}].") for i, one in enumerate(self.get(name, list))]

    def number(self, name: str) -> float:
        """Return a finite number."""
        value = float(self.floats(name, [self.get(name, (int, float))])[0])
        if not math.isfinite(value):
            raise TreeFormatError(f"{self.where}{name}: expected a finite number, got {value}")
        return value

    def whole(self, name: str, limit: int) -> int:
        """Return a whole number from 0 to below a limit."""
        value: int = self.get(name, int)
        if not 0 <= value < limit:
            raise TreeFormatError(
                f"{self.where}{name}: expected a number in [0, {limit}), got {quoted(value)}"
            )
        return value

    def ints(self, name: str, values: Any = None) -> Any:
        """Return whole numbers."""
        return self._each(name, values, _int32)

    def floats(self, name: str, values: Any = None) -> list[float]:
        """Return numbers, those among them that JSON lacks."""
        return self._each(name, values, as_number)

    def bools(self, name: str) -> list[bool]:
        """Return flags."""
        return self._each(name, None, _bool)

    def _each(self, name: str, values: Any, read: Callable[[Any], Any]) -> list[Any]:
        values = self.get(name, list) if values is None else as_list(values, self.where + name)
        out = []
        for i, value in enumerate(values):
            try:
                out.append(read(value))
            except (TypeError, ValueError, OverflowError):
                raise TreeFormatError(
                    f"{self.where}{name}[{i}]: expected {_WANTED[read.__name__]}, "
                    f"got {quoted(value)}"
                ) from None
        return out


def as_list(value: Any, where: str) -> list[Any]:
    """Return a list, or say where none is."""
    if not isinstance(value, list):
        raise TreeFormatError(f"{where}: expected a list, got {kind_of(value)}")
    return value


def _int32(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not -(2**31) <= value < 2**31:
        raise ValueError
    return value


def as_number(value: Any) -> float:
    """Return a number, one that JSON lacks from its text."""
    if isinstance(value, str):
        if value not in SPECIAL_NUMBERS:
            raise ValueError
        return SPECIAL_NUMBERS[value]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError
    return float(value)


def _bool(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def kind_of(value: Any) -> str:
    """Say what kind of entry this is, in words."""
    return "null" if value is None else _kind_name(type(value))


def _kind_name(kind: Any) -> str:
    names = {dict: "an object", list: "a list", str: "text", int: "a whole number", bool: "a flag"}
    return names.get(kind, "a number")


def read_scalars(values: Sequence[Any], where: str) -> list[Any]:
    """Return classes or categories: text, numbers and booleans."""
    out: list[Any] = []
    for i, value in enumerate(values):
        special = value.get("float") if isinstance(value, dict) and len(value) == 1 else None
        if isinstance(special, str) and special in SPECIAL_NUMBERS:
            out.append(SPECIAL_NUMBERS[special])
        elif isinstance(value, (str, bool, int, float)):
            out.append(value)
        else:
            raise TreeFormatError(f"{where}[{i}]: expected text or a number, got {kind_of(value)}")
    return out


def plain_scalars(values: Iterable[Any] | None) -> list[Any] | None:
    """Return classes or categories as JSON holds them: what :func:`read_scalars` reads."""
    if values is None:
        return None
    out: list[Any] = []
    for value in map(plain_scalar, values):
        if isinstance(value, float) and not math.isfinite(value):
            out.append({"float": str(value)})
        elif isinstance(value, (str, bool, int, float)):
            out.append(value)
        else:
            raise InputError(
                "expected classes and categories that are text, numbers or booleans, "
                f"got {quoted(value)}; convert them first, for example to text"
            )
    return out
