"""Three plain sentences about a retraining, for the person who has to sign it.

The third one counts people. Its count is kept as data, so that a page that must not tell
single people apart can word it with a mask.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from steadytree.core.words import PLAIN
from steadytree.evaluation.flips import REGRESSION_FLIP

if TYPE_CHECKING:
    from steadytree.retraining.result import Retraining

__all__ = ["Explanation", "explain_retraining", "whom_words"]


@dataclass(frozen=True)
class Explanation:
    """What is proposed and why, what it is worth, and whom it affects."""

    what: str
    worth: str
    event: str  # what happens to the people concerned, without how many they are
    count: int  # new rows that it happens to
    total: int

    @property
    def whom(self) -> str:
        """Sentence on whom it affects, with the exact count."""
        return whom_words(self.event, self.count, self.total)

    def __str__(self) -> str:
        return f"{self.what} {self.worth} {self.whom}"


def explain_retraining(result: Retraining) -> Explanation:
    """Say what is proposed and why, what it is worth, and whom it affects."""
    event = "The decision changes"
    if not result.deployed.is_classifier:
        event = f"The prediction moves by more than {REGRESSION_FLIP:.0%} of its range"
    changed = result.changed_decisions
    return Explanation(_what(result), _worth(result), event, int(changed.sum()), len(changed))


def whom_words(event: str, count: int, total: int, masked: str | None = None) -> str:
    """Sentence on how many rows something happens to.

    ``masked`` stands in place of a count that is not shown: "fewer than 5".
    """
    if masked is not None:
        return f"{event} for {masked} of the {total:,} new rows."
    if count == 0:
        return f"{event} for none of the {total:,} new rows."
    return f"{event} for {count:,} of the {total:,} new rows ({_percent(count / total)})."


def _percent(share: float) -> str:
    return PLAIN.percent(share, 1 if share < 0.1 else 0)


def _what(result: Retraining) -> str:
    edits = len(result.edits)
    row = result.frontier.loc[result.chosen].to_dict()
    kind = row["kind"]
    if kind == "keep":
        text = "The deployed tree is kept as it is"
    elif edits == 0 and kind in ("leaf values", "priced edits"):
        values = "the risks in its leaves"
        if not result.deployed.is_classifier:
            values = "its predicted values"
        text = f"Every rule of the deployed tree is kept and only {values} are updated"
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
        f"tree ({PLAIN.signed(change)}, standard error {error:.3f}: {verdict})."
    )
