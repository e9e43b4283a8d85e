"""Every command and its options, each declared once.

A command names the function that does its work, which is imported when the command is called: so a
help page needs neither numpy nor what is built on it. What a Python call takes as well has here
the default and the choices of that call; a test holds them together.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click

from steadytree.cli.output import Output

FILE = click.Path(path_type=Path)


def example(*lines: str) -> str:
    """Return the epilog of a help page: an example that is not rewrapped."""
    return "\b\nExample:\n" + " \\\n".join(
        f"{'  ' if i == 0 else '      '}{line}" for i, line in enumerate(lines)
    )


def _option(name: str, words: str, **settings: Any) -> click.Option:
    """Declare an option; a default is shown on the help page.

    After the ``name`` may stand, after a space, another spelling or what it is called in Python.
    """
    shown = settings.get("default") is not None
    return click.Option(name.split(), help=words, show_default=shown, **settings)


def _flag(name: str, words: str) -> click.Option:
    return click.Option(name.split(), help=words, is_flag=True)


def _column(name: str, words: str, **settings: Any) -> click.Option:
    return _option(name, words, metavar="COLUMN", **settings)


def _file(name: str, words: str, **settings: Any) -> click.Option:
    return _option(name, words, type=FILE, **{"metavar": "FILE", **settings})


def _choice(name: str, choices: str, words: str, default: str | None = None) -> click.Option:
    return _option(name, words, type=click.Choice(choices.split()), default=default)


def _argument(name: str) -> click.Argument:
    return click.Argument([name], type=FILE, metavar=name.upper())


class Command(click.Command):
    """A command whose work is a function of another module, imported when it is called.

    Parameters
    ----------
    name : str
    work : str
        The function, such as ``"fit_command.fit"``. It gets the options as attributes of one
        object, the :class:`Output`, and with ``files`` the folder to write them to. It returns
        the exit code, or nothing.
    options : sequence of click.Parameter
        Besides ``--out`` and those that all commands have.
    files : sequence of str
        What is written to the folder ``--out``; ``note`` says more about them.
    common : sequence of click.Parameter
        Those that all commands have.
    """

    def __init__(
        self,
        name: str,
        work: str,
        options: Sequence[click.Parameter],
        *,
        files: Sequence[str] = (),
        note: str = "",
        common: Sequence[click.Parameter] | None = None,
        **settings: Any,
    ) -> None:
        self.work, self.files = work, files
        out = []
        if files:
            words = f"Folder for {', '.join(files)} and manifest.json{note}."
            out = [_file("--out", words, metavar="DIR")]
        params = [*options, *out, *(COMMON if common is None else common)]
        super().__init__(name, params=params, **settings)

    def invoke(self, ctx: click.Context) -> Any:
        """Import the work and do it."""
        module, _, function = self.work.partition(".")
        work = getattr(import_module(f"steadytree.cli.{module}"), function)
        options = SimpleNamespace(**ctx.params)
        verbosity = options.verbose - options.quiet
        name = ctx.command_path.partition(" ")[2]
        output = Output(name, as_json=options.as_json, verbosity=verbosity)
        if not self.files:
            return work(options, output)
        from steadytree.cli.run_folder import RunFolder

        given = {parameter.opts[0]: ctx.params[str(parameter.name)] for parameter in self.params}
        inputs = {
            name if name.startswith("-") else name.upper(): value
            for name, value in given.items()
            if isinstance(value, Path) and name != "--out"
        }
        with RunFolder(options.out, name, self.files, inputs, ctx.params, output) as folder:
            return work(options, output, folder)


# -- what several commands have ------------------------------------------------------------------

_JSON = _flag("--json as_json", "Print one JSON document.")
_VERBOSE = _flag("-v --verbose", "Say more.")
COMMON = (
    _JSON,
    _option("--seed", "Random seed.", type=click.IntRange(0, 2**31 - 1), default=0),
    _flag("-q --quiet", "No progress, only the result."),
    _VERBOSE,
)
"""The options of every command."""

_TARGET = _column("--target", "The outcome.", required=True)
_TIME = _column("--time", "When each row came: a number or a date. No predictor.")
_GROUP = _column(
    "--group", "Rows that belong together, such as those of one patient. No predictor."
)
_SUBGROUPS = _column(
    "--subgroup subgroups", "Show whose decisions change, by this column. Repeat.", multiple=True
)
_JOBS = _option("--jobs", "Processes to use; -1 for all cores.", type=int)
_PUBLISH = _flag(
    "--publish", "Write what may be passed on: counts of people rounded, none of few told."
)
_PLAN = _option(
    "--plan plans",
    "What the new tree may change: a TOML file, or one setting such as max_flips=0.03, "
    "locked=root, forbid=race or per_group.sex.max_flips=0.05. Repeat.",
    multiple=True,
    metavar="PLAN",
)
_ALLOW_PICKLE = _flag(
    "--allow-pickle",
    "Read .pkl and .joblib files too. Opening one runs the code in it: only for files "
    "that you would run as a program.",
)
_TABLE = (
    _option(
        "--types",
        "What a column is: number, category, ignore. Repeat.",
        multiple=True,
        metavar="COLUMN=TYPE",
    ),
    _option("--separator", "Between values; or the word tab.", metavar="SIGN"),
    _choice("--decimal", ". ,", "Before the fraction of a number.", "."),
    _option("--encoding", "Of text, if it is not UTF-8.", metavar="NAME"),
    _flag("--drop-missing-target", "Leave rows without an outcome out, instead of refusing them."),
)
_TRAINING = (
    *(_argument("data"), _TARGET, _TIME, _GROUP),
    _choice(
        "--learner",
        "distilled stable cart",
        "One tree from a forest, the paper's stable tree, or plain CART.",
        "distilled",
    ),
    _choice("--task", "auto classification regression", "What the target is.", "auto"),
    _column("--drop", "Not a predictor. Repeat.", multiple=True),
    _option(
        "--max-leaves", "Largest number of leaves; by default 16 at most.", type=click.IntRange(2)
    ),
    *(*_TABLE, _JOBS),
)


def _tree_index(name: str = "--tree-index") -> click.Option:
    words = "Which tree of a model that has several, from 0 on."
    return _option(name, words, type=int, metavar="NUMBER")


def _policy(inherited: str = "") -> tuple[click.Option, click.Option]:
    share = 'Two classes: positive from this share on; a number or "prevalence".'
    needed = (
        "Which of two outcomes is to be detected; a threshold needs it where that is not plain."
    )
    return (
        _option("--decision-threshold", share + inherited, metavar="SHARE"),
        _option("--positive", needed + inherited, metavar="CLASS"),
    )


# -- the commands --------------------------------------------------------------------------------

_FIT = Command(
    "fit",
    "fit_command.fit",
    [
        *_TRAINING,
        _column(
            "--forbid forbidden",
            "What no rule may be about; nothing is learnt from it either. Repeat.",
            multiple=True,
        ),
        *_policy(),
        _option(
            "--bootstraps",
            "Of each batch, for --learner stable.",
            type=click.IntRange(1),
            default=10,
        ),
        _PUBLISH,
    ],
    files=("tree.json", "candidates.csv", "report.html"),
    note=" (the middle two of a stable tree)",
    help="""Train a tree on DATA (CSV or Parquet) and print its rules.

    With --learner stable, --time makes the earlier half of the rows the first batch, and
    --group keeps a group on one side of the holdout.
    """,
    epilog=example("steadytree fit patients.csv --target died --out model"),
)
_COMPARE = Command(
    "compare",
    "compare_command.compare",
    [
        *(_argument("old"), _argument("new")),
        *(_tree_index("--old-tree-index"), _tree_index("--new-tree-index"), _ALLOW_PICKLE),
        _option("--data", "Rows to count: a CSV or Parquet file.", type=FILE),
        _column("--target", "The outcome in DATA, to score both trees."),
        _column("--group", "Rows that belong together, for the error."),
        _choice(
            "--trained-on",
            "old new both neither",
            "Which tree was trained on DATA, to be said beside the scores.",
        ),
        *(*_TABLE, _SUBGROUPS, _PLAN, _PUBLISH),
    ],
    files=("diff.json", "diff.md", "report.html"),
    help="""Say what changed from the tree in the file OLD to the one in NEW.

    The files are ours or another library's: whatever `steadytree show` reads.

    Ends with code 3 when a clause of the plan does not hold, or cannot be judged.
    """,
    epilog=example(
        "steadytree compare old.json new.json --data patients.csv --target died",
        "--plan max_dissimilarity=0.1 --plan max_flips=0.05",
    ),
)
_RETRAIN = Command(
    "retrain",
    "retrain_command.retrain",
    [
        _argument("data"),
        _file("--deployed", "The tree in force.", required=True),
        *(_tree_index(), _ALLOW_PICKLE, _TARGET, _TIME, _GROUP),
        _file("--old", "Rows the deployed tree was trained on."),
        _file("--test", "Rows that nothing was trained on: a final test."),
        *_TABLE,
        _option("--price", "Price of change.", type=float, default=0.25),
        _PLAN,
        *_policy(" By default as the deployed tree."),
        _option("--folds", "For scores.", type=click.IntRange(0), default=5),
        _option("--trees", "Of the teacher.", type=click.IntRange(1), default=100),
        _JOBS,
        _file("--history", "Record the proposal in this history."),
        *(_SUBGROUPS, _PUBLISH),
    ],
    files=("tree.json", "candidates.csv", "diff.json", "diff.md", "report.html"),
    note=" (refused-tree.json alone where the plan does not hold)",
    help="""Retrain the deployed tree on the rows of DATA (CSV or Parquet).

    Proposes the least change that rows left out do not speak against, within the plan, and
    explains it: keep, re-estimate or change, and how sure that is. Ends with code 3 where a
    clause of the plan does not hold: the deployed tree is then kept.
    """,
    epilog=example(
        "steadytree retrain 2024.csv --deployed model/tree.json --target died",
        "--old 2023.csv --out proposal --plan max_flips=0.03 --plan min_gain=0.01",
    ),
)
_ASSESS = Command(
    "assess",
    "fit_command.assess",
    [
        *_TRAINING,
        _option("--resamples", "Trees to grow.", type=click.IntRange(2), default=30),
    ],
    files=("assessment.json", "summary.csv", "splits.csv", "cut_points.csv"),
    help="Refit a learner on resamples of DATA (CSV or Parquet) and compare its trees.",
    epilog=example("steadytree assess patients.csv --target died --learner cart --resamples 50"),
)
_EXPORT = Command(
    "export",
    "show_command.export",
    [
        _argument("model"),
        _option(
            "--to",
            "The format: sklearn, onnx, pmml, dict, markdown, dot, mermaid, sql, "
            "python, c, javascript, r or rules; by default as --out ends.",
            metavar="FORMAT",
        ),
        _file("--out", "Where to write; else standard output."),
        _option(
            "--set settings",
            "An option of the format, such as dialect=duckdb for SQL. Repeat.",
            multiple=True,
            metavar="OPTION=VALUE",
        ),
        _file(
            "--like",
            "The model that the tree replaces: a pipeline comes back with its tree exchanged.",
        ),
        *(_PUBLISH, _tree_index(), _ALLOW_PICKLE),
    ],
    help="Write the tree in the file MODEL so that another system decides exactly as it does.",
    epilog=example("steadytree export proposal/tree.json --to sql --set dialect=postgres"),
)
_SHOW = Command(
    "show",
    "show_command.show",
    [
        *(_argument("model"), _tree_index(), _ALLOW_PICKLE),
        _choice(
            "--format style",
            "text rules markdown",
            "An indented tree, one rule per line, or a table of rules.",
            "text",
        ),
        _PUBLISH,
    ],
    common=(
        _JSON,
        _option("--seed", "Not needed.", type=int, hidden=True),
        _flag("-q --quiet", "Only the rules, no heading."),
        _flag("-v --verbose", "The metadata stored with the tree as well."),
    ),
    help="Print the rules of the tree in the file MODEL, ours or another library's.",
    epilog=example("steadytree show out/tree.json --format rules"),
)
_VERIFY = Command(
    "verify",
    "run_folder.verify",
    [_argument("folder")],
    help="""Check that FOLDER holds one whole run: every file as its manifest.json says.

    Ends with code 3 where it does not, and where the plan of the run did not hold.
    """,
    epilog=example("steadytree verify proposal && deploy proposal/tree.json"),
)
_OF_HISTORY = (_JSON, _flag("-q --quiet", "Only the result."), _VERBOSE)
_HISTORY_SHOW = Command(
    "show",
    "history_command.show",
    [_argument("file")],
    common=_OF_HISTORY,
    help="Print the versions in FILE, who decided about them, and which is in force.",
    epilog=example("steadytree history show tree.history.jsonl -v"),
)
_HISTORY_VERIFY = Command(
    "verify",
    "history_command.verify",
    [
        _argument("file"),
        _option(
            "--head",
            "A head that was noted earlier, or its first 16 digits: its line must still be there.",
            metavar="DIGEST",
        ),
    ],
    common=_OF_HISTORY,
    help="Check that every line of FILE is what was written. Ends with code 3 if not.",
    epilog=example("steadytree history verify tree.history.jsonl --head 3f1c5b9e07d2a864"),
)
_HISTORY = click.Group(
    "history",
    commands=[_HISTORY_SHOW, _HISTORY_VERIFY],
    help="Look at the history of a deployed tree, or check it.",
    epilog=example("steadytree history verify tree.history.jsonl"),
)

COMMANDS = [_FIT, _COMPARE, _RETRAIN, _ASSESS, _EXPORT, _SHOW, _VERIFY, _HISTORY]
"""In the order of the help page."""
