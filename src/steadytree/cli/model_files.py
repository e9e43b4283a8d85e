"""Model files on the command line: ours, and those of other libraries."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from steadytree.cli.shared_options import Decorator
from steadytree.core.tree import Tree
from steadytree.readers import load_model, read_model

__all__ = ["Reading", "model_options", "tree_index_option"]


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
