"""All candidates of a retraining, made on all rows and again without each fold.

A run on all rows gives the trees that may be proposed. A run without a fold repeats
everything (teacher, price path, the tree from scratch, the user's own estimators), so that
the fold's rows can score each kind of candidate honestly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from steadytree._jobs import run_jobs
from steadytree._text import quoted
from steadytree.diff.directions import keep_directions
from steadytree.evaluation.cross_fitting import Fold
from steadytree.evaluation.locks import forbidden_entry, keeps_locks
from steadytree.exceptions import InputError, NotFittedTreeError, SteadyTreeError
from steadytree.growing.teacher import (
    MOST_CONDITIONS,
    MOST_LEAVES,
    Drift,
    blend_with_deployed,
    choose_teacher,
    distil_tree,
    size_by_minority,
    teach,
)
from steadytree.plugins import read_model
from steadytree.retraining.edits.candidates import EditLimits
from steadytree.retraining.edits.search import EditedTree, PricedEdits
from steadytree.retraining.frontier import CandidateTree
from steadytree.retraining.inputs import STRUCTURE_ROWS, SearchOptions
from steadytree.retraining.problem import Problem
from steadytree.tree.decision import LARGEST_SHARE
from steadytree.tree.recoded import recoded_entries, with_stand_ins
from steadytree.tree.rows import TRAINING_ROWS, stack_tables
from steadytree.tree.tree import Tree

Progress = Callable[[str, int, int], None]

RE_ESTIMATE = "re-estimate"
"""The tree that keeps every rule: its leaves estimated anew, their labels following steadily."""
RESERVED = ("keep", RE_ESTIMATE, "from scratch")

EDITED_LEAVES = 24
"""Leaves that edits may reach where the data can pay for them; a tree from scratch, grown to
compare like with like, gets a first tree's size or the deployed tree's, the larger."""
LARGER = 4
"""An edited tree may have this many leaves more than its size asks for."""


@dataclass(frozen=True)
class Run:
    """The candidates of one run, what its teacher was made of, and rows used.

    ``n_structure`` rows taught the rules, ``n_values`` rows gave values and counts.
    """

    candidates: list[CandidateTree]
    drift: Drift | None
    blend_share: float | None
    n_structure: int
    n_values: int


@dataclass(frozen=True, eq=False)
class CandidateMaker:
    """Makes every candidate from some of the new rows; sent to workers.

    ``problem`` has the user's tables only where an estimator of theirs has to be fitted.
    ``prices`` decrease; infinity comes first and stands for "re-estimate". ``locks`` are
    nodes of the deployed tree that edits may not touch, ``own`` the user's candidates, fitted
    or not.
    """

    problem: Problem
    prices: tuple[float, ...]
    options: SearchOptions
    locks: tuple[int, ...]
    own: Mapping[str, Any]
    seed: int

    def run(self, rows: NDArray[np.intp] | None, n_jobs: int | None = 1) -> Run:
        """Make the candidates from all new rows (None), or from those a fold leaves.

        If the deployed tree was made from these very rows, every edit has been weighed
        already: the tree at any price is the deployed one.
        """
        options = self.options if rows is None else self.options.in_folds()
        _, path, scratch, found = self._search(rows, options, n_jobs)
        start = self.problem.start
        if rows is None and self.problem.nothing_new:
            path = [replace(edited, tree=start, edits=()) for edited in path]
        candidates = [CandidateTree("keep", "keep", start)]
        for edited in path:
            name, kind = f"price {edited.price:g}", "priced edits"
            if np.isposinf(edited.price):
                name = kind = RE_ESTIMATE
            candidates.append(CandidateTree(name, kind, edited.tree, edited.price, edited.edits))
        candidates.append(CandidateTree("from scratch", "from scratch", scratch))
        candidates = [
            replace(c, tree=self.finished(c.tree, all_rows=rows is None)) for c in candidates
        ]
        for name, model in self.own.items():
            tree, fitted_here = self._own_tree(name, model, rows)
            candidates.append(CandidateTree(name, "own", tree, cross_fitted=fitted_here))
        for candidate in candidates:
            kept = candidate.kind not in ("from scratch", "own") or keeps_locks(
                candidate.tree, start, self.locks, self.problem.space
            )
            found.candidates.append(replace(candidate, keeps_locks=kept))
        return found

    def priced_edits(self, n_jobs: int | None) -> tuple[PricedEdits, list[EditedTree]]:
        """Search on all rows once more: for whoever asks the search itself."""
        return self._search(None, self.options, n_jobs)[:2]

    def finished(self, tree: Tree, *, all_rows: bool) -> Tree:
        """Return a tree that turns no direction, and treats alike what the pipeline cannot tell.

        A direction of missing values is not turned without a row to say so. Rows that have none
        of a feature that the space knows as never missing may be among the old ones; their counts
        in the leaves are already made. In a fold no row that is scored is missing where a
        direction could be turned. A tree made from all rows says from which, and under what.
        """
        problem, space = self.problem, self.problem.space
        if all_rows and tree is not problem.start:
            stamp = {
                TRAINING_ROWS: problem.fingerprints,
                **forbidden_entry(space, problem.forbidden),
                **recoded_entries(problem.deployed),
            }
            tree = tree.replace(metadata={**tree.metadata, **stamp})
        if all_rows:
            if problem.old is not None:
                seen = space.can_be_missing | np.isnan(problem.old.coded).any(axis=0)
                space = space.replace(can_be_missing=seen)
            tree = keep_directions(tree, problem.deployed, space)
        return with_stand_ins(tree, problem.stand_ins)

    def _search(
        self, rows: NDArray[np.intp] | None, options: SearchOptions, n_jobs: int | None
    ) -> tuple[PricedEdits, list[EditedTree], Tree, Run]:
        """Teach, then make the edited trees by decreasing price, and the one from scratch."""
        problem, space, deployed = self.problem, self.problem.space, self.problem.start
        training = problem.training_rows(rows, most=STRUCTURE_ROWS, seed=self.seed)
        teacher, targets, drift = choose_teacher(
            space,
            training.old,
            training.new,
            n_classes=problem.n_classes,
            n_estimators=options.n_estimators,
            n_jobs=n_jobs,
            seed=self.seed,
        )
        share = None
        if training.old is None:
            teacher, targets = blend_with_deployed(teacher, deployed, training.new)
            share = teacher.share
        every = training.every
        taught = teach(
            teacher,
            every,
            targets,
            copies=options.copies,
            n_old=len(every) - len(training.new),
            drifted=drift is not None and drift.detected,
            deployed_share=share or 0.0,
            whole=training.whole,
            seed=self.seed + 12,
        )
        size = options.max_leaf_nodes or size_by_minority(
            every.y, problem.n_classes, most=EDITED_LEAVES
        )
        search = PricedEdits(
            deployed,
            taught,
            space,
            limits=EditLimits(
                min_leaf=options.min_samples_leaf,
                max_depth=max(options.max_depth, deployed.depth),
                max_leaves=max(size, deployed.n_leaves) + LARGER,
                root_sizes=(size,),
            ),
            locked=self.locks,
            decision=problem.decision,
        )
        # Before the path: how its leaves are steadied holds for the edited trees as well.
        scratch = distil_tree(
            taught,
            space,
            classes=deployed.classes,
            max_leaves=options.max_leaf_nodes or max(MOST_LEAVES, deployed.n_leaves),
            min_leaf=options.min_samples_leaf,
            max_depth=max(min(options.max_depth, MOST_CONDITIONS), deployed.depth),
            decision=problem.decision,
            precision=deployed.precision,
            make=search.make,
            metadata={"edits": []},
        )
        n_all = len(every if training.whole is None else training.whole[0])
        run = Run([], drift, share, len(every), n_all)
        return search, search.path(self.prices), scratch, run

    def _own_tree(self, name: str, model: Any, rows: NDArray[np.intp] | None) -> tuple[Tree, bool]:
        deployed = self.problem.deployed
        try:
            tree, fitted_here = read_model(model), False
        except NotFittedTreeError:
            fitted = clone(model).fit(*self._tables(rows))
            tree, fitted_here = read_model(fitted), True
        try:
            tree = tree.in_space(self.problem.space)
        except SteadyTreeError as error:
            raise InputError(
                f"candidate {name!r} does not fit the deployed tree: {error}"
            ) from error
        if tree.decision == LARGEST_SHARE:
            tree = tree.relabelled(self.problem.decision)
        used = sorted(tree.used_features & self.problem.left_out)
        if used:
            raise InputError(
                f"expected candidate {name!r} not to use what is forbidden or lacking, got rules "
                f"on {quoted([tree.feature_labels[j] for j in used])}; "
                f"train it without these columns"
            )
        if tree.classes != deployed.classes:
            raise InputError(
                f"expected candidate {name!r} to have the deployed tree's classes "
                f"{deployed.classes}, got {tree.classes}"
            )
        return tree, fitted_here

    def _tables(self, rows: NDArray[np.intp] | None) -> tuple[Any, NDArray[Any]]:
        """Return the user's own tables and outcomes, for an estimator that fits itself."""
        old, new, deployed = self.problem.kept_old(rows), self.problem.new, self.problem.deployed
        X, y = new.table, new.y
        if rows is not None:
            X, y = _safe_indexing(X, rows), y[rows]
        if old is not None:
            X, y = stack_tables([old.table, X]), np.concatenate([old.y, y])
        return X, y if deployed.classes is None else deployed.class_names(y)


