"""Options that several commands share, each written once.

The command line has no defaults of its own: what a Python call takes as well has the default
of that call's signature (:func:`option_of`).
"""

from __future__ import annotations

import functools
import inspect
import os
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from steadytree._text import quoted, some_of
from steadytree.cli.column_types import as_known
from steadytree.cli.output import OutFolder, Output
from steadytree.evaluation.plan import LIMITS, ChangePlan, plan_setting
from steadytree.exceptions import InputError
from steadytree.plugins import load_model, read_model
from steadytree.tree.decision import LARGEST_SHARE, PREVALENCE, Decision, obvious_positive
from steadytree.tree.tree import Tree
from steadytree.tree.values import SCALES
from steadytree.tree.words import listed

Decorator = Callable[[Any], Any]

FILE = click.Path(path_type=Path)


def example(*lines: str) -> str:
    """Return the epilog of a help page: an example that is not rewrapped."""
    return "\b\nExample:\n" + " \\\n".join(
        f"{'  ' if i == 0 else '      '}{line}" for i, line in enumerate(lines)
    )


def option_of(
    flag: str, call: Callable[..., Any], parameter: str, words: str, **settings: Any
) -> Decorator:
    """Add an option that a Python call takes as well, with the default of its signature."""
    default = inspect.signature(call).parameters[parameter].default
    return click.option(flag, default=default, show_default=True, help=words, **settings)


def options_in_order(*decorators: Decorator) -> Decorator:
    """Add several options, in the order of the help page."""

    def decorate(function: Any) -> Any:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


common_options = options_in_order(
    click.option("--json", "as_json", is_flag=True, help="Print one JSON document."),
    click.option(
        "--seed",
        type=click.IntRange(0, 2**31 - 1),
        default=0,
        show_default=True,
        help="Random seed.",
    ),
    click.option("-q", "--quiet", is_flag=True, help="No progress, only the result."),
    click.option("-v", "--verbose", is_flag=True, help="Say more."),
)


