"""Options of how tables are read, the same for every command that reads one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import click

from steadytree.cli.column_types import CATEGORY, IGNORE, NUMBER
from steadytree.cli.delimited import TextForm
from steadytree.cli.options import options_in_order
from steadytree.exceptions import InputError

TYPES = (NUMBER, CATEGORY, IGNORE)
NAMED = {"tab": "\t", "\\t": "\t", "space": " "}


@dataclass(frozen=True)
class TableReading:
    """How the user wants tables read."""

    types: Mapping[str, str] = field(default_factory=dict)
    form: TextForm = field(default_factory=TextForm)
    drop_missing_target: bool = False


def table_options(function: Callable[..., Any]) -> Any:
    """Add the options; the command is called with ``table_reading``."""

    @functools.wraps(function)
    def call(
        *,
        types: tuple[str, ...],
        separator: str | None,
        decimal: str,
        thousands: str | None,
        encoding: str | None,
        drop_missing_target: bool,
        **given: Any,
    ) -> Any:
        form = TextForm(
            separator=_sign("--separator", separator),
            decimal=decimal,
            thousands=_sign("--thousands", thousands),
            encoding=encoding,
        )
        if form.decimal == form.thousands:
            raise InputError(
                f"expected --decimal and --thousands to differ, got {form.decimal!r} for both; "
                "change one of them"
            )
        found = TableReading(types_of(types), form, drop_missing_target)
        return function(table_reading=found, **given)

    return options_in_order(
        click.option(
            "--types",
            multiple=True,
            metavar="COLUMN=TYPE",
            help=f"What a column is: {', '.join(TYPES)}. Repeat.",
        ),
        click.option("--separator", metavar="SIGN", help="Between values; or the word tab."),
        click.option(
            "--decimal",
            type=click.Choice([".", ","]),
            default=".",
            show_default=True,
            help="Before the fraction of a number.",
        ),
        click.option("--thousands", metavar="SIGN", help="Between the thousands of a number."),
        click.option("--encoding", metavar="NAME", help="Of text, if it is not UTF-8."),
        click.option(
            "--drop-missing-target",
            is_flag=True,
            help="Leave rows without an outcome out, instead of refusing them.",
        ),
    )(call)


def types_of(given: tuple[str, ...]) -> dict[str, str]:
    """Read ``--types age=number``; a name may hold the sign itself."""
    types: dict[str, str] = {}
    for text in given:
        name, _, kind = text.rpartition("=")
        if not name or kind not in TYPES:
            raise InputError(
                f"expected COLUMN=TYPE as --types, with a type of {', '.join(TYPES)}, got "
                f"{text!r}; write for example --types age=number"
            )
        if name in types:
            raise InputError(f"expected {name!r} once in --types, got it twice; leave one out")
        types[name] = kind
    return types


def _sign(option: str, text: str | None) -> str | None:
    if text is None:
        return None
    sign = NAMED.get(text.lower(), text)
    if (
        len(sign) != 1
        or sign.isalnum()
        or sign in '"\n\r\0'
        or (option == "--separator" and not sign.isascii())
    ):
        raise InputError(
            f"expected one sign as {option}, got {text!r}; write for example {option} ';', "
            "or the word tab"
        )
    return sign