def run_with_folds(
    maker: CandidateMaker, folds: Sequence[Fold], n_jobs: int | None, report: Progress
) -> tuple[Run, list[Run]]:
    """Run on all rows, and without each fold; seeds are fixed, so the order does not matter."""
    tasks: list[NDArray[np.intp] | None] = [None, *(train for train, _ in folds)]
    steps = [f"scoring fold {number} of {len(folds)}" for number in range(1, len(tasks))]
    steps = ["retraining on all rows", *steps, "done"]
    workers = min(effective_n_jobs(n_jobs), len(tasks))
    stream: Iterator[Run] = (maker.run(rows, n_jobs) for rows in tasks)
    if workers > 1:  # in processes, or whatever joblib.parallel_config asks for
        stream = run_jobs(
            CandidateMaker.run,
            ((rows,) for rows in tasks),
            common=(maker,),
            n_jobs=workers,
            prefer="processes",
            batch_size=1,
            pre_dispatch="all",
        )
    runs: list[Run] = []
    report(steps[0], 0, len(tasks))
    for run in stream:
        runs.append(run)
        report(steps[len(runs)], len(runs), len(tasks))
    return runs[0], runs[1:]


def name_candidates(candidates: Any) -> dict[str, Any]:
    """Give the user's own candidates names that none of ours has."""
    if isinstance(candidates, Mapping):
        named = {str(name): model for name, model in candidates.items()}
    else:
        models = candidates if isinstance(candidates, (list, tuple)) else [candidates]
        named = {f"own {i}": model for i, model in enumerate(models, start=1)}
    clash = sorted(name for name in named if name in RESERVED or name.startswith("price "))
    if clash:
        raise InputError(f"expected other names for your candidates than {clash}; rename them")
    return named
