"""``retrain``: the least change to a deployed tree that rows left out do not speak against."""

from __future__ import annotations

import sys
import warnings
from functools import partial
from importlib.metadata import version
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import check_random_state

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
from steadytree.retraining.explanation import alarm_words
from steadytree.retraining.frontier import (
    CheckedCandidates,
    build_frontier,
    draw_answer,
    propose,
    selection_cost,
)
from steadytree.retraining.given import (
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
INTERRUPTED = (
    "the folds were interrupted: this is the tree at the price, its scores are still to come; "
    "retrain again with the same random_state for them, and for the choice that asks them"
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
        The proposal is made first: an interrupt (Ctrl-C) while the folds run returns it without
        scores, with a warning.
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
    asked, tuning = ChangePlan.read(plan), _options(search)
    before, final_rows = read_rows(old, "old"), read_rows(test, "test")
    report = _reporter(progress)
    _check_jobs(n_jobs)
    seed = _seed(random_state)
    by_price = n_folds == 0  # no row is left out by the user's own wish
    model = read_model(deployed)
    # 1. One space, one coding of the rows.
    table = as_table(X, "X")
    for column in asked.per_group:  # one that is not there is said before the search
        list(subgroups(table, column))
    now = Rows(table, y, sample_weight, check_rowwise(groups, n_rows(table), "groups"))
    problem = prepare_problem(
        model, now, before, forbid=asked.forbid, decision=decision, space=space
    )
    if problem.nothing_new:
        warnings.warn(
            "the deployed tree was made from these very rows: there is nothing new to learn, "
            "and its scores on them would flatter it, so none are given; pass rows that "
            "arrived since, or as deployed the tree before it",
            SteadyTreeWarning,
            stacklevel=2,
        )
        n_folds = 0
    final = None if final_rows is None else _read_test(problem, final_rows)
    # 2. Folds of the new rows.
    folds = _folds(problem, n_folds, time, seed)
    # 3. Every candidate, made on all rows and again without each fold.
    price = float(price)
    prices = tuple(sorted({*PRICES, price, np.inf}, reverse=True))
    own = name_candidates(candidates)
    locks = resolve_locks(asked.locked, problem.start, problem.space, printed=model)
    maker = CandidateMaker(
        problem=problem if own else problem.without_tables(),
        prices=prices,
        options=tuning,
        locks=tuple(sorted(locks)),
        own=own,
        seed=seed,
    )
    full, in_folds = run_with_folds(maker, folds, n_jobs, report)
    interrupted, notes = in_folds is None, problem.notes
    if in_folds is None:
        # The proposal is there; without scores the price decides.
        in_folds, folds, by_price = [], [], True
        notes = (*notes, INTERRUPTED)
        warnings.warn(INTERRUPTED, SteadyTreeWarning, stacklevel=2)
    # 4. Scores as on rows left out.
    scores = CrossFitted(
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
    # 5. The frontier, and the choice from it within the plan.
    frontier = build_frontier(full.candidates, problem.deployed, problem.yardstick, scores)
    checked = CheckedCandidates(
        frontier, scores, problem.yardstick, problem.new.table, problem.changed, asked
    )
    proposing = partial(propose, checked, problem.decision, price=price, by_price=by_price)
    proposed = proposing()
    chosen, flattery = proposed.chosen, 0.0
    if not by_price:
        flattery = selection_cost(chosen, scores, lambda k: proposing(leave_out=k).chosen)
    frontier["chosen"] = frontier.index == chosen
    if problem.nothing_new:  # on rows that it was made from any score flatters the deployed tree
        frontier.loc[frontier["kind"] != "own", ["score", "score_se"]] = np.nan
        frontier[["score_change", "score_change_se"]] = np.nan
    answer = draw_answer(checked, problem.decision, proposed)
    # 6. The result, with the coded rows for whoever asks it further.
    trees = dict(scores.own)
    result = Retraining(
        tree=trees[chosen],
        deployed=problem.deployed.replace(space=problem.yardstick),
        trees=trees,
        frontier=frontier,
        chosen=chosen,
        drift=full.drift,
        selection_cost=flattery,
        answer=answer,
        plan=asked,
        refused=None if proposed.refused is None else trees[proposed.refused],
        test=None if final is None else _final_test(problem, trees, chosen, *final),
        space=problem.yardstick,
        settings={
            "steadytree": version("steadytree"),
            "price": price,
            "plan": asked.to_dict(),
            "prices": [p for p in prices if np.isfinite(p)],
            "n_folds": len(folds),
            "folds_interrupted": interrupted,
            "nothing_new": problem.nothing_new,
            "folds": "time" if time is not None else "groups" if groups is not None else "random",
            **tuning.record(),
            "locked_nodes": list(maker.locks),
            "forbidden": sorted(problem.forbidden),
            "seed": seed,
            **problem.row_counts,
            "n_rows_structure": full.n_structure,
            "n_rows_values": full.n_values,
            "share_of_deployed_in_teacher": full.blend_share,
            "space": problem.yardstick.digest(),
        },
        rows=problem.new,
        scores=scores,
        notes=notes,
        changed_columns=problem.changed,
        space_note=problem.space_note,
    )
    alarm = alarm_words(result)
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


def _check_jobs(n_jobs: Any) -> None:
    if n_jobs is not None and not isinstance(n_jobs, Integral):
        raise InputError(
            f"expected a whole number or None as n_jobs, got {n_jobs!r}; -1: all cores"
        )


def _seed(random_state: Any) -> int:
    """Return the seed that repeats the run: a whole number given is the seed itself."""
    if isinstance(random_state, Integral) and 0 <= int(random_state) < 2**31:
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def _read_test(problem: Problem, test: Rows) -> tuple[Any, NDArray[Any]]:
    """Read the rows of a final test: what they lack is said before the search, not after it."""
    if test.sample_weight is not None or test.groups is not None:
        raise InputError(
            "expected test rows without weights and groups, got some: a final test counts rows; "
            "leave them out"
        )
    X = as_table(test.X, "test")
    outcomes = code_outcomes(test.y, problem.deployed.classes, n_rows(X), name="the test rows' y")
    if len(np.unique(outcomes)) < 2:
        raise InputError(
            f"expected test rows with different outcomes, got {len(outcomes):,} rows with "
            f"{'one' if len(outcomes) else 'none'}: no score can be computed of them"
        )
    deployed = problem.deployed
    rows = CodedRows(problem.space.encode(X, deployed.used_features), outcomes)
    if fingerprint(problem.compared(rows)) in deployed.metadata.get(TRAINING_ROWS, ()):
        raise InputError(
            "expected test rows that nothing was trained on, got the very rows that the deployed "
            "tree was made from; pass others"
        )
    return X, outcomes


def _final_test(
    problem: Problem, trees: dict[str, Tree], chosen: str, X: Any, outcomes: NDArray[Any]
) -> pd.DataFrame:
    """Score the deployed tree, the proposal and scratch on rows that nothing has seen."""
    shown = {
        "deployed": problem.deployed,
        "proposal": trees[chosen],
        "from scratch": trees["from scratch"],
    }
    needed = frozenset().union(*(tree.used_features for tree in shown.values()))
    labels = problem.space.feature_labels
    unused = frozenset(range(len(labels))) - needed
    X = without_columns(X, {labels[j] for j in unused})
    rows = CodedRows(problem.space.encode(X, needed), outcomes)
    for seen in (problem.new, problem.old):
        if seen is None:
            continue
        copies = find_copies(*(problem.compared(part, unused) for part in (rows, seen)))
        if copies is not None:
            raise InputError(
                "expected test rows that nothing was trained on, got "
                f"{int(copies.new.sum()):,} of {len(rows):,} that are among the rows trained on; "
                "leave them out of one of the two"
            )
    span = response_span(problem.space, classifier=problem.n_classes is not None)
    return score_on_test(shown, rows.coded, outcomes, problem.decision, span=span)


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
