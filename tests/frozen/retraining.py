"""What is frozen of retraining on one data set: action, frontier, scores, words, pages."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import steadytree as st
from steadytree.publish import publish_tree
from tests.frozen.data import Set, load
from tests.frozen.plain import digest, outlined, plain, strip
from tests.frozen.trees import distances_of, matchings_of, short, stored, texts_of

__all__ = ["SEARCH", "by_data_set", "summary_of"]

# Small enough that all ten sets together take a minute on one core.
SEARCH = st.SearchOptions(n_estimators=10)

# The first tree, what the first retraining is asked, and what the second.
PLANS: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "tumours": (
        {"pos_label": 0},
        {"n_folds": 3, "test": True},
        {"cart": True, "price": 0.05, "old": False, "plan": {"max_leaves": 9, "max_flips": 0.5}},
    ),
    "wine": (
        {"class_weight": "balanced"},
        {"n_folds": 2},
        {"cart": True, "price": 0.02, "plan": {"locked": "root"}},
    ),
    "diabetes": (
        {},
        {"n_folds": 2, "test": True},
        {"price": 0.02, "plan": {"forbid": "bmi", "max_dissimilarity": 0.9}},
    ),
    "penguins": ({}, {"n_folds": 2}, {"price": 0.02, "old": False, "weights": True}),
    "credit": (
        {"pos_label": "bad", "decision_threshold": "prevalence"},
        {"n_folds": 2, "test": True, "plan": {"per_group": {"Home": {"max_flips": 0.9}}}},
        {"price": 0.05, "decision": st.Decision(positive="bad", costs={"bad": 5, "good": 1})},
    ),
    "churn": (
        {"pos_label": "Yes", "class_weight": {"Yes": 3, "No": 1}, "forbid": "female"},
        {"n_folds": 2, "weights": True, "plan": {"max_flips": 0.25, "min_score_change": -0.2}},
        {"price": 0.05, "n_folds": 2, "plan": {"max_flips": 0.001, "max_moved_10": 0.002}},
    ),
    "arrests": (
        {"pos_label": "No", "decision_threshold": 0.2},
        {"n_folds": 2, "time": True, "test": True},
        {"price": 0.05, "old": False, "decision": "prevalence"},
    ),
    "crashes": (
        {"pos_label": "dead", "decision_threshold": 0.1},
        {"n_folds": 2, "groups": True, "test": True},
        {"price": 0.05, "n_folds": 2, "time": True},
    ),
    "wages": (
        {},
        {"n_folds": 2, "time": True, "candidates": True},
        {"cart": True, "price": 0.05, "plan": {"min_gain": 0.001}},
    ),
    "support": (
        {"pos_label": "died", "max_leaf_nodes": 8, "max_depth": 4},
        {"n_folds": 2},
        {"old": False, "price": 0.1, "plan": {"locked": ["root"], "forbid": ["fac_sex"]}},
    ),
}


def by_data_set(name: str) -> dict[str, Any]:
    """Return everything that is frozen of one data set, file by file."""
    data = load(name)
    old, new = data.part("old"), data.part("new")
    of_first, asked, asked_again = PLANS[name]
    kind = st.DistilledTreeRegressor if data.is_response else st.DistilledTreeClassifier
    model = kind(n_estimators=10, random_state=0, n_jobs=1, **of_first).fit(old.X, old.y)
    first = st.as_tree(model)
    cart_models = [_cart(part, leaves) for part, leaves in ((old, 8), (new, 8), (new, 5))]
    carts = [st.as_tree(cart) for cart in cart_models]

    result = _retrained(data, model, **asked)
    again = _retrained(data, cart_models[0] if "cart" in asked_again else model, **asked_again)
    results = {"first": result, "second": again}
    far = result.trees["from scratch"]
    family = [first, result.tree, far, result.trees["price 0.02"]]
    numbers = new.numbers.reindex(columns=old.numbers.columns, fill_value=0)
    task = "regression" if data.is_response else "classification"
    space = st.FeatureSpace.from_data(old.numbers, old.y, task=task)

    # A model of scikit-learn comes back in the form it came in.
    like = again.to_like(cart_models[0]) if "cart" in asked_again else again.model
    facts = {
        "trees": {
            "first": stored(first),
            "CART": stored(carts[0]),
            "proposal": stored(result.tree),
            "published": digest(stored(publish_tree(first))),
            "on new rows": {
                **{"first": short(first, new.X), "CART": short(carts[0], numbers)},
                **{n: short(tree, new.X) for n, tree in result.trees.items()},
            },
            "second retraining": {
                n: digest(stored(tree)) for n, tree in sorted(again.trees.items())
            },
            "second proposal as a model": [type(like).__name__, digest(like.predict(again.X_new))],
        },
        "distances": {
            "first, proposal, from scratch, price 0.02": distances_of(family, result.space),
            "CART": distances_of(carts, space),
        },
        "matchings": {
            "first and from scratch": matchings_of(first, far, result.space),
            "CART": matchings_of(carts[0], carts[1], space),
        },
        "retraining": {which: _numbers_of(found) for which, found in results.items()},
        "comparison": _compared(first, far, new, groups=new.groups),
        "stable": _stable(name, old),
        "assessment": st.assess_stability(
            _unfitted(data, 6), old.numbers, old.y, n_resamples=3, n_jobs=1, random_state=0
        ).to_dict(),
    }
    words = {
        "retraining": {which: _words_of(found) for which, found in results.items()},
        "from scratch": strip(st.diff_trees(first, far, new.X, y=new.y).to_text()).splitlines(),
        "comparison": st.compare(first, far, new.X, new.y).to_text().splitlines(),
        "tree": str(first).splitlines(),
        "formats": texts_of(first, whole=False),
    }
    pages = {
        f"{which}{' published' * publish}": _page_of(found, publish=publish)
        for which, found in results.items()
        for publish in (False, True)
    }
    return {"facts": facts, "words": words, "pages": pages}


def _unfitted(data: Set, leaves: int) -> Any:
    kind = DecisionTreeRegressor if data.is_response else DecisionTreeClassifier
    return kind(max_leaf_nodes=leaves, min_samples_leaf=5, random_state=0)


def _cart(data: Set, leaves: int) -> Any:
    return _unfitted(data, leaves).fit(data.numbers, data.y)


def _retrained(
    data: Set,
    model: Any,
    *,
    cart: bool = False,
    old: bool = True,
    test: bool = False,
    weights: bool = False,
    time: bool = False,
    groups: bool = False,
    candidates: bool = False,
    **options: Any,
) -> st.Retraining:
    before, new, untouched = (data.part(part) for part in ("old", "new", "test"))

    def table(part: Set) -> Any:
        return (
            part.numbers.reindex(columns=before.numbers.columns, fill_value=0) if cart else part.X
        )

    if old:
        options["old"] = st.Rows(table(before), before.y, groups=before.groups if groups else None)
    if test:
        options["test"] = (table(untouched), untouched.y)
    if weights:
        options["sample_weight"] = np.random.default_rng(0).integers(1, 5, len(new.y)) / 2.0
    if candidates:
        kind = st.DistilledTreeRegressor if data.is_response else st.DistilledTreeClassifier
        mine = kind(n_estimators=5, max_leaf_nodes=5, random_state=1, n_jobs=1)
        options["candidates"] = {"mine": mine.fit(before.X, before.y)}
    return st.retrain(
        model,
        table(new),
        new.y,
        **{"n_folds": 0, "search": SEARCH, "random_state": 0, "n_jobs": 1} | options,
        time=new.time if time else None,
        groups=new.groups if groups else None,
    )


def _numbers_of(result: st.Retraining) -> dict[str, Any]:
    frontier = result.frontier.drop(columns="edits")
    forgone, drift = result.forgone, result.drift
    by = _column(result)
    return {
        "action": result.action,
        "confidence": result.confidence,
        "rebuild advised": result.rebuild_advised,
        "chosen": result.chosen,
        "events": result.answer.events,
        "gains": {n: [g.value, g.error] for n, g in sorted(result.answer.gains.items())},
        "forgone": None
        if forgone is None
        else [forgone.name, forgone.lead, forgone.error, forgone.score, forgone.flips],
        "drift": None if drift is None else [drift.detected, drift.statistic, drift.loss_both],
        "frontier": {str(row.pop("candidate")): row for row in plain(frontier)},
        "edits": {n: list(e) for n, e in result.frontier["edits"].items()},
        "dissimilarity": result.dissimilarity,
        "distance": result.distance,
        "flips": result.flips(),
        "risk moved": result.risk_moved(),
        "changed decisions": np.flatnonzero(result.changed_decisions),
        "deployed score": result.deployed_score,
        "scores": result.performance(),
        f"flips by {by}": result.flips(by=by),
        f"scores by {by}": digest(result.performance(by=by)),
        "test": result.test,
        "settings": dict(result.settings),
        "plan": result.plan_check.to_dict(),
        "lenient plan": result.check({"max_flips": 0.5, "max_dissimilarity": 0.99}).to_dict(),
        "refused": None if result.refused is None else digest(stored(result.refused)),
        "classes given up": {str(k): v for k, v in result.diff.classes_given_up.items()},
        "changed columns": sorted(result.changed_columns),
        "diff": outlined(result.diff.to_dict()),
    }


def _column(result: st.Retraining) -> str:
    """Name the first column of the tree that has few values, else its first."""
    names = [str(result.space.names[j]) for j in sorted(result.deployed.used_features)]
    return min(names, key=lambda n: (result.X_new[n].nunique() > 6, names.index(n)))


def _words_of(result: st.Retraining) -> dict[str, Any]:
    return {
        "explanation": result.explain().splitlines(),
        "parts": {
            part: str(getattr(result.explanation, part))
            for part in ("headline", "policy", "changes", "affected", "better", "forgone", "test")
        },
        "reason": result.answer.reason,
        "notes": list(result.notes),
        "space": result.space_note,
        "changed columns": {k: str(v) for k, v in sorted(result.changed_columns.items())},
        "plan": result.plan_check.to_text().splitlines(),
        "diff": strip(result.diff.to_text()).splitlines(),
        "diff in Markdown": digest(result.diff.to_markdown()),
    }


def _compared(a: st.Tree, b: st.Tree, rows: Set, *, groups: Any) -> dict[str, Any]:
    found = st.compare(a, b, rows.X, rows.y, groups=groups, plan={"max_flips": 0.1})
    return {key: outlined(value) for key, value in found.to_dict().items()}


def _stable(name: str, old: Set) -> dict[str, Any]:
    kind = st.StableTreeRegressor if old.is_response else st.StableTreeClassifier
    rules = ("tolerance", "balanced", "score", "distance")
    model = kind(
        param_grid={"max_depth": [3, 5], "min_samples_leaf": [5, 30]},
        n_bootstraps=2,
        select=rules[sorted(PLANS).index(name) % len(rules)],
        variant=("paper", "metric")[sorted(PLANS).index(name) % 2],
        n_jobs=1,
        random_state=0,
    ).fit(old.X, old.y)
    return {
        "select": model.select,
        "candidates": model.results_,
        "chosen": int(model.best_index_),
        "parameters": model.best_params_,
        "tree": short(st.as_tree(model), old.X),
        "score": [model.score_estimate_, model.score_estimate_se_, model.selection_score_],
    }


def _page_of(result: st.Retraining, *, publish: bool) -> dict[str, str]:
    """Return digests of the summary inside the page, entry by entry; not of its looks."""
    with tempfile.TemporaryDirectory() as folder:
        page = result.report(Path(folder) / "page.html", publish=publish).read_text("utf-8")
    return {key: digest(value) for key, value in summary_of(page).items()}


def summary_of(page: str) -> dict[str, Any]:
    """Return the summary that a page carries, without what is drawn."""
    text = page.split('id="report-data">')[1].split("</script>")[0]
    content: dict[str, Any] = plain(json.loads(text))
    return {key: value for key, value in content.items() if key != "page"}
