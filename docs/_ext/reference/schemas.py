"""A JSON Schema as tables of fields that people can read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any

__all__ = ["schema_fields"]

Schema = Mapping[str, Any]
Field = tuple[str, str, str]
WORDS = {"integer": "whole number", "boolean": "true/false", "string": "text", "array": "list"}
PLURALS = {one: f"{one}s" for one in ("number", "whole number", "text", "object")}


def schema_fields(package: str, name: str) -> str:
    """Return one table of all fields, and one for each kind of object that is used repeatedly."""
    schema = json.loads(files(package).joinpath(name).read_text(encoding="utf-8"))
    kinds = {key: part for key, part in schema.get("$defs", {}).items() if "properties" in part}
    words = _Words(schema.get("$defs", {}), set(kinds))
    out = [_table(_fields(schema, words))]
    for key, part in kinds.items():
        text = part.get("description", "")
        out.append(f"*{key}*{': ' + _cell(text) if text else ''}")
        out.append(_table(_fields(part, words)))
    return "\n\n".join(out)


def _table(fields: Iterator[Field]) -> str:
    """Return a table of two columns, which a small screen has room for."""
    rows = [
        f"| `{field}` | {kind}{f': {_cell(text)}' if text else ''} |"
        for field, kind, text in fields
    ]
    return "\n".join(["| field | holds |", "| --- | --- |", *rows])


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|").replace("<", r"\<").replace("*", r"\*")


def _fields(schema: Schema, words: _Words, above: str = "") -> Iterator[Field]:
    """Go through the fields of an object, those of objects within it by their whole path."""
    required = schema.get("required", ())
    for name, part in schema.get("properties", {}).items():
        path = f"{above}{name}"
        text = part.get("description", "")
        kind = words.of(part)
        if name not in required and "absent" not in text:
            kind += ", may be absent"
        yield path, kind, text
        yield from _inside(part, words, path)


def _inside(part: Schema, words: _Words, path: str) -> Iterator[Field]:
    for one in (part, *part.get("oneOf", ()), *part.get("anyOf", ())):
        if "properties" in one:
            yield from _fields(one, words, f"{path}.")
        if "properties" in one.get("items", {}):
            yield from _fields(one["items"], words, f"{path}[].")
        more = one.get("additionalProperties")
        if isinstance(more, Mapping) and "properties" in more:
            yield from _fields(more, words, f"{path}.<name>.")


class _Words:
    """What a part of a schema allows, in words."""

    def __init__(self, shared: Mapping[str, Schema], own_table: set[str]) -> None:
        self.shared, self.own_table = shared, own_table

    def of(self, part: Schema, *, shared: bool = False) -> str:
        """Say what may stand there; fields of what is shared are listed nowhere else."""
        if "$ref" in part:
            name = part["$ref"].rpartition("/")[2]
            if name in self.own_table:
                return f"*{name}*"
            return self.of(self.shared[name], shared=True)
        if shared and "properties" in part:
            return f"object of {', '.join(f'`{name}`' for name in part['properties'])}"
        if "const" in part:
            return _literal(part["const"])
        if "enum" in part:
            return " or ".join(map(_literal, part["enum"]))
        for key in ("oneOf", "anyOf"):
            if key in part:
                return " or ".join(self.of(one, shared=shared) for one in _null_last(part[key]))
        kinds = part.get("type", "anything")
        kinds = [kinds] if isinstance(kinds, str) else sorted(kinds, key=lambda k: k == "null")
        return " or ".join(self._of_kind(kind, part) for kind in kinds)

    def _of_kind(self, kind: str, part: Schema) -> str:
        if kind == "array" and "items" in part:
            inner = self.of(part["items"])
            return f"list of {PLURALS.get(inner, f'({inner})' if ' or ' in inner else inner)}"
        more = part.get("additionalProperties")
        if kind == "object" and isinstance(more, Mapping):
            return f"object: names to {self.of(more)}"
        low, high = part.get("minimum"), part.get("maximum")
        words = WORDS.get(kind, kind)
        if kind in ("number", "integer") and low is not None:
            return f"{words} from {low}" + (f" to {high}" if high is not None else " on")
        return words


def _null_last(parts: list[Schema]) -> list[Schema]:
    return sorted(parts, key=lambda part: part.get("type") == "null")


def _literal(value: Any) -> str:
    return f"`{json.dumps(value)}`"
