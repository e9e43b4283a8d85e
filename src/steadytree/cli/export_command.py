"""``steadytree export``: the tree in a model file, written for another system."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from steadytree._io import check_writable
from steadytree._text import harmless
from steadytree.cli.options import (
    FILE,
    Reading,
    common_options,
    example,
    model_options,
    publish_option,
    tree_index_option,
)
from steadytree.cli.output import Output
from steadytree.cli.run_folder import same_file
from steadytree.exceptions import InputError
from steadytree.plugins import export_tree, format_of, options_of, save_like, write_like, writers

OBJECTS = ("like", "X", "columns", "cells", "cases")
"""Options that take more than a word, and so cannot be set here."""


@click.command(
    "export",
    epilog=example("steadytree export proposal/tree.json --to sql --set dialect=postgres"),
)
@click.argument("model", type=FILE)
@click.option(
    "--to", type=click.Choice(list(writers())), help="The format; by default as --out ends."
)
@click.option("--out", type=FILE, metavar="FILE", help="Where to write; else standard output.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="OPTION=VALUE",
    help="An option of the format, such as dialect=duckdb for SQL. Repeat.",
)
@click.option(
    "--like",
    type=FILE,
    metavar="FILE",
    help="The model that the tree replaces: a pipeline comes back with its tree exchanged.",
)
@publish_option
@tree_index_option()
@model_options
@common_options
def command(
    model: Path,
    to: str | None,
    out: Path | None,
    settings: tuple[str, ...],
    like: Path | None,
    publish: bool,
    tree_index: int | None,
    reading: Reading,
    as_json: bool,
    seed: int,
    quiet: bool,
    verbose: bool,
) -> None:
    """Write the tree in the file MODEL so that another system decides exactly as it does."""
    output = Output("export", as_json=as_json, verbosity=verbose - quiet)
    if out is not None:
        _check_out(out, {"MODEL": model, "--like": like})
    if like is not None and publish:
        raise InputError(
            "expected --publish or --like, got both: a model of another library stores counts of "
            "people; export to a format instead"
        )
    if like is not None:
        _write_like(model, like, to, out, settings, tree_index, reading, output)
        return
    if to is None:
        if out is None:
            raise InputError(
                f"expected --to or --out, got neither; --to is one of {', '.join(writers())}"
            )
        to = format_of(out)
    options = _options(settings, to)
    tree = reading.tree(model, tree_index)
    written = export_tree(tree, to, out, publish=publish, **options)
    document = {"model": str(model), "format": to, "file": None if out is None else str(out)}
    if out is not None:
        output.result(f"wrote {out}", document)
        return
    if not isinstance(written, str):
        raise InputError(f"expected --out with --to {to}, which is no text, got none; name a file")
    if not output.as_json and harmless(written) != written:
        # Shown by its numbers it would be another program.
        raise InputError(
            "expected --out where names hold characters that a terminal acts upon, got none; "
            "name a file"
        )
    output.result(written.removesuffix("\n"), {**document, "text": written})


def _check_out(out: Path, inputs: dict[str, Path | None]) -> None:
    """Refuse, before the work, a place that cannot be written or that is read from."""
    check_writable(out)
    for option, given in inputs.items():
        if given is not None and same_file(given, out):
            raise InputError(
                f"expected another file as --out than {option}, got {out}: what is read is never "
                "replaced; write beside it, and move it into place"
            )


def _write_like(
    model: Path,
    like: Path,
    to: str | None,
    out: Path | None,
    settings: tuple[str, ...],
    tree_index: int | None,
    reading: Reading,
    output: Output,
) -> None:
    """Write the tree as a model of the kind of another, to a file of the same kind."""
    if out is None or to is not None:
        raise InputError(
            "expected --out and no --to with --like, whose file says what kind of model to write, "
            f"got {'no --out' if out is None else f'--to {to}'}"
        )
    options = _options(settings, "sklearn")
    written = write_like(reading.tree(model, tree_index), reading.model(like), **options)
    save_like(written, out)
    document = {"model": str(model), "format": "like", "like": str(like), "file": str(out)}
    output.result(f"wrote {out}", document)


def _options(settings: tuple[str, ...], to: str) -> dict[str, Any]:
    """Read ``--set dialect=postgres``, in the type of the option's default."""
    known = {name: default for name, default in options_of(to).items() if name not in OBJECTS}
    options: dict[str, Any] = {}
    for text in settings:
        name, equals, value = text.partition("=")
        if not equals or name not in known:
            raise InputError(
                f"expected OPTION=VALUE as --set, with an option of {to} "
                f"({', '.join(sorted(known)) or 'it has none'}), got {text!r}"
            )
        options[name] = _value(value, known[name])
    return options


def _value(text: str, default: Any) -> Any:
    """Read a value: flags and numbers where the option's default is one."""
    if isinstance(default, bool):
        if text.lower() not in ("true", "false"):
            raise InputError(f"expected true or false, got {text!r}")
        return text.lower() == "true"
    if isinstance(default, (int, float)):
        try:
            return type(default)(text)
        except ValueError:
            raise InputError(f"expected a number, got {text!r}") from None
    return text
