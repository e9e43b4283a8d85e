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
    """A table, what is done with it, what is said of it, and options that settle it."""

    name: str
    outcome: str
    content: bytes
    says: str
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


def text(
    table: dict[str, list[str]], separator: str = ",", header: Sequence[str] | None = None
) -> str:
    lines = [separator.join(table if header is None else header)]
    lines += [separator.join(row) for row in zip(*table.values(), strict=True)]
    return "\n".join(lines) + "\n"


def spoiled(change: Callable[[list[str]], None]) -> bytes:
    """Change the lines of the plain table."""
    lines = text(columns()).splitlines()
    change(lines)
    return ("\n".join(lines) + "\n").encode()


def with_column(name: str, values: Sequence[str]) -> bytes:
    """Add a column before the outcome."""
    plain = columns()
    y = plain.pop("y")
    return text({**plain, name: list(values), "y": y}).encode()


def replaced(column: str, values: Sequence[str], separator: str = ",") -> bytes:
    return text({**columns(), column: list(values)}, separator).encode()


def odd(values: Sequence[str], at: dict[int, str]) -> list[str]:
    return [at.get(i, value) for i, value in enumerate(values)]


def _set(line: int, new: str) -> Callable[[list[str]], None]:
    def change(lines: list[str]) -> None:
        lines[line - 1] = new

    return change


def _each(change: Callable[[str], str]) -> Callable[[list[str]], None]:
    def every(lines: list[str]) -> None:
        lines[1:] = [change(line) for line in lines[1:]]

    return every


plain = columns()
ages = [str(20 + i % 50) for i in range(N)]
numbers = [float(v) for v in plain["x"]]
swap = {".": ",", ",": "."}

