"""Options that several commands share, each written once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from steadytree.evaluation.gates import GateCheck, check_gates

__all__ = [
    "FILE",
    "check",
    "common_options",
    "data_options",
    "example",
    "gate_options",
    "learner_options",
    "out_option",
    "subgroup_option",
]

F = TypeVar("F", bound=Callable[..., Any])

FILE = click.Path(path_type=Path)


def example(*lines: str) -> str:
    """Return the epilog of a help page: an example that is not rewrapped."""
    return "\b\nExample:\n" + " \\\n".join(
        f"{'  ' if i == 0 else '      '}{line}" for i, line in enumerate(lines)
    )


def _all(*decorators: Callable[[F], F]) -> Callable[[F], F]:
    def decorate(function: F) -> F:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


def common_options(function: F) -> F:
    """Add ``--json``, ``--seed``, ``-q`` and ``-v``."""
    return _all(
        click.option("--json", "as_json", is_flag=True, help="Print one JSON document."),
        click.option("--seed", type=int, default=0, show_default=True, help="Random seed."),
        click.option("-q", "--quiet", is_flag=True, help="No progress, only the result."),
        click.option("-v", "--verbose", is_flag=True, help="Say more."),
    )(function)


def data_options(function: F) -> F:
    """Add ``--target``, ``--time`` and ``--group``."""
    return _all(
        click.option("--target", required=True, metavar="COLUMN", help="The outcome."),
        click.option(
            "--time", metavar="COLUMN", help="When each row came: a number or a date. No predictor."
        ),
        click.option(
            "--group",
            metavar="COLUMN",
            help="Rows that belong together, such as those of one patient. No predictor.",
        ),
    )(function)


def learner_options(function: F) -> F:
    """Add what concerns training."""
    return _all(
        click.option(
            "--learner",
            type=click.Choice(["distilled", "stable", "cart"]),
            default="distilled",
            show_default=True,
            help="One tree from a forest, the paper's stable tree, or plain CART.",
        ),
        click.option(
            "--task",
            type=click.Choice(["auto", "classification", "regression"]),
            default="auto",
            show_default=True,
            help="What the target is.",
        ),
        click.option("--drop", multiple=True, metavar="COLUMN", help="Not a predictor. Repeat."),
        click.option("--max-leaves", type=click.IntRange(2), help="Largest number of leaves."),
        click.option("--jobs", type=int, help="Processes to use; -1 for all cores."),
    )(function)


def out_option(contents: str) -> Callable[[F], F]:
    """Add ``--out`` with a list of what is written there."""
    return click.option("--out", type=FILE, metavar="DIR", help=f"Folder for {contents}.")


def subgroup_option(function: F) -> F:
    """Add ``--subgroup``."""
    return click.option(
        "--subgroup",
        "subgroups",
        multiple=True,
        metavar="COLUMN",
        help="Show whose decisions change, by this column. Repeat.",
    )(function)


def gate_options(function: F) -> F:
    """Add the gates; the command ends with code 3 when one does not hold."""
    return _all(
        click.option("--max-dissimilarity", type=float, metavar="SHARE", help="Gate: 0.1 is 10 %."),
        click.option(
            "--max-flips", type=float, metavar="SHARE", help="Gate: rows with another decision."
        ),
        click.option(
            "--min-score-change",
            type=float,
            metavar="NUMBER",
            help="Gate: new minus old AUC or R²; -0.01 allows to lose a point.",
        ),
        click.option("--max-leaves", type=int, metavar="COUNT", help="Gate: leaves of the tree."),
    )(function)


def check(subject: Any, gates: dict[str, Any], **extra: Any) -> GateCheck:
    """Check the gates that were set."""
    return check_gates(subject, **gates, **extra)
