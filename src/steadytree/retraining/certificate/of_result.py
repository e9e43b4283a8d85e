"""Certify a finished retraining: run its search again, and hold its tree against a family of trees.

The search makes one edit after the other. Whether it stopped at the best tree is asked afterwards,
by whoever wants to know: from the seed and the settings that the result recorded, and its rows.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from steadytree.core.tabular import n_rows
from steadytree.exceptions import InputError, SteadyTreeWarning
from steadytree.retraining.answer import changes_nothing
from steadytree.retraining.certificate.statement import Certificate, CertificateOptions
from steadytree.retraining.given_rows import read_rows
from steadytree.retraining.problem import Problem, prepare_problem
from steadytree.retraining.result import Retraining
from steadytree.retraining.runs import CandidateMaker
from steadytree.retraining.search_options import SearchOptions

__all__ = ["certify"]


def certify(
    result: Retraining,
    old: Any = None,
    options: CertificateOptions | None = None,
    *,
    n_jobs: int | None = None,
) -> Certificate:
    """Bound how much better any tree of a stated family could be than the one at the price.

    Parameters
    ----------
    result : Retraining
        Its search is run again from the recorded seed and settings, without folds.
    old : (X, y) or Rows, optional
        The old rows of that retraining, where it had some: a result does not keep them.
    options : CertificateOptions, optional
        Which trees it is about, and how long it may take.
    n_jobs : int, optional
        Processes for the teacher; the certificate does not depend on it.

    Returns
    -------
    Certificate
        ``certificate.tree`` is a better tree of the family, where one was met.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> import steadytree as st
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> X = X[["mean radius", "mean texture"]]
    >>> first = st.DistilledTreeClassifier(max_leaf_nodes=4, random_state=0)
    >>> deployed = first.fit(X[:300], y[:300])
    >>> result = st.retrain(deployed, X[300:], y[300:], n_folds=0, random_state=0)
    >>> options = st.CertificateOptions(depth=1, cut_points=8)
    >>> st.certify(result, options=options).gap >= 0
    True
    """
    if not isinstance(result, Retraining):
        raise InputError(
            f"expected what retrain returned to certify, got {type(result).__name__}; "
            "pass the result itself"
        )
    if options is not None and not isinstance(options, CertificateOptions):
        raise InputError(
            f"expected CertificateOptions(...) as options, got {type(options).__name__}; "
            "CertificateOptions(depth=2) is about trees of two levels"
        )
    settings = result.settings
    if settings["locked_nodes"]:
        raise InputError(
            "expected a retraining without locks to certify, got locked="
            f"{list(result.plan.locked)!r}: a certificate speaks of all trees, those without the "
            "locked rules included; retrain without them to certify"
        )
    problem = _problem_of(result, old)
    if problem.nothing_new:
        raise InputError(
            "expected a retraining that learnt something to certify, got one on the very rows that "
            "the deployed tree was made from; pass rows that arrived since"
        )
    price = float(settings["price"])
    maker = CandidateMaker(
        problem=problem.without_tables(),
        prices=(np.inf, *settings["prices"]),
        options=SearchOptions.of_settings(settings),
        locks=(),
        own={},
        seed=int(settings["seed"]),
    )
    search, path = maker.priced_edits(n_jobs)
    edited = next(one for one in path if one.price == price)
    found = maker.finished(edited.tree, all_rows=True)
    if not changes_nothing(result.trees[f"price {price:g}"], found):
        raise InputError(
            "expected the rows of the retraining, got others: the search ended at another tree; "
            "pass the very old rows that retrain was given"
        )
    # Compiled loops: imported only where they are needed.
    from steadytree.retraining.certificate.certify_search import certify_search

    return certify_search(search, edited, options or CertificateOptions()).certificate


def _problem_of(result: Retraining, old: Any) -> Problem:
    """Code the rows again, as the retraining did."""
    rows, settings, before = result.rows, result.settings, read_rows(old, "old")
    if rows.table is None:
        raise InputError(
            "expected a result with its rows to certify, got one whose X_new is not there; "
            "retrain again and certify what that returns"
        )
    if len(rows) < int(settings["n_new"]):
        raise InputError(
            f"expected a retraining whose rows are in memory to certify, got a sample of "
            f"{settings['n_new']:,} rows on disk; retrain on a table that fits into memory"
        )
    given, used = None if before is None else n_rows(before.X), settings["n_old"]
    if (given is None) != (used is None):
        had = f"{used:,} old rows" if used is not None else "no old rows"
        raise InputError(
            f"expected the old rows of the retraining, which had {had}, got "
            f"{'none' if given is None else f'{given:,}'}; pass old=(X, y) as retrain was given it"
        )
    y, policy = rows.y, None
    if result.deployed.classes is not None:
        y, policy = result.deployed.class_names(rows.y), result.trees["re-estimate"].decision
    with warnings.catch_warnings():
        # All of it was said when the tree was retrained.
        warnings.simplefilter("ignore", SteadyTreeWarning)
        return prepare_problem(
            result.deployed,
            rows.table,
            y,
            X_old=None if before is None else before.X,
            y_old=None if before is None else before.y,
            sample_weight=rows.weight,
            sample_weight_old=None if before is None else before.sample_weight,
            groups=rows.groups,
            groups_old=None if before is None or rows.groups is None else before.groups,
            forbid=[result.space.feature_labels[j] for j in settings["forbidden"]],
            decision_threshold=policy,
            space=result.space,
        )