CASES = (
    # rows and header
    Case(
        "rows longer than the header",
        REFUSED,
        spoiled(_each(lambda line: "7," + line)),
        "expected 3 values in every row of {path}, as its header has names, got 4 in line 2",
    ),
    Case("one row too short", REFUSED, spoiled(_set(40, "1,red")), "got 2 in line 40"),
    Case(
        "a column without a name",
        REFUSED,
        text({"": [str(i) for i in range(N)], **columns()}).encode(),
        "got none for column 1; name it, or take it away",
    ),
    Case(
        "a name twice in the header",
        REFUSED,
        text({**columns(), "z": plain["y"]}, header=["x", "c", "y", "y"]).encode(),
        "expected distinct names of columns in {path}, got 'y' more than once; rename",
    ),
    Case("blank lines", READ, spoiled(_each(lambda line: line + "\n")), ": 80 rows"),
    # quotes and bytes
    Case(
        "a quote that is not closed",
        REFUSED,
        spoiled(_set(40, '1,"red,no')),
        "expected every quote to be closed in {path}, got unexpected end of data in the row that "
        "begins in line 40; close the quote",
    ),
    Case("a quote inside a value", READ, spoiled(_set(40, '1,5" pipe,no')), "category (4)"),
    Case(
        "separators and line breaks inside quotes",
        READ,
        spoiled(_set(40, '1,"red, or\n""green""",no')),
        "category (4)",
    ),
    Case(
        "a byte order mark", READ, codecs.BOM_UTF8 + text(columns()).encode(), "1 number, 1 categ"
    ),
    Case(
        "UTF-16",
        REFUSED,
        text(columns()).encode("utf-16"),
        "expected UTF-8 in {path}, got the byte 0xff in line 1",
        ("--encoding", "utf-16"),
    ),
    Case(
        "Latin-1",
        REFUSED,
        spoiled(_set(40, "1,rosé,no")).decode().encode("latin-1"),
        "expected UTF-8 in {path}, got the byte 0xe9 in line 40",
        ("--encoding", "latin-1"),
    ),
    Case("NUL bytes", REFUSED, spoiled(_set(40, "1,re\0d,no")), "got a NUL byte in line 40"),
    Case(
        "another separator",
        REFUSED,
        text(columns(), ";").encode(),
        "the file seems to be separated by ';': say --separator ';'",
        ("--separator", ";"),
    ),
    # numbers
    Case(
        "numbers but for a few odd values",
        REFUSED,
        replaced("x", odd(plain["x"], {4: "n/a?", 38: "unknown"})),
        "got numbers but for 'n/a?' (line 6), 'unknown' (line 40); correct them, or settle it "
        "with --types x=number (they become missing) or --types x=category",
        ("--types", "x=number"),
    ),
    Case(
        "cells of spaces among numbers",
        READ,
        replaced("x", odd(plain["x"], dict.fromkeys(range(8), " "))),
        "% missing",
    ),
    Case(
        "separators of thousands",
        REFUSED,
        replaced("x", [f'"{1000 * v:,.0f}"' for v in numbers]),
        "write them without signs for thousands, or settle it with --types x=category",
    ),
    Case(
        "decimal commas",
        REFUSED,
        replaced("x", [f'"{v}"'.replace(".", ",") for v in plain["x"]]),
        "say --decimal , if that is their decimal sign",
        ("--decimal", ","),
    ),
    Case(
        "leading zeros",
        TOLD,
        with_column("ward", [f"{i % 7:03}" for i in range(N)]),
        "category (7)    written with leading zeros",
    ),
    Case(
        "true and false, yes and no",
        READ,
        with_column("smokes", ["TRUE", "False", "true", "", "FALSE"] * (N // 5)),
        "smokes  category (2)",
    ),
    Case(
        "dates in a predictor",
        REFUSED,
        with_column("day", [f"2024-05-{1 + i % 28:02}" for i in range(N)]),
        "and 25 other values; write days since a reference, leave it out with --types day=ignore, "
        "or name it as --time",
        ("--time", "day"),
    ),
    Case(
        "infinite numbers",
        REFUSED,
        replaced("x", odd(plain["x"], {4: "inf"})),
        "expected finite numbers up to 3.4e+38 in column 'x' of {path}, got inf (line 6)",
    ),
    Case(
        "numbers beyond single precision",
        REFUSED,
        replaced("x", odd(plain["x"], {4: "1e308"})),
        "expected finite numbers up to 3.4e+38 in column 'x' of {path}, got 1e+308 (line 6)",
    ),
    Case(
        "whole numbers beyond 2**53",
        REFUSED,
        with_column("code", [str(2**60 + i // 2) for i in range(N)]),
        "expected whole numbers up to 2**53 in column 'code'",
        ("--types", "code=ignore"),
    ),
    Case(
        "another whole number in every row",
        TOLD,
        with_column("case", [str(7 * i) for i in range(N)]),
        "another whole number in every row: an identifier?",
    ),
    Case("a column without a value", TOLD, with_column("z", [""] * N), "100 % missing  no value"),
    Case("a column with one value", TOLD, with_column("z", ["", "5"] * (N // 2)), "one value only"),
    # text
    Case(
        "names and other nearly unique texts",
        REFUSED,
        with_column("name", [f"Jo {chr(97 + i % 26)}. {i}" for i in range(N)]),
        "expected categories that rows share in column 'name' of {path}, got 80 different ones in "
        "80 rows, as in names, identifiers or free text; leave it out with --drop name, or insist "
        "with --types name=category",
        ("--drop", "name"),
    ),
    # the target
    Case(
        "rows without an outcome",
        REFUSED,
        replaced("y", odd(plain["y"], dict.fromkeys(range(6), ""))),
        "got 6 missing in 'y' (lines 2, 3, 4 and 3 more); fill them in, or leave these rows out "
        "with --drop-missing-target",
        ("--drop-missing-target",),
    ),
    Case(
        "identifiers as the target",
        REFUSED,
        replaced("y", [f"p{i}" for i in range(N)]),
        "expected a target with at most 20 classes, got 80 different texts; name another column",
    ),
    Case(
        "an outcome of numbers but for a few",
        REFUSED,
        replaced("y", odd([str(i % 2) for i in range(N)], {4: "?"})),
        "got numbers but for '?' (line 6)",
        ("--types", "y=number", "--drop-missing-target"),
    ),
    Case(
        "a class with one row",
        TOLD,
        replaced("y", odd(plain["y"], {4: "perhaps"})),
        "Warning: class 'perhaps' of the target 'y' has too few rows to learn from",
    ),
)