def output_options(name: str, *files: str, note: str = "") -> Decorator:
    """Add ``--out`` and the common options.

    The command is called with ``output`` and ``folder``, which print and write as the user
    asked, and with ``seed``. ``files`` are written to the folder, ``note`` says more about them.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        @functools.wraps(function)
        def call(
            *, out: Path | None, as_json: bool, quiet: bool, verbose: bool, **given: Any
        ) -> Any:
            output = Output(name, as_json=as_json, verbosity=verbose - quiet)
            named = _named_paths(click.get_current_context())
            inputs = {flag: path for flag, path in named.items() if flag != "--out"}
            options = _plain_options(click.get_current_context())
            with OutFolder(out, output, names=files, inputs=inputs, options=options) as folder:
                return function(output=output, folder=folder, **given)

        contents = f"{listed([*files, 'manifest.json'], 'and')}{note and f' ({note})'}"
        out = click.option("--out", type=FILE, metavar="DIR", help=f"Folder for {contents}.")
        return out(common_options(call))

    return decorate


def _named_paths(context: click.Context) -> dict[str, Path]:
    """Return the files that options name, by the options."""
    given = {p.opts[0]: context.params.get(p.name or "") for p in context.command.params}
    return {
        flag if flag.startswith("-") else flag.upper(): value
        for flag, value in given.items()
        if isinstance(value, Path)
    }


def _plain_options(context: click.Context) -> dict[str, Any]:
    """Return how a command was called, as JSON can hold it; halves of characters escaped."""

    def plain(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [plain(v) for v in value]
        if value is None or isinstance(value, (bool, int, float)):
            return value
        return str(value).encode("utf-8", "backslashreplace").decode()

    return {name: plain(value) for name, value in sorted(context.params.items())}


data_options = options_in_order(
    click.option("--target", required=True, metavar="COLUMN", help="The outcome."),
    click.option(
        "--time", metavar="COLUMN", help="When each row came: a number or a date. No predictor."
    ),
    click.option(
        "--group",
        metavar="COLUMN",
        help="Rows that belong together, such as those of one patient. No predictor.",
    ),
)

jobs_option = click.option("--jobs", type=int, help="Processes to use; -1 for all cores.")

subgroup_option = click.option(
    "--subgroup",
    "subgroups",
    multiple=True,
    metavar="COLUMN",
    help="Show whose decisions change, by this column. Repeat.",
)

publish_option = click.option(
    "--publish",
    is_flag=True,
    help="Write what may be passed on: counts of people rounded, none of few told.",
)

forbid_option = click.option(
    "--forbid",
    "forbidden",
    multiple=True,
    metavar="COLUMN",
    help="What no rule may be about; nothing is learnt from it either. Repeat.",
)

plan_option = click.option(
    "--plan",
    "plans",
    multiple=True,
    metavar="PLAN",
    help="What the new tree may change: a TOML file, or one setting such as max_flips=0.03, "
    "locked=root, forbid=race or per_group.sex.max_flips=0.05. Repeat.",
)
"""The command ends with code 3 where a clause does not hold."""


def plan_of(given: Sequence[str]) -> ChangePlan:
    """Read ``--plan``: files and single settings, joined."""
    return ChangePlan.read([_one_plan(text) for text in given])


def _one_plan(text: str) -> Any:
    if "=" not in text or (os.path.isfile(text) and text.partition("=")[0] not in LIMITS):
        return Path(text)
    return plan_setting(text)


def policy_options(inherited: str = "") -> Decorator:
    """Add ``--decision-threshold`` and ``--positive``; :func:`policy_of` reads them."""
    return options_in_order(
        click.option(
            "--decision-threshold",
            metavar="SHARE",
            help='Two classes: positive from this share on; a number or "prevalence".' + inherited,
        ),
        click.option(
            "--positive",
            metavar="CLASS",
            help="Which of two outcomes is to be detected; a threshold needs it where that is not "
            f"plain.{inherited}",
        ),
    )


def scale_option(default: str | None, words: str) -> Decorator:
    """Add ``--scale``, how far a threshold moved."""
    return click.option(
        "--scale",
        type=click.Choice(SCALES),
        default=default,
        show_default=default is not None,
        help=words,
    )


def policy_of(
    threshold: str | None,
    positive: str | None,
    classes: Sequence[Any] | None,
    known: Decision = LARGEST_SHARE,
) -> Decision | None:
    """Read ``--decision-threshold`` and ``--positive``; None where neither is given.

    ``classes`` of the outcome (None in regression), ``known`` the policy that is inherited.
    """
    if threshold is None and positive is None:
        return None
    if classes is None or len(classes) != 2:
        option = "--decision-threshold" if positive is None else "--positive"
        where = "in regression" if classes is None else f"with {len(classes)} classes"
        raise InputError(f"expected no {option} {where}, got one; leave it out")
    named = None if positive is None else as_known([positive], classes)[0]
    if positive is not None and named not in classes:
        raise InputError(
            f"expected one of the classes {some_of(classes)} as --positive, got {quoted(positive)}"
        )
    asked = Decision(positive=named, steady=known.steady)
    if threshold is None:
        return asked
    asked = replace(asked, threshold=_share(threshold))
    if named is None and known.positive is None and obvious_positive(classes) is None:
        one, two = (f"--positive {shlex.quote(str(c))}" for c in classes)
        raise InputError(
            "expected --positive with --decision-threshold, got none: which outcome is to be "
            f"detected: {one} or {two}"
        )
    return asked


def _share(text: str) -> Any:
    """Read a share, or the word for the rate of the positive class."""
    try:
        if text == PREVALENCE or 0 <= float(text) <= 1:
            return text if text == PREVALENCE else float(text)
    except ValueError:
        pass
    raise InputError(
        f'expected a number from 0 to 1 or "prevalence" as --decision-threshold, got {quoted(text)}'
    )


# -- Model files on the command line: ours, and those of other libraries --

INDEX_HELP = "Which tree of a model that has several, from 0 on."


@dataclass(frozen=True)
class Reading:
    """How the user wants model files read."""

    allow_pickle: bool

    def tree(self, path: Path, tree_index: int | None = None) -> Tree:
        """Read the tree in a file, without a word on what it decides."""
        return read_model(path, tree_index=tree_index, allow_pickle=self.allow_pickle)

    def model(self, path: Path) -> Any:
        """Load the model in a file, in the form of its library."""
        return load_model(path, allow_pickle=self.allow_pickle)


def tree_index_option(flag: str = "--tree-index") -> Decorator:
    """Add the choice of a tree of a model."""
    return click.option(flag, type=int, metavar="NUMBER", help=INDEX_HELP)


def model_options(function: Callable[..., Any]) -> Any:
    """Add the options of reading models; the command is called with ``reading``."""

    @functools.wraps(function)
    def call(*, allow_pickle: bool, **given: Any) -> Any:
        return function(reading=Reading(allow_pickle), **given)

    return click.option(
        "--allow-pickle",
        is_flag=True,
        help="Read .pkl and .joblib files too. Opening one runs the code in it: only for files "
        "that you would run as a program.",
    )(call)
