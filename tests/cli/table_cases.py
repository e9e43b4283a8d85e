"""Tables as people have them, and what becomes of each: the rows of docs/guide/tables.md.

Every case is a table of 80 rows with a number ``x``, a category ``c`` and an outcome ``y``, spoiled
in one way, and the options under which it is read after all.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

REFUSED, TOLD, READ = "refused", "said", "read"
N = 80


@dataclass(frozen=True)
class Case:
    """A table, what is done with it, and options that settle it."""

    name: str
    outcome: str
    content: bytes
    fix: tuple[str, ...] = ()


def columns() -> dict[str, list[str]]:
    random = np.random.default_rng(0)
    x = random.normal(50, 20, N).round(2)
    y = (x + random.normal(0, 10, N) > 50).astype(int)
    return {
        "x": [str(v) for v in x],
        "c": [("red", "green", "blue")[i % 3] for i in range(N)],
        "y": [("no", "yes")[v] for v in y],
    }


def text(table: dict[str, list[str]], separator: str = ",") -> str:
    lines = [separator.join(table)]
    lines += [separator.join(row) for row in zip(*table.values(), strict=True)]
    return "\n".join(lines) + "\n"


def spoiled(change: Callable[[list[str]], object]) -> bytes:
    """Change the lines of the plain table."""
    lines = text(columns()).splitlines()
    change(lines)
    return ("\n".join(lines) + "\n").encode()


def with_column(name: str, values: Sequence[str]) -> bytes:
    """Add a column after the others."""
    lines = zip(text(columns()).splitlines(), [name, *values], strict=True)
    return "".join(f"{line},{value}\n" for line, value in lines).encode()


def replaced(column: str, values: Sequence[str], separator: str = ",") -> bytes:
    return text({**columns(), column: list(values)}, separator).encode()


def odd(values: Sequence[str], at: dict[int, str]) -> list[str]:
    return [at.get(i, value) for i, value in enumerate(values)]


def _set(line: int, new: str) -> Callable[[list[str]], None]:
    def change(lines: list[str]) -> None:
        lines[line - 1] = new

    return change


def _each(form: str) -> Callable[[list[str]], None]:
    def every(lines: list[str]) -> None:
        lines[1:] = [form.format(line) for line in lines[1:]]

    return every


plain = columns()
ages = [str(20 + i % 50) for i in range(N)]
numbers = [float(v) for v in plain["x"]]
padded = [f"{i % 7:03}" for i in range(N)]
truths = ["TRUE", "False", "true", "", "FALSE"] * (N // 5)
cases = [str(7 * i) for i in range(N)]

CASES = (
    # rows and header
    Case("rows longer than the header", REFUSED, spoiled(_each("7,{}"))),
    Case("one row too short", REFUSED, spoiled(_set(40, "1,red"))),
    Case("a column without a name", REFUSED, with_column("", ages)),
    Case("a name twice in the header", REFUSED, with_column("y", ages)),
    Case("blank lines", READ, spoiled(_each("{}\n"))),
    # quotes and bytes
    Case("a quote that is not closed", REFUSED, spoiled(_set(40, '1,"red,no'))),
    Case("a quote inside a value", READ, spoiled(_set(40, '1,5" pipe,no'))),
    Case(
        "separators and line breaks inside quotes",
        READ,
        spoiled(_set(40, '1,"red, or\n""green""",no')),
    ),
    Case("a byte order mark", READ, codecs.BOM_UTF8 + spoiled(list)),
    Case("UTF-16", REFUSED, text(columns()).encode("utf-16"), ("--encoding", "utf-16")),
    Case(
        "Latin-1",
        REFUSED,
        spoiled(_set(40, "1,rosé,no")).decode().encode("latin-1"),
        ("--encoding", "latin-1"),
    ),
    Case("NUL bytes", REFUSED, spoiled(_set(40, "1,re\0d,no"))),
    Case("another separator", REFUSED, text(columns(), ";").encode(), ("--separator", ";")),
    # numbers
    Case(
        "numbers but for a few odd values",
        REFUSED,
        replaced("x", odd(plain["x"], {4: "n/a?", 38: "unknown"})),
        ("--types", "x=number"),
    ),
    Case(
        "cells of spaces among numbers",
        READ,
        replaced("x", odd(plain["x"], dict.fromkeys(range(8), " "))),
    ),
    Case(
        "separators of thousands", REFUSED, replaced("x", [f'"{1000 * v:,.0f}"' for v in numbers])
    ),
    Case(
        "decimal commas",
        REFUSED,
        replaced("x", [f'"{v}"'.replace(".", ",") for v in plain["x"]]),
        ("--decimal", ","),
    ),
    Case("leading zeros", TOLD, with_column("ward", padded)),
    Case("true and false, yes and no", READ, with_column("smokes", truths)),
    Case(
        "dates in a predictor",
        REFUSED,
        with_column("day", [f"2024-05-{1 + i % 28:02}" for i in range(N)]),
        ("--time", "day"),
    ),
    Case("infinite numbers", REFUSED, replaced("x", odd(plain["x"], {4: "inf"}))),
    Case("numbers beyond single precision", REFUSED, replaced("x", odd(plain["x"], {4: "1e308"}))),
    Case(
        "whole numbers beyond 2**53",
        REFUSED,
        with_column("code", [str(2**60 + i // 2) for i in range(N)]),
        ("--types", "code=ignore"),
    ),
    Case("another whole number in every row", TOLD, with_column("case", cases)),
    Case("a column without a value", TOLD, with_column("z", [""] * N)),
    Case("a column with one value", TOLD, with_column("z", ["", "5"] * 40)),
    # text
    Case(
        "names and other nearly unique texts",
        REFUSED,
        with_column("name", [f"Jo {chr(97 + i % 26)}. {i}" for i in range(N)]),
        ("--drop", "name"),
    ),
    # the target
    Case(
        "rows without an outcome",
        REFUSED,
        replaced("y", odd(plain["y"], dict.fromkeys(range(6), ""))),
        ("--drop-missing-target",),
    ),
    Case("identifiers as the target", REFUSED, replaced("y", [f"p{i}" for i in range(N)])),
    Case(
        "an outcome of numbers but for a few",
        REFUSED,
        replaced("y", odd([str(i % 2) for i in range(N)], {4: "?"})),
        ("--types", "y=number", "--drop-missing-target"),
    ),
    Case("a class with one row", TOLD, replaced("y", odd(plain["y"], {4: "perhaps"}))),
)
