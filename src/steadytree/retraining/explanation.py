"""Three plain sentences about a retraining, for the person who has to sign it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from steadytree.evaluation.flips import REGRESSION_FLIP

if TYPE_CHECKING:
    from steadytree.retraining.result import Retraining

__all__ = ["explain_retraining"]


def explain_retraining(result: Retraining) -> str:
    """Say what is proposed and why, what it is worth, and whom it affects."""
    return " ".join([_what(result), _worth(result), _whom(result)])


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share < 0.1 else f"{100 * share:.0f} %"


def _what(result: Retraining) -> str:
    edits = len(result.edits)
    row = result.frontier.loc[result.chosen].to_dict()
    kind = row["kind"]
    if kind == "keep":
        text = "The deployed tree is kept as it is"
    elif edits == 0 and kind in ("leaf values", "priced edits"):
        text = (
            "Every rule of the deployed tree is kept and only the risks in its leaves are updated"
        )
        if not result.deployed.is_classifier:
            text = (
                "Every rule of the deployed tree is kept and only its predicted values are updated"
            )
    elif kind in ("from scratch", "CART", "own"):
        text = (
            f"The proposal ({result.chosen}) is another tree, "
            f"{_percent(result.dissimilarity)} dissimilar to the deployed one"
        )
    else:
        changes = "one change" if edits == 1 else f"{edits} changes"
        text = (
            f"The proposal makes {changes} to the deployed tree "
            f"({'; '.join(result.edits[:3])}{'; ...' if edits > 3 else ''}) and is "
            f"{_percent(result.dissimilarity)} dissimilar to it"
        )
    drift = result.drift
    if drift is not None and drift.detected:
        text += (
            ", and because the new rows no longer follow the old ones it was allowed to let go "
            "of the deployed tree"
        )
    return text + "."


def _worth(result: Retraining) -> str:
    row = result.frontier.loc[result.chosen].to_dict()
    name = "AUC" if result.deployed.is_classifier else "R²"
    keep = float(result.frontier["score"]["keep"])
    if row["kind"] == "keep":
        return f"On the new rows its {name} is {keep:.3f}."
    change, error = float(row["score_change"]), float(row["score_change_se"])
    if np.isnan(change):
        return "How well it predicts could not be measured on the new rows."
    how = "On new rows left out of training" if row["cross_fitted"] else "On the new rows"
    verdict = "no clear change"
    if abs(change) > 2 * error:
        verdict = "an improvement" if change > 0 else "a loss"
    return (
        f"{how} its {name} is {float(row['score']):.3f} against {keep:.3f} for the deployed "
        f"tree ({change:+.3f}, standard error {error:.3f}: {verdict})."
    )


def _whom(result: Retraining) -> str:
    count = int(result.changed_decisions.sum())
    total = len(result.changed_decisions)
    if result.deployed.is_classifier:
        what = "The decision changes"
    else:
        what = f"The prediction moves by more than {REGRESSION_FLIP:.0%} of its range"
    if count == 0:
        return f"{what} for none of the {total:,} new rows."
    return f"{what} for {count:,} of the {total:,} new rows ({_percent(result.flips())})."
