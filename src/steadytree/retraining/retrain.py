"""``retrain``: the tree that changes least among those that predict as well as can be had."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from steadytree.core.decision import Decision
from steadytree.core.one_decision import warn_of_one_decision
from steadytree.core.rows import (
    TRAINING_ROWS,
    CodedRows,
    code_outcomes,
    fingerprint,
    is_stamped,
)
from steadytree.core.space import FeatureSpace
from steadytree.core.tabular import as_table, n_rows, without_columns
from steadytree.core.tree import Tree
from steadytree.evaluation.cross_fitting import CrossFitted
from steadytree.evaluation.final_test import score_on_test
from steadytree.evaluation.flips import flipped, moved_shares, response_span, risk_moves
from steadytree.evaluation.folds import Fold, check_rowwise, make_folds
from steadytree.exceptions import InputError, SteadyTreeWarning
from steadytree.readers import read_model
from steadytree.retraining.answer import draw_answer, fall_back, score_name
from steadytree.retraining.certificate.statement import CertificateOptions
from steadytree.retraining.disk_rows import load_sample, look_at_rows
from steadytree.retraining.evidence import EVIDENCE
from steadytree.retraining.explanation import alarm_words
from steadytree.retraining.frontier import Rule, build_frontier, choose, selection_cost
from steadytree.retraining.limits import Limits
from steadytree.retraining.locks import resolve_locks
from steadytree.retraining.overlap import find_copies
from steadytree.retraining.problem import Problem, prepare_problem
from steadytree.retraining.result import Retraining
from steadytree.retraining.runs import (
    CandidateMaker,
    Progress,
    Run,
    name_candidates,
    run_with_folds,
)
from steadytree.retraining.search_options import SearchOptions, check_number, check_whole
from steadytree.selection import RULES, check_tolerance

__all__ = ["DEFAULT_PRICE", "PRICES", "retrain"]

DEFAULT_PRICE = 0.25
DEFAULT_SELECT: Rule = EVIDENCE
PRICES = (1.0, 0.5, 0.3, 0.25, 0.2, 0.15, 0.1, 0.07, 0.05, 0.02)
"""Prices on every path, besides the one asked for."""
INTERRUPTED = (
    "the folds were interrupted: this is the tree at the price, its scores are still to come; "
    "retrain again with the same random_state for them, and for the choice that asks them"
)


def retrain(
    deployed: Any,
    X_new: Any,
    y_new: Any,
    *,
    X_old: Any = None,
    y_old: Any = None,
    test: tuple[Any, Any] | None = None,
    price: float = DEFAULT_PRICE,
    select: Rule = DEFAULT_SELECT,
    tolerance: float = 0.02,
    max_flips: float | None = None,
    max_dissimilarity: float | None = None,
    min_gain: float | None = None,
    locked: Any = (),
    candidates: Any = (),
    compare: bool = False,
    certify: bool | CertificateOptions = False,
    decision_threshold: Decision | float | str | None = None,
    space: FeatureSpace | None = None,
    sample_weight: Any = None,
    sample_weight_old: Any = None,
    groups: Any = None,
    groups_old: Any = None,
    forbid: str | Sequence[str] | None = None,
    time: Any = None,
    n_folds: int = 5,
    options: SearchOptions | None = None,
    n_jobs: int | None = None,
    random_state: Any = None,
    verbose: int = 0,
    progress: Progress | None = None,
    **search: Any,
) -> Retraining:
    """Propose a successor of a deployed tree that changes only what pays.

    Starting from the deployed tree A, edits (move or swap a condition, rebuild a subtree,
    grow a leaf, prune) are made as long as what they save in loss to a forest's soft targets
    is worth their price: the change they make, measured by the paper's distance in its
    metric form. Leaf values are always re-estimated; A's labels stay while the shares do not
    clearly contradict them. Proposed is as much of it as rows left out confirm. Sweeping the
    price gives every tree between "keep" and "from scratch"; each is scored as on rows it has
    not seen, by running the whole recipe again without a part of the rows.

    Parameters
    ----------
    deployed : fitted model, Tree or path
        Anything :func:`as_tree` reads.
    X_new, y_new
        The rows that arrived. A category A never met follows A's missing values and can be
        learned, with a warning. Columns that A does not use may be lacking. A table may stay on
        disk: the path of a Parquet file, of a folder of them or a pattern
        (``"rows/*.parquet"``), a ``pyarrow.dataset.Dataset`` or a polars ``LazyFrame``. The
        outcome, and every other argument with an entry per row, is then the name of a column;
        columns so named are no predictors. Of more than 200,000 rows on disk a sample is held
        in memory: rules, scores and counts of people are from it, what leaves predict and count
        is from all rows.
    X_old, y_old : optional
        Rows A was trained on: with them the teacher learns from both, unless the drift
        switch finds that the new rows no longer follow the old. Without them A's own
        predictions stand in for them, as far as they still fit the new rows. New rows that are
        also among them count once, and scores are taken on the others. They may stay on disk,
        as the new ones may.
    test : (X, y), optional
        Rows that nothing was trained or chosen on: the deployed tree, the proposal and a tree
        from scratch are scored on them, ``result.test``.
    price : float, default 0.25
        Exchange rate: changing rules worth the whole tree A (its mass) must save this share
        of what the teacher sees. Lower prices buy more change.
    select : "evidence", None, a name in ``steadytree.selection.RULES`` or callable
        "evidence": the least change on the way to the tree at ``price`` that predicts and
        decides rows left out not clearly worse than that tree (by more than one paired
        standard error), so that noise changes nothing; without folds the tree at ``price``.
        None: the tree at ``price``. "tolerance": the least change among candidates whose
        score is within ``tolerance`` (relative) of the best. "one_se": the least change
        within one paired standard error of the best. "balanced": the largest score minus
        dissimilarity. "score", "distance": the best score, the least change. A function
        gets the frontier and returns a candidate's name or row number.
    tolerance : float, default 0.02
        For ``select="tolerance"``: the share of the best score that may be given up for less
        change.
    max_flips, max_dissimilarity : float, optional
        Choose in these words instead: at most this share of the new rows gets another
        decision, at most so dissimilar. Of the candidates within, the least change is taken
        whose score is within one paired standard error of the best.
    min_gain : float, optional
        Choose the least change (within the limits above, where given) whose honest score is
        higher than the deployed tree's by this much; where there is none, keep the tree.
    locked : "root", node number, feature name, condition or rule text, or several
        What may not change. Locking a leaf locks its whole rule and its label; its share is
        still re-estimated. Candidates that are not made by edits ("from scratch", "CART", your
        own) and do not keep it are in the frontier for comparison, and are never chosen.
    candidates : models or mapping of name to model
        Your own candidates: a fitted model is scored on the new rows as it is, an unfitted
        estimator is cross-fitted like ours (on old and new rows).
    compare : bool, default False
        Add cross-validated CART, retrained independently.
    certify : bool or CertificateOptions, default False
        Also bound how much better any tree of a stated family could be than the one at
        ``price``: ``result.certificate``. A tree of the family that is better by more than an
        edit must save becomes the candidate "exact". Not with ``locked``.
    decision_threshold : float, "prevalence", Decision or None
        How the new tree decides; None: as the deployed tree does (its threshold, the one its
        class weights amount to, or the largest share). The deployed tree's own decisions are
        never changed by it. "prevalence": the rate of the positive class in all rows given.
    space : FeatureSpace, optional
        By default the one stored with the deployed tree: its ranges never widen, categories are
        added, with a warning, and whatever is newly missing can be learned. Where none is
        stored, the middle 99 % of each column of the old rows (of the new ones where there are
        none), out to the deployed tree's thresholds; ``result.space_note`` says so.
    sample_weight, sample_weight_old : arrays, optional
        Weights in training; scores count rows.
    groups : array, optional
        Rows of one group (a patient) stay on one side of every fold.
    groups_old : array, optional
        Groups of the old rows: while a group's new rows are scored, its old rows are not
        trained on.
    forbid : name or names of features, optional
        What no rule may be about. The teacher does not see these features, no edit uses them,
        and where the deployed tree does, each such condition first gives way to its heavier
        side ("keep" is then the tree without them). By default what the deployed tree was made
        without; an empty list allows everything.
    time : array, optional
        Folds go forward in time: trained on earlier rows, scored on the next block.
    n_folds : int, default 5
        Folds of the cross-fitted scores; 0 for none. Their teachers have half as many trees.
        The proposal is made first: an interrupt (Ctrl-C) while the folds run returns it without
        scores, with a warning.
    options : SearchOptions, optional
        Size of the teacher, limits on new rules and the constants of the search.
    n_jobs : int, optional
        Runs of the recipe at the same time, in processes, or by whatever
        ``joblib.parallel_config(backend=...)`` says; results do not depend on it.
    random_state : int, RandomState or None
    verbose : int, default 0
        1: progress on stderr.
    progress : callable, optional
        Called as ``progress(step, done, total)``.
    **search
        Single entries of :class:`SearchOptions`, such as ``n_estimators=50``.

    Returns
    -------
    Retraining

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> import steadytree as st
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> first = st.DistilledTreeClassifier(random_state=0).fit(X[:300], y[:300])
    >>> update = st.retrain(first, X[300:], y[300:], X_old=X[:300], y_old=y[:300],
    ...                     n_folds=2, random_state=0)
    >>> update.dissimilarity < 0.5
    True
    """
    check_number(price, "price", fix=f"the default is {DEFAULT_PRICE}")
    check_tolerance(tolerance)
    named = (EVIDENCE, *RULES)
    if not (select is None or callable(select) or (isinstance(select, str) and select in named)):
        names = ", ".join(f'"{name}"' for name in named)
        raise InputError(f"expected select None, {names} or a function, got {select!r}")
    limits = Limits.read(
        None if select == DEFAULT_SELECT else select,
        max_flips=max_flips,
        max_dissimilarity=max_dissimilarity,
        min_gain=min_gain,
    )
    asked = select if limits is None else limits
    if asked == EVIDENCE and n_folds == 0:
        asked = None  # no row is left out by the user's own wish: the price decides
    tuning = SearchOptions.read(options, search)
    certificate = CertificateOptions.read(certify)
    _check_jobs(n_jobs)
    seed = _seed(random_state)
    # 1. One space, one coding of the rows; of tables on disk those of a sample.
    given, on_disk = load_sample(
        deployed,
        {
            "X_new": X_new,
            "y_new": y_new,
            "X_old": X_old,
            "y_old": y_old,
            "sample_weight": sample_weight,
            "sample_weight_old": sample_weight_old,
            "groups": groups,
            "groups_old": groups_old,
            "time": time,
            "decision_threshold": decision_threshold,
        },
        seed,
    )
    given["X_new"] = as_table(given["X_new"], "X_new")
    given["groups"] = check_rowwise(given["groups"], n_rows(given["X_new"]), "groups")
    time = given.pop("time")
    problem = prepare_problem(deployed, **given, forbid=forbid, space=space)
    if on_disk is not None:
        problem, warned = look_at_rows(problem, on_disk)
        for note in warned:
            warnings.warn(note, SteadyTreeWarning, stacklevel=2)
    if problem.nothing_new:
        warnings.warn(
            "the deployed tree was made from these very rows: there is nothing new to learn, "
            "and its scores on them would flatter it, so none are given; pass rows that "
            "arrived since, or as deployed the tree before it",
            SteadyTreeWarning,
            stacklevel=2,
        )
        n_folds = 0
    final = None if test is None else _read_test(problem, test)
    # 2. Folds of the new rows.
    folds = _folds(problem, n_folds, time, seed)
    # 3. Every candidate, made on all rows and again without each fold.
    price = float(price)
    prices = tuple(sorted({*PRICES, price, np.inf}, reverse=True))
    own = name_candidates(candidates)
    locks = resolve_locks(locked, problem.start, problem.space, printed=read_model(deployed))
    if locks and certificate is not None:
        raise InputError(
            f"expected nothing locked where a certificate is asked for, got locked={locked!r}: it "
            "speaks of all trees, those without the locked rules included; leave one of them out"
        )
    maker = CandidateMaker(
        problem=problem if own else problem.without_tables(),
        prices=prices,
        options=tuning,
        locks=tuple(sorted(locks)),
        own=own,
        compare=compare,
        seed=seed,
        certify=None if certificate is None else (price, certificate),
    )
    full, in_folds = run_with_folds(maker, folds, n_jobs, _reporter(verbose, progress))
    interrupted, notes = in_folds is None, problem.notes
    if in_folds is None:
        # The proposal is there; without scores the price decides.
        in_folds, folds, asked = [], [], None
        notes = (*notes, INTERRUPTED)
        warnings.warn(INTERRUPTED, SteadyTreeWarning, stacklevel=2)
    # 4. Scores as on rows left out, and whom each candidate decides or sees otherwise.
    scores = _cross_fitted(problem, full, in_folds, folds)
    flips = {c.name: _flips(scores, c.name, problem.space) for c in full.candidates}
    # 5. The frontier, and the choice from it.
    frontier = build_frontier(full.candidates, problem.deployed, problem.yardstick, scores, flips)
    rule: dict[str, Any] = {"price": price, "tolerance": tolerance, "scores": scores}
    proposed = choose(frontier, asked, **rule)
    chosen, reason = fall_back(proposed, scores, problem.decision)
    if limits is not None and proposed == "keep":
        reason = _unmet(limits, frontier, score_name(scores))
    frontier["chosen"] = frontier.index == chosen
    answer = draw_answer(
        frontier, scores, problem.decision, proposed=proposed, chosen=chosen, reason=reason
    )

    def settle(name: str, fold: int) -> str:
        return fall_back(name, scores, problem.decision, fold)[0]

    # 6. The result, with the coded rows for whoever asks it further.
    trees = {c.name: c.tree for c in full.candidates}
    result = Retraining(
        tree=trees[chosen],
        deployed=problem.deployed.replace(space=problem.yardstick),
        trees=trees,
        frontier=frontier,
        chosen=chosen,
        drift=full.drift,
        selection_cost=selection_cost(frontier, chosen, asked, **rule, settle=settle),
        answer=answer,
        test=None if final is None else _final_test(problem, trees, chosen, *final),
        space=problem.yardstick,
        settings={
            "steadytree": version("steadytree"),
            "price": price,
            "select": _select_words(asked),
            "limits": {} if limits is None else limits.to_dict(),
            "tolerance": tolerance,
            "prices": [p for p in prices if np.isfinite(p)],
            "n_folds": len(folds),
            "folds_interrupted": interrupted,
            "folds": "time" if time is not None else "groups" if groups is not None else "random",
            **tuning.record(),
            "locked_nodes": list(maker.locks),
            "forbidden": sorted(problem.forbidden),
            "compare": compare,
            **({} if certificate is None else {"certify": asdict(certificate)}),
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
        certificate=full.certificate,
    )
    alarm = alarm_words(result)
    if result.one_decision is not None:
        who = "the deployed tree" if result.action == "keep" else "the proposal"
        warn_of_one_decision(result.one_decision, who)
    elif alarm:
        warnings.warn(alarm, SteadyTreeWarning, stacklevel=2)
    return result


def _seed(random_state: Any) -> int:
    """Return the seed that repeats the run: a whole number given is the seed itself."""
    if isinstance(random_state, Integral) and 0 <= int(random_state) < 2**31:
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def _unmet(limits: Limits, frontier: pd.DataFrame, score: str) -> str:
    """Say which limits left nothing but keeping the tree; "" where others held them."""
    kept = frontier[frontier["keeps_locks"]]
    unmet = limits.unmet(kept, score)
    if unmet and len(kept) < len(frontier):
        unmet += "; what does not keep what is locked is left out"
    return unmet


def _read_test(problem: Problem, test: Any) -> tuple[Any, NDArray[Any]]:
    """Read the rows of a final test: what they lack is said before the search, not after it."""
    if not (isinstance(test, (tuple, list)) and len(test) == 2):
        raise InputError(
            "expected test=(X, y), the rows of a final test and their outcomes, "
            f"got {type(test).__name__}"
        )
    X = as_table(test[0], "test")
    outcomes = code_outcomes(test[1], problem.deployed.classes, n_rows(X), name="the test rows' y")
    if len(np.unique(outcomes)) < 2:
        raise InputError(
            f"expected test rows with different outcomes, got {len(outcomes):,} rows with "
            f"{'one' if len(outcomes) else 'none'}: no score can be computed of them"
        )
    deployed = problem.deployed
    rows = CodedRows(problem.space.encode(X, deployed.used_features), outcomes)
    stamps = deployed.metadata.get(TRAINING_ROWS, ())
    if is_stamped(fingerprint(problem.compared(rows)), stamps):
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


def _check_jobs(n_jobs: Any) -> None:
    if n_jobs is not None and not isinstance(n_jobs, Integral):
        raise InputError(
            f"expected a whole number or None as n_jobs, got {n_jobs!r}; -1: all cores"
        )


def _select_words(select: Rule) -> str | None:
    if select is None or isinstance(select, str):
        return select
    return "limits" if isinstance(select, Limits) else "function"


def _reporter(verbose: int, progress: Progress | None) -> Progress:
    def report(step: str, done: int, total: int) -> None:
        if progress is not None:
            progress(step, done, total)
        if verbose:
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


def _cross_fitted(
    problem: Problem, full: Run, in_folds: Sequence[Run], folds: list[Fold]
) -> CrossFitted:
    """Put every candidate's own tree beside those of the runs that did not see a fold."""
    fixed = {c.name for c in full.candidates if c.kind == "keep" or not c.cross_fitted}
    return CrossFitted(
        coded=problem.new.coded,
        y=problem.new.y,
        deployed=problem.deployed,
        own={c.name: c.tree for c in full.candidates},
        in_folds=[{c.name: c.tree for c in run.candidates} for run in in_folds],
        folds=folds,
        fixed=frozenset(fixed),
        groups=problem.new.groups,
        scored=problem.scored,
    )


def _flips(scores: CrossFitted, name: str, space: FeatureSpace) -> dict[str, float]:
    """Share of the new rows with another decision, and with a risk that moves."""
    old, new = scores.before, scores.predictions(name)[0]
    span = response_span(space, classifier=scores.classifier)
    moved = moved_shares(risk_moves(old, new, span))
    return {"flips": float(flipped(old, new, span).mean()), **moved}
