"""``retrain``: the least change to a deployed tree that rows left out do not speak against."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib.metadata import version
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import check_random_state

from steadytree.diff.tree_diff import given_up_words
from steadytree.evaluation.cross_fitting import CrossFitted, Fold, check_rowwise, make_folds
from steadytree.evaluation.locks import resolve_locks
from steadytree.evaluation.performance import (
    response_span,
    score_on_test,
    subgroups,
)
from steadytree.evaluation.plan import ChangePlan
from steadytree.exceptions import InputError, SteadyTreeWarning
from steadytree.plugins import read_model
from steadytree.retraining.frontier import (
    CheckedCandidates,
    build_frontier,
    draw_answer,
    propose,
)
from steadytree.retraining.inputs import (
    Rows,
    SearchOptions,
    check_number,
    check_whole,
    find_copies,
    read_rows,
)
from steadytree.retraining.problem import Problem, prepare_problem
from steadytree.retraining.result import Retraining
from steadytree.retraining.runs import (
    CandidateMaker,
    Progress,
    Run,
    name_candidates,
    run_with_folds,
)
from steadytree.tree.columns import as_table, n_rows, without_columns
from steadytree.tree.decision import Decision, warn_of_one_decision
from steadytree.tree.rows import TRAINING_ROWS, CodedRows, code_outcomes, fingerprint
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree

DEFAULT_PRICE = 0.25
PRICES = (1.0, 0.5, 0.3, 0.25, 0.2, 0.15, 0.1, 0.07, 0.05, 0.02)
"""Prices on every path, besides the one asked for."""
NOTHING_NEW = (
    "the deployed tree was made from these very rows: there is nothing new to learn, "
    "and its scores on them would flatter it, so none are given; pass rows that "
    "arrived since, or as deployed the tree before it"
)


def retrain(
    deployed: Any,
    X: Any,
    y: Any,
    *,
    old: Any = None,
    test: Any = None,
    price: float = DEFAULT_PRICE,
    plan: Any = None,
    candidates: Any = (),
    decision: Decision | float | str | None = None,
    space: FeatureSpace | None = None,
    sample_weight: Any = None,
    groups: Any = None,
    time: Any = None,
    n_folds: int = 5,
    search: SearchOptions | None = None,
    n_jobs: int | None = None,
    random_state: Any = None,
    progress: bool | Progress | None = None,
) -> Retraining:
    """Propose a successor of a deployed tree that changes only what pays.

    Starting from the deployed tree A, edits (move or swap a condition, rebuild a subtree,
    grow a leaf, prune) are made as long as what they save in loss to a forest's soft targets
    is worth their price: the change they make, measured by the paper's distance in its
    metric form. Leaf values are always re-estimated; A's labels stay while the shares do not
    clearly contradict them. Proposed is as much of it as rows left out confirm and a plan allows.
    Sweeping the price gives every tree between "keep" and "from scratch"; each is scored as on
    rows it has not seen, by running the whole recipe again without a part of the rows.

    Parameters
    ----------
    deployed : fitted model, Tree or path
        Anything :func:`as_tree` reads.
    X, y
        The rows that arrived. A category A never met follows A's missing values and can be
        learned, with a warning. Columns that A does not use may be lacking.
    old : (X, y) or Rows, optional
        Rows A was trained on: with them the teacher learns from both, unless the drift
        switch finds that the new rows no longer follow the old. Without them A's own
        predictions stand in for them, as far as they still fit the new rows. New rows that are
        also among them count once, and scores are taken on the others. :class:`Rows` also takes
        their weights and groups.
    test : (X, y) or Rows, optional
        Rows that nothing was trained or chosen on: the deployed tree, the proposal and a tree
        from scratch are scored on them, ``result.test``.
    price : float, default 0.25
        Exchange rate: changing rules worth the whole tree A (its mass) must save this share
        of what the teacher sees. Lower prices buy more change. Proposed is the least change on
        the way to the tree at this price that predicts and decides rows left out not clearly
        worse than that tree (by more than one paired standard error), so that noise changes
        little; without folds the tree at this price.
    plan : ChangePlan, dict, path of a TOML file, or a list of these, optional
        What may change, and what the proposal must hold (:class:`ChangePlan`). Only trees that
        meet every clause are proposed; where there is none the deployed tree is kept,
        ``result.answer.reason`` says which clause stood against what, and ``result.refused`` is
        the tree that would have been proposed. Candidates that are not made by edits ("from
        scratch", your own) and do not keep what is locked are in the frontier for comparison.
    candidates : models or mapping of name to model
        Your own candidates, for comparison: a fitted model is scored on the new rows as it is, an
        unfitted estimator is cross-fitted like ours (on old and new rows).
    decision : float, "prevalence", Decision or None
        How the new tree decides; None: as the deployed tree does (its threshold, the one its
        class weights amount to, or the largest share). The deployed tree's own decisions are
        never changed by it. "prevalence": the rate of the positive class in all rows given.
    space : FeatureSpace, optional
        By default the one stored with the deployed tree: its ranges never widen, categories are
        added, with a warning, and whatever is newly missing can be learned. Where none is
        stored, the middle 99 % of each column of the old rows (of the new ones where there are
        none), out to the deployed tree's thresholds; ``result.space_note`` says so.
    sample_weight : array, optional
        Weights in training; scores count rows.
    groups : array, optional
        Rows of one group (a patient) stay on one side of every fold.
    time : array, optional
        Folds go forward in time: trained on earlier rows, scored on the next block.
    n_folds : int, default 5
        Folds of the cross-fitted scores; 0 for none. Their teachers have half as many trees.
    search : SearchOptions, optional
        Size of the teacher, limits on new rules and the constants of the search.
    n_jobs : int, optional
        Runs of the recipe at the same time, in processes, or by whatever
        ``joblib.parallel_config(backend=...)`` says; results do not depend on it.
    random_state : int, RandomState or None
    progress : True or callable, optional
        True: lines on stderr. A function is called as ``progress(step, done, total)``.

    Returns
    -------
    Retraining

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> import steadytree as st
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> first = st.DistilledTreeClassifier(random_state=0).fit(X[:300], y[:300])
    >>> update = st.retrain(first, X[300:], y[300:], old=(X[:300], y[:300]),
    ...                     plan={"max_dissimilarity": 0.5}, n_folds=2, random_state=0)
    >>> update.dissimilarity < 0.5
    True
    """
    check_number(price, "price", fix=f"the default is {DEFAULT_PRICE}")
    asked, tuning, report = ChangePlan.read(plan), _options(search), _reporter(progress)
    seed, own = _seed(random_state), name_candidates(candidates)
    model = read_model(deployed)
    # One space, one coding of the rows.
    new = Rows(as_table(X, "X"), y, sample_weight, groups)
    problem = prepare_problem(
        model, new, read_rows(old, "old"), forbid=asked.forbid, decision=decision, space=space
    )
    for column in asked.per_group:  # one that is not there is said before the search
        list(subgroups(new.X, column))
    final = _read_test(problem, read_rows(test, "test"))
    if problem.nothing_new:
        warnings.warn(NOTHING_NEW, SteadyTreeWarning, stacklevel=2)
    # Every candidate, made on all rows and again without each fold, and its score on that fold.
    folds = [] if problem.nothing_new else _folds(problem, n_folds, time, seed)
    maker = CandidateMaker(
        problem=problem if own else problem.without_tables(),
        prices=tuple(sorted({*PRICES, float(price), np.inf}, reverse=True)),
        options=tuning,
        locks=tuple(
            sorted(resolve_locks(asked.locked, problem.start, problem.space, printed=model))
        ),
        own=own,
        seed=seed,
    )
    full, in_folds = run_with_folds(maker, folds, n_jobs, report)
    scores = _cross_fitted(problem, full, in_folds, folds)
    # The choice within the plan, by the price alone where no row was to be left out.
    frontier = build_frontier(full.candidates, problem.deployed, problem.yardstick, scores)
    checked = CheckedCandidates(
        frontier, scores, problem.yardstick, problem.new.table, problem.changed, asked
    )
    proposed = propose(checked, problem.decision, price=float(price), by_price=n_folds == 0)
    frontier["chosen"] = frontier.index == proposed.chosen
    if problem.nothing_new:  # on rows that it was made from any score flatters the deployed tree
        frontier.loc[frontier["kind"] != "own", ["score", "score_se"]] = np.nan
        frontier[["score_change", "score_change_se"]] = np.nan
    trees, n_new = dict(scores.own), len(problem.new)
    result = Retraining(
        tree=trees[proposed.chosen],
        deployed=problem.deployed.replace(space=problem.yardstick),
        trees=trees,
        frontier=frontier,
        chosen=proposed.chosen,
        drift=full.drift,
        answer=draw_answer(checked, problem.decision, proposed),
        plan=asked,
        refused=None if proposed.refused is None else trees[proposed.refused],
        test=None if final is None else _final_test(problem, trees, proposed.chosen, final),
        space=problem.yardstick,
        settings={
            "steadytree": version("steadytree"),
            "price": float(price),
            "plan": asked.to_dict(),
            "prices": [p for p in maker.prices if np.isfinite(p)],
            "n_folds": len(folds),
            "nothing_new": problem.nothing_new,
            "folds": "time" if time is not None else "groups" if groups is not None else "random",
            **tuning.record(),
            "locked_nodes": list(maker.locks),
            "forbidden": sorted(problem.forbidden),
            "seed": seed,
            "n_new": n_new,
            "n_old": None if problem.old is None else len(problem.old),
            "n_rows_scores": int(problem.scored.sum()) if problem.scored is not None else n_new,
            "n_rows_structure": full.n_structure,
            "n_rows_values": full.n_values,
            "share_of_deployed_in_teacher": full.blend_share,
            "space": problem.yardstick.digest(),
        },
        rows=problem.new,
        scores=scores,
        notes=problem.notes,
        changed_columns=problem.changed,
        space_note=problem.space_note,
    )
    alarm = given_up_words(
        result.diff.classes_given_up, new="the proposal", old="the deployed tree"
    )
    if result.one_decision is not None:
        who = "the deployed tree" if result.action == "keep" else "the proposal"
        warn_of_one_decision(result.one_decision, who)
    elif alarm:
        warnings.warn(alarm, SteadyTreeWarning, stacklevel=2)
    return result


def _options(search: Any) -> SearchOptions:
    if search is None or isinstance(search, SearchOptions):
        return search or SearchOptions()
    raise InputError(
        f"expected SearchOptions(...) as search, got {type(search).__name__}; "
        "write for example search=SearchOptions(n_estimators=50)"
    )


def _seed(random_state: Any) -> int:
    """Return the seed that repeats the run: a whole number given is the seed itself."""
    if isinstance(random_state, Integral) and 0 <= int(random_state) < 2**31:
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def _cross_fitted(
    problem: Problem, full: Run, in_folds: Sequence[Run], folds: list[Fold]
) -> CrossFitted:
    """Score every candidate as on rows left out."""
    return CrossFitted(
        coded=problem.new.coded,
        y=problem.new.y,
        deployed=problem.deployed,
        own={c.name: c.tree for c in full.candidates},
        in_folds=[{c.name: c.tree for c in run.candidates} for run in in_folds],
        folds=folds,
        fixed=frozenset(c.name for c in full.candidates if c.kind == "keep" or not c.cross_fitted),
        groups=problem.new.groups,
        scored=problem.scored,
    )


def _read_test(problem: Problem, test: Rows | None) -> CodedRows | None:
    """Code the rows of a final test: what they lack is said before the search, not after it."""
    if test is None:
        return None
    if test.sample_weight is not None or test.groups is not None:
        raise InputError(
            "expected test rows without weights and groups, got some: a final test counts rows; "
            "leave them out"
        )
    X, space = as_table(test.X, "test"), problem.space
    y = code_outcomes(test.y, problem.deployed.classes, n_rows(X), name="the test rows' y")
    if len(np.unique(y)) < 2:
        raise InputError(
            f"expected test rows with different outcomes, got {len(y):,} rows with "
            f"{'one' if len(y) else 'none'}: no score can be computed of them"
        )
    unused = problem.left_out - problem.deployed.used_features
    X = without_columns(X, {space.feature_labels[j] for j in unused})
    rows = CodedRows(space.encode(X, frozenset(range(space.n_features)) - unused), y)
    parts = [problem.new] if problem.old is None else [problem.new, problem.old]
    compared = [problem.compared(part, unused) for part in (rows, *parts)]
    copies = [find_copies(compared[0], part) for part in compared[1:]]
    n_seen = max((int(found[0].sum()) for found in copies if found is not None), default=0)
    if fingerprint(problem.compared(rows)) in problem.deployed.metadata.get(TRAINING_ROWS, ()):
        n_seen = len(rows)
    if n_seen:
        raise InputError(
            f"expected test rows that nothing was trained on, got {n_seen:,} of {len(rows):,} that "
            "the deployed tree was made from or that are among the rows trained on; leave them out"
        )
    return rows


def _final_test(
    problem: Problem, trees: dict[str, Tree], chosen: str, rows: CodedRows
) -> pd.DataFrame:
    """Score the deployed tree, the proposal and scratch on rows that nothing has seen."""
    shown = {
        "deployed": problem.deployed,
        "proposal": trees[chosen],
        "from scratch": trees["from scratch"],
    }
    span = response_span(problem.space, classifier=problem.n_classes is not None)
    return score_on_test(shown, rows.coded, rows.y, problem.decision, span=span)


def _reporter(progress: Any) -> Progress:
    if not (progress is None or isinstance(progress, bool) or callable(progress)):
        raise InputError(
            f"expected True, None or a function as progress, got {type(progress).__name__}; "
            "True prints lines on stderr"
        )

    def report(step: str, done: int, total: int) -> None:
        if callable(progress):
            progress(step, done, total)
        elif progress:
            print(f"retrain: {done}/{total} {step}", file=sys.stderr, flush=True)

    return report


def _folds(problem: Problem, n_folds: int, time: Any, seed: int) -> list[Fold]:
    when = check_rowwise(time, len(problem.new), "time")
    if n_folds == 0:
        return []
    check_whole(n_folds, "n_folds", least=2, fix="the default is 5; 0 measures no score")
    y = problem.new.y
    folds = make_folds(
        y,
        classifier=problem.n_classes is not None,
        n_folds=n_folds,
        groups=problem.new.groups,
        time=when,
        seed=seed,
    )
    if problem.scored is not None:
        folds = [(train, test[problem.scored[test]]) for train, test in folds]
        folds = [(train, test) for train, test in folds if len(test)]
    # A fold whose training rows hold one class only teaches nothing.
    return [(train, test) for train, test in folds if len(np.unique(y[train])) > 1]
