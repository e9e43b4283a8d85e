"""What a retraining proposes: the tree, the frontier it was chosen from, and what it changes."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from steadytree._views import notebook_view, write_report
from steadytree.diff import TreeDiff, diff_trees
from steadytree.estimators.predictor import predictor_of
from steadytree.evaluation.cross_fitting import CrossFitted
from steadytree.evaluation.performance import (
    flip_table,
    flipped,
    moved_shares,
    performance_table,
    response_span,
    risk_moves,
    subgroups,
)
from steadytree.evaluation.plan import ChangePlan
from steadytree.evaluation.plan_check import PlanCheck
from steadytree.evaluation.scores import predict_rows
from steadytree.exceptions import SteadyTreeWarning, UnsupportedModelError
from steadytree.plugins import rows_predicted_otherwise, write_like
from steadytree.retraining.explanation import Explanation, explain_summary
from steadytree.retraining.frontier import Answer, CheckedCandidates, Forgone
from steadytree.retraining.summary import By, summarise_retraining
from steadytree.tree.decision import OneDecision, find_one_decision
from steadytree.tree.rows import CodedRows
from steadytree.tree.space import FeatureSpace
from steadytree.tree.tree import Tree

if TYPE_CHECKING:
    from steadytree.growing.teacher import Drift


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Retraining:
    """The outcome of :func:`retrain`: a proposed tree, and everything needed to judge it.

    Attributes
    ----------
    tree : Tree
        The proposed tree; ``tree.metadata["edits"]`` lists the edits made.
    deployed : Tree
        The tree it starts from, written in the features of ``space``.
    trees : mapping of str to Tree
        The tree of every candidate, by the name it has in ``frontier``.
    frontier : DataFrame
        One row per candidate (index ``candidate``), from "keep" to "from scratch". Columns:
        ``kind`` ("keep", "re-estimate": every rule kept, "priced edits", "from scratch", "own"),
        ``price``, ``dissimilarity`` (0 to 1), ``distance`` (the paper's), ``score`` and
        ``score_se`` (ROC AUC or R², as on rows that the tree has not seen: the ``recipe`` of
        :meth:`performance`), ``score_change`` and ``score_change_se`` (paired, against keeping
        the tree), ``cross_fitted`` (False: a fitted model of yours, scored as it is),
        ``keeps_locks`` (False: there for comparison, cannot be chosen),
        ``flips`` (share of the new rows whose decision changes), ``moved_5`` and ``moved_10``
        (share whose risk moves by more than 5 and 10 points), ``n_leaves``, ``depth``,
        ``n_edits``, ``edits``, ``on_frontier`` (no candidate is both closer and better),
        ``chosen``.
    chosen : str
        Name of the proposed tree's row.
    drift : Drift or None
        What the drift switch saw; None without old rows.
    space : FeatureSpace
    settings : mapping
        Everything needed to repeat the run.
    rows : CodedRows
        The new rows, coded once in ``space``: codes, outcomes (``y_new``: positions in the
        classes, or responses), weights, ``groups``, and the table as given (``X_new``).
    scores : CrossFitted
        Every candidate's own tree and its trees without each fold, to score it honestly.
    answer : Answer
        What to do, how sure that is, and what is given up; ``action``, ``confidence`` and
        ``rebuild_advised`` are parts of it.
    test : DataFrame or None
        Scores of the deployed tree, the proposal and a tree from scratch on test rows, where
        these were given.
    plan : ChangePlan
        What it was to keep to; empty where nothing was asked.
    refused : Tree or None
        What would have been proposed had the plan allowed it, where nothing but keeping the
        deployed tree was left.
    changed_columns : mapping of str to str
        Columns of the new rows that do not look like those the deployed tree was made for
        (empty, other units, other categories), and why. No limit can be judged on such rows.
    space_note : str
        What distances are measured over, where the deployed tree stores no space (one of the
        notes); else empty.
    notes : tuple of str
        What was met on the way and should be known, in sentences.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import steadytree as st
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> deployed = DecisionTreeClassifier(max_leaf_nodes=4, random_state=0).fit(X[:300], y[:300])
    >>> result = st.retrain(
    ...     deployed, X[300:], y[300:], old=(X[:300], y[:300]), n_folds=2,
    ...     search=st.SearchOptions(n_estimators=20), random_state=0,
    ... )
    >>> result
    Retraining(..., ...: ... leaves, dissimilarity ...%, flips ...)
    >>> list(result.frontier["kind"].unique()[:3])
    ['keep', 're-estimate', 'priced edits']
    >>> result.check({"max_dissimilarity": 0.5}).held
    True
    """

    tree: Tree
    deployed: Tree
    trees: Mapping[str, Tree]
    frontier: pd.DataFrame
    chosen: str
    drift: Drift | None
    space: FeatureSpace
    settings: Mapping[str, Any]
    rows: CodedRows
    scores: CrossFitted
    answer: Answer
    plan: ChangePlan = field(default_factory=ChangePlan)
    refused: Tree | None = None
    test: pd.DataFrame | None = None
    notes: tuple[str, ...] = field(default=())
    changed_columns: Mapping[str, str] = field(default_factory=dict)
    space_note: str = ""

    # -- the proposal -------------------------------------------------------------

    @property
    def X_new(self) -> Any:
        """The new rows as given."""
        return self.rows.table

    @property
    def y_new(self) -> NDArray[Any]:
        """Outcomes of the new rows: positions in the classes, or responses."""
        return self.rows.y

    @property
    def groups(self) -> NDArray[Any] | None:
        """Groups of the new rows, as given."""
        return self.rows.groups

    @cached_property
    def model(self) -> Any:
        """The proposed tree as a scikit-learn predictor."""
        return predictor_of(self.tree)

    def to_like(self, model: Any, *, prefer: str | None = "labels") -> Any:
        """Return the proposed tree in the form of a model, to run where that one ran.

        Parameters
        ----------
        model : fitted model
            A scikit-learn tree, a pipeline or a search around one, a LightGBM or an XGBoost
            model: usually the one that was retrained. It is not changed.
        prefer : {"labels", "shares"} or None
            Most forms derive labels from shares. Where a leaf keeps its label against its
            share, "labels" moves the share to the boundary, with a warning, "shares" changes
            the label, and None refuses.

        Returns
        -------
        model
            Held against ``tree`` on the new rows: it predicts each of them the same.
        """
        written = write_like(self.tree, model, prefer=prefer)
        kept = int((self.tree.kept_against_share & self.tree.is_leaf).sum())
        if kept and prefer == "labels":
            warnings.warn(
                f"{kept} of {self.tree.n_leaves} leaves keep their label against their share, "
                f"which {type(model).__name__} cannot say: it decides as the tree does, and "
                "gives the share at the boundary there",
                SteadyTreeWarning,
                stacklevel=2,
            )
        if prefer != "shares":
            other = rows_predicted_otherwise(self.tree, written, self.X_new)
            if other:
                raise UnsupportedModelError(
                    f"expected a {type(model).__name__} that predicts as the proposed tree, got "
                    f"another prediction for {other:,} of {len(self.rows):,} new rows, whose "
                    "values it cannot tell apart; use result.model, or export the tree"
                )
        return written

    @property
    def dissimilarity(self) -> float:
        """How far the proposal is from the deployed tree: 0 the same rules, 1 nothing shared."""
        return float(self.frontier["dissimilarity"][self.chosen])

    @property
    def distance(self) -> float:
        """The paper's distance of the proposal to the deployed tree, eq. (distance)."""
        return float(self.frontier["distance"][self.chosen])

    @property
    def edits(self) -> tuple[str, ...]:
        """The edits that lead from the deployed tree to the proposal, in words."""
        return tuple(self.frontier["edits"][self.chosen])

    @cached_property
    def diff(self) -> TreeDiff:
        """What changed, rule by rule, with the share of new rows each rule covers."""
        y = self.y_new
        if self.deployed.is_classifier:
            y = self.deployed.class_names(y)
        return diff_trees(self.deployed, self.tree, self.rows, y=y, space=self.space)

    # -- whom it affects ----------------------------------------------------------

    @cached_property
    def changed_decisions(self) -> NDArray[np.bool_]:
        """Which new rows get another decision from the proposed tree."""
        new = self.scores.predictions(self.chosen)[0]
        return flipped(self.scores.before, new, self._span)

    @cached_property
    def risk_moves(self) -> NDArray[np.float64]:
        """How far the risk of each new row moves: ``|new − old|`` of the positive class.

        With several classes half the sum of the shares' absolute changes; in regression the
        change of the prediction as a share of the response range.
        """
        new = self.scores.predictions(self.chosen)[0]
        return risk_moves(self.scores.before, new, self._span)

    @property
    def _span(self) -> float | None:
        return response_span(self.space, classifier=self.deployed.is_classifier)

    def risk_moved(self) -> dict[str, float]:
        """Share of the new rows whose risk moves by more than 5 and by more than 10 points.

        Returns
        -------
        dict
            ``moved_5`` and ``moved_10``.
        """
        return moved_shares(self.risk_moves)

    def flips(self, by: Any = None, *, level: float = 0.95) -> Any:
        """Share of the new rows whose decision changes.

        Parameters
        ----------
        by : str, array or callable, optional
            A column of the new rows, one value per row, or a function of the new rows;
            numeric columns with many values are cut at their quartiles.
        level : float, default 0.95
            Coverage of the (Wilson) intervals.

        Returns
        -------
        float, or with ``by`` a DataFrame
            One row per subgroup: n, flips, low, high, moved_5, moved_10 (share whose risk
            moves by more than 5 and 10 points). For regression a decision is "changed" when the
            prediction moves by more than 5 % of the response range.
        """
        if by is None:
            return float(self.changed_decisions.mean())
        return flip_table(self.X_new, by, self.changed_decisions, self.risk_moves, level=level)

    def performance(self, by: Any = None, *, level: float = 0.95) -> pd.DataFrame:
        """Compare deployed and proposed tree on the new rows, measure by measure.

        Three columns: ``deployed``, the deployed tree, which saw none of the rows; ``own``,
        the proposed tree on the rows it was trained on, which flatters it; ``recipe``, an
        honest estimate of how the proposed tree does on rows it has not seen: its own score
        less what trees made the same way without a part of the rows lose on that part.
        ``change`` is ``recipe`` minus ``deployed``, paired. The first line is the score of
        ``frontier`` and of :meth:`explain`.

        Intervals: for proportions Wilson's, for the AUC DeLong's error in a form that holds in
        small samples, t for means and paired changes; clustered where ``groups`` were given.

        Parameters
        ----------
        by : str, array or callable, optional
            Subgroups, as in :meth:`flips`.
        level : float, default 0.95

        Returns
        -------
        DataFrame
            Index (group, metric); group is "all" without ``by``. Columns: n, deployed,
            deployed_low, deployed_high, own, recipe, recipe_low, recipe_high, change,
            change_low, change_high, interval. ``attrs["columns"]`` says in words
            which tree each scores on which rows. Without folds ``recipe`` is NaN; where the
            deployed tree was made from these very rows, so is all but ``own``.
        """
        everyone = [("all", np.arange(len(self.rows)))]
        parts = everyone if by is None else list(subgroups(self.X_new, by))
        table = performance_table(self.scores, self.chosen, parts=parts, level=level)
        if self.settings["nothing_new"]:
            table.loc[:, table.columns.str.match("deployed|recipe|change")] = np.nan
            table.attrs["columns"] |= {
                "deployed": "unknown: it was made from these very rows",
                "recipe": "unknown: it was made from these very rows",
                "own": "the deployed tree again, on the rows it was trained on: too good to be "
                "quoted",
            }
        return table

    # -- in words -----------------------------------------------------------------

    @property
    def score_name(self) -> str:
        """What the scores of the frontier are called."""
        return "AUC" if self.deployed.is_classifier else "R²"

    @property
    def deployed_score(self) -> float:
        """Score of the deployed tree on the new rows; NaN where it was made from these."""
        if self.settings["nothing_new"]:
            return math.nan
        return self.scores.score_estimate(self.chosen).deployed.value

    @property
    def action(self) -> str:
        """What to do: "keep", "re-estimate" or "change"; ``tree`` is the tree of it."""
        return self.answer.action

    @property
    def confidence(self) -> str:
        """How sure the action is: "confirmed", "likely", "unconfirmed" or why it is unknown."""
        return self.answer.confidence

    @property
    def forgone(self) -> Forgone | None:
        """The best candidate that the action leaves aside; None where none leads."""
        return self.answer.forgone

    @property
    def rebuild_advised(self) -> bool:
        """Whether a tree from scratch leads by two paired errors and one point."""
        return self.answer.rebuild_advised

    @cached_property
    def one_decision(self) -> OneDecision | None:
        """What the proposal decides for all new rows, where that is the same for everybody."""
        tree = self.tree
        if not tree.is_classifier:
            return None
        at = tree.decision.position
        risk = predict_rows(tree, self.rows.coded).value[:, at]
        return find_one_decision(tree, risk, self.rows.y == at)

    @cached_property
    def explanation(self) -> Explanation:
        """The sentences of :meth:`explain` one by one."""
        return explain_summary(self.to_dict())

    def explain(self) -> str:
        """Say on one screen what to do and how sure that is, what changes, and for whom.

        Returns
        -------
        str
        """
        return str(self.explanation)

    @cached_property
    def plan_check(self) -> PlanCheck:
        """Every clause of the plan: held, broken, or not to be judged.

        Of the proposal; where the plan refused a candidate, of that one.
        """
        name = self.chosen if self.refused is None else self.answer.refused
        return self._candidates.check(self.plan, name)

    def check(self, plan: Any) -> PlanCheck:
        """Hold the proposal against another plan.

        Parameters
        ----------
        plan : ChangePlan, dict, path of a TOML file, or a list of these

        Returns
        -------
        PlanCheck
        """
        return self._candidates.check(ChangePlan.read(plan), self.chosen)

    @cached_property
    def _candidates(self) -> CheckedCandidates:
        return CheckedCandidates(
            *(self.frontier, self.scores, self.space, self.X_new, self.changed_columns), self.plan
        )

    def to_dict(
        self,
        *,
        by: By = (),
        level: float = 0.95,
        publish: bool = False,
        candidate_trees: bool = False,
    ) -> dict[str, Any]:
        """Return everything about it as plain values: all texts, pages and JSON are drawn from it.

        Laid out as :doc:`the schema of summaries </reference/formats>` says: the answer first,
        then what changes, whom it affects, scores with what they are scores of, the plan, the
        candidates, and where it comes from. A number about people is a small object with its
        words: ``{"count": 12, "of": 43, "form": "both", "words": "12 of 43 (28 %)"}``.

        Parameters
        ----------
        by : sequence of str, or mapping of str to column, array or function
            Columns to report changed decisions and performance by.
        level : float, default 0.95
            Coverage of the intervals of the performance.
        publish : bool, default False
            For others: people rounded (``steadytree.publish.publish``), rare categories not named.
        candidate_trees : bool, default False
            Hold the trees of all candidates too, in few bytes each.

        Returns
        -------
        dict
        """
        return summarise_retraining(
            self, by=by, level=level, publish=publish, candidate_trees=candidate_trees
        )

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        title: str | None = None,
        subgroups: By = (),
        level: float = 0.95,
        publish: bool = False,
    ) -> Path:
        """Write the decision report as one HTML file.

        Parameters
        ----------
        path : path-like
        title : str, optional
            Heading of the page; by default the answer.
        subgroups, level, publish
            As ``by``, ``level`` and ``publish`` of :meth:`to_dict`.

        Returns
        -------
        Path
        """
        summary = self.to_dict(by=subgroups, level=level, publish=publish, candidate_trees=True)
        return write_report(summary, path, title=title)

    def __repr__(self) -> str:
        return (
            f"Retraining({self.action}, {self.confidence}: {self.tree.n_leaves} leaves, "
            f"dissimilarity {self.dissimilarity:.1%}, flips {self.flips():.1%})"
        )

    def __str__(self) -> str:
        return self.explain()

    def _repr_html_(self) -> str:
        return notebook_view(self)
